"""
Propensities of Thompson sampling
=================================
The probability with which Thompson sampling takes each of five arms, as it learns. Without a floor (left) the worse ones soon
have next to none, and a log of such decisions can hardly tell what another policy would have earned. With `explore=0.1` (right) no arm
falls below 0.02: that is the price of a log that can be evaluated.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward.bandits import LinTS

arms = np.random.default_rng(1).standard_normal((5, 3))
theta = np.array([0.5, -0.3, 0.2])
figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.6))
for axis, explore in zip(axes, (0.0, 0.1), strict=True):
    rng, policy, chances = np.random.default_rng(0), LinTS(explore=explore, scale=1.0, seed=0), []
    for _ in range(200):
        chances.append(policy.probabilities(arms))
        arm = policy.choose(arms)
        policy.learn(arms[arm], arms[arm] @ theta + 0.5 * rng.standard_normal())
    for arm in np.argsort(-arms @ theta):
        axis.semilogy(np.maximum(np.array(chances)[:, arm], 1e-7), label=f"mean reward {arms[arm] @ theta:+.2f}")
    axis.set(xlabel="round", ylim=(1e-6, 1.5), title=f"explore = {explore}")
axes[0].set_ylabel("probability of the arm")
axes[1].legend(fontsize=8)
figure.suptitle("Thompson sampling: probability of each of five arms")
plt.show()
