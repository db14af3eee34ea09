"""
Forward says little where it knows little
=========================================
Ridge draws its line on beyond the rows it has seen, as if it knew. Forward divides each prediction by one plus the leverage
of the row: near the rows the two agree, and far from them forward returns to the mean of the targets. The dotted curve is the
leverage, by which it does so.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward import ForwardRegressor, RidgeRegressor

rng = np.random.default_rng(3)
X = rng.uniform(0.5, 2.0, (12, 1))
y = 1.5 * X[:, 0] + 0.8 * rng.standard_normal(12)
ridge, forward = RidgeRegressor(lam=0.01).fit(X, y), ForwardRegressor(lam=0.01).fit(X, y)
grid = np.linspace(-4, 8, 300)[:, None]

figure, axis = plt.subplots()
axis.plot(grid, ridge.predict(grid), "C1--", label="ridge")
axis.plot(grid, forward.predict(grid), "C0", label="forward")
axis.plot(grid, forward.leverage(grid), "k:", linewidth=1.2, label="leverage of the row")
axis.axhline(y.mean(), color="0.5", linewidth=0.8)
axis.scatter(X[:, 0], y, s=22, color="k", zorder=3, label="rows seen")
axis.set(xlabel="x of the new row", ylabel="prediction", title="One new row: ridge, forward, and the leverage between them")
axis.set_ylim(-4, 9)
axis.legend(loc="lower right")
plt.show()
