"""What is done with whatever came out of a file: predict, choose, learn, merge, save; and what must hold then."""

import copy
import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import onward
from onward import OnlinePipeline, storage
from onward.bandits import Disjoint, Hybrid, MetaOFUL, Named, NamedArms, Policy, Runs, SpectralBandit
from onward.confidence import ChangeAlarm
from onward.core.types import Vector
from onward.regression import OnlineRegressor
from onward.tables.encode_values import encode_blocks

MOST_FEATURES = 1000
FOREIGN = re.compile(  # words of Python, NumPy, polars and narwhals
    "broadcast|shape mismatch|could not convert|invalid literal|infs or NaNs|to unpack|ufunc|truth value|"
    "not supported between|unhashable|object of type|argument must be a string or|'NoneType' object|"
    "unsupported operand|"
    "is not iterable|is not subscriptable|object is not |required positional|unexpected keyword|DuplicateError|"
    "out of bounds|out of range: |cannot convert|has no attribute '(?!coef_|n_|information|interc|feat|regul|online)"
)


class Lie(Exception):  # noqa: N818
    """Something that must not come of a file that was loaded."""


def _numbers(what: str, values: Any, finite: bool = True) -> None:
    array = np.asarray(values, dtype=np.float64)
    if np.isnan(array).any() or (finite and not np.isfinite(array).all()):
        raise Lie(f"{what} is not a number")


def _told(what: str, model: Any, X: Any, values: Any, finite: bool = True) -> None:
    """What is said of each row is a number; and NaN of rows that the model's recipe skips, of those alone."""
    array, skipped = np.asarray(values, dtype=np.float64), np.zeros(len(X), dtype=np.bool_)
    if getattr(model, "recipe_", None) is not None and model._reads_columns(X):
        skipped[:] = model.recipe_.missing == "skip"
        for block in encode_blocks(model.recipe_, model._feature_names(), X):
            skipped[block.rows] = False
    _numbers(what, array[~skipped], finite)
    if not np.isnan(array[skipped]).all():
        raise Lie(f"{what} of a row that is skipped")


def _pivots(state: Any) -> None:
    if not (np.isfinite(state.D).all() and (state.D >= 0).all() and np.isfinite(state.U).all()):
        raise Lie("pivots or triangle of a state are none")


def use(thing: Any) -> list[str]:
    """Use it; the words of each refusal. Lie if something came out that must not."""
    refusals: list[str] = []

    def attempt(step: Callable[[], Any]) -> None:
        try:
            step()
        except ValueError as error:
            ours = type(error).__module__.split(".")[0] in ("builtins", "onward", "sklearn")
            if not ours or FOREIGN.search(str(error)):
                raise
            if len(str(error)) > 5000:
                raise Lie(f"a message of {len(str(error)):,} characters") from error
            refusals.append(f"{type(error).__name__}: {error}")

    for kind, steps in _STEPS:
        if isinstance(thing, kind):
            for step in steps(thing):
                attempt(step)
            attempt(lambda: save_again(thing))
            return refusals
    raise Lie(f"a {type(thing).__name__} came out of a file")


