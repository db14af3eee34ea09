"""What a run of the online protocol leaves behind, round by round: all that the bounds need to know of it."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from onward.core.checks import positive
from onward.core.state import Information
from onward.core.types import Matrix, Vector


@dataclass(frozen=True)
class Trace:
    """A run over T rounds with regularisation λ, every row of weight 1.

    Attributes:
        y: targets (T,).
        p: ridge predictions p = xᵀG⁻¹b (T,), each from the rounds before.
        q: leverages q = xᵀG⁻¹x (T,), each from the rounds before.
        norms: ‖x‖ (T,).
        d: coordinates.
        lam: λ > 0.

    Example:
        >>> from onward.core import Trace
        >>> trace = Trace.of([[1.0], [1.0]], [2.0, 2.0], lam=1.0)
        >>> trace.p.tolist(), trace.forward.round(3).tolist()
        ([0.0, 1.0], [0.0, 0.667])
    """

    y: Vector
    p: Vector
    q: Vector
    norms: Vector
    d: int
    lam: float

    @classmethod
    def of(cls, X: Matrix, y: Vector, lam: float) -> Self:
        """Run the protocol over the rows of X with targets y.

        Args:
            X: the rows (T, d).
            y: the targets (T,).
            lam: λ > 0.

        Returns:
            The trace of the run.

        Raises:
            ValueError: if an array is not finite or of another shape, or λ not positive.
        """
        X, y = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)
        if X.ndim != 2 or 0 in X.shape or y.shape != X.shape[:1]:
            raise ValueError(f"X and y must have shapes (T, d) and (T,) with T, d ≥ 1, got {X.shape} and {y.shape}")
        if not (np.isfinite(X).all() and np.isfinite(y).all()):
            raise ValueError("X and y must be finite, got a NaN or an infinity")
        positive("lam", lam)
        p, q = Information(X.shape[1], 1, lam).absorb(X, y[:, None].copy(), np.ones(len(y)))
        return cls(y, p[:, 0], q, np.sqrt(np.einsum("ij,ij->i", X, X)), X.shape[1], lam)

    @property
    def forward(self) -> Vector:
        """Forward predictions p / (1 + q) (T,)."""
        return self.p / (1.0 + self.q)

    @property
    def h(self) -> Vector:
        """Leverages after the row: h = q / (1 + q) (T,)."""
        return self.q / (1.0 + self.q)

    @property
    def gain(self) -> Vector:
        """Information gain I_t after each round (T,)."""
        return np.cumsum(np.log1p(self.q))
