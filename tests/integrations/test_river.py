"""The learners in river: its own checks, its evaluations and pipelines, and what onward computes for the same rows."""

import copy
import importlib
import pickle
import sys
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from river import checks, compose, evaluate, metrics, preprocessing

import onward
from onward.integrations.river import (
    AutoRegressor,
    ForwardRegressor,
    MultiTargetAutoRegressor,
    MultiTargetForwardRegressor,
    MultiTargetRidgeRegressor,
    RidgeRegressor,
)

OneTarget = ForwardRegressor | RidgeRegressor | AutoRegressor
ManyTargets = MultiTargetForwardRegressor | MultiTargetRidgeRegressor | MultiTargetAutoRegressor
AnyTargets = OneTarget | ManyTargets
Row = dict[Hashable, float]

MSE: Callable[[], metrics.base.Metric] = metrics.MSE
MAE: Callable[[], metrics.base.Metric] = metrics.MAE
PRIOR = {"a": 0.5, "c": -1.0, "new": 2.0}
ONE_TARGET: dict[str, OneTarget] = {
    "forward": ForwardRegressor(),
    "forward-unregularised": ForwardRegressor(0.0),
    "forward-prior": ForwardRegressor(0.1, fit_intercept=False, prior_mean=PRIOR),
    "ridge": RidgeRegressor(),
    "ridge-clip-prior": RidgeRegressor(2.0, clip=1.5, prior_mean=PRIOR, prior_intercept=0.5),
    "auto": AutoRegressor(half_lives=(None, 30.0)),
}
CHECKED: dict[str, AnyTargets] = {
    **{name: ONE_TARGET[name] for name in ("forward", "forward-unregularised", "ridge-clip-prior", "auto")},
    "forward-own-units": ForwardRegressor(0.5, units="own"),
    "multi-forward": MultiTargetForwardRegressor(),
    "multi-ridge": MultiTargetRidgeRegressor(clip=100.0),
    "multi-auto": MultiTargetAutoRegressor(lams=(1.0,)),
}
models = pytest.mark.parametrize("made", ONE_TARGET.values(), ids=ONE_TARGET)


def river_checks() -> Iterator[object]:
    for name, model in CHECKED.items():
        for number, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{name}-{number}-{check.__name__}")


def table(n: int = 60, names: str = "abcd", seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(names)))
    return pd.DataFrame(X, columns=list(names)), pd.Series(X @ np.arange(1.0, len(names) + 1) + rng.normal(size=n))


def rows(X: pd.DataFrame) -> list[Row]:
    return [dict(zip(X.columns, map(float, values), strict=True)) for values in X.to_numpy()]


def state(model: OneTarget) -> dict[str, bytes | list[Hashable]]:
    """Everything that was learned, to the last bit."""
    if isinstance(model, AutoRegressor):
        return {"buffer": model.model.ensemble_.buffer.tobytes(), "names": list(model.model.feature_names_in_)}
    learned = model.model.information_
    arrays: dict[str, NDArray[np.float64]] = {"U": learned.U, "D": learned.D, "c": learned.c, "loss": learned.loss}
    numbers = np.array([learned.rows, learned.peak, model.model.online_loss_])
    bits: dict[str, bytes | list[Hashable]] = {name: array.tobytes() for name, array in arrays.items()}
    return bits | {"numbers": numbers.tobytes(), "names": list(model.model.feature_names_in_)}


# River's conventions


@pytest.mark.parametrize(("made", "check"), list(river_checks()))
def test_passes_rivers_own_checks(made: AnyTargets, check: Callable[[AnyTargets], None]) -> None:
    assert not made._unit_test_skips()
    check(made.clone())


def test_settings_are_the_learners() -> None:
    settings = {"lam": 2.0, "fit_intercept": False, "prior_mean": PRIOR, "prior_intercept": 0.5, "intercept_lam": 0.0}
    settings |= {"units": "raw", "half_life": None, "window": None}
    forward = ForwardRegressor(2.0, fit_intercept=False, prior_mean=PRIOR, prior_intercept=0.5)
    ridge = RidgeRegressor(2.0, fit_intercept=False, clip=1.5, prior_mean=PRIOR, prior_intercept=0.5)
    assert forward._get_params() == forward.model.get_params() == settings
    assert ridge._get_params() == ridge.model.get_params() == settings | {"clip": 1.5}
    assert ForwardRegressor().model.get_params() == onward.ForwardRegressor().get_params()
    assert RidgeRegressor().model.get_params() == onward.RidgeRegressor().get_params()
    auto = AutoRegressor(lams=(1.0, 2.0), half_lives=(None,))
    assert auto._get_params() == auto.model.get_params() == {"lams": (1.0, 2.0), "half_lives": (None,)}
    assert AutoRegressor().model.get_params() == onward.AutoRegressor().get_params()