def save_again(thing: Any) -> None:
    """What was loaded can be saved, and loaded again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "again"
        thing.save(path)
        try:
            storage.load(path)
        except storage.StorageError as error:
            raise Lie(f"saved again it cannot be loaded: {error}") from error


def _regressor(model: Any) -> list[Callable[[], Any]]:
    rng = np.random.default_rng(0)
    if not hasattr(model, "n_features_in_"):
        return _by_names(model)
    d = model.n_features_in_
    if d > MOST_FEATURES:
        raise Lie(f"{d:,} features")
    names = getattr(model, "feature_names_in_", None)
    X: Any = rng.standard_normal((6, d))
    x: Any = X[0]
    if names is not None:
        x, X = dict(zip(names, x.tolist(), strict=True)), pd.DataFrame(X, columns=list(names))
    m = getattr(model, "n_targets_", 1) if not isinstance(model, OnlinePipeline) else 1
    flat = isinstance(model, OnlinePipeline) or model._fitted().flat
    y: Any = rng.standard_normal(6) if flat else rng.standard_normal((6, m))
    times = {}
    if not isinstance(model, OnlinePipeline) and getattr(model, "half_life", None) is not None:
        latest = model.latest_time
        if not math.isnan(latest):
            times = {"times": np.full(6, latest + 1.0)}

    if names is not None and len({type(name) for name in names}) > 1:  # no frame has such names
        target = float(y[0]) if flat else y[0]
        return [lambda: _numbers("a prediction of one", model.predict_one(x)), lambda: model.learn_one(x, target)]

    def predict() -> None:
        _told("a prediction", model, X, model.predict(X))
        _told("a prediction of one", model, X[:1], np.reshape(model.predict_one(x), (1, -1)))

    def look() -> None:
        _numbers("coef_", model.coef_)
        _numbers("intercept_", model.intercept_)
        _numbers("online_loss_", model.online_loss_)
        _told("leverage", model, X, model.leverage(X), finite=False)
        if getattr(model, "_has_sets", False):
            _pivots(model.information_)

    def intervals() -> None:
        _told("an interval", model, X, model.interval(X, sigma=1.0, theta_bound=2.0), finite=False)

    def conformal() -> None:
        ends = model.interval(X, method="conformal", of="observation")
        _told("a conformal interval", model, X, ends, finite=False)

    def learn() -> None:
        time = {"time": times["times"][0]} if times else {}
        model.learn_one(x, float(y[0]) if flat else y[0], **time)

    def learn_many() -> None:
        model.partial_fit(X, y, **times)

    def merge() -> None:
        other = copy.deepcopy(model)
        other.merge(model)
        _pivots(other.information_)
        _told("a merged prediction", other, X, other.predict(X))

    if isinstance(model, OnlinePipeline):
        return [predict, learn, learn_many, predict]
    if model.recipe_ is not None and not set(model.recipe_.kinds) <= set(names if names is not None else ()):
        return [*_by_recipe(model), look, intervals, merge]
    table: list[Callable[[], Any]] = [
        lambda: _table("coefficients", model.coefficient_table()),
        lambda: _table("robust coefficients", model.coefficient_table(robust=True)),
    ]
    return [predict, look, intervals, conformal, *table, learn, predict, learn_many, look, predict, merge]


def _table(what: str, columns: Any) -> None:
    """No number of a table is NaN; but for what data do not determine: of such, intervals are open on both sides."""
    ends = [np.asarray(columns[end], dtype=np.float64) for end in ("lower", "upper")]
    for name, column in columns.items():
        values = np.asarray(column)
        if values.dtype.kind == "f":
            known = slice(None) if name in ("lower", "upper") else ~(np.isinf(ends[0]) & np.isinf(ends[1]))
            _numbers(f"{name} of {what}", values[known], finite=name == "estimate")


def _by_recipe(model: Any) -> list[Callable[[], Any]]:
    """A frame with the columns that a model reads, learned and predicted; and one row of it."""
    recipe, rng, n = model.recipe_, np.random.default_rng(0), 7
    made: dict[str, Callable[[], Any]] = {
        "number": lambda: rng.standard_normal(n) + 3.0,
        "boolean": lambda: rng.random(n) < 0.5,
        "time": lambda: pd.date_range("2031-01-01", periods=n, freq="h"),
        "duration": lambda: pd.to_timedelta(np.arange(n), unit="h"),
        "category": lambda: ["Rome", "Oslo", "new", "Bern", "Rome", "Oslo", "Rome"],
    }
    columns = recipe.kinds | ({} if recipe.time is None else {recipe.time.name: recipe.time.kind})
    columns |= {} if recipe.weight is None else {recipe.weight: "number"}
    frame = pd.DataFrame({name: made[kind]() for name, kind in columns.items() if name != recipe.target})
    row = frame.iloc[0].to_dict()

    def predict() -> None:
        _told("a prediction", model, frame, model.predict(frame))
        _told("a prediction of one", model, frame[:1], [model.predict_one(row)])

    def learn() -> None:
        model.partial_fit(frame, rng.standard_normal(n))

    def stream() -> None:
        with_target = frame.assign(**{recipe.target: rng.standard_normal(n)})
        table = onward.Table(recipe.target)
        onward.fit(with_target, table, model, with_scores=False)

    return [predict, learn, predict, stream, predict]


def _by_names(model: OnlinePipeline) -> list[Callable[[], Any]]:
    """Of a pipeline that learns dicts, one row after the other."""
    x = dict.fromkeys(getattr(model.transformer_, "feature_names_in_", ["a", "b"]), 0.5)
    return [lambda: _numbers("a prediction of one", model.predict_one(x)), lambda: model.learn_one(x, 1.0)]


def _policy(policy: Any) -> list[Callable[[], Any]]:
    rng = np.random.default_rng(0)
    inner = policy if isinstance(policy, Policy) else policy.policy
    d = inner.dimension or 3
    if d > MOST_FEATURES:
        raise Lie(f"{d:,} features")
    actions = rng.standard_normal((5, d))

    def read() -> None:
        _numbers("an index", policy.index(actions), finite=False)
        _numbers("an estimate", policy.estimate(actions))
        if hasattr(policy, "leverage"):
            _numbers("a leverage", policy.leverage(actions))

    def chances() -> None:
        if hasattr(policy, "probabilities"):
            _chances(policy.probabilities(actions))

    def choose() -> None:
        if not 0 <= policy.choose(actions) < 5:
            raise Lie("an action that was not offered")

    def learn() -> None:
        for x in actions:
            policy.learn(x, 1.0)

    def late() -> None:
        policy.decide(actions, "new")
        _late(policy)

    def look() -> None:
        inner = policy if isinstance(policy, Policy) else policy.policy
        if inner.dimension is not None:
            _pivots(inner.information())
            _numbers("coef", inner.coef)
        if not 0 <= inner.n_learned < 2**53:
            raise Lie(f"{inner.n_learned} rewards")

    def merge() -> None:
        other = copy.deepcopy(policy)
        other.merge(policy)
        _numbers("an estimate", other.estimate(actions))

    more = [late, merge] if isinstance(policy, Policy) else []
    return [look, read, chances, choose, learn, look, read, *more, choose, learn]


def _chances(chances: Vector) -> None:
    _numbers("a probability", chances)
    if not (chances >= 0).all() or abs(chances.sum() - 1) > 1e-6:
        raise Lie("probabilities that do not sum to 1")


def _late(policy: Any) -> None:
    for key in list(policy.pending):
        decision = policy.pending[key]
        _numbers("a row that waits", decision.row)
        policy.reward(key, 0.5)
    counts = policy.counts
    if min(counts) < 0:
        raise Lie(f"counts of {counts}")


def _disjoint(policy: Disjoint) -> list[Callable[[], Any]]:
    d = policy.dimension or 3
    rows = np.random.default_rng(0).standard_normal((6, d))

    def read() -> None:
        _numbers("an index", policy.index(rows[0]), finite=False)
        _numbers("an estimate", policy.estimate(rows[0]))
        _chances(policy.probabilities(rows[0]))

    def choose() -> None:
        if policy.choose(rows[0]) not in policy.arms:
            raise Lie("an arm that was not offered")

    def learn() -> None:
        for x in rows:
            policy.learn(policy.choose(x), x, 1.0)
        for arm in policy.arms:
            policy.learn(arm, rows[1], 0.0)

    def late() -> None:
        policy.decide(rows[0], "new")
        _late(policy)

    def arms() -> None:
        policy.add_arm("another")
        policy.learn("another", rows[0], 1.0)
        for arm in policy.arms:
            _pivots(policy.information(arm))
        policy.remove_arm("another")

    def merge() -> None:
        other = copy.deepcopy(policy)
        other.merge(policy)
        _numbers("an estimate", other.estimate(rows[0]))

    return [read, choose, learn, read, late, arms, merge, read]


def _hybrid(policy: Hybrid) -> list[Callable[[], Any]]:
    d, k = policy._sizes if policy._sizes[0] else (2, 3)
    if d + k > MOST_FEATURES:
        raise Lie(f"{d + k:,} features")
    x, z = np.random.default_rng(0).standard_normal(d), np.random.default_rng(1).standard_normal(k)

    def read() -> None:
        _numbers("an index", policy.index(x, z))
        _numbers("an estimate", policy.estimate(x, z))
        _numbers("coef", policy.coef(policy.arms[0]))
        _numbers("shared coef", policy.shared_coef)

    def learn() -> None:
        for arm in policy.arms:
            policy.learn(arm, x, z, 1.0)
        policy.choose(x, z)

    def late() -> None:
        policy.decide(x, z, "new")
        _late(policy)

    def arms() -> None:
        policy.add_arm("another")
        policy.learn("another", x, z, 1.0)
        policy.remove_arm("another")

    return [read, learn, read, late, arms, read]


def _named(policy: Named) -> list[Callable[[], Any]]:
    rows: list[dict[str, Any]] = [{"a": 1.0, "kind": "u"}, {"a": -1.0, "kind": "v"}, {"a": 0.5, "new": 1.0}]

    def read() -> None:
        _numbers("an index", policy.index(rows, {"c": 1.0}), finite=False)
        _numbers("an estimate", policy.estimate(rows, {"c": 1.0}))
        _chances(policy.probabilities(rows, {"c": 1.0}))

    def learn() -> None:
        for row in rows:
            policy.learn(row, 1.0, {"c": 1.0})
        policy.choose(rows)
        policy.choose_many(rows, [{"c": 1.0}, {"c": 2.0}])
        policy.rank(rows, 2, {"c": 1.0})
        policy.propose(rows, 2)

    def late() -> None:
        policy.decide(rows, "new", {"c": 1.0})
        _late(policy)

    return [read, learn, late, read]


def _named_arms(policy: NamedArms) -> list[Callable[[], Any]]:
    row = {"a": 1.0, "b": -1.0}

    def read() -> None:
        _numbers("an index", policy.index(row), finite=False)
        _numbers("an estimate", policy.estimate(row))

    def learn() -> None:
        for arm in policy.arms:
            policy.learn(arm, row, 1.0)
        policy.choose(row | {"new": 2.0})
        policy.choose_many([row, row])
        policy.rank(row, 1)
        policy.propose(row, 1)

    def late() -> None:
        policy.decide(row, "new")
        _late(policy)

    return [read, learn, late, read]


def _spectral(policy: SpectralBandit) -> list[Callable[[], Any]]:
    def read() -> None:
        _numbers("an index", policy.index(), finite=False)
        _numbers("an estimate", policy.estimate())

    def learn() -> None:
        for _ in range(3):
            policy.learn(policy.choose(), 1.0)

    def late() -> None:
        policy.decide("new")
        _late(policy)

    return [read, learn, late, read]


def _runs(runs: Runs) -> list[Callable[[], Any]]:
    return [lambda: str(runs), lambda: runs.to_frame()]


def _alarm(alarm: ChangeAlarm) -> list[Callable[[], Any]]:
    rng = np.random.default_rng(0)
    d = 3 if alarm._buffer is None else int(alarm._buffer[0]) - 1

    def learn() -> None:
        alarm.learn(rng.standard_normal((40, d)), rng.standard_normal(40))
        _numbers("the state of an alarm", alarm._buffer)

    return [learn, lambda: repr(alarm)]


_STEPS: tuple[tuple[Any, Callable[[Any], list[Callable[[], Any]]]], ...] = (
    ((OnlineRegressor, OnlinePipeline), _regressor),
    ((Policy, MetaOFUL), _policy),
    (Disjoint, _disjoint),
    (Hybrid, _hybrid),
    (Named, _named),
    (NamedArms, _named_arms),
    (SpectralBandit, _spectral),
    (Runs, _runs),
    (ChangeAlarm, _alarm),
)
