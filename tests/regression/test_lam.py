"""A λ for each coordinate, and one of its own for the constant: by position and by name, grown, merged, saved."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from onward import ForwardRegressor, RidgeRegressor, load
from onward.core import kernel
from onward.core.types import Matrix, Vector
from onward.core.views import owned
from onward.regression import OnlineRegressor
from tests.regression import earlier

LEARNERS = [ForwardRegressor, RidgeRegressor]
learners = st.sampled_from(LEARNERS)
LAM = {"a": 0.02, "b": 3.0, None: 0.5}
SETTINGS: dict[str, dict[str, Any]] = {
    "array": {"lam": [0.02, 3.0, 40.0], "intercept_lam": 0.1},
    "free constant": {"lam": 2.0, "intercept_lam": 0.0},
    "array, free constant": {"lam": np.array([0.02, 3.0, 40.0]), "intercept_lam": 0.0},
    "array, no constant": {"lam": (0.02, 3.0, 40.0), "fit_intercept": False},
    "array, prior": {"lam": [0.02, 3.0, 40.0], "intercept_lam": 0.0, "prior_mean": [1, 2, -1], "prior_intercept": 0.5},
    "names": {"lam": LAM},
    "names, as lam": {"lam": LAM, "intercept_lam": None},
    "names, prior": {"lam": LAM, "intercept_lam": 0.0, "prior_mean": {"a": 2.0, "c": 1.0}},
}


def data(seed: int = 0, n: int = 30) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, 3.0 + X @ [1.0, -2.0, 0.5] + rng.standard_normal(n), rng.uniform(0, 2, n)


def rows_of(X: Matrix, chosen: dict[str, Any]) -> list[Any]:
    named = isinstance(chosen["lam"], dict)
    return [dict(zip("abc", x.tolist(), strict=True)) for x in X] if named else list(X)


def learned(model: OnlineRegressor, rows: list[Any], y: Vector, w: Vector) -> OnlineRegressor:
    for x, target, weight in zip(rows, y, w, strict=True):
        model.learn_one(x, float(target), float(weight))
    return model


def assert_equal(a: OnlineRegressor, b: OnlineRegressor, tolerance: float = 0.0) -> None:
    for name in ("coef_", "intercept_", "regularized_loss_", "online_loss_", "n_seen_"):
        assert_allclose(getattr(a, name), getattr(b, name), rtol=tolerance, atol=tolerance, err_msg=name)
    assert_array_equal(a.information_.lam, b.information_.lam)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_merged_saved_copied_and_resumed_is_never_having_stopped(
    learner: type[OnlineRegressor], name: str, tmp_path: Path
) -> None:
    chosen, (X, y, w) = SETTINGS[name], data()
    rows = rows_of(X, chosen)
    whole = learned(learner(**chosen), rows, y, w)
    for cut in (0, 1, 2, 17, 30):
        left = learned(learner(**chosen), rows[:cut], y[:cut], w[:cut])
        right = learned(learner(**chosen), rows[cut:], y[cut:], w[cut:])
        if cut:
            left.save(tmp_path / "m")
            for again in (load(tmp_path / "m"), copy.deepcopy(left), pickle.loads(pickle.dumps(left))):
                assert_equal(learned(again, rows[cut:], y[cut:], w[cut:]), whole)
            assert left.n_seen_ == cut  # nobody learned in its place
        left.merge(right).restate_online_loss(whole.online_loss_)
        assert_equal(left, whole, 1e-9)


@pytest.mark.parametrize("name", [name for name in SETTINGS if "prior" not in name])
@pytest.mark.parametrize("learner", LEARNERS)
def test_parts_serve_any_lam(learner: type[OnlineRegressor], name: str) -> None:
    chosen, (X, y, w) = SETTINGS[name], data(1)
    rows, intercept = rows_of(X, chosen), chosen.get("fit_intercept", True)
    whole, model = learned(learner(**chosen), rows, y, w), learner(**chosen)
    for part in (slice(0, 2), slice(2, 3), slice(3, 30)):
        model.merge_part(learned(ForwardRegressor(0.0, fit_intercept=intercept), rows[part], y[part], w[part]))
    model.restate_online_loss(whole.online_loss_)
    assert_equal(model, whole, 1e-9)


@given(learners, st.integers(0, 2**32), st.sampled_from(["names", "names, prior"]))
def test_a_name_that_comes_late_was_there_at_zero(learner: type[OnlineRegressor], seed: int, name: str) -> None:
    chosen, (X, y, w) = SETTINGS[name], data(seed)
    X[:10, 0] = 0.0
    X[:20, 2] = 0.0
    whole, grown = learner(**chosen), learner(**chosen)
    for x, target, weight in zip(X, y, w, strict=True):
        full = dict(zip("abc", x.tolist(), strict=True))
        present = {feature: value for feature, value in full.items() if value}
        expected = whole.predict_one(full, weight)
        assert grown.predict_one(present, weight) == pytest.approx(expected, rel=1e-10, abs=1e-10)
        whole.learn_one(full, target, weight)
        grown.learn_one(present, target, weight)
    assert list(grown.feature_names_in_) == ["b", "a", "c"]
    constant = 0.0  # by default
    assert_array_equal(grown.information_.lam, [constant, 3.0, 0.02, 0.5])
    order = [1, 0, 2]
    assert_allclose(grown.coef_, whole.coef_[order], rtol=1e-9, atol=1e-9)
    merged = learner(**chosen).learn_one({"z": 1.0}, 1.0).merge(grown)
    assert_array_equal(merged.information_.lam, [constant, 0.5, 3.0, 0.02, 0.5])


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_free_constant_moves_with_the_targets(learner: type[OnlineRegressor]) -> None:
    """Without a price for the constant, a shift of all targets shifts ridge's predictions, and nothing else."""
    X, y, w = data(2)
    w += 0.1
    one, two = (learner(5.0, intercept_lam=0).fit(X, y + shift, w) for shift in (0.0, 1000.0))
    assert_allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-9)
    assert two.intercept_ - one.intercept_ == pytest.approx(1000.0, rel=1e-9)
    first = learner(5.0, intercept_lam=0.0, prior_intercept=2.0)
    assert first.predict_then_learn(X[:2], y[:2])[0] == 2.0
    assert learner(5.0, intercept_lam=0.0).predict_one(X[0]) == 0.0


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_short_way_gives_the_bits_of_the_table(learner: type[OnlineRegressor], m: int, name: str) -> None:
    chosen, (X, y, w) = SETTINGS[name], data(3, n=20)
    names = isinstance(chosen["lam"], dict)
    Y = y[:, None] * np.arange(1.0, m + 1)
    rows = rows_of(X, chosen)
    table, single = learner(**chosen), learner(**chosen)
    prepared: list[Any] = [rows, [list(x) for x in X], [tuple(x) for x in X]] if not names else [rows]
    for i in range(20):
        block = np.ascontiguousarray(X[i : i + 1])
        if names:
            import pandas as pd

            expected = table.learn_many(pd.DataFrame(block, columns=list("abc")), Y[i : i + 1], w[i : i + 1])
        else:
            expected = table.predict_then_learn(block, Y[i : i + 1], w[i : i + 1])
        for kind in prepared if i else ():
            assert_array_equal(single.predict_one(kind[i], w[i]), expected[0])
        single.learn_one(prepared[i % len(prepared)][i], Y[i], w[i])
    assert_equal(single, table)


