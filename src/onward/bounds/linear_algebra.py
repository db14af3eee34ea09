"""What some bounds need to know of the rows of a run, beyond what its trace holds."""

import numpy as np
from numpy.typing import NDArray

from onward.bounds.common import design, in_numbers
from onward.core.state import Information
from onward.core.types import Matrix, Vector


@in_numbers
def smallest_positive_eigenvalues(X: object) -> Vector:
    """λ⁺ of Σxxᵀ after each row of X (T, d): its smallest positive eigenvalue, 0 while all rows are 0.

    From singular values, so that eigenvalues down to 1e-31 of the largest count. O(d³) a row.

    Args:
        X: the rows (T, d).

    Returns:
        The eigenvalues (T,).

    Raises:
        ValueError: if X is not finite, or of another shape.

    Example:
        >>> from onward.bounds import smallest_positive_eigenvalues
        >>> smallest_positive_eigenvalues([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]).round(6)
        array([0., 4., 1.])
    """
    spectra, rank = _spectra(design(X))
    last = np.maximum(rank - 1, 0)
    return np.where(rank > 0, spectra[np.arange(len(spectra)), last], 0.0)


@in_numbers
def smallest_eigenvalues(X: object) -> Vector:
    """λ_min of Σxxᵀ after each row of X (T, d): 0 while the rows do not span all coordinates. O(d³) a row.

    Args:
        X: the rows (T, d).

    Returns:
        The eigenvalues (T,).

    Raises:
        ValueError: if X is not finite, or of another shape.

    Example:
        >>> from onward.bounds import smallest_eigenvalues
        >>> smallest_eigenvalues([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]).round(6)
        array([0., 0., 1.])
    """
    spectra, rank = _spectra(design(X))
    return np.where(rank == spectra.shape[1], spectra[:, -1], 0.0)


def unpenalized(X: Matrix, y: Vector) -> tuple[Vector, Vector]:
    """p and q of each row without regularisation: (y − p)²/(1 + q) is what min_θ L(θ) rises by. O(d²) a row.

    A row outside the span of those before has q = inf: it can be fitted exactly.
    """
    p, q = Information(X.shape[1], 1, 0.0).absorb(X, y[:, None].copy(), np.ones(len(y)))
    return p[:, 0], q


def leverages_after(X: Matrix) -> Vector:
    """h = xᵀG†x of each row of X, with G = Σxxᵀ up to and with the row: 1 where the rank rises, 0 for a zero row."""
    _, q = unpenalized(X, np.zeros(len(X)))
    return 1.0 - 1.0 / (1.0 + q)


def _spectra(X: Matrix) -> tuple[Matrix, NDArray[np.int64]]:
    """Eigenvalues of Σxxᵀ after each row, largest first, and its rank."""
    T, d = X.shape
    spectra: Matrix = np.zeros((T, d))
    rank = np.zeros(T, dtype=np.int64)
    R: Matrix = np.zeros((d, d))  # RᵀR is Σxxᵀ: squaring the rows would lose half of the digits
    for t, x in enumerate(X):
        R = np.linalg.qr(np.vstack([R, x])).R
        singular = np.linalg.svd(R, compute_uv=False)
        rank[t] = np.count_nonzero(singular > 4.0 * d * np.finfo(float).eps * singular[0])
        spectra[t] = singular**2
    return spectra, rank
