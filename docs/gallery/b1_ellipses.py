"""
Confidence sets shrink
======================
The 95% confidence set of two coefficients after 10, 30, 100 and 1,000 rows. It holds at all rows at once, so each set that you
look at may be believed. The first feature varies twice as much as the second: its coefficient is known sooner, and the ellipse is
narrower along it.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward import RidgeRegressor

rng = np.random.default_rng(5)
theta = np.array([1.0, -0.5])
X = rng.standard_normal((1000, 2)) * [2.0, 1.0]
y = X @ theta + rng.standard_normal(1000)

figure, axis = plt.subplots(figsize=(7.6, 4.6))
for color, n in zip(("C5", "C0", "C2", "C1"), (10, 30, 100, 1000), strict=True):
    model = RidgeRegressor(lam=1.0, fit_intercept=False).fit(X[:n], y[:n])
    edge = model.confidence_set(delta=0.05, sigma=1.0, theta_bound=2.0).boundary(0, 1)
    axis.fill(*edge.T, color=color, alpha=0.15)
    axis.plot(*edge.T, color=color, label=f"after {n:,} rows")
axis.plot(*theta, "k*", markersize=11, label="the truth")
axis.set(xlabel="first coefficient", ylabel="second coefficient", title="95% confidence sets that hold at every row at once")
axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
