"""
A curve, learned one row at a time
==================================
Random cosines turn a linear learner into one with a kernel, and the online protocol stays as it is. The band is the conformal
interval for the next target at 90%. Where no row has been, between 4 and 6, the band opens, and forward stays near the mean
instead of guessing waves.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward import ForwardRegressor, OnlinePipeline, RandomFeatures

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(0, 4, 400), rng.uniform(6, 10, 400)])
rng.shuffle(x)
y = np.sin(1.5 * x) + 0.3 * x + 0.3 * rng.standard_normal(800)
model = OnlinePipeline(RandomFeatures(gamma=1.0, n=200, seed=0), ForwardRegressor(lam=0.1)).calibrate([0.1])
model.predict_then_learn(x[:, None], y)
grid = np.linspace(-0.5, 10.5, 300)[:, None]
lower, upper = model.interval(grid, delta=0.1, of="observation").T

figure, axis = plt.subplots()
axis.plot(x, y, "k.", markersize=3, alpha=0.4, label="rows")
axis.fill_between(grid[:, 0], lower, upper, color="C0", alpha=0.2, label="90% for the next target")
axis.plot(grid, model.predict(grid), "C0", label="forward on 200 random cosines")
axis.set(xlabel="x", ylabel="y", ylim=(-1.5, 6.5), title="Online kernel regression")
axis.legend(loc="upper left")
plt.show()
