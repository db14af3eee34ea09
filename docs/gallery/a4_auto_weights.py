"""
Whom AutoRegressor leans on
===========================
44 experts run at once: ridge and forward, five λ, four memories, and running means. A third of the way a coefficient jumps, and
from two thirds on it drifts. Weight moves to short memories after the jump within a few dozen rows, back to long ones while
nothing changes, and to short ones again when the drift begins. Nothing was set.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward import AutoRegressor

rng = np.random.default_rng(0)
X, t = rng.standard_normal((3000, 3)), np.arange(3000)
slope = np.where(t < 1000, 1.0, np.where(t < 2000, -1.0, -1.0 + 3 * np.sin((t - 2000) / 60)))
y = X @ [0.0, 1.0, -0.5] + slope * X[:, 0] + 0.5 * rng.standard_normal(3000)
auto, shares = AutoRegressor(), []
for start in range(0, 3000, 10):
    auto.partial_fit(X[start : start + 10], y[start : start + 10])
    table = auto.experts_
    memories = np.array(table["half_life"], dtype=float)  # NaN: all rows
    shares.append([np.sum(table["weight"][(memories == h) | (np.isnan(memories) & (h == 0))]) for h in (0, 1000, 100, 10)])

figure, axis = plt.subplots()
axis.stackplot(t[::10], np.transpose(shares), labels=("all rows", "half-life 1,000", "100", "10"), alpha=0.85)
axis.set(xlabel="row", ylabel="share of the weight", ylim=(0, 1), xlim=(0, 3000))
axis.set_title("AutoRegressor: memories it leans on (a jump at row 1,000, drift from 2,000)")
axis.legend(loc="upper left", ncols=4, frameon=True)
plt.show()
