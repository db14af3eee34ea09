"""
Conformal intervals keep their share
====================================
At row 2,000 the noise becomes three times as large, at row 4,000 it is small again. Intervals of least squares count all past errors
alike: they miss far too often, then hardly ever. The conformal intervals are made of the model's own past errors
and come back to 90% within some hundred rows, each time.
"""
import matplotlib.pyplot as plt
import numpy as np

from onward import RidgeRegressor
from onward.confidence import ConformalIntervals

rng = np.random.default_rng(0)
X, t = rng.standard_normal((6000, 4)), np.arange(6000)
y = X @ [1.0, -2.0, 0.5, 3.0] + np.where((t >= 2000) & (t < 4000), 3.0, 1.0) * rng.standard_normal(6000)
predictions, leverages = RidgeRegressor().predict_then_learn(X, y, return_leverage=True)

figure, axis = plt.subplots()
lower, upper = ConformalIntervals([0.1]).track(predictions, leverages, y)
z = (y - predictions) / np.sqrt(1 + leverages)
spread = np.sqrt(np.cumsum(z**2) / (t + 1)).take(t - 1, mode="clip")  # of all errors before the row
conformal, classical = (y >= lower[:, 0]) & (y <= upper[:, 0]), np.abs(z) <= 1.645 * spread
for name, inside, style in (("least squares", classical, "C1--"), ("conformal", conformal, "C0")):
    axis.plot(t[250:], np.convolve(inside, np.ones(250) / 250, "valid")[:-1], style, label=name)
axis.axhline(0.9, color="k", linewidth=0.8)
axis.axvspan(2000, 4000, color="0.5", alpha=0.12, label="noise three times as large")
axis.set(xlabel="row", ylabel="share inside, last 250 rows", title="Coverage of 90% intervals for the next target")
axis.legend(loc="lower right")
plt.show()
