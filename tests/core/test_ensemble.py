"""An ensemble against dense solves of each of its experts, and against itself: batches, growth, buffers."""

import copy
import pickle
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from onward.core import TooExtremeError
from onward.core import ensemble as layout
from onward.core.aggregation import exp, weights_of
from onward.core.compile import compiled
from onward.core.ensemble_state import EnsembleState, Expert
from onward.core.types import Matrix, Vector
from tests.reference.ensembles import EnsembleReference

LAMS, HALF_LIVES, MEANS = (0.01, 0.3, 10.0), (None, 7.0, 2.5), (None, 3.0, 1.0)


class Stream(NamedTuple):
    X: Matrix
    Y: Matrix
    w: Vector


@st.composite
def streams(draw: st.DrawFn, rows: int = 40) -> Stream:
    """Rows with columns of all kinds: constant, late, 0/1, whole numbers, of odd units; weights, zeros among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, m = draw(st.integers(1, rows)), draw(st.integers(0, 14)), draw(st.integers(1, 3))
    X = rng.standard_normal((n, d))
    for j, kind in enumerate(draw(st.lists(st.sampled_from("nnclbpu"), min_size=d, max_size=d))):
        if kind == "c":
            X[:, j] = rng.standard_normal()
        elif kind == "l":
            X[: n // 2, j] = 1.5
        elif kind == "b":
            X[:, j] = rng.random(n) < 0.2
        elif kind == "p":
            X[:, j] = rng.poisson(3, n)
        elif kind == "u":
            X[:, j] = 1e5 * X[:, j] + 3e6
    Y = X[:, :3] @ rng.standard_normal((min(d, 3), m)) + rng.standard_normal((n, m)) + 2.0
    w = rng.uniform(0.1, 3, n) if draw(st.booleans()) else np.ones(n)
    if draw(st.booleans()):
        w[rng.random(n) < 0.3] = 0.0
    return Stream(X, Y, w)


def new_state(stream: Stream) -> EnsembleState:
    return EnsembleState(stream.X.shape[1], stream.Y.shape[1], LAMS, HALF_LIVES, MEANS)


def learn(state: EnsembleState, stream: Stream, start: int = 0, stop: int | None = None) -> tuple[Matrix, Vector]:
    """Learn rows in one call; predictions and leverages."""
    X, Y, w = (each[start:stop] for each in stream)
    p, q = np.full(Y.shape, np.nan), np.full(len(w), np.nan)
    state.learn(X, Y, w, p, q)
    return p, q


def regular(n: int = 30, d: int = 3, m: int = 1, seed: int = 0) -> Stream:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return Stream(X, X[:, :1] + rng.standard_normal((n, m)), np.ones(n))


# By definition


@given(streams())
@settings(max_examples=40)
def test_predictions_are_those_of_dense_solves(stream: Stream) -> None:
    state, reference = (
        new_state(stream),
        EnsembleReference(stream.X.shape[1], stream.Y.shape[1], LAMS, HALF_LIVES, MEANS),
    )
    p, q = learn(state, stream)
    said = [reference.learn(x, y, w) for x, y, w in zip(*stream, strict=True)]
    size = np.abs(stream.Y).max()
    assert_allclose(p, [each.prediction for each in said], rtol=0, atol=1e-8 * size)
    assert_allclose(q, [each.leverage for each in said], rtol=1e-7)
    for target, mixture in enumerate(reference.mixtures):
        assert_allclose(state.weights(target), mixture.weights(), rtol=0, atol=1e-7)
        assert state.weights(target).sum() == pytest.approx(1.0, abs=1e-12)
        assert_allclose(state.losses(target), mixture.loss(), rtol=1e-7, atol=1e-12)
        totals = state.mixture(target).totals[0]
        assert totals["error"] == pytest.approx(max(mixture.losses, default=0.0), rel=1e-7, abs=1e-12)
    assert (state.rows, state.views.header["counted"][0]) == (len(stream.w), np.count_nonzero(stream.w))
    missed = (p - stream.Y) ** 2
    assert_allclose(state.online_loss, stream.w @ missed, rtol=1e-12)


def test_the_reference_has_all_of_the_product() -> None:
    """With the grid that is used, over enough rows for λ to be restored several times."""
    stream = regular(120, 4, 1, seed=5)
    lams, half_lives, means = (0.001, 0.01, 0.1, 1.0, 10.0), (None, 1000.0, 100.0, 10.0), (None, 100.0, 10.0, 1.0)
    state = EnsembleState(4, 1, lams, half_lives, means)
    p, _ = learn(state, stream)
    reference = EnsembleReference(4, 1, lams, half_lives, means)
    said = [reference.learn(x, y, w).prediction for x, y, w in zip(*stream, strict=True)]
    assert_allclose(p, said, rtol=0, atol=1e-11)
    assert state.experts[-5:] == [Expert("forward", 10.0, 10.0), *(Expert("mean", None, each) for each in means)]
    assert len(state.experts) == len(state.weights()) == 44


@given(streams(), st.integers(0, 2**32))
@settings(max_examples=40)
def test_reading_is_what_learning_would_have_said(stream: Stream, seed: int) -> None:
    """Also of rows that let a scale grow, and of weight 0; and nothing changes by it."""
    rng = np.random.default_rng(seed)
    state = new_state(stream)
    learn(state, stream)
    before = state.buffer.copy()
    d, m = stream.X.shape[1], stream.Y.shape[1]
    X, w = stream.X[rng.integers(0, len(stream.w), 8)], np.array([1.0, 0.0, 2.0, 0.5] * 2)
    X = X + rng.standard_normal((8, d)) * 10.0 ** rng.integers(-3, 4, (8, 1))
    p, q = state.read(X, w)
    assert_array_equal(state.buffer, before)
    for i in range(8):
        said, leverage = learn(state.copy(), Stream(X[i : i + 1], np.ones((1, m)), w[i : i + 1]))
        assert_array_equal(said[0], p[i])
        assert_array_equal(leverage, q[i : i + 1])


def test_exp_is_the_exponential_function() -> None:
    @compiled
    def exps(values: Vector, out: Vector) -> None:
        for i in range(values.shape[0]):
            out[i] = exp(values[i])

    x = -np.concatenate([np.linspace(0, 700, 20001), 10.0 ** np.linspace(-300, 2.8, 999)])
    out = np.empty_like(x)
    exps(x, out)
    assert_allclose(out, np.exp(x), rtol=5e-16)
    exps(np.array([-701.0, -1e300, -np.inf]), out[:3])
    assert (out[:3] == out[20000]).all()


# Whatever the batches


@given(streams(), st.lists(st.integers(1, 9), min_size=40, max_size=40))
@settings(max_examples=60)
def test_batches_make_no_difference_to_the_last_bit(stream: Stream, sizes: list[int]) -> None:
    whole, parts = new_state(stream), new_state(stream)
    p, q = learn(whole, stream)
    start = 0
    for size in sizes:
        if start < len(stream.w):
            part_p, part_q = learn(parts, stream, start, start + size)
            assert_array_equal(part_p, p[start : start + size])
            assert_array_equal(part_q, q[start : start + size])
        start += size
    assert_array_equal(parts.buffer, whole.buffer)


def test_batches_longer_than_a_block_make_no_difference_either() -> None:
    stream = regular(700, 6, 2)
    whole, parts = new_state(stream), new_state(stream)
    p, _ = learn(whole, stream)
    pieces = [learn(parts, stream, start, stop)[0] for start, stop in ((0, 255), (255, 256), (256, 700))]
    assert_array_equal(np.concatenate(pieces), p)
    assert_array_equal(parts.buffer, whole.buffer)


@given(streams(), st.integers(0, 40), st.integers(1, 5))
@settings(max_examples=40)
def test_growing_is_having_had_zeros(stream: Stream, cut: int, count: int) -> None:
    X, Y, w = stream
    X = np.hstack([X, np.random.default_rng(cut).standard_normal((len(X), count))])
    X[:cut, -count:] = 0.0
    wide = Stream(X, Y, w)
    had, grown = new_state(wide), new_state(stream)
    p, _ = learn(had, wide)
    before, _ = learn(grown, stream, 0, cut)
    grown.grow(count)
    after, _ = learn(grown, wide, cut)
    # Up to rounding: of few coordinates and of many, λ is given back in another order.
    assert_allclose(np.vstack([before, after]), p, rtol=0, atol=1e-11 * np.abs(Y).max())
    assert_allclose(grown.coefficients(), had.coefficients(), rtol=1e-8, atol=1e-9 * np.abs(Y).max())


@given(streams(), st.integers(0, 40))
@settings(max_examples=20)
def test_copies_and_buffers_go_on_exactly(stream: Stream, cut: int) -> None:
    state = new_state(stream)
    learn(state, stream, 0, cut)
    ways: list[Callable[[EnsembleState], EnsembleState]] = [
        EnsembleState.copy,
        copy.deepcopy,
        lambda state: pickle.loads(pickle.dumps(state)),
        lambda state: EnsembleState.from_buffer(state.buffer),
    ]
    others = [way(state) for way in ways]
    p, q = learn(state, stream, cut)
    for other in others:
        other_p, other_q = learn(other, stream, cut)
        assert_array_equal(other_p, p)
        assert_array_equal(other_q, q)
        assert_array_equal(other.buffer, state.buffer)


# Numbers at the ends of the range


@given(st.integers(0, 2**32), st.integers(-150, 150), st.integers(-150, 150), st.integers(-150, 150), st.booleans())
def test_values_of_any_size_are_right_or_refused(
    seed: int, features: int, targets: int, weights: int, one_by_one: bool
) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((12, 2)) * 10.0**features, rng.standard_normal((12, 1)) * 10.0**targets
    stream = Stream(X, Y, rng.uniform(1, 2, 12) * 10.0**weights)
    state, reference = new_state(stream), EnsembleReference(2, 1, LAMS, HALF_LIVES, MEANS)
    predictions = np.empty((0, 1))
    before = state.buffer.copy()
    try:
        for i in range(12 if one_by_one else 1):
            before = state.buffer.copy()
            predictions = np.vstack([predictions, learn(state, stream, i, i + 1 if one_by_one else None)[0]])
    except TooExtremeError:
        assert_array_equal(state.buffer, before)
        assert not (abs(features) < 60 and abs(targets) < 60 and abs(weights) < 30)
    assert np.isfinite(state.buffer).all()
    # Where fourth powers are in range, and λ is not so small beside the weights that dense solves lose their digits:
    if abs(features) < 60 and abs(targets) < 30 and -30 < weights < 3:
        said = [reference.learn(x, y, w).prediction for x, y, w in zip(*stream, strict=True)]
        assert_allclose(predictions, said, rtol=0, atol=1e-8 * np.abs(Y).max())
    else:
        assert (np.abs(predictions) <= 3.001 * np.abs(Y).max()).all()


def test_an_ordinary_row_after_an_extreme_one_is_looked_at() -> None:
    """What a heavy row makes of the error that an extreme one leaves behind does not fit into a number."""
    stream, heavy = regular(20), regular(1)._replace(w=np.array([1e19]))
    state = new_state(stream)
    learn(state, stream)
    learn(state.copy(), heavy)  # nothing wrong with it as such
    stream.Y[10] = 1e70
    state = new_state(stream)
    learn(state, stream)
    before = state.buffer.copy()
    with pytest.raises(TooExtremeError, match="rescale"):
        learn(state, heavy)
    assert_array_equal(state.buffer, before)


def test_errors_that_have_faded_away_leave_the_best_in_charge() -> None:
    """A target that stays 0 for long: recent errors fade below the least number, and must not become ratios of it."""
    stream = regular(200, 2)
    quiet = Stream(np.random.default_rng(1).standard_normal((12_000, 2)), np.zeros((12_000, 1)), np.ones(12_000))
    state = new_state(stream)
    learn(state, stream)
    p, _ = learn(state, quiet)
    assert state.mixture().recent.min() < 1e-300
    assert np.abs(p[2_000:]).max() < 1e-20


# Buffers from anywhere


@cache
def learned_state(m: int) -> EnsembleState:
    stream = regular(30, 3, m)
    state = new_state(stream)
    learn(state, stream)
    return state


def learned_buffer(m: int = 2) -> Vector:
    return learned_state(m).buffer.copy()


Change = Callable[[EnsembleState], None]


def setting(name: str, value: float) -> Change:
    def change(state: EnsembleState) -> None:
        getattr(state.views, name)[...] = value

    return change


def heading(name: str, value: float) -> Change:
    def change(state: EnsembleState) -> None:
        state.views.header[name] = value

    return change


def mixing(name: str, value: float) -> Change:
    def change(state: EnsembleState) -> None:
        getattr(state.mixture(1), name)[...] = value

    return change


def pivot(value: float) -> Change:
    def change(state: EnsembleState) -> None:
        state.factor(2, 1).D[2] = value

    return change


HOSTILE: dict[str, Change] = {
    "more coordinates": heading("coordinates", 5),
    "no coordinates": heading("coordinates", 0),
    "half a coordinate": heading("coordinates", 3.5),
    "no targets": heading("targets", 0),
    "sizes whose product overflows": heading("lams", 2**40),
    "coordinates whose square overflows": heading("coordinates", 2**32),
    "negative rows": heading("seen", -1),
    "more rows counted than seen": heading("counted", 31),
    "rows beyond whole numbers": heading("seen", 1e300),
    "a strange flag": heading("extreme", 2),
    "λ = 0": setting("lams", 0),
    "a negative λ": setting("lams", -1),
    "a huge λ": setting("lams", 1e100),
    "rows that grow": setting("gammas", 1.5),
    "rows that vanish": setting("gammas", 1e-300),
    "means that vanish": setting("fading", 0),
    "periods of other memories": setting("periods", 3),
    "endless growth": setting("growth", 1e300),
    "shrinking": setting("growth", 0.5),
    "rows since never": setting("since", -1),
    "rows since long ago": setting("since", 1e9),
    "part of a row since": setting("since", 0.5),
    "negative scales": setting("scale", -1),
    "an empty interval": setting("low", 1e9),
    "an empty interval of targets": setting("bounds", np.array([[1.0], [0.0]])),  # type: ignore[arg-type]
    "no weight": setting("weight", 0),
    "a negative loss": setting("online_loss", -1),
    "an empty pivot": pivot(0),
    "a negative pivot": pivot(-1),
    "NaN": pivot(np.nan),
    "infinity": setting("mean", np.inf),
    "negative squares": mixing("squares", -1),
    "negative squares of the ways": mixing("top_squares", -1),
    "negative losses": mixing("loss", -1),
    "negative recent losses": mixing("recent", -1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_buffers_that_cannot_be_are_refused(name: str) -> None:
    buffer = learned_buffer()
    EnsembleState.from_buffer(buffer)  # as it is, it can
    state = EnsembleState.from_buffer(buffer)
    HOSTILE[name](state)
    with pytest.raises(ValueError, match="ensemble"):
        EnsembleState.from_buffer(state.buffer)


def test_other_arrays_are_refused() -> None:
    buffer = learned_buffer()
    others = [buffer[:-1], np.append(buffer, 0.0), buffer[:5], buffer[:0], buffer[None], np.array(3.0), np.zeros(1000)]
    for other in others:
        with pytest.raises(ValueError, match="ensemble"):
            EnsembleState.from_buffer(other)
    state = EnsembleState.from_buffer(buffer[::-1][::-1])
    for target in (-1, 2):
        with pytest.raises(ValueError, match="target must be one of 0 to 1"):
            state.mixture(target)


@given(st.integers(0, 2**32), st.integers(1, 6))
@settings(max_examples=150)
def test_a_buffer_with_any_numbers_is_refused_or_goes_on(seed: int, count: int) -> None:
    """Without a crash, that is: what comes of made-up numbers may be anything."""
    rng = np.random.default_rng(seed)
    buffer = learned_buffer(int(rng.integers(1, 3)))
    front = layout.N_ENSEMBLE + 60
    numbers = [0.0, -1.0, 1.0, 2.0, 0.5, 1e300, -1e300, 1e-300, 2.0**31, 2.0**52, 3.7, np.nan, np.inf]
    for _ in range(count):
        at = int(rng.integers(0, front if rng.random() < 0.7 else len(buffer)))
        with np.errstate(over="ignore"):
            buffer[at] = rng.choice(numbers) if rng.random() < 0.7 else buffer[at] * 10.0 ** rng.uniform(-20, 20)
    try:
        state = EnsembleState.from_buffer(buffer)
    except ValueError:
        return
    stream = regular(20, state.n_features, state.n_targets)
    with np.errstate(all="ignore"):
        state.read(stream.X, stream.w)
        learn(state, stream)
        state.grow(2)
        state.coefficients()
        _ = state.experts, state.weights(), state.losses()


def test_sizes_are_those_of_the_state_not_of_the_rows() -> None:
    state = new_state(regular())
    size = state.buffer.nbytes
    for seed in range(20):
        learn(state, regular(1000, seed=seed))
    assert state.buffer.nbytes == size
    assert state.rows == 20_000


# How experts are weighed


def test_nothing_known_means_all_alike() -> None:
    state = new_state(regular())
    assert_allclose(state.weights(), 1 / len(state.experts))
    weights = weights_of(state.mixture())
    assert_allclose(weights.ways, 1 / 3)


def test_experts_that_say_the_same_are_not_told_apart_by_rounding() -> None:
    """The first rows have constant features, and the first targets are one: all experts agree, but for a last digit."""
    stream = regular(6, 2)
    stream.Y[:3] = 0.1
    stream.X[:4] = 0.3
    state = new_state(stream)
    learn(state, stream, 0, 3)
    mixture = state.mixture()
    assert mixture.totals["peak"][0] == 0.0
    assert not mixture.regret.any()
    assert_allclose(state.weights(), 1 / len(state.experts))
    learn(state, stream, 3)
    assert mixture.totals["peak"][0] > 0.0
