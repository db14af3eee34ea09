"""Simulated streams are the same everywhere, and what learners are measured by on them is what it is called."""

import numpy as np
import polars as pl
import pytest

from benchmarks import stream_scores
from benchmarks.stream_scores import LAMS, memory_errors, pair_errors, references, rmse, running_mean, score, summary
from benchmarks.streams import FAMILIES, MOST_FEATURES, ROWS, Family, Matrix, Vector
from onward import ForwardRegressor, RidgeRegressor

MEANS = {
    "plain": -2.32045253227,
    "little-noise": -0.785902454843,
    "much-noise": 1.93394953488,
    "correlated": -4.28058933255,
    "units": 0.224279876313,
    "levels": 0.611164483982,
    "sparse": 0.398999865995,
    "unrelated": 5.06109816995,
    "heavy-tails": 0.614102636356,
    "far-targets": 1048.69607786,
    "growing-variance": 0.993588643688,
    "counts": 1.60285714286,
    "curved": 2.2543533115,
    "jumps": -0.238887535741,
    "drift": 2.73927335442,
    "seasonal": 1.83553325985,
    "clock": -0.0151848647596,
    "panel": -1.78633533388,
    "sorted": -2.73831589925,
    "unit-root": 44.9808752605,
    "series": 0.289832924042,
}


class RunningMean:
    def predict_then_learn(self, X: Matrix, y: Vector) -> Vector:
        return running_mean(y)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_seed_is_a_stream(family: Family) -> None:
    for seed in range(30):
        X, y = family(seed)
        assert X.shape == (len(y), X.shape[1])
        assert ROWS[0] <= len(y) <= ROWS[1]
        assert 1 <= X.shape[1] <= MOST_FEATURES
        assert np.isfinite(X).all()
        assert np.isfinite(y).all()
        assert np.std(y) > 0
    again = family(7)
    assert np.array_equal(again[0], family(7)[0])
    assert np.array_equal(again[1], family(7)[1])
    assert not np.array_equal(again[1][:200], family(8)[1][:200])


def test_streams_are_what_they_were() -> None:
    """Scores of one day can be compared with those of another: the rows of a seed do not change."""
    sums = {name: float(np.mean(family(3)[1])) for name, family in FAMILIES.items()}
    assert sums == pytest.approx(MEANS, rel=1e-9)


@pytest.mark.parametrize("name", ["unit-root", "series"])
def test_features_of_a_series_are_earlier_targets(name: str) -> None:
    X, y = FAMILIES[name](1)
    assert np.array_equal(X[1:, 0], y[:-1])
    assert np.array_equal(X[2:, 1], y[:-2]) or X.shape[1] == 2


def test_some_streams_change_and_others_stay() -> None:
    """Forgetting pays on those that change, and at most a percent, by luck, on those that stay."""

    def gain(name: str, seed: int) -> float:
        found = memory_errors(*FAMILIES[name](seed))
        return min(value for each, value in found.items() if each.endswith("=inf")) / min(found.values())

    assert all(np.median([gain(name, seed) for seed in range(7)]) > 1.1 for name in ("jumps", "drift", "seasonal"))
    assert all(np.median([gain(name, seed) for seed in range(7)]) < 1.01 for name in ("plain", "units", "sparse"))


# What learners are measured by


def test_memories_are_the_learners_of_the_library_where_nothing_is_forgotten() -> None:
    X, y = FAMILIES["plain"](2)
    Z, v = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    found = memory_errors(X, y, [np.inf])
    first = y[0] ** 2 - (y[0] - y.mean()) ** 2  # the first prediction is 0 of the targets as they are
    for kind in (ForwardRegressor, RidgeRegressor):
        for lam in LAMS:
            errors = y.std() * (kind(lam=lam, intercept_lam=None).predict_then_learn(Z, v) - v)
            expected = np.sqrt((np.sum(errors**2) + first) / len(y))
            name = kind.__name__.removesuffix("Regressor").lower()
            assert found[f"{name} λ={lam:g} half-life=inf"] == pytest.approx(expected, rel=1e-7)


def test_memories_forget_by_half() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    losses = stream_scores._discounted_losses(X, y, np.array([0.5]), 0.5 ** (1 / 7))
    expected = np.zeros(2)
    for t in range(len(y)):
        w = 0.5 ** (np.arange(t, 0, -1) / 7 - 1 / 7)
        G = 0.5 * np.eye(2) + (X[:t].T * w) @ X[:t]
        ridge = X[t] @ np.linalg.solve(G, (X[:t].T * w) @ y[:t])
        leverage = X[t] @ np.linalg.solve(G, X[t])
        expected += [(ridge / (1 + leverage) - y[t]) ** 2, (ridge - y[t]) ** 2]
    assert losses[:, 0] == pytest.approx(expected, rel=1e-10)


def test_the_running_mean_knows_what_came_before() -> None:
    assert running_mean(np.array([3.0, 5.0, 10.0])).tolist() == [0.0, 3.0, 4.0]


def test_the_best_pair_is_at_least_as_good_as_each() -> None:
    X, y = FAMILIES["levels"](1)
    errors = pair_errors(X, y)
    assert len(errors) == 22
    found = references("levels", 1)
    assert found["pairs"] == min(errors.values()) == errors[found["best_pair"]]
    assert errors["ridge λ=1"] == rmse(RidgeRegressor(lam=1.0, intercept_lam=None).predict_then_learn(X, y), y)


def test_scores_and_their_summary() -> None:
    scores = score(RunningMean, ["plain", "unrelated"], range(3))
    assert scores["rmse"].to_list() == scores["mean"].to_list()
    table = summary(scores)
    assert table["family"].to_list() == ["plain", "unrelated", "all"]
    assert table["streams"].to_list() == [3, 3, 6]
    assert table["over_mean"].to_list() == pytest.approx([1.0] * 3)
    worst = scores.select((pl.col("rmse") / pl.col("pairs")).max()).item()
    assert table["worst_over_pairs"][2] == worst > 1.12
    assert table["near"][0] < 1


def test_a_prediction_that_is_no_number_is_not_scored() -> None:
    class Broken:
        def predict_then_learn(self, X: Matrix, y: Vector) -> Vector:
            return np.full(len(y), np.nan)

    with pytest.raises(ValueError, match=r"plain, seed 0: expected \d+ finite predictions"):
        score(Broken, ["plain"], [0])


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    stream_scores.main(["--learner", "onward:RidgeRegressor", "--families", "plain", "--seeds", "1"])
    out = capsys.readouterr().out
    assert "RidgeRegressor()" in out
    assert "plain" in out
