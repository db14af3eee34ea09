"""What is called in random order: learners, policies, logs, each with its public methods and what they take."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onward import AutoRegressor, ForwardRegressor, OnlinePipeline, RandomFeatures, RidgeRegressor
from onward.bandits import (
    OFUL,
    Boltzmann,
    DetectingLinUCB,
    Disjoint,
    DLinUCB,
    EpsilonGreedy,
    Greedy,
    Hybrid,
    LinTS,
    LinUCB,
    LoggedData,
    LogWriter,
    MetaOFUL,
    Named,
    NamedArms,
    OracleRestart,
    Random,
    SpectralBandit,
    SquareCB,
    SWLinUCB,
)
from onward.confidence import ChangeAlarm
from tests.fuzz.arguments import Arguments

Given = Callable[[Arguments], tuple[Any, ...]]


class Call(NamedTuple):
    """A method, what it is given, whether NaN may come of it, and whether an error of it leaves the state alone."""

    name: str
    method: Callable[..., Any]
    given: Given
    may_be_nan: bool = False
    reads_or_refuses: bool = True


class Subject(NamedTuple):
    """Something with methods; `saves` if it has bytes that make it again."""

    make: Callable[[Arguments, Path], Any]
    calls: Sequence[Call]
    saves: bool = True


def _call(name: str, given: Given, *names: str, may_be_nan: bool = False) -> Call:
    """A method by its name; the last arguments by theirs."""

    def method(thing: Any, *given: Any) -> Any:
        at = len(given) - len(names)
        return getattr(thing, name)(*given[:at], **dict(zip(names, given[at:], strict=True)))

    return Call(name, method, given, may_be_nan)


def _look(name: str) -> Call:
    return Call(name, lambda thing: getattr(thing, name), lambda a: ())


def _merge(thing: Any) -> Any:
    return thing.merge(copy.deepcopy(thing))


# Learners


def _rows(a: Arguments) -> tuple[Any, Any]:
    n = a.rng.randint(1, 6)
    return a.matrix(n), a.vector(n)


def _weighed(a: Arguments) -> tuple[Any, ...]:
    n = a.rng.randint(1, 6)
    weights = a.rng.choice((None, [a.share() for _ in range(n)]))
    return a.matrix(n), a.vector(n), weights, a.times(n)


_REGRESSOR = (
    _call("learn_one", lambda a: (a.vector(), a.number())),
    _call("learn_one", lambda a: (a.vector(), a.number(), a.share()), "sample_weight"),
    _call("learn_one", lambda a: (a.vector(), a.number(), a.number()), "time"),
    _call("partial_fit", _rows),
    _call("partial_fit", _weighed),
    _call("learn_many", _rows),
    _call("predict_then_learn", _rows),
    _call("predict_one", lambda a: (a.vector(),)),
    _call("predict", lambda a: (a.matrix(),)),
    _call("predict", lambda a: (a.matrix(3), [a.share() for _ in range(3)]), "sample_weight"),
    _call("predict_many", lambda a: (a.matrix(),)),
    _call("leverage", lambda a: (a.matrix(),)),
    _call("score", _rows, may_be_nan=True),
    _call("interval", lambda a: (a.matrix(), a.share(), a.share()), "sigma", "theta_bound"),
    _call("interval", lambda a: (a.matrix(), "conformal", "observation"), "method", "of"),
    _call("coefficient_table", lambda a: (), may_be_nan=True),
    _call("contrast", lambda a: ([a.number() for _ in range(3)],)),
    _call("calibrate", lambda a: (a.share(),)),
    _call("set_params", lambda a: (a.share(),), "lam"),
    Call("merge", _merge, lambda a: ()),
    *map(_look, ("coef_", "intercept_", "n_seen_", "regularized_loss_", "online_loss_", "information_gain_")),
)


def _learner(kind: Any, **settings: Any) -> Callable[[Arguments, Path], Any]:
    def make(a: Arguments, folder: Path) -> Any:
        model = kind(**{name: value(a) if callable(value) else value for name, value in settings.items()})
        if a.rng.random() < 0.7:
            rows = a.numpy.standard_normal((8, a.d))
            model.partial_fit(rows, rows @ np.ones(a.d))
        return model

    return make


_SUBJECTS_THAT_LEARN = {
    "forward": _learner(ForwardRegressor, lam=lambda a: a.share()),
    "forward without lam": _learner(ForwardRegressor, lam=0.0),
    "ridge": _learner(RidgeRegressor, clip=lambda a: a.rng.choice((None, a.share()))),
    "ridge of small lam": _learner(RidgeRegressor, lam=lambda a: 10.0 ** a.rng.choice((-300, -30, 30, 300))),
    "own units": _learner(RidgeRegressor, units="own"),
    "half-life": _learner(ForwardRegressor, half_life=lambda a: a.rng.choice((2.0, 1e-300, 1e300, 20.0))),
    "window": _learner(RidgeRegressor, window=lambda a: a.count()),
    "auto": _learner(AutoRegressor, lams=(0.1, 10.0), half_lives=(None, 5.0)),
}


# Policies


def _offer(a: Arguments) -> tuple[Any, Any]:
    k = a.rng.randint(1, 5)
    return a.matrix(k), a.mask(k)


def _late(*offered: Given) -> tuple[Call, ...]:
    """What all that decides has in common."""
    (given,) = offered
    return (
        _call("decide", lambda a: (*given(a), a.key())),
        _call("reward", lambda a: (a.key(), a.number())),
        _call("reward_many", lambda a: ({each: a.number() for each in ("a", 1)[: a.rng.randint(0, 2)]},)),
        _call("cancel", lambda a: (a.key(),)),
        _call("expire", lambda a: (a.count(), a.rng.choice((None, a.number()))), "rounds", "default"),
        Call("pending", lambda thing: [(key, thing.pending[key]) for key in thing.pending], lambda a: ()),
        _look("counts"),
        _look("n_learned"),
        _call("restart", lambda a: ()),
        _call("reseed", lambda a: (a.count(),)),
    )


_POLICY = (
    _call("choose", _offer),
    _call("choose", lambda a: (a.matrix(),)),
    _call("index", lambda a: (a.matrix(),)),
    _call("estimate", lambda a: (a.matrix(),)),
    _call("leverage", lambda a: (a.matrix(),)),
    _call("probabilities", _offer),
    _call("choose_with_probability", _offer),
    _call("rank", lambda a: (a.matrix(4), a.count())),
    _call("propose", lambda a: (a.matrix(4), a.count())),
    _call("learn", lambda a: (a.vector(), a.number())),
    _call("learn", lambda a: (a.vector(), a.number())),
    _call("learn", lambda a: (a.vector(), a.number(), a.share())),
    _call("learn_many", _rows),
    _call("override", lambda a: (a.key(), a.vector())),
    _look("coef"),
    Call("merge", _merge, lambda a: ()),
    *_late(lambda a: (a.matrix(4),)),
)


def _policy(kind: Any, *given: Any, **settings: Any) -> Callable[[Arguments, Path], Any]:
    def make(a: Arguments, folder: Path) -> Any:
        return kind(
            *given, **{name: value(a) if callable(value) else value for name, value in settings.items()}, seed=1
        )

    return make


_SIZED = {"sigma": lambda a: a.share(), "theta_bound": lambda a: a.share()}
_POLICIES = {
    "LinUCB": _policy(LinUCB),
    "LinUCB of lam": _policy(LinUCB, lam=lambda a: a.share(), explore=lambda a: a.rng.choice((0.0, 0.1, a.share()))),
    "OFUL": _policy(OFUL, **_SIZED),
    "LinTS": _policy(LinTS),
    "Greedy": _policy(Greedy),
    "EpsilonGreedy": _policy(EpsilonGreedy, explore=0.1),
    "Random": _policy(Random),
    "SquareCB": _policy(SquareCB),
    "Boltzmann": _policy(Boltzmann),
    "DLinUCB": _policy(DLinUCB, 0.9, **_SIZED),
    "SWLinUCB": _policy(SWLinUCB, 4, **_SIZED),
    "OracleRestart": _policy(OracleRestart, [3, 9], **_SIZED),
    "DetectingLinUCB": _policy(DetectingLinUCB, window=4, **_SIZED),
}

_ARMS = (
    _call("choose", lambda a: (a.vector(),)),
    _call("choose", lambda a: (a.vector(), a.mask(3))),
    _call("index", lambda a: (a.vector(),)),
    _call("estimate", lambda a: (a.vector(),)),
    _call("probabilities", lambda a: (a.vector(),)),
    _call("rank", lambda a: (a.vector(), a.count())),
    _call("learn", lambda a: (a.arm(), a.vector(), a.number())),
    _call("learn", lambda a: (a.arm(), a.vector(), a.number(), a.share())),
    _call("learn_many", lambda a: ([a.arm(), a.arm()], a.matrix(2), a.vector(2))),
    _call("add_arm", lambda a: (a.arm(),)),
    _call("remove_arm", lambda a: (a.arm(),)),
    _call("override", lambda a: (a.key(), a.arm())),
    _call("coef", lambda a: (a.arm(),)),
    _call("restart", lambda a: (a.arm(),)),
    Call("merge", _merge, lambda a: ()),
    *_late(lambda a: (a.vector(),)),
)
_HYBRID = (
    _call("choose", lambda a: (a.vector(2), a.vector(3))),
    _call("index", lambda a: (a.vector(2), a.vector(3))),
    _call("estimate", lambda a: (a.vector(2), a.vector(3))),
    _call("learn", lambda a: (a.arm(), a.vector(2), a.vector(3), a.number())),
    _call("learn", lambda a: (a.arm(), a.vector(2), a.vector(3), a.number())),
    _call("add_arm", lambda a: (a.arm(),)),
    _call("remove_arm", lambda a: (a.arm(),)),
    _call("coef", lambda a: (a.arm(),)),
    _look("shared_coef"),
    *_late(lambda a: (a.vector(2), a.vector(3))),
)
_NAMED = (
    _call("choose", lambda a: ([a.names(), a.names()],)),
    _call("choose", lambda a: ([a.names(), a.names()], a.names(), a.mask(2))),
    _call("index", lambda a: ([a.names(), a.names()], a.names())),
    _call("estimate", lambda a: ([a.names()], a.names())),
    _call("probabilities", lambda a: ([a.names(), a.names()], a.names())),
    _call("learn", lambda a: (a.names(), a.number(), a.names())),
    _call("learn", lambda a: (a.names(), a.number())),
    _call("learn_many", lambda a: ([a.names(), a.names()], a.vector(2))),
    _look("coef"),
    *_late(lambda a: ([a.names(), a.names()],)),
)
_NAMED_ARMS = (
    _call("choose", lambda a: (a.names(),)),
    _call("index", lambda a: (a.names(),)),
    _call("estimate", lambda a: (a.names(),)),
    _call("learn", lambda a: (a.arm(), a.names(), a.number())),
    _call("learn_many", lambda a: ([a.arm(), a.arm()], [a.names(), a.names()], a.vector(2))),
    _call("add_arm", lambda a: (a.arm(),)),
    _call("remove_arm", lambda a: (a.arm(),)),
    _call("coef", lambda a: (a.arm(),)),
    *_late(lambda a: (a.names(),)),
)
_GRAPH = [("x", "y", 2.0), ("y", 3, 1.0)]
_SPECTRAL = (
    _call("choose", lambda a: (a.mask(3),)),
    _call("index", lambda a: ()),
    _call("estimate", lambda a: ()),
    _call("probabilities", lambda a: (a.mask(3),)),
    _call("learn", lambda a: (a.arm(), a.number())),
    _call("learn_many", lambda a: ([a.arm(), a.arm()], a.vector(2))),
    *_late(lambda a: ()),
)
_META = (
    _call("choose", _offer),
    _call("index", lambda a: (a.matrix(),)),
    _call("estimate", lambda a: (a.matrix(),)),
    _call("learn", lambda a: (a.vector(), a.number())),
    _call("learn", lambda a: (a.vector(), a.number())),
    _call("next_task", lambda a: ()),
    _call("restart", lambda a: ()),
)


# Logs


class _Log:
    """A writer of a log with its file, whose bytes are its state."""

    def __init__(self, path: Path, arms: Any) -> None:
        self.path, self.arms = path, arms
        self.writer = LogWriter(path) if arms is None else LogWriter(path, arms=arms)

    def to_bytes(self) -> bytes:
        return self.path.read_bytes()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.writer, name)

    def read(self) -> Any:
        log = LoggedData.read(self.path)
        return [log.reward, log.propensity]


_LOG = (
    _call("write", lambda a: (a.count(), a.matrix(4), a.number(), a.share(), 1.0), "propensity", "time"),
    _call("write", lambda a: (a.count(), a.matrix(5), a.number(), 0.5, a.number()), "propensity", "time"),
    _call("write", lambda a: (0, a.matrix(2), None, 0.5, a.key(), 1.0), "propensity", "key", "time"),
    _call("write", lambda a: (1, a.matrix(2), a.number(), a.vector(2), 1.0), "probabilities", "time"),
    _call("reward", lambda a: (a.key(), a.number())),
    _call("read", lambda a: ()),
)
_LOG_OF_ARMS = (
    _call("write", lambda a: (a.arm(), a.vector(), a.number(), a.share(), 1.0), "propensity", "time"),
    _call("write", lambda a: (a.arm(), a.vector(), None, 0.5, a.key(), 1.0), "propensity", "key", "time"),
    _call("reward", lambda a: (a.key(), a.number())),
    _call("read", lambda a: ()),
)


def _logged(a: Arguments) -> Any:
    """A log of numbers that may be anything."""
    n = a.rng.randint(1, 6)
    offered = [a.matrix(2) for _ in range(n)]
    log = LoggedData(offered, [a.rng.randint(0, 1) for _ in range(n)], [a.share() for _ in range(n)], a.vector(n))
    return [log.reward, log.propensity]


_ALARM = (
    _call("learn", _rows),
    _call("learn", lambda a: (a.numpy.standard_normal((20, 3)), a.vector(20))),
    Call("repr", repr, lambda a: ()),
)


def _arms_of(kind: Any, policy: Any) -> Callable[[Arguments, Path], Any]:
    return lambda a, folder: kind(policy(a, folder), ["x", "y", 3])


SUBJECTS: dict[str, Subject] = {
    **{name: Subject(make, _REGRESSOR) for name, make in _SUBJECTS_THAT_LEARN.items()},
    **{name: Subject(make, _POLICY) for name, make in _POLICIES.items()},
    **{
        f"Disjoint {name}": Subject(_arms_of(Disjoint, _POLICIES[name]), _ARMS)
        for name in ("LinUCB", "LinTS", "SWLinUCB")
    },
    "Hybrid": Subject(_arms_of(Hybrid, _POLICIES["LinUCB"]), _HYBRID),
    "Named": Subject(lambda a, folder: Named(LinUCB(seed=1), intercept=True, interactions=True), _NAMED),
    "NamedArms": Subject(lambda a, folder: NamedArms(Disjoint(LinUCB(seed=1), ["x", "y", 3])), _NAMED_ARMS),
    "SpectralBandit": Subject(
        lambda a, folder: SpectralBandit(_GRAPH, sigma=a.share(), smoothness=a.share(), seed=1), _SPECTRAL, saves=False
    ),
    "MetaOFUL": Subject(
        lambda a, folder: MetaOFUL(4, spread=a.share(), sigma=a.share(), theta_bound=a.share(), seed=1),
        _META,
        saves=False,
    ),
    "random features": Subject(
        lambda a, folder: OnlinePipeline(RandomFeatures(n=4), RidgeRegressor()).fit(np.eye(3), np.ones(3)),
        [
            call
            for call in _REGRESSOR
            if call.name in ("learn_one", "partial_fit", "predict", "predict_one", "leverage")
        ],
        saves=False,
    ),
    "change alarm": Subject(lambda a, folder: ChangeAlarm(), _ALARM, saves=False),
    "log": Subject(lambda a, folder: _Log(folder / "log.jsonl", None), _LOG, saves=False),
    "log of arms": Subject(lambda a, folder: _Log(folder / "log.jsonl", ["x", "y", 3]), _LOG_OF_ARMS, saves=False),
    "logged data": Subject(lambda a, folder: None, [Call("log", lambda _, a: _logged(a), lambda a: (a,))], saves=False),
}
