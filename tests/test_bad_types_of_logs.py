"""Logs, tables, keys, nodes and contrasts, with values of every wrong type: one short error, and nothing changes."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from onward import ForwardRegressor, RidgeRegressor
from onward.bandits import Disjoint, Hybrid, LinUCB, LoggedData, LogWriter, Named, NamedArms, SpectralBandit
from onward.tables import Table
from tests.bad_values import Calls, Taker, walk

X = np.random.default_rng(0).standard_normal((6, 3))
y = X.sum(axis=1)
SETS = [X[:2], X[2:4], X[4:]]
TEXTS = {"text", "a long text"}
FRAMES = {"a frame with names of text and numbers", "a frame with long names"}  # of numbers
LISTS = {"features", "exclude", "categorical", "na", "keep"}
NAMES = {"key", "target", "weight", "time", "name"}
KEYS = {
    "a list": [],
    "a tuple": (1, 2),
    "true": True,
    "1.5": 1.5,
    "a number beyond 128 bits": 2**130,
    "a number of 5,000 digits": 10**5000,
    "half a letter": "\ud800",
    "infinity": math.inf,
    "a number of NumPy with a fraction": np.float64(0.5),
    "an array of one": np.array([1]),
}


class Without:
    """What has no state."""

    def to_bytes(self) -> bytes:
        return b""


class Log(LogWriter):
    """A log whose file is its state, with what waits in it."""

    def to_bytes(self) -> bytes:
        return self._path.read_bytes() + repr((self.written, sorted(map(str, self._waiting)))).encode()


def _writer(path: Path, arms: list[str] | None, opened: list[Log]) -> Taker:
    def make() -> tuple[Any, Calls]:
        for before in opened:
            before.close()
        path.unlink(missing_ok=True)
        log = Log(path, arms=arms)
        opened.append(log)
        first, offered = (0, X[:2]) if arms is None else ("x", X[0])
        log.write(first, offered, 1.0, propensity=0.5, time=0.0)
        log.write(first, offered, propensity=0.5, key="waits", time=0.0)
        return log, {
            "write decision": lambda v: log.write(v, offered, 1.0, propensity=0.5),
            "write offered": lambda v: log.write(first, v, 1.0, propensity=0.5),
            "write reward": lambda v: log.write(first, offered, v, propensity=0.5),
            "write propensity": lambda v: log.write(first, offered, 1.0, propensity=v),
            "write probabilities": lambda v: log.write(first, offered, 1.0, probabilities=v),
            "write key": lambda v: log.write(first, offered, propensity=0.5, key=v),
            "write time": lambda v: log.write(first, offered, 1.0, propensity=0.5, time=v),
            "reward key": lambda v: log.reward(v, 1.0),
            "reward": lambda v: log.reward("waits", v),
        }

    return make


def _new_writer(path: Path) -> tuple[Any, Calls]:
    return Without(), {
        "path": lambda v: LogWriter(v).close(),
        "arms": lambda v: LogWriter(path, arms=v).close(),
    }


def _logged() -> tuple[Any, Calls]:
    half, rest = [0.5] * 3, ([0, 1, 0], [0.5] * 3, [1.0, 0.0, 1.0])
    frame = pd.DataFrame({"a": [1.0] * 3, "taken": [0, 1, 0], "propensity": half, "reward": half})
    return Without(), {
        "actions": lambda v: LoggedData(v, *rest),
        "a set of actions": lambda v: LoggedData([*SETS[:2], v], *rest),
        "taken": lambda v: LoggedData(SETS, v, *rest[1:]),
        "propensity": lambda v: LoggedData(SETS, rest[0], v, rest[2]),
        "reward": lambda v: LoggedData(SETS, *rest[:2], v),
        "probabilities": lambda v: LoggedData(SETS, *rest, v),
        "probabilities of one": lambda v: LoggedData(SETS, *rest, [half[:2], half[:2], v]),
        "contexts": lambda v: LoggedData.disjoint(v, 2, *rest),
        "n_arms": lambda v: LoggedData.disjoint(X[:3], v, *rest),
        "arms": lambda v: LoggedData.disjoint(X[:3], 2, *rest, arms=v),
        "frame": lambda v: LoggedData.from_frame(v, n_arms=2),
        "frame n_arms": lambda v: LoggedData.from_frame(frame, n_arms=v),
        "frame features": lambda v: LoggedData.from_frame(frame, n_arms=2, features=v),
        "frame taken": lambda v: LoggedData.from_frame(frame, n_arms=2, taken=v),
        "frame reward": lambda v: LoggedData.from_frame(frame, n_arms=2, reward=v),
        "frame event": lambda v: LoggedData.from_frame(frame, event=v),
    }


def _table() -> tuple[Any, Calls]:
    lists = ("features", "exclude", "categorical", "terms", "na", "keep")
    others = ("target", "weight", "time", "missing", "bad_rows", "decimal", "thousands", "date_format", "format")
    last = ("separator", "header", "encoding", "max_levels", "drop_first", "schema")

    def call(make: Callable[[Any], dict[str, Any]]) -> Callable[[Any], Any]:
        return lambda v: Table(**({"target": "y"} | make(v)))

    def named(name: str, inside: bool) -> Callable[[Any], Any]:
        return call(lambda v: {name: [v] if inside else v})

    return Without(), {
        **{name: named(name, False) for name in (*lists, *others, *last)},
        **{f"one of {name}": named(name, True) for name in lists},
        "schema of a column": call(lambda v: {"schema": {"a": v}}),
        "schema of a name": lambda v: Table("y", schema={v: "number"}) if _hashable(v) else Table("y", schema=v),
    }


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _spectral() -> tuple[Any, Calls]:
    edges = [("a", "b", 2.0), ("b", "c", 1.0)]
    nodes = SpectralBandit(edges, sigma=0.1, smoothness=2.0, seed=1)
    nodes.learn("a", 1.0)
    nodes.decide("waits", at=0.0)

    def new(**settings: Any) -> SpectralBandit:
        given: dict[str, Any] = {"graph": edges, "smoothness": 2.0, "sigma": 0.1} | settings
        return SpectralBandit(**given)

    return nodes, {
        "graph": lambda v: new(graph=v),
        "an edge": lambda v: new(graph=[*edges, v]),
        "a weight": lambda v: new(graph=[("a", "b", v)]),
        "smoothness": lambda v: new(smoothness=v),
        "lam": lambda v: new(lam=v),
        "size": lambda v: new(size=v),
        "prior_mean": lambda v: new(prior_mean=v),
        "learn node": lambda v: nodes.learn(v, 1.0),
        "learn reward": lambda v: nodes.learn("a", v),
        "learn_many nodes": lambda v: nodes.learn_many(v, [1.0, 2.0, 3.0]),
        "learn_many rewards": lambda v: nodes.learn_many(["a", "b", "c"], v),
        "choose available": nodes.choose,
        "probabilities": nodes.probabilities,
        "decide key": nodes.decide,
        "decide available": lambda v: nodes.decide("new", v),
        "decide at": lambda v: nodes.decide("new", at=v),
        "reward key": lambda v: nodes.reward(v, 1.0),
        "reward": lambda v: nodes.reward("waits", v),
        "reward_many": nodes.reward_many,
        "cancel": nodes.cancel,
        "expire": nodes.expire,
        "expire rounds": lambda v: nodes.expire(rounds=v),
        "expire default": lambda v: nodes.expire(rounds=0, default=v),
        "override key": lambda v: nodes.override(v, "b"),
        "override node": lambda v: nodes.override("waits", v),
        "effective_dimension": nodes.effective_dimension,
        "reseed": nodes.reseed,
    }


def _deciding(policy: Any, *offered: Any, taken: Any) -> tuple[Any, Calls]:
    policy.decide(*offered, "waits", at=0.0)
    return policy, {
        "decide key": lambda v: policy.decide(*offered, v),
        "decide at": lambda v: policy.decide(*offered, "new", at=v),
        "decide available": lambda v: policy.decide(*offered, "new", available=v),
        "reward key": lambda v: policy.reward(v, 1.0),
        "reward": lambda v: policy.reward("waits", v),
        "reward_many": policy.reward_many,
        "reward_many values": lambda v: policy.reward_many({"waits": v}),
        "cancel": policy.cancel,
        "expire": policy.expire,
        "expire rounds": lambda v: policy.expire(rounds=v),
        "expire default": lambda v: policy.expire(rounds=0, default=v),
        "expire now": lambda v: policy.expire(1.0, now=v),
        "override key": lambda v: policy.override(v, *taken),
        "override": lambda v: policy.override("waits", v, *taken[1:]),
        "pending": lambda v: policy.pending[v],
        "reseed": policy.reseed,
    }


def _contrast(model: Any, names: list[str]) -> tuple[Any, Calls]:
    return model, {
        "contrast": model.contrast,
        "contrast of names": lambda v: model.contrast(dict.fromkeys(names, v)),
        "contrast delta": lambda v: model.contrast([1.0, 0.0, 0.0], v),
        "contrast null": lambda v: model.contrast([1.0, 0.0, 0.0], null=v),
        "contrast tuned_for": lambda v: model.contrast([1.0, 0.0, 0.0], tuned_for=v),
        "contrast together": lambda v: model.contrast([1.0, 0.0, 0.0], together=v),
        "contrast target": lambda v: model.contrast([1.0, 0.0, 0.0], target=v),
        "coefficient_table delta": model.coefficient_table,
        "coefficient_table tuned_for": lambda v: model.coefficient_table(tuned_for=v),
        "coefficient_table method": lambda v: model.coefficient_table(method=v),
        "coefficient_table sigma": lambda v: model.coefficient_table(sigma=v, theta_bound=1.0),
        "calibrate": model.calibrate,
    }


TAKERS: dict[str, Taker] = {
    "LoggedData": _logged,
    "Table": _table,
    "SpectralBandit": _spectral,
    "LinUCB": lambda: _deciding(LinUCB(seed=1), X[:3], taken=[X[0]]),
    "Disjoint": lambda: _deciding(Disjoint(LinUCB(seed=1), ["x", "y"]), X[0], taken=["x"]),
    "Hybrid": lambda: _deciding(Hybrid(LinUCB(seed=1), ["x", "y"]), X[0], X[0, :2], taken=["x", X[0], X[0, :2]]),
    "Named": lambda: _deciding(Named(LinUCB(seed=1)), [{"a": 1.0}, {"a": 2.0}], taken=[{"a": 1.0}]),
    "NamedArms": lambda: _deciding(NamedArms(Disjoint(LinUCB(seed=1), ["x", "y"])), {"a": 1.0}, taken=["x"]),
    "ridge": lambda: _contrast(RidgeRegressor().fit(X, y), ["x0"]),
    "forward with names": lambda: _contrast(ForwardRegressor().fit(pd.DataFrame(X, columns=list("abc")), y), ["a"]),
}


def _is_fine(name: str, what: str) -> bool:
    """Whether a call may take what is bad elsewhere: text is a name, and a whole number of any size one of rounds."""
    return what in {
        "contexts": FRAMES,
        "a set of actions": FRAMES,
        "write offered": FRAMES,
        "learn_many nodes": {"texts"},
        "graph": {"np.matrix"},
        "expire": {"a duration"},
        "expire rounds": {"a whole number beyond floats"},
        "reseed": {"a whole number beyond floats", "such numbers"},
        "max_levels": {"a whole number beyond floats"},
        "arms": {"texts", "bytes", "complex", "NA", "None"},  # those that are no text are not logged
    }.get(name, {"texts"} if name in LISTS else TEXTS if name.split()[-1] in NAMES | LISTS else set())


@pytest.mark.parametrize("taker", [*TAKERS, "LogWriter", "LogWriter of arms", "new LogWriter"])
def test_values_of_wrong_types_are_one_short_error_of_ours(taker: str, tmp_path: Path) -> None:
    path, opened = tmp_path / "log.jsonl", list[Log]()
    writers: dict[str, Taker] = {
        "LogWriter": _writer(path, None, opened),
        "LogWriter of arms": _writer(path, ["x", "y"], opened),
        "new LogWriter": lambda: _new_writer(path),
    }
    try:
        accepted = walk((TAKERS | writers)[taker], taker, KEYS)
    finally:
        for log in opened:
            log.close()
    assert {(name, what) for name, what in accepted if not _is_fine(name, what)} == set()
