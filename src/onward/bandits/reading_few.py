"""Actions of few coordinates: a row for each coordinate and a column for each action, where the vectors are."""

from onward.core.compile import inlined
from onward.core.factor import Factor, copy_vector
from onward.core.simd import fma
from onward.core.types import Matrix, Vector

COMPILED_FROM = "315a09ccefbb46cb"  # other files whose code is compiled into this one: see tools/digests.py


@inlined
def read_few(
    R: Matrix, lam: Vector, V: Factor, second: Factor, double: bool, p: Vector, q: Vector, reach: Vector
) -> None:
    """p and q of each action and, if `double`, what `read_tile_doubly` says of it. Overwrites p, q and reach, and R."""
    U, D, c, W, E, d = V.U, V.D, V.c, second.U, second.D, V.D.shape[0]
    _first_pivot(1.0 / D[0], c[0, 0], R[0], q, p)
    for k in range(1, d):
        for j in range(k, d):
            add_multiple(-U[k - 1, j], R[k - 1], R[j])
        _next_pivot(1.0 / D[k], c[k, 0], R[k], q, p)
    if not double:
        return
    for k in range(d - 1, -1, -1):
        _divide(R[k], D[k])
        for j in range(k + 1, d):
            add_multiple(-U[k, j], R[j], R[k])
    reach[:] = 0.0
    along = R[d]
    for k in range(d):
        copy_vector(R[k], along)
        for j in range(k + 1, d):
            add_multiple(W[k, j], R[j], along)
        add_squares(E[k], along, reach)
        add_squares((1.0 - second.counts[0].counted) * lam[k], R[k], reach)


@inlined
def copy_column(actions: Matrix, j: int, out: Vector) -> None:
    """Overwrite out with coordinate j of each action."""
    for i in range(actions.shape[0]):
        out[i] = actions[i, j]


@inlined
def _first_pivot(inverse: float, coefficient: float, x: Vector, q: Vector, p: Vector) -> None:
    for i in range(x.shape[0]):
        q[i] = x[i] * inverse * x[i]
        p[i] = x[i] * coefficient


@inlined
def _next_pivot(inverse: float, coefficient: float, x: Vector, q: Vector, p: Vector) -> None:
    for i in range(x.shape[0]):
        q[i] = fma(x[i] * inverse, x[i], q[i])
        p[i] = fma(x[i], coefficient, p[i])


@inlined
def add_multiple(factor: float, x: Vector, out: Vector) -> None:
    """Add a multiple of x. Overwrites out."""
    for i in range(x.shape[0]):
        out[i] = fma(x[i], factor, out[i])


@inlined
def add_squares(factor: float, x: Vector, out: Vector) -> None:
    """Add a multiple of the squares of x. Overwrites out."""
    for i in range(x.shape[0]):
        out[i] = fma(x[i] * factor, x[i], out[i])


@inlined
def _divide(x: Vector, divisor: float) -> None:
    for i in range(x.shape[0]):
        x[i] /= divisor
