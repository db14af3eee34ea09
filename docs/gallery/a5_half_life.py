"""
How long to remember
====================
The coefficients walk at random, slowly or fast. A ridge that forgets has a best half-life, which depends on how fast they walk:
too short is noisy, too long is late. AutoRegressor (horizontal lines) is told nothing and comes close to the best
of each curve, which is known in hindsight only, or does better than it.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward import AutoRegressor, RidgeRegressor

half_lives = np.geomspace(5, 2000, 12)
figure, axis = plt.subplots()
for number, (name, step) in enumerate({"slow": 0.01, "middling": 0.04, "fast": 0.15}.items()):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4000, 3))
    y = (X * np.cumsum(step * rng.standard_normal((4000, 3)), axis=0)).sum(axis=1) + rng.standard_normal(4000)
    models = [*(RidgeRegressor(half_life=h) for h in half_lives), AutoRegressor()]
    *rmse, auto = (np.sqrt(np.mean((m.predict_then_learn(X, y) - y)[100:] ** 2)) for m in models)
    axis.plot(half_lives, rmse, f"C{number}o-", markersize=4, label=f"ridge, θ walks {name}: {step} a row")
    axis.axhline(auto, color=f"C{number}", linestyle=":", label="AutoRegressor" if number == 2 else None)
axis.set(xscale="log", xlabel="half-life, in rows", ylabel="online RMSE (noise alone: 1)", ylim=(0.95, 2.4))
axis.set_title("Every world has its half-life; AutoRegressor need not be told")
axis.legend()
plt.show()
