"""
An A/B test, watched day by day
===============================
In these tests the treatment does nothing. Whoever looks after every row with a t test and stops when it is significant finds an
effect in more and more of them. The anytime interval, asked just as often, is ever wrong with a probability of at most 5%. For that it
is wider, by about half.
"""
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from onward import RidgeRegressor

tests, rows = 200, np.unique(np.geomspace(20, 5000, 60).astype(int))
ever = {"t test": np.zeros(len(rows)), "anytime": np.zeros(len(rows))}
for run in range(tests):
    rng = np.random.default_rng(run)
    X, y = rng.integers(0, 2, (5000, 1)).astype(float), rng.standard_normal(5000)
    model, before, found = RidgeRegressor(lam=1e-9), 0, dict.fromkeys(ever, False)
    for i, n in enumerate(rows):
        effect, before = model.partial_fit(X[before:n], y[before:n]).contrast([1.0]), n
        found["t test"] |= abs(effect.estimate) > effect.standard_error * stats.t.ppf(0.975, n - 2)
        found["anytime"] |= not effect.lower <= 0 <= effect.upper
        for name, share in ever.items():
            share[i] += found[name] / tests
figure, axis = plt.subplots()
axis.plot(rows, ever["t test"], "C1--", rows, ever["anytime"], "C0", rows, 0.05 + 0 * rows, "k:")
axis.set(xscale="log", xlabel="rows so far", ylabel="share of tests", title=f"{tests} A/A tests: ever significant at 5%?")
axis.legend([*ever, "5%"])
plt.show()
