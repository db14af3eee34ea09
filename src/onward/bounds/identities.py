"""What the regret is, exactly: the equalities that the bounds are drawn from."""

from dataclasses import dataclass

import numpy as np

from onward.bounds.common import along_trace, column, design, in_numbers
from onward.bounds.linear_algebra import unpenalized
from onward.core.trace import Trace
from onward.core.types import Vector


@dataclass(frozen=True)
class Terms:
    """The regret to min_θ (L(θ) + λ‖θ‖²), taken apart round by round.

    Attributes:
        first: what a round adds (T,).
        second: what a round takes off (T,).

    Example:
        >>> import numpy as np
        >>> from onward.bounds import Terms
        >>> terms = Terms(np.array([1.0, 2.0]), np.array([0.0, 0.5]))
        >>> terms.each.tolist(), terms.regret.tolist()
        ([1.0, 1.5], [1.0, 2.5])
    """

    first: Vector
    second: Vector

    @property
    def each(self) -> Vector:
        """Loss of a round less what the penalised minimum rises by in it (T,)."""
        return self.first - self.second

    @property
    def regret(self) -> Vector:
        """Loss so far less min_θ (L(θ) + λ‖θ‖²) (T,)."""
        return np.cumsum(self.each)


@along_trace
def ridge_identity(trace: Trace) -> Terms:
    """Regret of online ridge to the penalised minimum is Σ (p − y)² h; nothing is taken off.  [Eq 4]

    Args:
        trace: the run.

    Returns:
        The terms of each round.

    Raises:
        ValueError: if the trace is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import ridge_identity
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> least = np.cumsum((trace.p - y) ** 2 / (1.0 + trace.q))  # min (L(θ) + λ‖θ‖²)
        >>> bool(np.allclose(ridge_identity(trace).regret, np.cumsum((trace.p - y) ** 2) - least))
        True
    """
    return Terms((trace.p - trace.y) ** 2 * trace.h, np.zeros_like(trace.y))


@along_trace
def forward_identity(trace: Trace) -> Terms:
    """Regret of forward to the penalised minimum is Σ y² h − Σ q ŷ², with ŷ its prediction.  [Eq 5]

    The paper's second sum runs over the *next* rounds, t + 1 ≤ T. Its terms stand here at the round they belong to;
    that of the first round is 0, for ŷ is.

    Args:
        trace: the run.

    Returns:
        The terms of each round.

    Raises:
        ValueError: if the trace is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import forward_identity
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> least = np.cumsum((trace.p - y) ** 2 / (1.0 + trace.q))  # min (L(θ) + λ‖θ‖²)
        >>> bool(np.allclose(forward_identity(trace).regret, np.cumsum((trace.forward - y) ** 2) - least))
        True
    """
    return Terms(trace.y**2 * trace.h, trace.q * trace.forward**2)


@in_numbers
def truth_identity(X: object, y: object, theta: object) -> Vector:
    """L(θ*) − min_θ L(θ) = ‖θ_OLS − θ*‖² in the norm of Σxxᵀ, after each round: R less R̄.  [Thm 3.1] [Eq 8]

    O(d²) a row. Never negative but for rounding.

    Args:
        X: the rows of the run (T, d).
        y: its targets (T,).
        theta: θ* (d,).

    Returns:
        The difference after each round (T,).

    Raises:
        ValueError: if an array is not finite, or of another shape.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import truth_identity
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((50, 2))
        >>> y = X @ theta + rng.standard_normal(50)
        >>> best = np.sum((y - X @ np.linalg.lstsq(X, y)[0]) ** 2)
        >>> bool(np.isclose(truth_identity(X, y, theta)[-1], np.sum((y - X @ theta) ** 2) - best))
        True
    """
    rows = design(X)
    residuals = column("y", y, len(rows)) - rows @ column("theta", theta, rows.shape[1])
    # Fitted to the residuals at θ*, least squares returns θ_OLS − θ*, and large targets cannot swamp the difference.
    p, q = unpenalized(rows, residuals)
    return np.cumsum(residuals**2 - (residuals - p) ** 2 / (1.0 + q))
