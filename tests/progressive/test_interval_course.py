"""What a pass keeps of its intervals: counts and widths in spans, the latest rows, and the pictures of them."""

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from onward import AutoRegressor, ForwardRegressor, Known, RidgeRegressor, fit
from onward.core.known import Method
from onward.core.types import Matrix, Vector
from onward.progressive.interval_course import LATEST, MOST_SPANS, CourseRecorder, IntervalCourse
from onward.progressive.interval_drawings import WINDOW, draw_course, draw_latest
from onward.progressive.results import Fit, History
from onward.regression import OnlineRegressor
from tests.progressive.made_up import written
from tests.progressive.made_up_results import DELTAS, a_fit

LEVELS = 2


def made_up(n: int) -> tuple[Vector, Vector, Matrix]:
    """Targets, predictions and intervals (δ, n, 2), the first of them infinite."""
    rng = np.random.default_rng(n)
    y, predictions = rng.standard_normal((2, n))
    reach = np.stack([np.exp(0.3 * rng.standard_normal(n)), 2 * np.exp(0.3 * rng.standard_normal(n))])
    reach[:, :3] = np.inf
    return y, predictions, np.stack([predictions - reach, predictions + 1.5 * reach], axis=2)


def recorded(n: int, cuts: list[int], checkpoint: bool = False) -> IntervalCourse:
    y, predictions, ends = made_up(n)
    recorder = CourseRecorder(LEVELS)
    for start, stop in itertools.pairwise([0, *sorted(cut % n for cut in cuts), n]):
        part = slice(start, stop)
        recorder.add(np.arange(n)[part], y[part], predictions[part], ends[:, part])
        if checkpoint:
            settings_, arrays = recorder.to_record()
            recorder = CourseRecorder(LEVELS)
            recorder.restore(settings_, arrays)
    return recorder.course()


@pytest.mark.parametrize("n", [1, 2, MOST_SPANS, MOST_SPANS + 1, 3000])
def test_spans_hold_what_their_rows_had(n: int) -> None:
    course, (y, predictions, ends) = recorded(n, []), made_up(n)
    assert course.rows.sum() == n
    assert len(course.rows) <= MOST_SPANS
    assert len(set(course.rows[:-1].tolist())) <= 1
    starts = np.concatenate([[0], np.cumsum(course.rows)[:-1]])
    missed = (y < ends[:, :, 0]) | (y > ends[:, :, 1])
    infinite, width = np.isinf(ends).any(axis=2), ends[:, :, 1] - ends[:, :, 0]
    assert_array_equal(course.misses.T, np.add.reduceat(missed.astype(int), starts, axis=1))
    assert_array_equal(course.open.T, np.add.reduceat(infinite.astype(int), starts, axis=1))
    sums = np.add.reduceat(np.where(infinite, 0.0, width), starts, axis=1).T
    closed = course.rows[:, None] - course.open
    assert_allclose(course.width, np.where(closed > 0, sums / np.maximum(closed, 1), np.nan))
    late = slice(max(0, n - LATEST), n)
    assert_array_equal(course.row, np.arange(n)[late])
    assert_array_equal(course.target, y[late])
    assert_array_equal(course.prediction, predictions[late])
    assert_array_equal(course.lower, ends[:, late, 0].T)
    assert_array_equal(course.upper, ends[:, late, 1].T)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 10**6), max_size=6), st.booleans())
def test_any_batching_and_any_checkpoint_give_the_same_bits(cuts: list[int], checkpoint: bool) -> None:
    whole, parts = recorded(1500, []), recorded(1500, cuts, checkpoint)
    for name in IntervalCourse.__dataclass_fields__:
        assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_what_is_kept_does_not_grow_with_the_rows() -> None:
    recorder = CourseRecorder(LEVELS)
    sizes = []
    for _ in range(60):
        recorder.add(np.arange(1000), *made_up(1000))
        sizes.append(sum(each.nbytes for each in recorder.to_record()[1].values()))
    assert sizes[0] == sizes[-1] == 8 * (MOST_SPANS * 3 * LEVELS + LATEST * (3 + 2 * LEVELS))
    assert recorder.course().rows.sum() == 60_000


