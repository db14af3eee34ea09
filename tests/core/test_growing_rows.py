"""Rows many times larger than those before them: they take pivots over, and must not leave rounding of the old U."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onward.bandits.hybrid_factor import N_PIVOT, learn_hybrid
from onward.core import Information
from onward.core.factor import absorb_value
from onward.core.tiles import STRETCH
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW, TAKEN_OVER

EPS = 2.0**-52
SIZES = [(d, m) for d in (2, 3, 5, 7, 11, 12, 13, 19) for m in (1, 2)]  # unrolled, in tiles, swept


def growing(seed: int, d: int) -> tuple[Matrix, Vector]:
    """Rows whose values lie far apart, each by itself, so that rows in any order take pivots over."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * d, d)) * 10.0 ** rng.uniform(-12, 12, (2 * d, d))
    return X, rng.uniform(0.5, 2.0, 2 * d)


def worst_share(state: Information, X: Matrix, w: Vector, lam: float) -> float:
    """The largest error of an element of G = UᵀDU, over the root of its diagonal elements: exactly."""
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    weights, D = [Fraction(v) for v in w.tolist()], [Fraction(v) for v in state.D.tolist()]
    U = [[Fraction(v) for v in row] for row in state.triangle().tolist()]
    worst, d = 0.0, X.shape[1]
    squares = [float(sum(v * r[j] ** 2 for v, r in zip(weights, rows, strict=True)) + Fraction(lam)) for j in range(d)]
    for i in range(d):
        for j in range(i, d):
            right = sum((v * r[i] * r[j] for v, r in zip(weights, rows, strict=True)), Fraction(0))
            right += Fraction(lam) if i == j else 0
            held = sum((D[k] * U[k][i] * U[k][j] for k in range(i + 1)), Fraction(0))
            worst = max(worst, abs(float(held - right)) / np.sqrt(squares[i] * squares[j]))
    return worst


def absorbed(X: Matrix, w: Vector, m: int, sizes: tuple[int, ...]) -> Information:
    state, start = Information(X.shape[1], m, 1e-6), 0
    Y = np.tile(X.sum(axis=1)[:, None], m)
    for size in sizes:
        stop = min(len(X), start + size)
        if stop > start:
            state.absorb(X[start:stop].copy(), Y[start:stop].copy(), w[start:stop].copy())
        start = stop
    return state


@pytest.mark.parametrize(("d", "m"), SIZES)
def test_no_column_loses_more_than_rounding_of_itself(d: int, m: int) -> None:
    for seed in range(3):
        X, w = growing(seed, d)
        assert worst_share(absorbed(X, w, m, (2 * d,)), X, w, 1e-6) < 64 * d * EPS


def test_rows_that_take_pivots_over_would_leave_rounding_of_the_old_ones() -> None:
    X, w = growing(0, 3)
    for stable in (True, False):
        state = Information(3, 1, 1e-6)
        U, D = np.eye(3), np.full(3, 1e-6)
        for x, a in zip(X.copy(), w, strict=True):
            for k in range(3):
                r, new = x[k], D[k] + a * x[k] * x[k]
                beta, share = a * x[k] / new, D[k] / new
                a, D[k] = a * D[k] / new, new
                for j in range(k + 1, 3):
                    x[j], U[k, j] = absorb_value(x[j], U[k, j], r, beta, share if stable else 1.0)
        state.U[:, :3], state.D[:] = U, D
        assert (worst_share(state, X, w, 1e-6) < 64 * 3 * EPS) == stable


@pytest.mark.parametrize(("d", "m"), SIZES)
def test_batches_make_no_difference_to_the_last_bit(d: int, m: int) -> None:
    for seed in range(10):
        X, w = growing(seed, d)
        whole = absorbed(X, w, m, (2 * d,))
        rng = np.random.default_rng(seed)
        for sizes in ((1,) * (2 * d), (*rng.integers(0, 9, 2 * d).tolist(), 2 * d)):
            assert_array_equal(absorbed(X, w, m, sizes).buffer, whole.buffer)


@pytest.mark.parametrize("d", range(1, FEW + 1))
def test_rows_that_take_pivots_over_late_are_seen(d: int) -> None:
    """Of few coordinates a stretch of rows is absorbed before it is looked whether one took a pivot over."""
    rng, n = np.random.default_rng(d), 3 * STRETCH + 7
    X, w = rng.standard_normal((n, d)), rng.uniform(0.5, 2.0, n)
    X[STRETCH + 9] *= 1e5
    X[-3] *= 1e9
    whole, in_tiles = absorbed(X, w, 1, (n,)), absorbed(X, w, 2, (n,))
    assert_array_equal(whole.D, in_tiles.D)
    assert_array_equal(whole.triangle(), in_tiles.triangle())
    assert_array_equal(whole.c[:, 0], in_tiles.c[:, 0])
    for sizes in ((1,) * n, (STRETCH + 9, n), tuple(rng.integers(0, 99, n).tolist())):
        assert_array_equal(absorbed(X, w, 1, sizes).buffer, whole.buffer)


def test_only_rows_that_take_a_pivot_over_are_added_otherwise() -> None:
    """Ordinary rows have the bits that they always had."""
    rng = np.random.default_rng(0)
    for share in (1.0, 0.5, TAKEN_OVER):
        x, u, r = rng.standard_normal(3)
        beta = (1.0 - share) / r
        left = absorb_value(x, u, r, beta, share)[0]
        assert absorb_value(x, u, r, beta, share) == absorb_value(x, u, r, beta, 1.0)
        assert left == pytest.approx(x - r * u)


def test_hybrid_factors_are_as_exact() -> None:
    d, k = 2, 3
    for seed in range(5):
        X, _ = growing(seed, d + k)
        own, shared = np.zeros((d, N_PIVOT + d + k)), np.zeros((k, N_PIVOT + k))
        own[:, 0] = shared[:, 0] = 1e-6
        for x in X:
            learn_hybrid(own, shared, 0, x[:d].copy(), x[d:].copy(), 1.0)
        state = Information(d + k, 1, 1e-6)
        state.D[:] = np.append(own[:, 0], shared[:, 0])
        state.U[:d, : d + k], state.U[d:, d : d + k] = own[:, N_PIVOT:], shared[:, N_PIVOT:]
        assert worst_share(state, X, np.ones(len(X)), 1e-6) < 64 * (d + k) * EPS
