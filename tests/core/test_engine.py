"""The state against dense algebra, and against itself: batches, merges, growth, forgetting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from onward.core import Information, tiles
from onward.core.factor import remove_row
from onward.core.simd import padded
from onward.core.types import Matrix, Vector
from tools import digests

Problem = tuple[Matrix, Matrix, Vector, float | Vector, bool]


@st.composite
def problems(draw: st.DrawFn, lams: tuple[float, ...] = (1e-6, 0.3, 1.0, 50.0)) -> Problem:
    """X, Y, w, λ and whether there is a constant. λ is a number or one for each coordinate.

    Widths on both sides of every vector and tile.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, m = draw(st.integers(1, 40)), draw(st.integers(1, 19)), draw(st.integers(1, 3))
    X, Y, w = rng.standard_normal((n, d)), rng.standard_normal((n, m)), rng.uniform(0, 3, n)
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.5] = 0.0
    if draw(st.booleans()):
        w[rng.random(n) < 0.3] = 0.0
    lam, intercept = draw(st.sampled_from(lams)), draw(st.booleans())
    each = lam * 10.0 ** rng.uniform(-2, 2, d + intercept)
    return X, Y, w, each if draw(st.booleans()) else lam, intercept


def learned(problem: Problem) -> Information:
    X, Y, w, lam, intercept = problem
    state = Information(X.shape[1], Y.shape[1], lam, intercept)
    state.absorb(X, Y, w)
    return state


def design(X: Matrix, intercept: bool) -> Matrix:
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


def assert_same_bits(a: Information, b: Information) -> None:
    assert_array_equal(a.buffer, b.buffer)


@given(problems())
def test_state_is_the_dense_problem(problem: Problem) -> None:
    X, Y, w, lam, intercept = problem
    state = learned(problem)
    A = design(X, intercept)
    lam = np.broadcast_to(lam, A.shape[1])
    G = np.diag(lam) + A.T @ (w[:, None] * A)
    theta = np.linalg.solve(G, A.T @ (w[:, None] * Y))
    assert_allclose(state.second_moment(), G, rtol=1e-9, atol=1e-9)
    assert_allclose(state.coefficients(), theta, rtol=1e-6, atol=1e-6)
    loss = (w[:, None] * (Y - A @ theta) ** 2).sum(0) + lam @ theta**2
    assert_allclose(state.loss, loss, rtol=1e-8, atol=1e-8)
    sign, log_det = np.linalg.slogdet(G)
    assert sign == 1
    assert state.log_det == pytest.approx(log_det, rel=1e-9, abs=1e-7)
    assert state.information_gain == pytest.approx(log_det - np.log(lam).sum(), rel=1e-9, abs=1e-7)
    assert state.trace == pytest.approx((w[:, None] * A**2).sum(), rel=1e-9, abs=1e-9)
    assert state.peak == pytest.approx((w * (A**2).sum(1)).max())
    assert state.rows == len(X)


@given(problems(), st.lists(st.integers(1, 13), min_size=40, max_size=40))
def test_batches_make_no_difference_to_the_last_bit(problem: Problem, sizes: list[int]) -> None:
    X, Y, w, lam, intercept = problem
    whole, parts = (Information(X.shape[1], Y.shape[1], lam, intercept) for _ in range(2))
    p, q = whole.absorb(X, Y, w)
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        read_p, read_q = parts.read(X[part])
        part_p, part_q = parts.absorb(X[part], Y[part], w[part])
        if len(part_q):
            # Reading gives what absorbing is about to see.
            assert_array_equal(read_p[0], part_p[0])
            assert read_q[0] == part_q[0]
        assert_array_equal(part_p, p[part])
        assert_array_equal(part_q, q[part])
        start += size
    assert_same_bits(whole, parts)


@given(problems())
def test_gain_is_the_sum_of_log_leverages_and_loss_of_weighted_errors(problem: Problem) -> None:
    """I = Σ log(1 + wq), and min L + λ‖θ‖² = Σ w (y − p)² / (1 + wq).  [identities of Thm 2.1]"""
    X, Y, w, lam, intercept = problem
    state = Information(X.shape[1], Y.shape[1], lam, intercept)
    p, q = state.absorb(X, Y, w)
    assert state.information_gain == pytest.approx(np.log1p(w * q).sum(), rel=1e-9, abs=1e-9)
    assert_allclose(state.loss, ((w / (1 + w * q))[:, None] * (Y - p) ** 2).sum(0), rtol=1e-8, atol=1e-9)


