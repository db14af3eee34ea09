"""Every method that takes data, with values of every wrong type: one short error of ours, and an unchanged state."""

import copy
import datetime
import decimal
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from onward import AutoRegressor, ForwardRegressor, RidgeRegressor
from onward.bandits import (
    Disjoint,
    DLinUCB,
    Hybrid,
    LinTS,
    LinUCB,
    MetaOFUL,
    Named,
    NamedArms,
    SpectralBandit,
    SquareCB,
    SWLinUCB,
)

LONGEST = 300
# Words of numba, scikit-learn, NumPy and Python about their own affairs. What scikit-learn's own checks want to read
# ("Reshape your data", "Complex data not supported") is ours where we say it.
FOREIGN = re.compile(
    r"TypingError|Cannot cast|dtype\(|dtype=|numba|sklearn|check_array|broadcast|setting an array|could not convert|"
    r"unhashable|invalid literal|has no attribute|unsupported operand|not supported between|not iterable|"
    r"not subscriptable|cannot be interpreted|inhomogeneous|positional|ambiguous|ufunc|must be real number|only 0-dim|"
    r"can't convert|Expected 2D|estimator|not enough values|to unpack|object of type|A sparse|narwhals|out of bounds|"
    r"int too large|boolean value"
)


class Huge:
    """What takes a page to write down."""

    def __repr__(self) -> str:
        return "x" * 58_925


def _matrix() -> Any:
    return np.eye(3).view(np.matrix)


def _bad_values() -> dict[str, Any]:
    long_names = [f"n{i}" * 50 for i in range(200)]
    frames = {
        "a frame with names of text and numbers": pd.DataFrame({"a": [1.0, 2.0, 3.0], 1: [1.0] * 3, "c": [1.0] * 3}),
        "a frame with NA": pd.DataFrame({"a": [pd.NA, 1, 2], "b": [1, 2, 3], "c": [1, 2, 3]}),
        "a frame with dates": pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 3), "b": [1] * 3, "c": [1] * 3}),
        "a frame with long names": pd.DataFrame(np.zeros((3, 200)), columns=long_names),
    }
    arrays = {
        "0-d": np.array(3.0 + 1j),
        "sparse": sp.csr_array(np.eye(3) * 1j),
        "a sparse row": sp.csr_array(np.eye(3)[:1]),
        "np.matrix": _matrix(),
        "NaT": np.array([pd.NaT] * 3, dtype=object),
        "NA": np.array([pd.NA, 1.0, 2.0], dtype=object),
        "None": np.array([None, 1.0, 2.0], dtype=object),
        "dates": np.array(["2020-01-01"] * 3, dtype="datetime64[D]"),
        "date objects": np.array([datetime.date(2020, 1, 1)] * 3, dtype=object),
        "complex": np.array([1j, 2.0, 3.0]),
        "bytes": np.array([b"a", b"b", b"c"]),
        "texts": np.array(["a", "b", "c"]),
        "a table of NaT": np.array([[pd.NaT] * 3] * 3, dtype=object),
        "a table of complex numbers": np.ones((3, 3)) * 1j,
        "a table of texts": [["a", "b", "c"]] * 3,
        "a table of dates": np.full((3, 3), "2020-01-01", dtype="datetime64[D]"),
        "three axes of texts": np.full((2, 3, 3), "a"),
        "records": np.zeros(3, dtype=[("a", "f8")]),
    }
    others = {
        "text": "hello",
        "bytes of text": b"abc",
        "a long text": "y" * 100_000,
        "a whole number beyond floats": 10**400,
        "such numbers": [10**400, 1, 2],
        "a table of such numbers": [[10**400, 1, 2]] * 3,
        "a huge repr": Huge(),
        "huge reprs": [Huge()] * 3,
        "a table of huge reprs": [[Huge()] * 3] * 3,
        "ragged lists": [[1], [2, 3]],
        "a dict of lists": {"a": [1, 2]},
        "a dict of a huge repr": {"zz": Huge(), "b": 2},
        "a set": {1, 2, 3},
        "NaN": float("nan"),
        "an object": object(),
        "a function": len,
        "a complex number": 3j,
        "a duration": np.timedelta64(1, "D"),
        "a decimal NaN": decimal.Decimal("NaN"),
    }
    return frames | arrays | others