@models
def test_clone_forgets_and_keeps_the_settings(made: OneTarget) -> None:
    X, y = table()
    model = made.clone()
    model.learn_many(X, y)
    change: dict[str, Any] = {"lams": (7.0,)} if isinstance(made, AutoRegressor) else {"lam": 7.0}
    fresh, other = model.clone(), model.clone(change)
    assert fresh._get_params() == made._get_params()
    assert other._get_params() == made._get_params() | change
    assert fresh.predict_one(rows(X)[0]) == made.predict_one(rows(X)[0])
    assert state(model.clone(include_attributes=True)) == state(model)


def test_clip_alone_is_mutable() -> None:
    X, y = table()
    model = RidgeRegressor()
    model.learn_many(X, 10.0 * y)
    before = state(model)
    model.mutate({"clip": 0.25})
    assert model.model.clip == 0.25
    assert np.abs(model.predict_many(X)).max() == 0.25
    assert state(model) == before
    with pytest.raises(ValueError, match="not a mutable"):
        model.mutate({"lam": 2.0})
    with pytest.raises(ValueError, match="not a mutable"):
        ForwardRegressor().mutate({"lam": 2.0})


@models
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_alike_and_apart(made: OneTarget, copied: Callable[[OneTarget], OneTarget]) -> None:
    X, y = table()
    model = made.clone()
    model.learn_many(X[:30], y[:30])
    other = copied(model)
    before = state(model)
    other.learn_many(X[30:], y[30:])
    assert state(model) == before
    model.learn_many(X[30:], y[30:])
    assert state(model) == state(other)


# Evaluation and pipelines


@models
def test_progressive_validation_is_the_online_protocol(made: OneTarget) -> None:
    X, y = table()
    expected = made.clone().model.predict_then_learn(X, y)
    model, metric = made.clone(), MSE()
    reports = evaluate.iter_progressive_val_score(
        zip(rows(X), y, strict=True), model, metric, step=1, yield_predictions=True
    )
    np.testing.assert_array_equal([report["Prediction"] for report in reports], expected)
    assert model.model.online_loss_ == pytest.approx(metric.get() * len(y), rel=1e-12)
    assert metric.get() == pytest.approx(np.mean((expected - y) ** 2), rel=1e-12)


@models
def test_learns_and_predicts_behind_a_scaler(made: OneTarget) -> None:
    X, y = table()
    scaler = compose.Pipeline(preprocessing.StandardScaler())
    model, alone = scaler.clone() | made.clone(), made.clone()
    for x, target in zip(rows(X), y, strict=True):
        assert model.predict_one(x) == alone.model.predict_one(scaler.transform_one(x))
        model.learn_one(x, target)
        scaler.learn_one(x)
        alone.model.learn_one(scaler.transform_one(x), target)


def test_learns_behind_a_union_of_transformers() -> None:
    X, y = table()
    union = (compose.Select("a", "b") | preprocessing.StandardScaler()) + (
        compose.Select("b", "c") | preprocessing.MaxAbsScaler() | compose.Prefixer("scaled_")
    )
    model, alone = union | RidgeRegressor(), onward.RidgeRegressor()
    union = union.clone()
    for x, target in zip(rows(X), y, strict=True):
        assert model.predict_one(x) == alone.predict_one(union.transform_one(x))
        model.learn_one(x, target)
        union.learn_one(x)
        alone.learn_one(union.transform_one(x), target)
    assert set(alone.feature_names_in_) == {"a", "b", "scaled_b", "scaled_c"}


def test_learns_batches_behind_a_scaler() -> None:
    X, y = table()
    model, scaler, alone = (
        preprocessing.StandardScaler() | ForwardRegressor(),
        preprocessing.StandardScaler(),
        ForwardRegressor(),
    )
    for batch in (X[:20], X[20:50], X[50:]):
        model.learn_many(batch, y[batch.index])
        scaler.learn_many(batch)
        alone.learn_many(scaler.transform_many(batch), y[batch.index])
        pd.testing.assert_series_equal(model.predict_many(X), alone.predict_many(scaler.transform_many(X)))
    assert alone.model.n_seen_ == len(X)