def test_several_targets_and_a_prior_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = data()
    models: list[tuple[OnlineRegressor, Any]] = [
        (ForwardRegressor(prior_mean=[1, 2, 3]).fit(X, y), 1.0),
        (RidgeRegressor(clip=2, prior_mean=[1, 2, 3]).fit(X, np.column_stack([y, y])), [1.0, 2.0]),
        (ForwardRegressor().fit(X, y[:, None]), np.array([1.0])),
    ]

    def refuse(*args: Any) -> Any:
        raise AssertionError("the long way")

    monkeypatch.setattr(OnlineRegressor, "_read_named", refuse)
    monkeypatch.setattr(OnlineRegressor, "_learn_named", refuse)
    for model, target in models:
        for row in (X[0], X[0].tolist(), X[::2][0], X[0].astype(np.float32), (1, True, 2.5)):
            assert np.shape(model.predict_one(row, 2)) == np.shape(target)
            assert model.learn_one(row, target, 2) is model
    with pytest.raises(AssertionError, match="the long way"):
        models[0][0].predict_one([1e30, 0.0, 0.0])


def test_the_short_way_sees_what_replaced_the_state() -> None:
    model = ForwardRegressor({None: 2.0}).learn_one({"a": 1.0}, 1.0).learn_one({"a": 1.0, "b": 2.0}, 3.0)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model):
        again.learn_one({"a": 2.0, "b": 1.0}, 1.0).merge(ForwardRegressor({None: 2.0}).learn_one({"b": 1.0}, 1.0))
        again.learn_one({"b": 1.0, "a": 3.0}, 2.0)
        assert again.n_seen_ == again.information_.rows == 5
        state = owned(again._buffer, kernel.view_state(again._buffer))
        assert again._buffer is again.information_.buffer
        assert state.factor.counts["seen"][0] == 5


