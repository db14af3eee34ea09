"""
Forward against ridge, by noise and λ
=====================================
Each cell is the online loss of forward over that of ridge, on the same 200 rows with a signal of size 1. Below 1 (blue) forward
wins: with as much noise as signal or more, and the more so the smaller λ is. With little noise (orange) its caution costs.
Where λ is large, both say little, and the choice hardly matters.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from onward import ForwardRegressor, RidgeRegressor

noises, lams = np.geomspace(0.1, 10, 9), np.geomspace(1e-3, 100, 11)
log_ratio, colors = np.zeros((9, 11)), LinearSegmentedColormap.from_list("", ["C0", "white", "C1"])
for run in range(12):
    rng = np.random.default_rng(run)
    X, theta, e = rng.standard_normal((200, 5)), rng.standard_normal(5), rng.standard_normal(200)
    for i, noise in enumerate(noises):
        y = X @ theta / np.linalg.norm(theta) + noise * e
        for j, lam in enumerate(lams):
            loss = [m(lam, fit_intercept=False).fit(X, y).online_loss_ for m in (ForwardRegressor, RidgeRegressor)]
            log_ratio[i, j] += np.log(loss[0] / loss[1]) / 12
figure, axis = plt.subplots()
drawn = axis.pcolormesh(lams, noises, log_ratio, cmap=colors, vmin=-0.7, vmax=0.7)
axis.contour(lams, noises, log_ratio, levels=[0], colors="k", linewidths=1.5)
axis.set(xscale="log", yscale="log", xlabel="λ", ylabel="noise σ", title="Loss of forward / loss of ridge (black line: equal)")
figure.colorbar(drawn, extend="max", ticks=np.log([0.5, 0.67, 1, 1.5, 2]), format=lambda v, _: f"{np.exp(v):.2g}")
plt.show()