def test_a_feature_that_a_scaler_never_saw_is_passed_over() -> None:
    X, y = table()
    model, metric = preprocessing.MinMaxScaler() | ForwardRegressor(), MSE()
    evaluate.progressive_val_score(zip(rows(X), y, strict=True), model, metric)
    assert metric.get() < np.mean(y**2)
    x = rows(X)[0]
    assert model.predict_one(x | {"new": 1.0}) == model.predict_one(x)
    with pytest.raises(ValueError, match="nan in feature 'b'"):
        model["ForwardRegressor"].predict_one({"a": 1.0, "b": np.nan})


def test_learns_batches_of_categories_and_counts() -> None:
    X = pd.DataFrame({"color": ["red", "blue", "red", "green"], "size": ["S", "L", "L", "S"]})
    y = pd.Series([1.0, 2.0, 1.5, 0.5])
    many, one = preprocessing.OneHotEncoder() | RidgeRegressor(), preprocessing.OneHotEncoder() | RidgeRegressor()
    for batch in (X[:2], X[2:]):
        many.learn_many(batch, y[batch.index])
    for x, target in zip(X.to_dict("records"), y, strict=True):
        one.learn_one(x, target)
    assert many.predict_many(X).tolist() == pytest.approx([one.predict_one(x) for x in X.to_dict("records")])


# Features that come and go


@models
def test_features_that_come_and_go_count_as_zero(made: OneTarget) -> None:
    X, y = table()
    came = np.random.default_rng(1).random(X.shape) < 0.5
    came[:10, 2:], came[10], came[11], came[20] = False, [False, False, True, False], False, [False, False, False, True]
    model, dense = made.clone(), made.clone()
    for x, there, target in zip(rows(X), came, y, strict=True):
        partial = {name: value for (name, value), seen in zip(x.items(), there, strict=True) if seen}
        filled = {name: value * seen for (name, value), seen in zip(x.items(), there, strict=True)}
        assert model.predict_one(partial) == pytest.approx(dense.predict_one(filled), rel=1e-9, abs=1e-9)
        model.learn_one(partial, target)
        dense.learn_one(filled, target)
    assert set(model.model.feature_names_in_) == set(X)


# Mini-batches


def batches(X: pd.DataFrame) -> list[pd.DataFrame]:
    """Batches in which columns emerge, disappear and come back."""
    return [X.loc[:9, ["b"]], X.loc[10:24, ["b", "a"]], X.loc[25:25, ["a", "d"]], X.loc[26:40, ["d"]], X.loc[41:]]


@models
def test_learn_many_is_the_loop_to_the_last_bit(made: OneTarget) -> None:
    X, y = table()
    w = pd.Series(np.random.default_rng(1).integers(0, 3, len(X)) * 0.7)
    many, one = made.clone(), made.clone()
    for batch in batches(X):
        many.learn_many(batch, y[batch.index], w[batch.index])
        for x, target, weight in zip(rows(batch), y[batch.index], w[batch.index], strict=True):
            one.learn_one(x, target, weight)
        assert state(many) == state(one)
    assert list(many.model.feature_names_in_) == ["b", "a", "d", "c"]


@models
def test_the_order_of_columns_matters_to_rounding_only(made: OneTarget) -> None:
    X, y = table()
    straight, turned = made.clone(), made.clone()
    straight.learn_many(X, y)
    turned.learn_many(X[list("dbca")], y)
    np.testing.assert_allclose(turned.predict_many(X), straight.predict_many(X), rtol=1e-9, atol=1e-9)
    before = state(straight)
    straight.learn_many(X[:0], y[:0])
    assert state(straight) == before


@models
def test_one_weight_is_that_of_every_row(made: OneTarget) -> None:
    X, y = table()
    one, each, none = made.clone(), made.clone(), made.clone()
    one.learn_many(X, y, w=2.5)
    each.learn_many(X, y, w=pd.Series(np.full(len(y), 2.5)))
    none.learn_many(X, y)
    assert state(one) == state(each)
    assert state(one) != state(none)


