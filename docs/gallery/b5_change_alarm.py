"""
When the relation changes
=========================
An alarm bets on the next residual out of a pot of 1. While nothing changes the game is fair, and the pot reaches 20 with a
probability of 5% at most, ever. At row 5,000 two coefficients jump: the bets begin to win, and the alarm comes about a
hundred rows later. Then everything is forgotten, and it begins anew.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward.confidence import ChangeAlarm

rng = np.random.default_rng(0)
X = rng.standard_normal((8000, 5))
y = X @ [1.0, -2.0, 0.5, 0.0, 3.0] + rng.standard_normal(8000)
y[5000:] += 0.6 * X[5000:, 0] - 0.6 * X[5000:, 1]
alarm, pot, changes = ChangeAlarm(delta=0.05), [], []
for row in range(0, 8000, 5):
    changes += alarm.learn(X[row : row + 5], y[row : row + 5])
    pot.append(alarm.e_value_)

figure, axis = plt.subplots()
axis.plot(np.arange(5, 8001, 5), pot, linewidth=1, label="the pot (e-value)")
axis.axhline(20, color="k", linewidth=0.8, linestyle="--", label="alarm at 1/δ = 20")
for change in changes:
    axis.axvline(change.noticed, color="C1", label=f"alarm at row {change.noticed:,}: “changed at about {change.row:,}”")
axis.set(yscale="log", xlabel="row", ylabel="e-value", title="A change of the relation at row 5,000, as the alarm sees it")
axis.legend(loc="center left")
plt.show()
