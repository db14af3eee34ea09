"""
The rule of one line
====================
Where rows are fixed beforehand, forward has the smaller expected loss in a round exactly if (xᵀθ*)² < (2 + q)σ²: the signal
of the row is smaller than 1.4 times the noise, or a little more where the leverage q is large. The curves are the exact expected regrets
of both, summed: they part in the first rounds, where leverages are large. Above each is the share of rows for which the rule
holds when q is 0.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward import bounds

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 5))
theta = np.array([0.6, -0.4, 0.4, 0.3, -0.5])
figure, axes = plt.subplots(1, 3, sharex=True, figsize=(9, 3.6))
for axis, sigma in zip(axes, (0.2, 0.7, 2.0), strict=True):
    for name, color, style in (("ridge", "C1", "--"), ("forward", "C0", "-")):
        regret = getattr(bounds, f"{name}_expected_regret_to_truth")(X, theta, lam=0.1, sigma=sigma)
        axis.plot(np.arange(1, 301), regret, color=color, linestyle=style, label=name)
    wins = np.mean((X @ theta) ** 2 < 2 * sigma**2)
    axis.set(xscale="log", xlabel="round", title=f"σ = {sigma} (rule holds: {wins:.0%})", ylim=(0, None))
axes[0].set_ylabel("expected regret to θ*")
axes[0].legend()
figure.suptitle("Expected regret of ridge and forward, with little, some and much noise")
plt.show()