@models
def test_a_weight_is_a_number_of_times(made: OneTarget) -> None:
    X, y = table()
    if isinstance(made, AutoRegressor):
        pytest.skip("experts are weighed row by row: three rows say more of them than one of weight 3")
    thrice, weighted = made.clone(), made.clone()
    for x, target in zip(rows(X), y, strict=True):
        weighted.learn_one(x, target, w=3)
        for _ in range(3):
            thrice.learn_one(x, target)
    np.testing.assert_allclose(weighted.predict_many(X), thrice.predict_many(X), rtol=1e-9, atol=1e-9)


@models
def test_predict_many_is_predict_one_of_each_row(made: OneTarget) -> None:
    X, y = table(names="abcd")
    X.index += 1000
    model = made.clone()
    wider = X.assign(new=1.0, other=np.arange(len(X)) % 2)[["new", "c", "other", "a"]]
    for _ in range(2):
        for frame in (X, wider, X[["b"]], X[:0]):
            predicted = model.predict_many(frame)
            expected = pd.Series([model.model.predict_one(x) for x in rows(frame)], frame.index, dtype=np.float64)
            pd.testing.assert_series_equal(predicted, expected, check_exact=True)
        model.learn_many(X[["a", "b"]], y)


@pytest.mark.parametrize("names", [list("abcd"), [3, 1, 2, 0]], ids=["text", "numbers"])
def test_names_may_be_text_or_numbers(names: list[Hashable]) -> None:
    X, y = table()
    X.columns = pd.Index(names)
    many, one = ForwardRegressor(), ForwardRegressor()
    many.learn_many(X, y)
    for x, target in zip(rows(X), y, strict=True):
        one.learn_one(x, target)
    assert state(many) == state(one)
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x in rows(X)]


def test_takes_and_returns_polars() -> None:
    X, y = table()
    model, expected = ForwardRegressor(), ForwardRegressor()
    model.learn_many(pl.DataFrame(X.to_dict("list")), pl.Series(y.to_list()))
    expected.learn_many(X, y)
    predicted = model.predict_many(pl.DataFrame(X.to_dict("list")))
    assert isinstance(predicted, pl.Series)
    assert predicted.to_list() == expected.predict_many(X).to_list()


@models
def test_a_refused_batch_changes_nothing(made: OneTarget) -> None:
    X, y = table()
    model = made.clone()
    model.learn_many(X[["a"]], y)
    before = state(model)
    bad = X.copy()
    bad.loc[5, "c"] = np.nan
    learn_one: Callable[..., None] = model.learn_one
    learn_many: Callable[..., None] = model.learn_many
    for frame, target in ((bad, y), (X, y[:-1]), (X, y.where(y.index != 7)), (X[:0], y), (X, X)):
        with pytest.raises(ValueError, match=r"NaN|rows|sample|must be a series"):
            learn_many(frame, target)
    with pytest.raises(ValueError, match="must be a number"):
        learn_one({"a": 1.0}, [1.0])
    assert state(model) == before


# Models from outside


def test_goes_on_from_an_onward_model() -> None:
    X, y = table()
    learned = onward.RidgeRegressor(0.5, clip=2.0).fit(X[["a", "b"]][:30], y[:30])
    expected = onward.RidgeRegressor(0.5, clip=2.0).fit(X[["a", "b"]][:30], y[:30])
    model = RidgeRegressor.from_onward(learned)
    assert (model.lam, model.clip, model.model) == (0.5, 2.0, learned)
    for x, target in zip(rows(X[30:]), y[30:], strict=True):
        assert model.predict_one(x) == expected.predict_one(x)
        model.learn_one(x, target)
        expected.learn_one(x, target)
    assert learned.n_seen_ == len(X)
    assert RidgeRegressor.from_onward(onward.RidgeRegressor(3.0)).clone().lam == 3.0


def test_refuses_onward_models_that_cannot_go_on() -> None:
    X, y = table()
    with pytest.raises(TypeError, match="ForwardRegressor, got RidgeRegressor"):
        ForwardRegressor.from_onward(onward.RidgeRegressor())
    with pytest.raises(ValueError, match="4 features without names"):
        ForwardRegressor.from_onward(onward.ForwardRegressor().fit(X.to_numpy(), y))
    with pytest.raises(ValueError, match="2 target column"):
        ForwardRegressor.from_onward(onward.ForwardRegressor().fit(X, np.column_stack([y, y])))


# Several targets


