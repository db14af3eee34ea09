"""
What would it have earned?
==========================
A log of ε-greedy decisions says what another, fixed policy would have earned, without trying it. Three estimators with their 95%
intervals, as the log grows, and the truth (black line). Doubly robust (dr) corrects a model of rewards by weighed residuals;
its interval is narrowest, and that of plain inverse propensities (ips) is the widest.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward.bandits import EpsilonGreedy, Greedy, LoggedData, evaluate

rng, theta, n = np.random.default_rng(2), np.array([0.3, -0.2, 0.5]), 6400
offered = np.dstack([rng.uniform(-1, 1, (n, 4, 2)), np.ones((n, 4, 1))])
logger, judged = EpsilonGreedy(0.4, seed=0), Greedy(seed=0)
logger.learn_many(offered[:50, 0], offered[:50, 0] @ [1.0, 1.0, 0.0])  # two policies that were taught different things
judged.learn_many(offered[:50, 0], offered[:50, 0] @ [1.0, -0.5, 0.5])
chances, mean, rows = np.array([logger.probabilities(each) for each in offered]), offered @ theta, np.arange(n)
taken = (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
log = (offered, taken, chances[rows, taken], (rng.random(n) < mean[rows, taken]).astype(float))
figure, axis = plt.subplots()
for k, method in enumerate(("ips", "snips", "dr")):
    sizes = np.array([100, 400, 1600, 6400])
    found = [evaluate(judged, LoggedData(*(p[:s] for p in log)), method=method, learn="none") for s in sizes]
    values, lower, upper = np.transpose([(v.value, v.lower, v.upper) for v in found])
    axis.errorbar(sizes * 1.12 ** (k - 1), values, (values - lower, upper - values), fmt=f"C{k}o", capsize=3, label=method)
axis.axhline(np.mean([mean[i, judged.choose(offered[i])] for i in range(n)]), color="k", linewidth=1, label="the truth")
axis.set(xscale="log", xlabel="events in the log", ylabel="value of the policy", title="Off-policy estimates with their intervals")
axis.legend()
