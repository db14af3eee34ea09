"""Every method that takes data, with values of every wrong type: one short error of ours, and an unchanged state."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

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
from tests.bad_values import LONGEST, Calls, Taker, walk

FINE = {"a frame with long names", "a sparse row"}  # where new features, or sparse rows, are welcome
X = np.random.default_rng(0).standard_normal((20, 3))
y = np.random.default_rng(1).standard_normal(20)


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


TAKERS: dict[str, Taker] = {
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
    accepted = walk(TAKERS[taker], taker)
    assert {what for _, what in accepted} <= FINE, accepted


def test_a_context_without_values_is_told() -> None:
    with pytest.raises(ValueError, match="one row of shape") as caught:
        Disjoint(LinUCB(), ["x", "y"]).choose([])
    assert len(str(caught.value)) <= LONGEST
