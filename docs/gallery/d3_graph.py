"""
Arms on a graph
===============
100 nodes whose neighbours have similar rewards. A spectral bandit has tried a few of them (ringed) and knows something of all,
because one reward teaches about every node nearby. Left is what it estimates, right the truth.
"""
import matplotlib.pyplot as plt
import numpy as np

from onward.bandits import SpectralBandit, SpectralBasis
from onward.bandits.graphs import random_geometric

rng = np.random.default_rng(0)
edges = np.array(random_geometric(100, seed=1), dtype=int)
basis = SpectralBasis.of(edges)
truth = 3.0 * basis.rows[:, 1] - 4.0 * basis.rows[:, 2]
bandit = SpectralBandit(basis, smoothness=basis.smoothness(truth, lam=0.01), lam=0.01, sigma=0.1, estimator="ridge", seed=0)
tried = []
for _ in range(30):
    tried.append(bandit.choose())
    bandit.learn(tried[-1], truth[tried[-1]] + 0.1 * rng.standard_normal())
x, y = basis.rows[:, 1], basis.rows[:, 2]  # the two smoothest eigenvectors lay the graph out
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharex=True, sharey=True)
for axis, values, name in zip(axes, (bandit.estimate(), truth), ("Estimated after 30 rewards", "True mean rewards"), strict=True):
    drawn = axis.scatter(x, y, c=values, vmin=truth.min(), vmax=truth.max(), s=45, zorder=3)
    axis.scatter(x[tried], y[tried], s=110, facecolors="none", edgecolors="C1", zorder=3)
    axis.plot(x[edges[:, :2].T], y[edges[:, :2].T], color="0.6", linewidth=0.4)
    axis.set(title=name, xticks=[], yticks=[])
figure.colorbar(drawn, ax=axes)
plt.show()