# Pictures


def drawn(done: Fit) -> tuple[History, IntervalCourse]:
    assert done.history is not None
    assert done.history.course is not None
    return done.history, done.history.course


def test_shares_widths_and_bands_are_those_of_the_rows() -> None:
    done = a_fit(1200, 3)
    history, course = drawn(done)
    picture = draw_course(history, course, 0.05, "uniform")
    own, other, wide = ([line for line, _ in chart.lines] for chart in picture.charts)
    size, place = int(course.rows[0]), list(DELTAS).index(0.05)
    spans = -(-WINDOW // size)
    for lines, delta in ((own, 0.05), (other, 0.2)):
        share, promised = lines
        misses = course.misses[:, list(DELTAS).index(delta)]
        assert share.x[0] == spans * size
        assert share.x[-1] == 1200
        assert_allclose(share.y[0], misses[:spans].sum() / (spans * size))
        assert promised.lower is not None
        assert promised.upper is not None
        assert_allclose(promised.lower[0], binom.ppf(0.025, spans * size, delta) / (spans * size))
        assert_allclose(promised.upper[0], binom.ppf(0.975, spans * size, delta) / (spans * size))
    assert [line.label for line in wide] == ["50 % interval", "80 % interval", "95 % interval"]
    closed = (course.rows - course.open[:, place])[-spans:]
    late = np.nansum(course.width[-spans:, place] * closed) / closed.sum()
    assert_allclose(wide[2].y[-1], late, rtol=0.02)  # the last span is shorter
    assert f"of the latest {spans * size} rows" in picture.caption


@pytest.mark.parametrize(
    ("method", "part"),
    [("conformal", "learn from their misses, so the line"), ("t", "Nothing is calibrated"), ("uniform", "below the")],
)
def test_the_caption_says_whether_anything_was_calibrated(method: Method, part: str) -> None:
    assert part in draw_course(*drawn(a_fit(300, 2)), 0.05, method).caption


def test_the_latest_rows_have_their_fan_and_misses_are_counted() -> None:
    history, course = drawn(a_fit(900, 3, narrow=0.5))
    picture = draw_latest(history, course, 0.05)
    (chart,) = picture.charts
    target, outer, middle, inner = (line for line, _ in chart.lines)
    assert [each.label for each in (outer, middle, inner)] == ["95 % interval", "80 % interval", "50 % interval"]
    assert_array_equal(target.x, np.arange(900 - LATEST, 900) + 1)
    assert outer.lower is not None
    assert inner.lower is not None
    assert (outer.lower <= inner.lower).all()
    missed = int(((course.target < course.lower[:, 3]) | (course.target > course.upper[:, 3])).sum())
    assert missed > 0
    assert f"here {missed} of {LATEST} do" in picture.caption


def changed(n: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 2))
    return X, X @ np.array([1.0, -2.0]) * np.where(np.arange(n) < n // 2, 1.0, -1.0) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize(
    "model",
    [
        AutoRegressor(),
        ForwardRegressor(),
        RidgeRegressor(half_life=50),
        RidgeRegressor(window=80),
    ],
    ids=["auto", "forward", "half-life", "window"],
)
@pytest.mark.parametrize("delta", [0.05, 0.2, 0.01])
def test_every_learner_has_a_course(model: OnlineRegressor, delta: float, tmp_path: Path) -> None:
    X, y = changed(400)
    frame = pl.DataFrame(X, schema=["a", "b"]).with_columns(pl.Series("y", y))
    done = fit(written(tmp_path, frame), "y", model, history=True, known=Known(delta=delta), on_change="ignore")
    history, course = drawn(done)
    assert_array_equal(course.misses.sum(axis=0), history.misses[-1])
    assert_array_equal(course.open.sum(axis=0), history.open[-1])
    assert len(draw_course(history, course, delta, done.method).charts) == 3
    names = [line.label for line, _ in draw_latest(history, course, delta).charts[0].lines]
    assert names[1] == {0.05: "95 % interval", 0.2: "80 % interval", 0.01: "99 % interval"}[delta]
