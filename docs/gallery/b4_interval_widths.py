"""
Each question has its own width
===============================
Four 95% intervals of one model, as rows come in. That for the next target cannot become narrower than the noise. The other three
are about one coefficient and shrink like 1/√n: least squares, which may be asked once; anytime, which may be asked after
every row; and the joint set, which holds for all combinations of coefficients at once.
"""
import matplotlib.pyplot as plt
import numpy as np

from onward import RidgeRegressor

rng = np.random.default_rng(0)
X = rng.standard_normal((10_000, 5))
y = X @ [1.0, -2.0, 0.5, 0.0, 3.0] + rng.standard_normal(10_000)
rows, widths = np.unique(np.geomspace(15, 10_000, 25).astype(int)), []
model, before = RidgeRegressor(lam=1.0, fit_intercept=False).calibrate(), 0
for n in rows:
    model.partial_fit(X[before:n], y[before:n])
    before, effect = n, model.contrast([1.0, 0, 0, 0, 0])
    target, joint = model.interval(X[:1], of="observation")[0], model.confidence_set(sigma=1.0).interval(np.eye(5)[:1])
    widths.append([np.ptp(target), np.ptp(joint), effect.upper - effect.lower, 2 * 1.96 * effect.standard_error])

figure, axis = plt.subplots()
names = ("next target, conformal", "coefficient, joint set", "coefficient, anytime", "coefficient, at one row only")
for name, width, style in zip(names, np.transpose(widths), ("C3-.", "C1--", "C0", "C2:"), strict=True):
    axis.plot(rows, width, style, label=name)
axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="width of the interval", title="What an interval costs, by what it promises")
axis.legend()
plt.show()