@given(problems(), st.data())
def test_merged_parts_are_the_whole(problem: Problem, data: st.DataObject) -> None:
    X, Y, w, lam, intercept = problem
    cuts = sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=3)))
    whole = learned(problem)
    parts = [
        learned((X[start:stop], Y[start:stop], w[start:stop], lam, intercept))
        for start, stop in zip([0, *cuts], [*cuts, len(X)], strict=True)
    ]
    while len(parts) > 1:  # any tree
        i = data.draw(st.integers(0, len(parts) - 2))
        parts[i].merge(parts.pop(i + 1))
    assert_allclose(parts[0].second_moment(), whole.second_moment(), rtol=1e-9, atol=1e-9)
    assert_allclose(parts[0].coefficients(), whole.coefficients(), rtol=1e-5, atol=1e-6)
    assert_allclose(parts[0].loss, whole.loss, rtol=1e-7, atol=1e-7)
    assert (parts[0].rows, parts[0].peak) == (whole.rows, whole.peak)


def test_merge_does_not_lose_what_is_small_beside_lambda() -> None:
    rng = np.random.default_rng(0)
    X, Y = 1e-3 * rng.standard_normal((40, 5)), rng.standard_normal((40, 1))
    parts = [learned((X[part], Y[part], np.ones(20), 1e4, False)) for part in (slice(20), slice(20, 40))]
    parts[0].merge(parts[1])
    whole = learned((X, Y, np.ones(40), 1e4, False))
    assert_allclose(parts[0].coefficients(), whole.coefficients(), rtol=1e-9)


def test_states_that_do_not_fit_do_not_merge() -> None:
    state = learned((np.eye(3), np.ones((3, 1)), np.ones(3), 1.0, False))
    before = state.copy()
    for other in (Information(3, 1, 2.0), Information(3, 2, 1.0), Information(4, 1, 1.0), Information(2, 1, 1.0, True)):
        with pytest.raises(ValueError, match="cannot merge states: expected"):
            state.merge(other)
    assert_same_bits(state, before)


@given(problems(), st.integers(1, 4))
def test_growing_is_having_had_zeros(problem: Problem, count: int) -> None:
    X, Y, w, lam, intercept = problem
    rng = np.random.default_rng(0)
    grown = learned(problem)
    grown.grow(count)
    lam = np.pad(np.broadcast_to(lam, X.shape[1] + intercept), (0, count), "edge")
    padded = learned((np.pad(X, ((0, 0), (0, count))), Y, w, lam, intercept))
    more = rng.standard_normal((5, X.shape[1] + count))
    for state in (grown, padded):
        state.absorb(more, np.ones((5, Y.shape[1])), np.ones(5))
    assert_allclose(grown.second_moment(), padded.second_moment(), rtol=1e-12, atol=1e-12)
    assert_allclose(grown.coefficients(), padded.coefficients(), rtol=1e-12, atol=1e-12)


def scratch_for(state: Information) -> Matrix:
    return np.zeros((2, padded(len(state.D))))


@given(problems((0.3, 1.0, 50.0)), st.data())
def test_removing_is_never_having_seen(problem: Problem, data: st.DataObject) -> None:
    X, Y, w, lam, intercept = problem
    row = data.draw(st.integers(0, len(X) - 1))
    state, rest, more = learned(problem), np.arange(len(X)) != row, np.empty((2, Y.shape[1]))
    q = state.read(X[[row]])[1][0]
    whole = np.concatenate([np.ones(int(intercept)), X[row], Y[row]])
    scratch = scratch_for(state)
    assert remove_row(state.factor, whole, w[row], scratch, more) == pytest.approx(1 - w[row] * q, abs=1e-12)
    without = learned((X[rest], Y[rest], w[rest], lam, intercept))
    assert_allclose(state.second_moment(), without.second_moment(), rtol=1e-9, atol=1e-9)
    assert_allclose(state.coefficients(), without.coefficients(), rtol=1e-7, atol=1e-7)
    assert_allclose(state.loss, without.loss, rtol=1e-7, atol=1e-7)


def test_what_is_left_tells_a_row_that_was_not_there() -> None:
    for x, left in ((np.array([2.0, 0.0, 0.0]), -3.0), (np.array([1.0, 0.0, 0.0]), 1e-9)):
        state = learned((np.eye(3), np.ones((3, 1)), np.ones(3), 1e-9, False))
        scratch = scratch_for(state)
        assert remove_row(state.factor, np.append(x, 1.0), 1.0, scratch, scratch) == pytest.approx(left, rel=1e-6)


@given(problems(), st.floats(0.1, 1.0))
def test_discount_is_having_learned_with_smaller_weights(problem: Problem, gamma: float) -> None:
    """λ counts as much as before."""
    X, Y, w, lam, intercept = problem
    state, lighter = learned(problem), learned((X, Y, gamma * w, lam, intercept))
    tiles.discount(state.factor, gamma, state.lam, scratch_for(state))
    assert_allclose(state.second_moment(), lighter.second_moment(), rtol=1e-9, atol=1e-12)
    assert_allclose(state.coefficients(), lighter.coefficients(), rtol=1e-6, atol=1e-6)
    assert_allclose(state.loss, lighter.loss, rtol=1e-7, atol=1e-9)
    assert state.information_gain == pytest.approx(lighter.information_gain, rel=1e-9, abs=1e-7)


