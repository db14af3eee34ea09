"""
The books of a run
==================
A ledger keeps what ridge and forward have lost beside the true coefficients, and what was promised: the dashed bounds hold at
all rounds at once with probability 95%. On the right are the terms of which the regret is the exact sum. Forward's bound is the
smaller one, as in the paper.
"""

import numpy as np

from onward.ledger import Ledger

rng = np.random.default_rng(0)
theta = np.array([0.5, -0.5, 0.3, 0.4, -0.5])
X = rng.standard_normal((2000, 5))
y = X @ theta + rng.standard_normal(2000)
ledger = Ledger.of(X, y, lam=1.0, theta=theta, sigma=1.0, theta_bound=1.0, delta=0.05)
figure = ledger.plot()
figure
