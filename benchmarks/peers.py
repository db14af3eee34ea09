"""Learners that are set beside each other on real data, each as its own users would write it, at its defaults.

Every learner is asked for a prediction of a row, and then told its target; it never holds the rows that come. A new
learner is one line of `CONTENDERS`. All see the same values: numbers as they are, and a 0/1 feature for each level of a
category from the row on that has it first (Vowpal Wabbit gets categories as words in a namespace of their own).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onward
from onward import ForwardRegressor, RidgeRegressor
from onward.regression.learners import OnlineRegressor

Vector = NDArray[np.float64]

LAMS = tuple(10.0**k for k in range(-6, 5))
REFIT_EVERY = 50


class Row(NamedTuple):
    """The features of one row, in the form that each learner likes best."""

    x: Vector  # numbers, then a column for each level that the data have, in the order of their first row
    named: dict[str, float]  # numbers, and the levels up to this row
    text: str  # as Vowpal Wabbit reads it, without the target


class Model(Protocol):
    """What is asked and told, a row at a time."""

    def predict(self, row: Row, /) -> float: ...
    def learn(self, row: Row, y: float, /) -> None: ...


# The form of rows


def vw_text(numbers: Mapping[str, float], levels: Mapping[str, str]) -> str:
    """Features as Vowpal Wabbit reads them: numbers in one namespace, categories as words in another."""
    parts = [f"{_vw_word(name)}:{value!r}" for name, value in numbers.items()]
    words = [_vw_word(f"{name}={level}") for name, level in levels.items()]
    return " ".join(["|n", *parts, *(["|c", *words] if words else [])])


def _vw_word(text: str) -> str:
    return re.sub(r"[\s:|]", "_", text)


# Ours


class Onward:
    """One of the library's learners, with rows as dicts: names come as levels do."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, row: Row) -> float:
        return float(self.model.predict_one(row.named))

    def learn(self, row: Row, y: float) -> None:
        self.model.learn_one(row.named, y)


def ours(name: str, **settings: Any) -> Callable[[], Model]:
    """A learner of the library by its name, which may not have it yet."""
    return lambda: Onward(getattr(onward, name)(**settings))


# Peers


class RunningMean:
    """The mean of the targets so far; 0 before the first."""

    def __init__(self) -> None:
        self.rows, self.mean = 0, 0.0

    def predict(self, row: Row) -> float:
        return self.mean

    def learn(self, row: Row, y: float) -> None:
        self.rows += 1
        self.mean += (y - self.mean) / self.rows


class River:
    """A river pipeline. `constant`: a feature that is always 1 comes after the scaler: Bayes has no intercept."""

    def __init__(self, kind: str, scaled: bool = True, constant: bool = False) -> None:
        from river import compose, linear_model, preprocessing

        self.model: Any = getattr(linear_model, kind)()
        if constant:
            self.model = compose.FuncTransformer(_with_constant) | self.model
        if scaled:
            self.model = preprocessing.StandardScaler() | self.model

    def predict(self, row: Row) -> float:
        return float(self.model.predict_one(row.named))

    def learn(self, row: Row, y: float) -> None:
        self.model.learn_one(row.named, y)


def _with_constant(x: dict[str, float]) -> dict[str, float]:
    return x | {"(constant)": 1.0}


class VowpalWabbit:
    """Vowpal Wabbit, one pass, nothing set."""

    def __init__(self) -> None:
        from vowpalwabbit import Workspace

        self.workspace = Workspace("--quiet")

    def predict(self, row: Row) -> float:
        return float(self.workspace.predict(row.text))

    def learn(self, row: Row, y: float) -> None:
        self.workspace.learn(f"{y!r} {row.text}")


class ScaledSGD:
    """scikit-learn's SGD behind its scaler. The scaler learns a row's features before it is predicted."""

    def __init__(self) -> None:
        self.scaler, self.model = StandardScaler(), SGDRegressor()
        self.fitted = False
        self.z: Any = None

    def predict(self, row: Row) -> float:
        x = row.x[None]
        self.z = self.scaler.partial_fit(x).transform(x)
        return float(self.model.predict(self.z)[0]) if self.fitted else 0.0

    def learn(self, row: Row, y: float) -> None:
        self.model.partial_fit(self.z, np.array([y]))
        self.fitted = True


class RefittedRidgeCV:
    """scikit-learn's RidgeCV behind its scaler, fitted anew on all rows so far now and then; the mean until then."""

    def __init__(self) -> None:
        self.rows: list[Vector] = []
        self.targets: list[float] = []
        self.mean, self.fitted = RunningMean(), None

    def predict(self, row: Row) -> float:
        return self.mean.predict(row) if self.fitted is None else float(self.fitted.predict(row.x[None])[0])

    def learn(self, row: Row, y: float) -> None:
        self.mean.learn(row, y)
        self.rows.append(row.x)
        self.targets.append(y)
        if len(self.rows) % REFIT_EVERY == 0:
            model: Any = make_pipeline(StandardScaler(), RidgeCV(alphas=LAMS))
            self.fitted = model.fit(np.array(self.rows), np.array(self.targets))


@dataclass(frozen=True)
class Contender:
    """A learner in the comparison: a pair of the grid, one of ours, an online peer, or the yardstick."""

    key: str
    title: str
    part: Literal["pair", "ours", "peer", "yardstick"]
    start: Callable[[], Model]
    needs: str = "sklearn"  # a module, or a learner of ours: "onward:AutoRegressor"

    @property
    def missing(self) -> str | None:
        """Why it cannot run, or None."""
        module, _, name = self.needs.partition(":")
        if find_spec(module) is None:
            return f"{module} is not installed"
        return f"this version of {module} has no {name}" if name and not hasattr(import_module(module), name) else None


def _pair(name: str, kind: type[OnlineRegressor], lam: float) -> Contender:
    key = f"{name} {lam:g}"
    return Contender(key, key, "pair", lambda: Onward(kind(lam=lam, intercept_lam=None)))


BAYES = "BayesianLinearRegression"

CONTENDERS = (
    *(_pair("forward", ForwardRegressor, lam) for lam in LAMS),
    *(_pair("ridge", RidgeRegressor, lam) for lam in LAMS),
    Contender("auto", "Auto", "ours", ours("AutoRegressor"), "onward:AutoRegressor"),
    Contender("forward", "Forward", "ours", ours("ForwardRegressor")),
    Contender("ridge", "Ridge", "ours", ours("RidgeRegressor")),
    Contender("mean", "running mean", "peer", RunningMean),
    Contender("linear", "river linear, scaled", "peer", lambda: River("LinearRegression"), "river"),
    Contender("bayes", "river Bayes", "peer", lambda: River(BAYES, scaled=False), "river"),
    Contender("bayes-scaled", "river Bayes, scaled", "peer", lambda: River(BAYES), "river"),
    Contender("bayes-constant", "river Bayes, scaled, constant", "peer", lambda: River(BAYES, constant=True), "river"),
    Contender("vw", "VW", "peer", VowpalWabbit, "vowpalwabbit"),
    Contender("sgd", "SGD, scaled", "peer", ScaledSGD),
    Contender("ridgecv", "RidgeCV", "yardstick", RefittedRidgeCV),
)
