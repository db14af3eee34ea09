"""
Learn apart, then merge
=======================
Sixteen workers learn from rows of their own. Their models are merged in pairs, and those in pairs again, until one is left: each
round divides the error of the coefficients by about √2. The last one (star) is the model that saw all rows, to fourteen digits, because
states add up exactly: no averaging is involved.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward import ForwardRegressor

rng = np.random.default_rng(0)
theta = rng.standard_normal(8)
X = rng.standard_normal((3200, 8))
y = X @ theta + 2 * rng.standard_normal(3200)
models = [ForwardRegressor().fit(X[i::16], y[i::16]) for i in range(16)]
figure, axis = plt.subplots()
for n in (16, 8, 4, 2, 1):
    errors = [np.linalg.norm(model.coef_ - theta) for model in models]
    axis.plot(np.full(n, 16 / n), errors, "C0o", alpha=0.6)
    models = [models[2 * i].merge(models[2 * i + 1]) for i in range(n // 2)] if n > 1 else models
whole = ForwardRegressor().fit(X, y)
axis.plot(16, np.linalg.norm(whole.coef_ - theta), "C1*", markersize=14, label="one model that saw all rows")
axis.set(xscale="log", yscale="log", xlabel="workers merged into a model", ylabel="error of the coefficients, ‖θ̂ − θ*‖")
axis.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
axis.set_title(f"Merged models add up (last two differ by {np.abs(models[0].coef_ - whole.coef_).max():.0e})")
axis.legend()
plt.show()
