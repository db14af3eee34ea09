"""Passes and comparisons made by hand, to test reports with."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from onward import AutoRegressor, ForwardRegressor, Known
from onward.core.types import Matrix, Vector
from onward.progressive.interval_course import CourseRecorder, IntervalCourse
from onward.progressive.results import Comparison, Fit, History, Scores
from onward.regression import OnlineRegressor

DELTAS = np.array([0.5, 0.2, 0.1, 0.05, 0.01])
AWKWARD = 'a <b>"feature"</b> & $x_1$ </script> stays text'


def a_fit(
    rows: int = 3000,
    features: int = 5,
    *,
    model: OnlineRegressor | None = None,
    targets: Callable[[Matrix, Vector], Vector] | None = None,
    names: list[str] | None = None,
    narrow: float = 1.0,
    read_off: bool = True,
    **changes: Any,
) -> Fit:
    """One pass over made-up rows. `narrow` shrinks the intervals of the rows, so that they miss more than they may."""
    rng = np.random.default_rng(rows + features)
    X = rng.normal(size=(rows, features)) * np.geomspace(1, 0.1, features)
    noise = rng.normal(size=rows)
    theta = np.sin(np.arange(1, features + 1))
    y = X @ theta + 1 + 0.5 * noise if targets is None else targets(X, noise)
    learner = ForwardRegressor(lam=1.0) if model is None else model
    if not learner._has_sets:
        learner.calibrate(list(DELTAS))
    marks = np.unique(np.geomspace(1, rows, 120).round().astype(np.int64))
    means = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, rows)])
    scores, tables, weights = [], [], []
    predictions, ends = np.zeros(rows), np.zeros((len(DELTAS), rows, 2))
    start = 0
    for stop in marks:
        part = slice(start, stop)
        ends[:, part] = _intervals(learner, X[part]) if start else np.array([-np.inf, np.inf])
        predictions[part] = learner.predict_then_learn(X[part], y[part])
        middle = predictions[part][:, None]
        ends[:, part] = middle + narrow * (ends[:, part] - middle)
        errors, plain = predictions[:stop] - y[:stop], means[:stop] - y[:stop]
        sums = [float(each) for each in (errors @ errors, abs(errors).sum(), plain @ plain, abs(plain).sum())]
        scores.append(Scores(int(stop), float(stop), *sums))
        tables.append(_table(learner))
        weights.append(learner.weights_ if isinstance(learner, AutoRegressor) else np.empty(0))
        start = stop
    outside = (y < ends[..., 0]) | (y > ends[..., 1])
    infinite = np.isinf(ends).any(axis=2)
    kept = np.unique(np.linspace(0, rows - 1, min(rows, 4096)).round().astype(np.int64))
    history = History(
        scores=scores,
        names=["(intercept)", *(names or [f"feature {j}" for j in range(features)])],
        estimate=np.array([table["estimate"] for table in tables]),
        lower=np.array([table["lower"] for table in tables]),
        upper=np.array([table["upper"] for table in tables]),
        deltas=DELTAS,
        misses=np.cumsum(outside, axis=1).T[marks - 1].astype(np.int64),
        open=np.cumsum(infinite, axis=1).T[marks - 1].astype(np.int64),
        sample={
            "row": kept.astype(np.float64) + 1,
            "target": y[kept],
            "prediction": predictions[kept],
            "lower": ends[3, kept, 0],
            "upper": ends[3, kept, 1],
            "leverage": np.zeros(len(kept)),
        },
        weights=np.array(weights),
        course=_course(y, predictions, ends),
    )
    made: dict[str, Any] = {
        "model": learner,
        "source": "made-up.csv",
        "target": "price",
        "known": Known(),
        "read": rows + 12,
        "scores": scores[-1],
        "skipped": {"the target is missing": 9, "a value is not a number": 3},
        "filled": {"feature 1": 17},
        "seconds": 0.42,
        "history": history if read_off else None,
        "method": "uniform" if learner._has_sets else "conformal",
    }
    return Fit(**{**made, **changes})


def a_comparison(
    lams: list[float] | None = None,
    rows: int = 2000,
    *,
    factor: float = 3.0,
    source: str = "made-up.csv",
    auto: bool = False,
) -> Comparison:
    """Ridge that gets worse as λ falls, by `factor` a decade below 1, and forward that does not; and `auto`."""
    grid = [0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0] if lams is None else lams
    marks = np.unique(np.geomspace(1, rows, 60).round().astype(np.int64))
    scores: dict[str, list[Scores | None]] = {"ridge": [], "forward": []}
    curves: dict[str, Matrix] = {name: np.full((len(marks), len(grid)), np.nan) for name in scores}
    for place, lam in enumerate(grid):
        for name in scores:
            if name == "ridge" and lam == 0:
                scores[name].append(None)
                continue
            below = max(0.0, -math.log10(lam)) if lam else 6.0
            worse = factor**below if name == "ridge" else 1 + 0.02 * below
            curve = 0.5 + 0.01 * max(lam, 0.1) ** 0.3 + worse / marks
            curves[name][:, place] = curve
            squared = float(rows * curve[-1] ** 2)
            scores[name].append(Scores(rows, float(rows), squared, 0.8 * rows * curve[-1], 1.3 * rows, 0.9 * rows))
    made = Comparison(source, "price", grid, rows + 5, scores, marks, curves, {"odd": 5}, {}, 1.5, 7)
    if not auto:
        return made
    curve = 0.49 + 1 / marks
    own = Scores(rows, float(rows), float(rows * curve[-1] ** 2), 0.7 * rows * curve[-1], 1.3 * rows, 0.9 * rows)
    return replace(made, auto=own, auto_curve=curve, auto_leaning="ridge (99%)")


def _course(y: Vector, predictions: Vector, ends: Vector) -> IntervalCourse:
    recorder = CourseRecorder(len(DELTAS))
    recorder.add(np.arange(len(y)), y, predictions, ends)
    return recorder.course()


def _table(learner: OnlineRegressor) -> dict[str, Any]:
    return learner.coefficient_table(0.05) | {"estimate": np.append(learner.intercept_, learner.coef_)}


def _intervals(learner: OnlineRegressor, X: Matrix) -> Vector:
    if not learner._has_sets:
        return np.array([learner.interval(X, delta, of="observation") for delta in DELTAS])
    if not learner.has_sets():
        return np.broadcast_to(np.array([-np.inf, np.inf]), (len(DELTAS), len(X), 2))
    return np.array([learner.interval(X, delta, of="observation", method="uniform") for delta in DELTAS])
