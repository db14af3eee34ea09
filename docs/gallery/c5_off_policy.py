"""
What would it have earned?
==========================
A log of ε-greedy decisions says what another, fixed policy would have earned, without trying it. Three estimators with their 95%
intervals, as the log grows, and the truth (black line). Doubly robust (dr) corrects a model of rewards by weighed residuals,
and has the narrowest interval; that of plain inverse propensities (ips) is the widest.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward.bandits import EpsilonGreedy, LoggedData, Random, Softmax, evaluate
from onward.bandits import Policy as P

rng, theta, n = np.random.default_rng(2), np.array([0.5, -0.4, 0.3]), 6400
offered = np.dstack([rng.uniform(-1, 1, (n, 4, 2)), np.full((n, 4, 1), 1.0)])
logger, judged = EpsilonGreedy(0.3, seed=0), P(rule=Softmax(temperature=0.3), estimator="ridge", lam=1.0, seed=0)
logger.learn_many(offered[:50, 0], offered[:50, 0] @ [1, 1, 0])  # two policies that were taught something else
judged.learn_many(offered[:200, 1], offered[:200, 1] @ theta)
chances = np.array([logger.probabilities(each) for each in offered])
taken = np.array([rng.choice(4, p=p) for p in chances])
mean = (offered @ theta).clip(0, 1)
log = [offered, taken, chances[np.arange(n), taken], (rng.random(n) < mean[np.arange(n), taken]).astype(float)]
figure, axis = plt.subplots()
for k, method in enumerate(("ips", "snips", "dr")):
    for size in (100, 400, 1600, 6400):
        value = evaluate(judged, LoggedData(*(part[:size] for part in log)), method=method, learn="none", reward_range=(0, 1))
        ends = [[value.value - value.lower], [value.upper - value.value]]
        axis.errorbar(size * 1.15 ** (k - 1), value.value, ends, fmt=f"C{k}o", label=method if size == 100 else None)