@pytest.mark.parametrize(
    ("several", "single"),
    [
        (MultiTargetForwardRegressor(0.3), ForwardRegressor(0.3)),
        (MultiTargetRidgeRegressor(clip=2.0), RidgeRegressor(clip=2.0)),
        (MultiTargetAutoRegressor(), AutoRegressor()),
    ],
    ids=["forward", "ridge", "auto"],
)
def test_targets_are_learned_beside_each_other(several: ManyTargets, single: OneTarget) -> None:
    X, y = table()
    several, singles = several.clone(), {"up": single.clone(), "down": single.clone()}
    assert several.predict_one({"a": 1.0}) == {}
    for number, (x, target) in enumerate(zip(rows(X), y, strict=True)):
        targets = {"up": target, "down": 1.0 - 2.0 * x["a"]}
        if number:
            expected = {name: each.predict_one(x) for name, each in singles.items()}
            assert several.predict_one(x) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        several.learn_one(x, targets if number % 2 else dict(reversed(targets.items())), w=1.0 + number % 3)
        for name, each in singles.items():
            each.learn_one(x, targets[name], w=1.0 + number % 3)
    for wrong in ({"up": 1.0}, {"up": 1.0, "left": 1.0}, {"up": 1.0, "down": 1.0, "left": 1.0}):
        with pytest.raises(ValueError, match=r"fitted with \['down', 'up'\]"):
            several.learn_one(rows(X)[0], wrong)
    assert several.model.n_seen_ == len(X)


def test_auto_needs_no_scaler() -> None:
    X, y = table(300)
    scores = [MSE() for _ in range(3)]
    units = X * [1e-6, 1.0, 1e4, 1e8] + [1.0, 0.0, -1e6, 0.0]
    for frame, model, score in (
        (X, AutoRegressor(), scores[0]),
        (units, AutoRegressor(), scores[1]),
        (units, preprocessing.StandardScaler() | ForwardRegressor(), scores[2]),
    ):
        evaluate.progressive_val_score(zip(rows(frame), y, strict=True), model, score)
    assert scores[1].get() == pytest.approx(scores[0].get(), rel=1e-9)
    assert scores[1].get() < scores[2].get()


def test_several_targets_are_evaluated_by_river() -> None:
    X, y = table()
    data = [(x, {"y": target, "z": 2.0 * target}) for x, target in zip(rows(X), y, strict=True)]
    average: Callable[[metrics.base.Metric], metrics.base.Metric] = metrics.multioutput.MicroAverage
    several, single = average(MAE()), MAE()
    evaluate.progressive_val_score(data, preprocessing.StandardScaler() | MultiTargetForwardRegressor(), several)
    scored = [(x, target) for x, target in zip(rows(X), y, strict=True)]
    evaluate.progressive_val_score(scored, preprocessing.StandardScaler() | ForwardRegressor(), single)
    unscored = abs(y[0])  # before the first row the targets are not known, so nothing is predicted
    assert several.get() * 2 * (len(y) - 1) == pytest.approx(3 * (single.get() * len(y) - unscored))


# Without river


def without_river(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "river"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "onward.integrations.river")


def test_says_what_to_install_without_river(monkeypatch: pytest.MonkeyPatch) -> None:
    without_river(monkeypatch)
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ImportError, match=r'pip install "onward\[river\]"') as caught:
        importlib.import_module("onward.integrations.river")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_does_not_blame_river_for_what_river_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_river(monkeypatch)
    (tmp_path / "river").mkdir()
    (tmp_path / "river" / "__init__.py").write_text("import no_such_module_as_this\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_as_this"):
        importlib.import_module("onward.integrations.river")


def test_a_lam_for_each_name() -> None:
    settings: dict[str, Any] = {"lam": {"a": 0.1, None: 5.0}, "intercept_lam": 0.0}
    model, expected = ForwardRegressor(**settings), onward.ForwardRegressor(**settings)
    for x, y in (({"a": 1.0}, 2.0), ({"b": 1.0, "a": 2.0}, 1.0), ({"a": 3.0}, 0.5)):
        assert model.predict_one(x) == expected.predict_one(x)
        model.learn_one(x, y)
        expected.learn_one(x, y)
    assert (
        model.clone()._get_params()
        == model._get_params()
        == settings
        | {
            "fit_intercept": True,
            "units": "raw",
            "half_life": None,
            "window": None,
            "prior_mean": None,
            "prior_intercept": 0.0,
        }
    )
    assert expected.information_.lam.tolist() == [0.0, 0.1, 5.0]