BAD = _bad_values()
FINE = {"a frame with long names", "a sparse row"}  # where new features, or sparse rows, are welcome
X = np.random.default_rng(0).standard_normal((20, 3))
y = np.random.default_rng(1).standard_normal(20)
Calls = Mapping[str, Callable[[Any], Any]]


def _regressor(model: Any) -> tuple[Any, Calls]:
    few = [1.0, 2.0, 3.0]
    return model, {
        "fit X": lambda v: model.fit(v, few),
        "fit y": lambda v: model.fit(X, v),
        "fit sample_weight": lambda v: model.fit(X, y, v),
        "partial_fit X": lambda v: model.partial_fit(v, few),
        "partial_fit y": lambda v: model.partial_fit(X[:3], v),
        "partial_fit sample_weight": lambda v: model.partial_fit(X[:3], y[:3], v),
        "learn_one x": lambda v: model.learn_one(v, 1.0),
        "learn_one y": lambda v: model.learn_one(X[0], v),
        "learn_one sample_weight": lambda v: model.learn_one(X[0], 1.0, v),
        "learn_many X": lambda v: model.learn_many(v, few),
        "predict": model.predict,
        "predict_one": model.predict_one,
        "predict_many": model.predict_many,
        "leverage": model.leverage,
        "interval": lambda v: model.interval(v, of="observation"),
        "interval delta": lambda v: model.interval(X, v, of="observation"),
    }


def _policy(policy: Any) -> tuple[Any, Calls]:
    for x, r in zip(X, y, strict=True):
        policy.learn(x, float(r))
    return policy, {
        "choose": policy.choose,
        "choose available": lambda v: policy.choose(X[:3], v),
        "learn action": lambda v: policy.learn(v, 1.0),
        "learn reward": lambda v: policy.learn(X[0], v),
        "learn weight": lambda v: policy.learn(X[0], 1.0, v),
        "learn_many actions": lambda v: policy.learn_many(v, [1.0, 2.0, 3.0]),
        "learn_many rewards": lambda v: policy.learn_many(X[:3], v),
        "learn_many weights": lambda v: policy.learn_many(X[:3], y[:3], v),
        "decide": lambda v: policy.decide(v, "key"),
        "reward key": lambda v: policy.reward(v, 1.0),
        "index": policy.index,
        "estimate": policy.estimate,
        "leverage": policy.leverage,
        "probabilities": policy.probabilities,
        "choose_many": policy.choose_many,
        "rank": lambda v: policy.rank(v, 2),
        "rank k": lambda v: policy.rank(X[:3], v),
        "propose": lambda v: policy.propose(v, 2),
    }


def _disjoint() -> tuple[Any, Calls]:
    arms = Disjoint(LinUCB(seed=1), ["x", "y"])
    for x, r in zip(X, y, strict=True):
        arms.learn("x", x, float(r))
    return arms, {
        "choose": arms.choose,
        "choose available": lambda v: arms.choose(X[0], v),
        "learn arm": lambda v: arms.learn(v, X[0], 1.0),
        "learn context": lambda v: arms.learn("x", v, 1.0),
        "learn reward": lambda v: arms.learn("x", X[0], v),
        "decide": lambda v: arms.decide(v, "key"),
        "reward key": lambda v: arms.reward(v, 1.0),
        "index": arms.index,
        "estimate": arms.estimate,
        "probabilities": arms.probabilities,
        "rank": lambda v: arms.rank(v, 2),
        "remove_arm": arms.remove_arm,
    }


def _hybrid() -> tuple[Any, Calls]:
    arms, z = Hybrid(LinUCB(seed=1), ["x", "y"]), X[0, :2]
    arms.learn("x", X[0], z, 1.0)
    return arms, {
        "choose context": lambda v: arms.choose(v, z),
        "choose shared": lambda v: arms.choose(X[0], v),
        "learn arm": lambda v: arms.learn(v, X[0], z, 1.0),
        "learn context": lambda v: arms.learn("x", v, z, 1.0),
        "learn shared": lambda v: arms.learn("x", X[0], v, 1.0),
        "learn reward": lambda v: arms.learn("x", X[0], z, v),
        "index": lambda v: arms.index(v, z),
        "decide": lambda v: arms.decide(v, z, "key"),
        "reward key": lambda v: arms.reward(v, 1.0),
    }


