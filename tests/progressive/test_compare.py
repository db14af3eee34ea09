"""A grid of λ in one read: the same numbers as one pass for each, and words that follow from them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import ForwardRegressor, RidgeRegressor
from onward.progressive import Comparison, Scores, compare, fit
from onward.progressive.conclusion import conclude
from onward.progressive.contender import Contender
from onward.progressive.json_results import comparison_record
from onward.regression import OnlineRegressor
from onward.tables import DataError, Table
from tests.progressive.made_up import small_pieces, table, written


@pytest.mark.parametrize(("jobs", "units"), [(1, "raw"), (2, "raw"), (2, "own")])
def test_it_is_one_pass_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, units: Any) -> None:
    small_pieces(monkeypatch)
    data = written(tmp_path, table())
    lams = [1e-3, 1.0, 100.0]
    columns = Table("y", categorical=("city",), weight="w", missing="skip")
    grid = compare(data, columns, lams=lams, jobs=jobs, units=units)
    learners: dict[str, type[OnlineRegressor]] = {"ridge": RidgeRegressor, "forward": ForwardRegressor}
    for learner, kind in learners.items():
        for lam, got in zip(lams, grid.scores[learner], strict=True):
            one = fit(data, columns, kind(lam, units=units)).scores
            assert got is not None
            assert got.rows == one.rows
            for name in ("weight", "squared", "absolute", "mean_squared", "mean_absolute"):
                assert getattr(got, name) == pytest.approx(getattr(one, name), rel=1e-12)
        np.testing.assert_array_equal(grid.curves[learner][-1], grid.rmse(learner))
    assert grid.marks[-1] == one.rows
    assert grid.notes == (["λ is in the columns' own units: a multiple of the variance of each"] * (units == "own"))


def test_without_regularisation_ridge_is_not_defined(tmp_path: Path) -> None:
    data = written(tmp_path, table().drop_nulls().drop("city"))
    grid = compare(data, "y", lams=[0.0, 1.0])
    assert grid.scores["ridge"][0] is None
    assert grid.scores["forward"][0] is not None
    assert comparison_record(grid)["learners"]["ridge"]["scores"][0] is None
    alone = conclude(compare(data, "y", lams=[0.0]))
    assert alone.text.startswith("Ridge is not defined without regularisation")


def test_what_grows_beyond_numbers_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"x": [1e160, 1.0], "y": [1e200, 2.0]})
    with pytest.raises(DataError, match=r"at every λ the numbers grew beyond double precision.*rescale"):
        compare(written(tmp_path, frame), "y")
    learn = Contender.learn

    def fail_at_one(self: Contender, *rows: Any) -> None:
        learn(self, *rows)
        self.failed = 0 if self.lam == 1.0 else None

    monkeypatch.setattr(Contender, "learn", fail_at_one)
    grid = compare(written(tmp_path, table(50).drop_nulls().drop("city")), "y", lams=[0.1, 1.0])
    assert [each is None for each in grid.scores["forward"]] == [False, True]
    assert grid.notes == ["lam=1 was given up at row 1: its numbers grew beyond double precision"]
    assert "forward" in conclude(grid).text


@pytest.mark.parametrize(
    ("lams", "message"),
    [([], "at least one"), ([-1.0], "got -1.0"), ([math.nan], "got nan"), ([1.0, 1.0], "different")],
)
def test_wrong_grids_are_refused(tmp_path: Path, lams: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(written(tmp_path, table(20).drop_nulls().drop("city")), "y", lams=lams)
    with pytest.raises(ValueError, match="lam must be positive with units='own', got 0"):
        compare(written(tmp_path, table(20).drop_nulls().drop("city")), "y", lams=[0.0, 1.0], units="own")


def test_nothing_to_learn_is_an_error(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0], "y": [None, None]}, schema={"x": pl.Float64, "y": pl.Float64})
    with pytest.raises(DataError, match="none of the 2 rows could be learned: 2 where y is missing"):
        compare(written(tmp_path, frame), Table("y", missing="skip"))


def made_up(ridge: list[float], forward: list[float], mean: float = 10.0) -> Comparison:
    def scores(values: list[float]) -> list[Scores | None]:
        return [Scores(100, 100.0, 100 * v**2, 100 * v, 100 * mean**2, 100 * mean) for v in values]

    lams = [10.0**k for k in range(len(ridge))]
    empty = {"ridge": np.empty((0, len(lams))), "forward": np.empty((0, len(lams)))}
    every = {"ridge": scores(ridge), "forward": scores(forward)}
    return Comparison("d.csv", "y", lams, 100, every, np.array([100]), empty, {}, {}, 0.1)


@pytest.mark.parametrize(
    ("ridge", "forward", "sentence"),
    [
        ([1.0, 1.0], [1.0, 1.001], "hardly matters which"),
        ([9.0, 1.0], [1.2, 1.0], "forward is the safer choice here when λ is a guess; with the right λ they are equal"),
        ([9.0, 1.0], [1.2, 0.8], "forward is the better choice on these data, with the right λ and with a wrong one"),
        ([9.0, 0.8], [1.2, 1.0], "ridge is better with the right λ, and forward is safer when λ is a guess"),
        ([1.2, 0.8], [9.0, 1.0], "ridge is the better choice on these data, with the right λ and with a wrong one"),
        ([11.0, 12.0], [13.0, 12.0], "Neither beats the running mean"),
    ],
)
def test_the_conclusion_follows_the_numbers(ridge: list[float], forward: list[float], sentence: str) -> None:
    said = conclude(made_up(ridge, forward))
    assert sentence in said.text
    assert said.learners["ridge"].spread == pytest.approx(max(ridge) / min(ridge))
    assert said.learners["forward"].best == pytest.approx(min(forward))


def test_costs_are_told_in_percent_or_in_times() -> None:
    text = conclude(made_up([1.0, 1.5], [1.0, 40.0])).text
    assert "40 times the error with forward (λ = 10)" in text
    assert "50.0% more error with ridge (λ = 10)" in text
    assert "forward errs less at 0 of 2, ridge at 1, and they are within 0.5% of each other at 1" in text
