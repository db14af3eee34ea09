"""States that forget, against dense algebra: half-lives in rows and in time, windows, merges, and what is far away."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from onward.core import Information
from onward.core.forgetting import learn_rows
from onward.core.row_memory import RowMemory, reserve
from onward.core.types import Matrix, Vector

NONE = np.empty(0)
HALF_LIFE, WINDOW = 4.0, 7
MEMORIES = {
    "rows": RowMemory(HALF_LIFE),
    "times": RowMemory(HALF_LIFE, "times"),
    "window": RowMemory(window=WINDOW),
}


class Stream:
    """Rows with targets, weights and times, and a λ for each coordinate; the constant, if there is one, has none."""

    def __init__(self, seed: int, n: int, d: int, m: int, intercept: bool, lam: float) -> None:
        rng = np.random.default_rng(seed)
        self.X, self.Y = rng.standard_normal((n, d)), rng.standard_normal((n, m))
        self.w = rng.choice([0.0, 0.5, 1.0, 3.0], n, p=[0.1, 0.3, 0.4, 0.2])
        self.times = np.cumsum(rng.choice([0.0, 0.3, 2.0, 9.0], n))
        self.intercept = intercept
        self.lam = lam * 10.0 ** rng.uniform(-1, 1, d + intercept)
        if intercept:
            self.lam[0] = 0.0

    def state(self, memory: RowMemory, lam: Vector | float | None = None) -> Information:
        n_features, m = self.X.shape[1], self.Y.shape[1]
        return Information(n_features, m, self.lam if lam is None else lam, self.intercept, memory=memory)

    def learn(self, state: Information, start: int = 0, stop: int | None = None) -> tuple[Matrix, Vector]:
        """p and q of each row, as ridge reads them."""
        where = slice(start, len(self.X) if stop is None else stop)
        X, Y, w = (np.ascontiguousarray(each[where]) for each in (self.X, self.Y, self.w))
        memory = state.memory
        times = self.times[where].copy() if memory is not None and memory.clock == "times" else NONE
        p, q = np.empty_like(Y), np.empty(len(X))
        reserve(state, len(X))
        assert learn_rows(state.buffer, X, Y, w, times, np.empty((0, 0)), False, np.inf, p, q) == len(X)
        return p, q

    def weights(self, memory: RowMemory, t: int, latest: int) -> Vector:
        """What the rows before t weigh when row `latest` has come."""
        left = self.w[:t].copy()
        if memory.window is not None:
            left[: max(0, t - memory.window)] = 0.0
            return left
        clock = np.arange(float(len(self.X))) if memory.clock == "rows" else self.times
        left *= 2.0 ** (-(clock[latest] - clock[:t]) / HALF_LIFE)
        return left

    @property
    def rows(self) -> Matrix:
        return np.column_stack([np.ones(len(self.X)), self.X]) if self.intercept else self.X

    def problem(self, memory: RowMemory, t: int, latest: int) -> tuple[Matrix, Matrix]:
        """G and b of the rows before t, as row `latest` finds them."""
        A, w = self.rows[:t], self.weights(memory, t, latest)
        return np.diag(self.lam) + A.T @ (w[:, None] * A), A.T @ (w[:, None] * self.Y[:t])


def streams(n: int = 30) -> Any:
    return st.builds(
        Stream,
        st.integers(0, 2**32),
        st.just(n),
        st.sampled_from((1, 4, 5, 11, 12, 19)),
        st.integers(1, 3),
        st.booleans(),
        st.sampled_from((1e-3, 1.0, 30.0)),
    )


@pytest.mark.parametrize("kind", MEMORIES)
@given(streams())
@settings(max_examples=25)
def test_every_row_finds_the_dense_problem(kind: str, stream: Stream) -> None:
    memory = MEMORIES[kind]
    state = stream.state(memory)
    p, q = stream.learn(state)
    for t in range(len(stream.X)):
        G, b = stream.problem(memory, t, t)
        x = stream.rows[t]
        if stream.intercept and not stream.weights(memory, t, t).any():
            continue  # the constant has no pivot yet
        solved = np.linalg.solve(G, np.column_stack([x, b]))
        assert q[t] == pytest.approx(x @ solved[:, 0], rel=1e-7)
        assert_allclose(p[t], x @ solved[:, 1:], rtol=1e-6, atol=1e-7)
    last = len(stream.X) - 1
    G, b = stream.problem(memory, last + 1, last)
    assert_allclose(state.second_moment(), G, rtol=1e-9, atol=1e-9 * np.abs(G).max())
    w = stream.weights(memory, last + 1, last)
    assert state.weight == pytest.approx(w.sum(), abs=1e-9)
    if not stream.intercept or w.any():
        theta = np.linalg.solve(G, b)
        assert_allclose(state.coefficients(), theta, rtol=1e-5, atol=1e-6)
        left = stream.Y - stream.rows @ theta
        loss = np.einsum("i,ij->j", w, left**2) + np.einsum("i,ij->j", stream.lam, theta**2)
        assert_allclose(state.loss, loss, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", MEMORIES)
@given(streams(), st.lists(st.integers(0, 30), max_size=5))
@settings(max_examples=15)
def test_any_batches_give_the_same_bits(kind: str, stream: Stream, cuts: list[int]) -> None:
    whole, parts = stream.state(MEMORIES[kind]), stream.state(MEMORIES[kind])
    expected = stream.learn(whole)
    edges = sorted({0, *cuts, len(stream.X)})
    found = [stream.learn(parts, a, b) for a, b in pairwise(edges)]
    for each, together in zip(zip(*found, strict=True), expected, strict=True):
        assert_array_equal(np.concatenate(each), together)
    size = min(len(whole.buffer), len(parts.buffer))  # but for room in a window that is not used
    for name in ("U", "D", "c", "loss", "online_loss"):
        assert_array_equal(getattr(whole, name), getattr(parts, name))
    assert_array_equal(np.delete(whole.buffer[:13], 12), np.delete(parts.buffer[:13], 12))
    assert size > 13


@pytest.mark.parametrize("kind", ["rows", "times"])
@given(streams(), st.integers(0, 30), st.integers(0, 30))
@settings(max_examples=25)
def test_parts_merge_in_any_grouping(kind: str, stream: Stream, first: int, second: int) -> None:
    memory, (a, b) = MEMORIES[kind], sorted((first, second))
    n = len(stream.X)

    def part(start: int, stop: int) -> Information:
        made = stream.state(memory, 0.0)
        stream.learn(made, start, stop)
        return made

    whole = stream.state(memory)
    stream.learn(whole)
    early, late = stream.state(memory), part(a, b)
    stream.learn(early, 0, a)
    late.merge(part(b, n))
    early.merge(late)
    in_turn = stream.state(memory)
    for start, stop in ((0, a), (a, b), (b, n)):
        in_turn.merge(part(start, stop))
    for merged in (early, in_turn):
        assert_allclose(merged.second_moment(), whole.second_moment(), rtol=1e-9, atol=1e-9)
        assert_allclose(merged.coefficients(), whole.coefficients(), rtol=1e-6, atol=1e-6)
        assert_allclose(merged.loss, whole.loss, rtol=1e-7, atol=1e-7)
        assert merged.weight == pytest.approx(whole.weight, abs=1e-9)
        assert merged.rows == whole.rows
        assert_array_equal(merged.time, whole.time)


def test_a_merge_without_its_decay_would_be_another() -> None:
    stream = Stream(0, 30, 3, 1, False, 1.0)
    whole, early, late = (stream.state(MEMORIES["rows"]) for _ in range(3))
    stream.learn(whole)
    stream.learn(early, 0, 20)
    stream.learn(late, 20, 30)
    plain = early.copy()
    plain.header["memory"] = late.header["memory"] = 0.0
    plain.merge(late)
    late.header["memory"] = 1.0
    early.merge(late)
    assert_allclose(early.second_moment(), whole.second_moment(), rtol=1e-9)
    assert np.abs(plain.second_moment() - whole.second_moment()).max() > 0.1


@pytest.mark.parametrize("lam", [1.0, 1e-8, 1e-25])
def test_nothing_winds_up(lam: float) -> None:
    """After a million rows without a direction, λ is all that is left of it, and no less."""
    X = np.zeros((1_000_000, 2))
    X[:, 0], X[0, 1] = 1.0, 1.0
    y, w, state = np.ones((len(X), 1)), np.ones(len(X)), Information(2, 1, lam, memory=RowMemory(100.0))
    p, q = np.empty_like(y), np.empty(len(X))
    learn_rows(state.buffer, X, y, w, NONE, np.empty((0, 0)), False, np.inf, p, q)
    assert state.D[1] == pytest.approx(lam, rel=1e-9)
    assert state.D[0] == pytest.approx(lam + 1 / (1 - 2**-0.01), rel=1e-9)
    fading = Information(2, 1, lam, memory=RowMemory(100.0))
    fading.lam[:] = 0.0  # a λ that fades with the rows is gone
    learn_rows(fading.buffer, X, y, w, NONE, np.empty((0, 0)), False, np.inf, p, q)
    assert fading.D[1] <= 1e-200


def test_after_a_very_long_time_only_lam_is_left() -> None:
    state = Information(2, 1, np.array([0.0, 2.0, 3.0]), True, memory=RowMemory(1.0, "times"))
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((6, 2)), 5.0 + rng.standard_normal((6, 1)), np.ones(6)
    times = np.array([0.0, 1.0, 1.0, 1e9, 1e9, 2e9])
    p, q = np.empty_like(y), np.empty(6)
    assert learn_rows(state.buffer, X, y, w, times, np.empty((0, 0)), True, np.inf, p, q) == 6
    assert np.isfinite(p).all()
    # The constant's pivot fades as well, but the mean stays the best guess until another target is seen.
    weight = 2.0 ** -(times[2] - times[:3])
    assert p[3, 0] == pytest.approx(weight @ y[:3, 0] / weight.sum())
    assert p[5, 0] == pytest.approx(y[3:5, 0].mean())
    assert_allclose(state.second_moment()[0, 0], 1.0)
    later = state.ahead(1e300)
    assert later is not state
    assert_allclose(later.D[1:], state.lam[1:])
    assert 0 < later.D[0] <= 1e-200


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=30)
def test_without_regularisation(seed: int, intercept: bool) -> None:
    """Collinear rows, directions that come late and ones that go: against the pseudo-inverse."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (40, 3)).astype(float)
    X[:, 2] = X[:, 0] - X[:, 1]
    X[:12, 1:] = 0.0
    y, w = rng.standard_normal((40, 1)), np.ones(40)
    lam = np.zeros(3 + intercept)
    for memory in (RowMemory(9.0), RowMemory(window=6)):
        state = Information(3, 1, lam, intercept, memory=memory)
        reserve(state, 40)
        p, q = np.empty_like(y), np.empty(40)
        assert learn_rows(state.buffer, X, y, w, NONE, np.empty((0, 0)), False, np.inf, p, q) == 40
        A = np.column_stack([np.ones(40), X]) if intercept else X
        for t in range(1, 40):
            if memory.window is None:
                left = 2.0 ** (-(t - np.arange(t)) / 9.0)
            else:
                left = (np.arange(t) >= t - memory.window).astype(float)
            B = np.sqrt(left)[:, None] * A[:t]
            B = B[left > 1e-9]
            c = (np.sqrt(left) * y[:t, 0])[left > 1e-9]
            theta = np.linalg.lstsq(B, c, rcond=1e-10)[0]
            inside = np.linalg.matrix_rank(B, tol=1e-7) == np.linalg.matrix_rank(np.vstack([B, A[t]]), tol=1e-7)
            assert p[t, 0] == pytest.approx(A[t] @ theta if inside else 0.0, abs=1e-6)
            assert np.isinf(q[t]) == (not inside)