def _named() -> tuple[Any, Calls]:
    policy = Named(LinUCB(seed=1))
    policy.learn({"a": 1.0, "k": "u"}, 1.0)
    return policy, {
        "choose": policy.choose,
        "choose context": lambda v: policy.choose([{"a": 1.0}], v),
        "learn action": lambda v: policy.learn(v, 1.0),
        "learn reward": lambda v: policy.learn({"a": 1.0}, v),
        "learn value": lambda v: policy.learn({"a": v}, 1.0),
        "index": policy.index,
        "probabilities": policy.probabilities,
        "decide": lambda v: policy.decide(v, "key"),
        "reward key": lambda v: policy.reward(v, 1.0),
    }


def _named_arms() -> tuple[Any, Calls]:
    arms = NamedArms(Disjoint(LinUCB(seed=1), ["x", "y"]))
    arms.learn("x", {"a": 1.0}, 1.0)
    return arms, {
        "choose": arms.choose,
        "learn arm": lambda v: arms.learn(v, {"a": 1.0}, 1.0),
        "learn context": lambda v: arms.learn("x", v, 1.0),
        "learn reward": lambda v: arms.learn("x", {"a": 1.0}, v),
        "learn value": lambda v: arms.learn("x", {"a": v}, 1.0),
        "index": arms.index,
        "decide": lambda v: arms.decide(v, "key"),
    }


def _spectral() -> tuple[Any, Calls]:
    nodes = SpectralBandit([("a", "b", 2.0), ("b", "c", 1.0)], sigma=0.1, smoothness=2.0, seed=1)
    nodes.learn("a", 1.0)
    return nodes, {
        "learn node": lambda v: nodes.learn(v, 1.0),
        "learn reward": lambda v: nodes.learn("a", v),
        "choose available": nodes.choose,
        "reward key": lambda v: nodes.reward(v, 1.0),
    }


def _meta() -> tuple[Any, Calls]:
    policy = MetaOFUL(10, spread=0.1, sigma=0.1, theta_bound=3.0, seed=1)
    policy.learn(X[0], 1.0)
    return policy, {
        "choose": policy.choose,
        "learn action": lambda v: policy.learn(v, 1.0),
        "learn reward": lambda v: policy.learn(X[0], v),
        "index": policy.index,
        "estimate": policy.estimate,
    }


TAKERS: dict[str, Callable[[], tuple[Any, Calls]]] = {
    "ridge": lambda: _regressor(RidgeRegressor().calibrate().fit(X, y)),
    "forward with names": lambda: _regressor(ForwardRegressor().fit(pd.DataFrame(X, columns=list("abc")), y)),
    "auto": lambda: _regressor(AutoRegressor().calibrate().fit(X, y)),
    "LinUCB": lambda: _policy(LinUCB(seed=1)),
    "LinTS": lambda: _policy(LinTS(seed=1)),
    "DLinUCB": lambda: _policy(DLinUCB(0.9, seed=1)),
    "SWLinUCB": lambda: _policy(SWLinUCB(20, seed=1)),
    "SquareCB": lambda: _policy(SquareCB(seed=1)),
    "Disjoint": _disjoint,
    "Hybrid": _hybrid,
    "Named": _named,
    "NamedArms": _named_arms,
    "SpectralBandit": _spectral,
    "MetaOFUL": _meta,
}


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("taker", TAKERS)
def test_values_of_wrong_types_are_one_short_error_of_ours(taker: str) -> None:
    accepted: set[tuple[str, str]] = set()
    for name in TAKERS[taker]()[1]:
        thing, calls = TAKERS[taker]()
        before = thing.to_bytes()
        for what, value in BAD.items():
            place = f"{taker}.{name} of {what}"
            try:
                calls[name](copy.copy(value))
            except (TypeError, ValueError) as error:
                words = str(error)
                assert len(words) <= LONGEST, f"{place}: {len(words):,} characters: {words[:200]}"
                assert not FOREIGN.search(words), f"{place}: {words}"
                assert thing.to_bytes() == before, f"{place}: the state has changed"
            else:
                accepted.add((name, what))
                thing, calls = TAKERS[taker]()
    assert {what for _, what in accepted} <= FINE, accepted


def test_a_context_without_values_is_told() -> None:
    with pytest.raises(ValueError, match="one row of shape") as caught:
        Disjoint(LinUCB(), ["x", "y"]).choose([])
    assert len(str(caught.value)) <= LONGEST
