"""
What would it have earned?
==========================
A log of ε-greedy decisions says what another policy would have earned: by inverse propensities (ips; snips divides by their sum), or
doubly robust (dr). Each bar is the 95% interval from one of twenty logs of 1,600 events, less the truth; one in twenty may miss.
"""
import matplotlib.pyplot as plt
import numpy as np

from onward.bandits import EpsilonGreedy, Greedy, LoggedData, evaluate

theta, n, found = np.array([0.3, -0.2, 0.5]), 1600, {"ips": [], "snips": [], "dr": []}
for rng in map(np.random.default_rng, range(20)):
    offered = np.dstack([rng.uniform(-1, 1, (n, 4, 2)), np.ones((n, 4, 1))])
    logger, judged, warm = EpsilonGreedy(0.4, seed=0), Greedy(seed=0), offered[:50, 0]
    logger.learn_many(warm, warm @ [1.0, 1.0, 0.0])  # another lesson than the other's
    judged.learn_many(warm, warm @ [1.0, -0.5, 0.5])
    chances, mean, rows = np.array([logger.probabilities(each) for each in offered]), offered @ theta, np.arange(n)
    taken = (chances.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    log = LoggedData(offered, taken, chances[rows, taken], (rng.random(n) < mean[rows, taken]).astype(float))
    truth = np.mean([mean[i, judged.choose(offered[i])] for i in rows])
    for method, value in ((each, evaluate(judged, log, method=each, learn="none")) for each in found):
        found[method].append((value.lower - truth, value.upper - truth))
figure, axes = plt.subplots(1, 3, sharex=True, sharey=True, figsize=(9, 3.8))
for axis, (method, ends) in zip(axes, found.items(), strict=True):
    holds = np.prod(ends, axis=1) <= 0  # the truth, 0, is between the ends
    axis.hlines(range(20), *np.transpose(ends), colors=np.where(holds, "C0", "C1"), linewidth=3)
    axis.axvline(0, color="k", linewidth=0.8)
    axis.set(title=f"{method}: {holds.sum()} of 20 hold", xlabel="interval less the truth", yticks=[], xticks=[-0.1, 0, 0.1])
plt.show()
