"""Systems solved with a factor: its coefficients θ, the solution of Uθ = c, and U⁻¹ times other vectors."""

from onward.core.compile import compiled, inlined
from onward.core.factor import Factor
from onward.core.simd import LANES, dot_from, solve_four, solve_four_twice
from onward.core.types import Vector

COMPILED_FROM = "fe7bc45c174f4b11"  # other files whose code is compiled into this one: see tools/digests.py


@compiled
def solve(factor: Factor, theta: Vector) -> None:
    """θ of the first target, the solution of Uθ = c. Overwrites `theta`, which is padded like a row of U."""
    _right_side(factor, theta)
    substitute_back(factor, theta)


@compiled
def substitute_back(factor: Factor, z: Vector) -> None:
    """Overwrite z, which is padded like a row of U, with U⁻¹z."""
    U, k = factor.U, factor.D.shape[0]
    while k % LANES != 0:
        k -= 1
        z[k] -= dot_from(U, k, z, k + 1)
    while k > 0:
        k -= LANES
        solve_four(U, k, z)


@compiled
def solve_both(factor: Factor, theta: Vector, z: Vector) -> None:
    """`solve`, to the same bits, and z becomes U⁻¹z: in the time of one. Overwrites both, which are padded."""
    _right_side(factor, theta)
    U, k = factor.U, factor.D.shape[0]
    while k % LANES != 0:
        k -= 1
        theta[k] -= dot_from(U, k, theta, k + 1)
        z[k] -= dot_from(U, k, z, k + 1)
    while k > 0:
        k -= LANES
        solve_four_twice(U, k, theta, z)


@inlined
def _right_side(factor: Factor, theta: Vector) -> None:
    """Overwrite `theta` with c of the first target, padded."""
    d = factor.D.shape[0]
    theta[d:] = 0.0
    for k in range(d):
        theta[k] = factor.c[k, 0]
