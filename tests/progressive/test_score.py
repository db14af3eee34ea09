"""`onward score`: a model's predictions against targets, nothing learned."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import AutoRegressor, DataError, ForwardRegressor, Known, RidgeRegressor, Table, fit
from onward.progressive.scoring import score
from onward.regression import OnlineRegressor
from onward.tables import encode


def made_up(n: int, seed: int, cities: tuple[str, ...] = ("Rome", "Oslo")) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x, city = rng.normal(size=n), rng.choice(cities, n)
    return pl.DataFrame(
        {"y": 1 + 2 * x + (city == "Rome") + rng.normal(size=n), "x": x, "city": city, "w": rng.integers(0, 4, n) / 2}
    )


def model(learner: OnlineRegressor | None = None, **table: Any) -> Any:
    columns = Table("y", ("x", "city"), categorical=("city",), **table)
    return fit(made_up(300, 0), columns, learner).model


@pytest.mark.parametrize("learner", [AutoRegressor, ForwardRegressor])
@pytest.mark.parametrize("weight", [None, "w"])
def test_scores_are_those_of_the_predictions(
    weight: str | None, learner: type[OnlineRegressor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "VALUES", 64)  # many blocks
    learned, data = model(learner(), weight=weight), made_up(200, 1, ("Rome", "Oslo", "Paris"))
    before = learned._fitted().buffer.copy()
    known = Known(delta=0.1) if learner is AutoRegressor else Known(sigma=0.3, theta_bound=5.0, delta=0.1)
    scored = score(learned, data, known=known)
    y, predictions = data["y"].to_numpy(), learned.predict(data)
    w = np.ones(200) if weight is None else data["w"].to_numpy()
    error = predictions - y
    assert scored.rmse == pytest.approx(np.sqrt(w @ error**2 / w.sum()))
    assert scored.mae == pytest.approx(w @ np.abs(error) / w.sum())
    assert scored.r2 == pytest.approx(learned.score(data))
    assert scored.r2 == pytest.approx(1 - w @ error**2 / (w @ (y - w @ y / w.sum()) ** 2))
    if weight is None:
        ends = learned.interval(data, 0.1, known.sigma, known.theta_bound, of="observation")
        assert scored.inside == int(((ends[:, 0] <= y) & (y <= ends[:, 1])).sum())
        open_ended = 0 if learner is AutoRegressor else int((data["city"] == "Paris").sum())
        assert scored.open == int(np.isinf(ends).any(axis=1).sum()) == open_ended
        assert scored.coverage == scored.inside / 200 < 1
    assert scored.unknown == {"city=Paris": int((data["city"] == "Paris").sum())}
    assert (scored.read, scored.rows, scored.target) == (200, 200, "y")
    assert np.array_equal(learned._fitted().buffer, before)


def test_rows_that_are_skipped_do_not_count() -> None:
    learned, data = model(missing="skip"), made_up(50, 2)
    holes = data.with_columns(x=pl.when(pl.int_range(50) < 10).then(None).otherwise(pl.col("x")))
    holes = holes.with_columns(y=pl.when(pl.int_range(50) == 49).then(None).otherwise(pl.col("y")))
    scored, rest = score(learned, holes), score(learned, data[10:49])
    assert (scored.read, scored.rows, dict(scored.skipped)) == (50, 39, {"x is missing": 10, "y is missing": 1})
    assert (scored.rmse, scored.mae) == pytest.approx((rest.rmse, rest.mae))
    assert score(learned, holes, missing="zero").rows == 49
    with pytest.raises(DataError, match="the value is missing"):
        score(learned, holes, missing="error")
    with pytest.raises(DataError, match="none of the 10 rows could be scored"):
        score(learned, holes[:10])


def test_what_cannot_be_scored_says_why() -> None:
    with pytest.raises(ValueError, match="does not know its target"):
        score(RidgeRegressor().fit(np.eye(2), [1.0, 2.0]), made_up(5, 0))
    with pytest.raises(DataError, match="there is no column 'y'"):
        score(model(), made_up(5, 0).drop("y"))
    with pytest.raises(DataError, match="weight 0, so nothing was scored"):
        score(model(weight="w"), made_up(5, 0).with_columns(w=pl.lit(0.0)))


def test_targets_that_are_all_one() -> None:
    data = pl.DataFrame({"y": [2.0, 2.0], "x": [0.0, 0.0]})
    learned = fit(data, "y", ForwardRegressor(intercept_lam=1.0)).model
    assert score(learned, data).r2 == 0.0 == learned.score(data)
    learned = fit(data, "y", ForwardRegressor()).model  # it knows the mean
    assert score(learned, data).r2 == 1.0 == learned.score(data)