X3, Y3 = np.eye(3), np.arange(3.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": [1.0, 2.0]}, "lam has 2 values, but there are 3 features"),
        ({"lam": [1.0, 2.0], "fit_intercept": False}, "lam has 2 values, but there are 3 features"),
        ({"lam": [1.0, 2.0, 3.0], "intercept_lam": None}, "lam says nothing of the constant: expected intercept_lam"),
        ({"lam": {"a": 1.0}}, "lam is a dict of named features, but the rows have no names"),
        ({"lam": [1.0, -2.0, 3.0]}, "lam must be 0 or a number between 1e-300 and 1e300, got -2.0"),
        ({"lam": [1.0, np.nan, 3.0]}, "lam must be 0 or a number between 1e-300 and 1e300, got nan"),
        ({"lam": [[1.0, 2.0, 3.0]]}, "lam must be 0 or a number between"),
        ({"lam": "abc"}, "lam must be 0 or a number between"),
        ({"intercept_lam": -1.0}, "intercept_lam must be 0 or a number between"),
        ({"intercept_lam": "1"}, "intercept_lam must be 0 or a number between"),
    ],
)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_lam_that_does_not_fit_is_refused(
    learner: type[OnlineRegressor], settings: dict[str, Any], message: str
) -> None:
    model = learner(**settings)
    with pytest.raises(ValueError, match=message):
        model.fit(X3, Y3)
    with pytest.raises(ValueError, match=message):
        model.learn_one(X3[0], 1.0)
    assert not model.__sklearn_is_fitted__()


def test_names_without_a_lam_are_refused_and_change_nothing() -> None:
    model = ForwardRegressor({"a": 1.0}, intercept_lam=2.0).learn_one({"a": 1.0}, 1.0)
    for ask in (lambda: model.predict_one({"b": 1.0}), lambda: model.learn_one({"b": 1.0}, 1.0)):
        with pytest.raises(
            ValueError, match="lam has no value for the feature 'b'; expected one, or a default under None"
        ):
            ask()
    with pytest.raises(ValueError, match="lam says nothing of the constant"):
        ForwardRegressor({"a": 1.0}, intercept_lam=None).learn_one({"a": 1.0}, 1.0)
    fixed = ForwardRegressor([1.0], intercept_lam=2.0).learn_one({"a": 1.0}, 1.0)
    with pytest.raises(ValueError, match="lam has 1 value, none of them for the new feature 'b'"):
        fixed.learn_one({"a": 1.0, "b": 1.0}, 1.0)
    assert (model.n_seen_, fixed.n_seen_) == (1, 1)
    for lam in ({None: 0.0}, [0.0, 1.0, 1.0]):
        with pytest.raises(ValueError, match="lam must be positive for ridge"):
            RidgeRegressor(lam, intercept_lam=1.0).fit(X3, Y3)
        ForwardRegressor(lam, intercept_lam=1.0).fit(X3, Y3)
    unlike = ForwardRegressor([1.0, 2.0], intercept_lam=1.0)
    one, two = (copy.deepcopy(unlike).learn_one(dict.fromkeys(names, 1.0), 1.0) for names in ("ab", "ba"))
    with pytest.raises(ValueError, match=r"cannot merge states: expected lam"):
        one.merge(two)
    with pytest.raises(ValueError, match="cannot merge the part: expected lam=0"):
        ForwardRegressor().merge_part(ForwardRegressor(0.0, intercept_lam=1.0))


@pytest.mark.parametrize("version", ["", "intercept_lam"])
@pytest.mark.parametrize("name", earlier.MADE)
def test_files_of_earlier_versions_load(name: str, version: str) -> None:
    loaded = load(Path(__file__).parent / "files" / version / f"{name}.onward")
    made = earlier.MADE[name]()
    if name in earlier.TO_ZERO:
        assert loaded.online_loss_ != made.online_loss_
        made.restate_online_loss(loaded.online_loss_)
    for key, value in made.get_params().items():
        assert_array_equal(loaded.get_params()[key], value, err_msg=key)
    assert_array_equal(getattr(loaded, "feature_names_in_", None), getattr(made, "feature_names_in_", None))
    for _ in range(2):
        assert_equal(loaded, made, 1e-12)
        assert loaded.information_.rank == made.information_.rank
        names = getattr(made, "feature_names_in_", None)
        for model in (loaded, made):
            for x, target in zip(earlier.X, earlier.Y, strict=True):
                row = x if names is None else dict(zip(names, x.tolist(), strict=True))
                model.learn_one(row, target[0] if np.ndim(made.online_loss_) == 0 else target)
