"""What some bounds need to know of the rows of a run, beyond what its trace holds."""

import numpy as np
from numpy.typing import NDArray

from onward.bounds.common import design
from onward.core.state import Information
from onward.core.types import Matrix, Vector

NEW_DIRECTION = 1e-12  # a row has one if this share of its length, or more, is off the span of those before


def smallest_positive_eigenvalues(X: object) -> Vector:
    """λ⁺ of Σxxᵀ after each row of X (T, d): its smallest positive eigenvalue, 0 while all rows are 0.

    From singular values, so that eigenvalues down to 1e-31 of the largest count. O(d³) a row.
    """
    spectra, rank = _spectra(design(X))
    last = np.maximum(rank - 1, 0)
    return np.where(rank > 0, spectra[np.arange(len(spectra)), last], 0.0)


def smallest_eigenvalues(X: object) -> Vector:
    """λ_min of Σxxᵀ after each row of X (T, d): 0 while the rows do not span all coordinates. O(d³) a row."""
    spectra, rank = _spectra(design(X))
    return np.where(rank == spectra.shape[1], spectra[:, -1], 0.0)


def unpenalized(X: Matrix, y: Vector) -> tuple[Vector, Vector]:
    """p and q of each row without regularisation: (y − p)²/(1 + q) is what min_θ L(θ) rises by. O(d²) a row.

    A row outside the span of those before has q = inf: it can be fitted exactly. What is new is measured by its length
    off an orthonormal basis of the span, in whose coordinates the state is kept: that does not depend on how the
    coordinates are ordered, or on how many there are.
    """
    T, d = X.shape
    p, q = np.zeros(T), np.full(T, np.inf)
    basis: Matrix = np.zeros((d, 0))  # in columns, the newest first
    state, start, size = Information(0, 1, 0.0), 0, 64
    while start < T:
        rank = basis.shape[1]
        block = X[start:] if rank == d else X[start : start + size]
        off = block - (block @ basis) @ basis.T
        off -= (off @ basis) @ basis.T  # once more: the first time leaves rounding of the size of the row
        lengths, sizes = (np.sqrt(np.einsum("ij,ij->i", rows, rows)) for rows in (off, block))
        new = np.flatnonzero(lengths > NEW_DIRECTION * sizes) if rank < d else np.empty(0, dtype=np.int64)
        stop = start + (int(new[0]) if len(new) else len(block))
        if stop > start:
            seen = np.ascontiguousarray(X[start:stop] @ basis)
            if rank:
                guess, q[start:stop] = state.absorb(seen, y[start:stop, None].copy(), np.ones(stop - start))
                p[start:stop] = guess[:, 0]
            else:
                q[start:stop] = 0.0
        size = 64 if len(new) else 2 * size
        start = stop
        if len(new):
            length = float(lengths[new[0]])
            state = _with_direction(state, X[stop] @ basis / length, float(y[stop]) / length, length * length)
            basis = np.column_stack([off[new[0]] / length, basis])
            start += 1
    return p, q


def _with_direction(state: Information, above: Vector, c: float, D: float) -> Information:
    """The state with a first coordinate more and the row that brought it, which leaves the rest as it is."""
    rank = len(state.D)
    wider = Information(rank + 1, 1, 0.0)
    wider.U[1:, 1 : rank + 1] = state.U[:, :rank]
    wider.U[0, 1 : rank + 1] = above
    wider.D[:] = np.concatenate([[D], state.D])
    wider.c[:] = np.concatenate([[[c]], state.c])
    return wider


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