@given(problems(), st.floats(0.1, 2.0))
def test_regularize_is_having_started_with_more(problem: Problem, more: float) -> None:
    X, Y, w, lam, intercept = problem
    state, started = learned(problem), learned((X, Y, w, lam + more, intercept))
    d = len(state.D)
    tiles.regularize(state.factor, np.full(d, more / 2), 2.0, scratch_for(state))
    assert_allclose(state.second_moment(), started.second_moment(), rtol=1e-9, atol=1e-12)
    assert_allclose(state.coefficients(), started.coefficients(), rtol=1e-6, atol=1e-6)
    assert_allclose(state.loss, started.loss, rtol=1e-7, atol=1e-9)


# Without regularisation


def pseudo_inverse_rounds(X: Matrix, y: Vector, w: Vector) -> Vector:
    """xᵀ G_t† b_{t−1} as App. E defines it."""
    out = np.empty(len(X))
    G, b = np.zeros((X.shape[1], X.shape[1])), np.zeros(X.shape[1])
    for i, x in enumerate(X):
        G += w[i] * np.outer(x, x)
        out[i] = x @ np.linalg.pinv(G, rcond=1e-10, hermitian=True) @ b
        b += w[i] * y[i] * x
    return out


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 6), st.booleans())
def test_unregularised_forward_is_the_pseudo_inverse(seed: int, d: int, rank: int, integers: bool) -> None:
    rng = np.random.default_rng(seed)
    if integers:
        X = (rng.integers(-3, 4, (25, rank)) @ rng.integers(-3, 4, (rank, d))).astype(float)
        X[3], X[7] = 0.0, X[6]  # a zero row and a duplicate
    else:
        X = rng.standard_normal((25, rank)) @ rng.standard_normal((rank, d))
    y, w = rng.standard_normal(25), rng.choice([0.5, 1.0, 4.0], 25)
    state = Information(d, 1, 0.0)
    ranks, predictions = [0], np.empty(25)
    for i in range(25):
        p, q = state.absorb(X[i : i + 1], y[i : i + 1, None], w[i : i + 1])
        predictions[i] = p[0, 0] / (1 + w[i] * q[0])
        ranks.append(state.rank)
        assert np.isinf(q[0]) == (ranks[-1] > ranks[-2])
        assert not np.isinf(q[0]) or predictions[i] == 0.0
    assert ranks[-1] == np.linalg.matrix_rank(X)
    assert_allclose(predictions, pseudo_inverse_rounds(X, y, w), rtol=1e-5, atol=1e-6)
    # The shortest minimiser, and its loss.
    root = np.sqrt(w)
    theta = np.linalg.lstsq(root[:, None] * X, root * y, rcond=1e-10)[0]
    assert_allclose(state.coefficients()[:, 0], theta, rtol=1e-5, atol=1e-6)
    assert state.loss[0] == pytest.approx((w * (y - X @ theta) ** 2).sum(), rel=1e-6, abs=1e-9)


