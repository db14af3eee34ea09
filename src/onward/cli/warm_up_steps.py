"""What is run once so that it is compiled: each step does, on a few rows, what users of a part do first."""

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

POLICIES = ("LinUCB", "LinTS", "OFUL", "DLinUCB", "SWLinUCB", "EpsilonGreedy", "Greedy", "SquareCB", "Boltzmann")
"""Those that most people begin with."""
Learner = Literal["auto", "forward", "ridge"]
LEARNERS: tuple[Learner, ...] = ("auto", "forward", "ridge")
PARTS = ("regression", "bandits", "service")

Step = tuple[str, Callable[[], None]]


def steps(parts: tuple[str, ...] = PARTS) -> Iterator[Step]:
    """The name of each step of these parts, and what it does. The service's are left out where it is not installed."""
    if "regression" in parts:
        for name in ("AutoRegressor", "ForwardRegressor", "RidgeRegressor"):
            yield name, partial(_learn, name)
        for name in ("AutoRegressor", "ForwardRegressor", "RidgeRegressor"):
            yield f"a file to {name}", partial(_fit_file, name)
    if "bandits" in parts:
        for name in POLICIES:
            yield name, partial(_play, name)
        for name in ("LinUCB", "LinTS"):
            yield f"Disjoint({name})", partial(_play_arms, name)
    if "service" in parts and has_service():
        for name in POLICIES:
            yield f"a loop of {name}", partial(_serve, name)
        for learner in LEARNERS:
            yield f"a model of {learner}", partial(_serve_model, learner)
        for name in POLICIES:
            yield f"an evaluation of {name}", partial(_evaluate, name)


def has_service() -> bool:
    """Whether what `onward serve` needs is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("msgspec", "sqlalchemy", "uvicorn"))


def _rows() -> Any:
    import numpy as np

    return np.random.default_rng(0).standard_normal((40, 3))


def _learn(name: str) -> None:
    import onward

    X = _rows()
    y = X @ [1.0, 2.0, 3.0] + 0.1 * X[:, 0] ** 2
    model = getattr(onward, name)().calibrate()
    model.partial_fit(X[:30], y[:30])
    for x, target in zip(X[30:], y[30:], strict=True):
        model.predict_one(x)
        model.learn_one(x, target)
    model.predict(X)
    named = getattr(onward, name)()
    for row, target in zip(X.tolist(), y, strict=True):
        named.predict_one(dict(zip("abc", row, strict=True)))
        named.learn_one(dict(zip("abc", row, strict=True)), target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of intervals from few rows
        model.interval(X, of="observation")


def _fit_file(name: str) -> None:
    import tempfile
    from pathlib import Path

    import onward

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        rows = [f"{i % 5},{i % 3},2026-01-{1 + i % 28:02},{i % 7}\n" for i in range(40)]
        path.write_text("a,b,day,y\n" + "".join(rows), encoding="utf-8")
        onward.fit(path, "y", getattr(onward, name)(), predictions=Path(folder) / "predictions.csv")


def _play(name: str) -> None:
    from onward import bandits
    from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary

    made = {"SWLinUCB": {"window": 30}}.get(name, {})
    policy = getattr(bandits, name)(**made, seed=0)
    actions = _rows()[:5]
    for number in range(3):
        policy.learn(actions[policy.choose(actions)], 0.5)
        policy.reward(policy.decide(actions, key=number).key, 1.0)
    policy.probabilities(actions)
    world = LinearWorld(SphereArms(5, 3), Stationary.random(3), Gaussian(0.1))
    bandits.play({name: getattr(bandits, name)(**made)}, world, 20, repeats=2)


def _play_arms(name: str) -> None:
    from onward import bandits

    policy = bandits.Disjoint(getattr(bandits, name)(seed=0), 4)
    context = _rows()[0]
    for number in range(3):
        policy.learn(policy.choose(context), context, 0.5)
        policy.reward(policy.decide(context, key=number).key, 1.0)


def _serve(name: str) -> None:
    from onward.service import LoopConfig
    from onward.service.warming import warm

    warm(LoopConfig(policy=_settings(name)))


def _serve_model(learner: Learner) -> None:
    from onward.service import ModelConfig
    from onward.service.warming import warm

    warm(ModelConfig(learner=learner))


def _evaluate(name: str) -> None:
    from onward.service.warming import warm_evaluation

    warm_evaluation(_settings(name))


def _settings(name: str) -> dict[str, Any]:
    return {"name": name} | ({"window": 30} if name == "SWLinUCB" else {})