def test_a_window_stays_as_accurate_as_its_rows() -> None:
    """Columns of very different scales, and far more rows than the window holds."""
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((4000, 6)) * 10.0 ** np.arange(-3, 3), np.ones(4000)
    X[rng.random(len(X)) < 0.01] *= 1e3  # which shake the factor when they are taken out
    y = rng.standard_normal((4000, 1))
    state = Information(6, 1, 1e-6, memory=RowMemory(window=50))
    p, q = np.empty_like(y), np.empty(4000)
    reserve(state, 4000)
    learn_rows(state.buffer, X, y, w, NONE, np.empty((0, 0)), False, np.inf, p, q)
    fresh = Information(6, 1, 1e-6)
    fresh.absorb(X[-50:].copy(), y[-50:].copy(), w[-50:].copy())
    assert_allclose(state.coefficients(), fresh.coefficients(), rtol=1e-8)
    assert_allclose(state.D, fresh.D, rtol=1e-8)


@pytest.mark.parametrize(("scale", "lam"), [(1.6e12, 1e-3), (1.6e12, 1e-9), (1e9, 1e-9), (1e25, 1e9)])
def test_a_window_of_columns_that_are_alike_is_what_its_rows_are(scale: float, lam: float) -> None:
    """Milliseconds beside seconds: λ alone tells them apart, and is less than rounding of the rows that go."""
    rng, n = np.random.default_rng(0), 300
    t = scale * (1.0 + 1e-3 * rng.standard_normal(n))
    X = np.column_stack([t, t / 1000.0, rng.standard_normal(n)])
    y, w = rng.standard_normal((n, 1)), np.ones(n)
    state, fresh = Information(3, 1, lam, True, memory=RowMemory(window=50)), Information(3, 1, lam, True)
    p, q = np.empty_like(y), np.empty(n)
    reserve(state, n)
    learn_rows(state.buffer, X, y, w, NONE, np.empty((0, 0)), False, np.inf, p, q)
    fresh.absorb(X[-50:].copy(), y[-50:].copy(), w[-50:].copy())
    assert_allclose(state.read(X[-50:].copy())[0], fresh.read(X[-50:].copy())[0], atol=1e-9)
    assert_allclose(state.loss, fresh.loss, rtol=1e-9)


def test_growing_is_having_been_there_at_zero() -> None:
    for memory in MEMORIES.values():
        stream = Stream(3, 30, 4, 2, True, 1.0)
        stream.X[:15, 2:] = 0.0
        whole = stream.state(memory)
        stream.learn(whole)
        grown = Information(2, 2, stream.lam[:3], True, memory=memory)
        narrow = Stream(3, 30, 4, 2, True, 1.0)
        narrow.X = np.ascontiguousarray(stream.X[:, :2])
        narrow.learn(grown, 0, 15)
        grown.grow(2, stream.lam[3:])
        stream.learn(grown, 15, 30)
        assert_allclose(grown.second_moment(), whole.second_moment(), rtol=1e-9, atol=1e-12)
        assert_allclose(grown.coefficients(), whole.coefficients(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "settings",
    [{}, {"half_life": 1.0, "window": 3}, {"half_life": 0.0}, {"half_life": np.inf}, {"window": 0}],
)
def test_a_memory_that_cannot_be(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="half-life or a window"):
        RowMemory(**settings)