@given(st.integers(0, 2**32), st.integers(2, 8), st.integers(1, 8))
@settings(max_examples=60)
def test_rank_is_found_whatever_the_scale_of_rows_and_columns(seed: int, d: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    rank = min(rank, d)
    X = rng.standard_normal((40, rank)) @ rng.standard_normal((rank, d))
    by_column = X * 10.0 ** rng.uniform(-6, 9, d)
    by_row = X * 10.0 ** rng.uniform(-4, 4, (40, 1))
    for Z in (X, by_column, by_row):
        state = Information(d, 1, 0.0)
        state.absorb(np.ascontiguousarray(Z), np.ones((40, 1)), np.ones(40))
        assert state.rank == rank


def test_near_collinear_columns_are_told_apart() -> None:
    rng = np.random.default_rng(3)
    X = 1e5 * (rng.standard_normal((30, 1)) + 1e-7 * rng.standard_normal((30, 4)))
    state = Information(4, 1, 0.0)
    state.absorb(X, np.ones((30, 1)), np.ones(30))
    assert state.rank == 4


@given(st.integers(0, 2**32), st.lists(st.integers(1, 7), min_size=20, max_size=20))
def test_unregularised_batches_make_no_difference_to_the_last_bit(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (20, 5)).astype(float)
    Y = rng.standard_normal((20, 2))
    whole, parts = Information(5, 2, 0.0), Information(5, 2, 0.0)
    p, q = whole.absorb(X, Y, np.ones(20))
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        read_p, read_q = parts.read(X[part][:1])
        part_p, part_q = parts.absorb(X[part], Y[part], np.ones(len(X[part])))
        assert_array_equal(read_p, part_p[:1])
        assert_array_equal(read_q, part_q[:1])
        assert_array_equal(part_p, p[part])
        assert_array_equal(part_q, q[part])
        start += size
    assert_same_bits(whole, parts)


@given(st.integers(0, 2**32), st.integers(0, 12))
def test_unregularised_states_are_a_monoid(seed: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (12, 5)).astype(float)
    y, w = rng.standard_normal((12, 1)), np.ones(12)
    left, right, whole = (Information(5, 1, 0.0) for _ in range(3))
    left.absorb(X[:cut], y[:cut], w[:cut])
    right.absorb(X[cut:], y[cut:], w[cut:])
    whole.absorb(X, y, w)
    left.merge(right)
    assert left.rank == whole.rank
    assert_allclose(left.second_moment(), whole.second_moment(), atol=1e-9)
    assert_allclose(left.coefficients(), whole.coefficients(), rtol=1e-6, atol=1e-7)
    assert_allclose(left.loss, whole.loss, rtol=1e-7, atol=1e-7)


def test_information_gain_without_regularisation() -> None:
    state = Information(2, 1, 0.0)
    assert state.information_gain == 0.0
    assert state.log_det == -np.inf
    state.absorb(np.zeros((1, 2)), np.ones((1, 1)), np.ones(1))
    assert state.information_gain == 0.0
    state.absorb(np.ones((1, 2)), np.ones((1, 1)), np.ones(1))
    assert state.information_gain == np.inf


def test_compiled_files_name_the_code_they_were_compiled_from() -> None:
    due = digests.expected()
    assert {path.name for path in due} >= {"kernel.py", "tiles.py"}
    for path, (_, text) in due.items():
        assert digests.LINE.search(text), f"{path} draws on other compiled files: it needs a line COMPILED_FROM"
        assert path.read_text(encoding="utf-8") == text, "run python tools/digests.py, so that all is compiled anew"
    files = digests.compiled_files()  # a package counts, and what it imports whole
    assert "onward.bandits.memories" in digests.sources(files["onward.bandits.game"], files)
    assert "onward.bandits.memories.window" in digests.sources(files["onward.bandits.memories"], files)


def test_the_state_refuses_what_the_loops_would_misread() -> None:
    state = learned((np.eye(3), np.ones((3, 1)), np.ones(3), 1.0, False))
    before = state.copy()
    X, Y, w = np.ones((4, 3)), np.ones((4, 1)), np.ones(4)
    bad: list[tuple[Matrix, Matrix, Vector]] = [
        (np.asfortranarray(np.ones((4, 3))), Y, w),
        (np.ones((4, 2)), Y, w),
        (X, np.ones((3, 1)), w),
        (X, np.ones((4, 2)), w),
        (X, Y, np.ones(5)),
        (X.astype(np.float32).astype(">f8"), Y, w),
    ]
    for rows, targets, weights in bad:
        with pytest.raises(ValueError, match="must be a writeable C-contiguous float64 array of shape"):
            state.absorb(rows, targets, weights)
    assert_same_bits(state, before)


def test_what_cannot_be_held_leaves_the_state_as_it_was() -> None:
    full, empty = learned((np.eye(2), np.ones((2, 1)), np.ones(2), 1.0, False)), Information(2, 1, 0.0)
    for state, rows in ((full, [[1.0, 2.0], [1e200, 1e199]]), (empty, [[1.0, 2.0], [1e-170, 1e-169]])):
        before = state.copy()
        with pytest.raises(ValueError, match="cannot be learned in double precision"):
            state.absorb(np.array(rows), np.ones((2, 1)), np.ones(2))
        assert_same_bits(state, before)


@pytest.mark.parametrize("d", [30, 60, 120])
def test_rank_is_found_in_many_coordinates(d: int) -> None:
    rng = np.random.default_rng(d)
    thin = rng.standard_normal((2 * d, d // 2)) @ rng.standard_normal((d // 2, d))
    cases = [
        (rng.standard_normal((2 * d, d)), d),
        (thin, d // 2),
        (thin * 10.0 ** rng.uniform(-6, 9, d), d // 2),
        (rng.integers(0, 2, (2 * d, d)).astype(float), d),
    ]
    for X, rank in cases:
        state = Information(d, 1, 0.0)
        y = rng.standard_normal((2 * d, 1))
        q = state.absorb(np.ascontiguousarray(X), y, np.ones(2 * d))[1]
        assert state.rank == np.isinf(q).sum() == rank
        scaled = X / np.abs(X).max(axis=0)
        residual = y - scaled @ np.linalg.lstsq(scaled, y, rcond=1e-11)[0]
        assert state.loss[0] == pytest.approx((residual**2).sum(), rel=1e-6)
