"""The learners that are measured side by side, each in the loop that its own users would write.

All see the same rows in the same order, predict each before they learn it, and have no intercept. Rows are handed to
each in the form that it likes best, made ready outside the clock; targets are Python floats. *Variants* are our one row
in other circumstances: rows as dicts, a prior, two targets. *Autos* are the learner with nothing to tune, beside the
single learner with a constant, which it has as well, and river's with the scaler that it needs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDRegressor

from onward import AutoRegressor, ForwardRegressor

LAM = 1.0

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Run = Callable[[Any, Any], Any]
"""Predicts and learns rows in order, going on from where it stopped. Returns the predictions."""


@dataclass(frozen=True)
class Method:
    key: str
    title: str
    start: Callable[[int], Run]  # a fresh learner of so many features
    prepare: Callable[[Matrix, Vector], tuple[Any, Any]]  # rows and targets as it likes them
    needs: str = "numpy"
    whole: bool = False  # takes the whole array at once
    predicts: bool = True

    @property
    def available(self) -> bool:
        return find_spec(self.needs) is not None


# Rows as they are liked


def as_block(X: Matrix, y: Vector) -> tuple[Matrix, Vector]:
    return X, y


def as_arrays(X: Matrix, y: Vector) -> tuple[list[Vector], list[float]]:
    return list(X), y.tolist()


def as_dicts(X: Matrix, y: Vector) -> tuple[list[dict[str, float]], list[float]]:
    names = [f"x{j}" for j in range(X.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()


def as_tables(X: Matrix, y: Vector) -> tuple[list[Matrix], list[Vector]]:
    return list(X[:, None, :]), list(y[:, None])


def as_pairs(X: Matrix, y: Vector) -> tuple[list[Vector], list[Vector]]:
    """Two targets for each row: the one that all have, and half of it turned round."""
    return list(X), list(np.stack([y, -y / 2], axis=1))


# Onward


def onward_batch(d: int) -> Run:
    """The whole stream in one call, a fresh model each, validation and all."""

    def run(X: Matrix, y: Vector) -> Vector:
        return ForwardRegressor(lam=LAM, fit_intercept=False).predict_then_learn(X, y)

    return run


def forward(d: int) -> ForwardRegressor:
    return ForwardRegressor(lam=LAM, fit_intercept=False)


def forward_with_prior(d: int) -> ForwardRegressor:
    return ForwardRegressor(lam=LAM, fit_intercept=False, prior_mean=np.linspace(-1.0, 1.0, d))


def forward_with_constant(d: int) -> ForwardRegressor:
    return ForwardRegressor(lam=LAM)


def auto(d: int) -> AutoRegressor:
    return AutoRegressor()


def in_batches(model_of: Callable[[int], ForwardRegressor | AutoRegressor]) -> Callable[[int], Run]:
    """`predict_then_learn`, going on with one model."""
    return lambda d: model_of(d).predict_then_learn


def one_by_one(model_of: Callable[[int], ForwardRegressor | AutoRegressor]) -> Callable[[int], Run]:
    """`predict_one` and `learn_one`, whatever rows and targets are."""

    def start(d: int) -> Run:
        model = model_of(d)

        def run(rows: list[Any], targets: list[Any]) -> list[Any]:
            predictions = []
            for x, y in zip(rows, targets, strict=True):
                predictions.append(model.predict_one(x))
                model.learn_one(x, y)
            return predictions

        return run

    return start


# The others


def numpy_loop(d: int) -> Run:
    """The forward algorithm by Sherman–Morrison, the way one writes it in an afternoon. P = G⁻¹ and b = Σ y x."""
    P, b = np.eye(d) / LAM, np.zeros(d)

    def run(rows: list[Vector], targets: list[float]) -> list[Any]:
        nonlocal P, b
        predictions = []
        for x, y in zip(rows, targets, strict=True):
            g = P @ x
            q = x @ g
            predictions.append(g @ b / (1 + q))
            P -= np.outer(g, g) / (1 + q)
            b += y * x
        return predictions

    return run


def river_bayes(d: int) -> Run:
    # Its prior precision starts at 1/alpha and each row adds beta·x xᵀ, so alpha = beta = 1 is ridge with λ = 1: it
    # predicts p where forward predicts p/(1 + q). It keeps both G and G⁻¹.
    from river.linear_model import BayesianLinearRegression

    model: Any = BayesianLinearRegression(alpha=1 / LAM, beta=1.0)

    def run(rows: list[dict[str, float]], targets: list[float]) -> list[float]:
        predictions = []
        for x, y in zip(rows, targets, strict=True):
            predictions.append(model.predict_one(x))
            model.learn_one(x, y)
        return predictions

    return run


def river_scaled_bayes(d: int) -> Run:
    from river.linear_model import BayesianLinearRegression
    from river.preprocessing import StandardScaler

    model: Any = StandardScaler() | BayesianLinearRegression()

    def run(rows: list[dict[str, float]], targets: list[float]) -> list[float]:
        predictions = []
        for x, y in zip(rows, targets, strict=True):
            predictions.append(model.predict_one(x))
            model.learn_one(x, y)
        return predictions

    return run


def sklearn_sgd(d: int) -> Run:
    # Default settings but for the intercept: first order, so O(d) a row, and its own small penalty instead of λ. No
    # seed: with one row there is nothing to shuffle, and making a generator from a seed would cost it 150 µs each time.
    model = SGDRegressor(fit_intercept=False)
    # It cannot predict before it has learned something; an empty row leaves its coefficients at 0.
    model.partial_fit(np.zeros((1, d)), np.zeros(1))

    def run(rows: list[Matrix], targets: list[Vector]) -> list[float]:
        predictions = []
        for x, y in zip(rows, targets, strict=True):
            predictions.append(model.predict(x)[0])
            model.partial_fit(x, y)
        return predictions

    return run


def padasip_rls(d: int) -> Run:
    # mu is a forgetting factor (its default, 0.1, forgets nearly everything each row): 1 remembers all, and then eps
    # is λ. That makes it ridge. It multiplies two d×d matrices for each row, so O(d³).
    from padasip.filters import FilterRLS

    model = FilterRLS(d, mu=1.0, eps=LAM, w="zeros")

    def run(rows: list[Vector], targets: list[float]) -> list[float]:
        predictions = []
        for x, y in zip(rows, targets, strict=True):
            predictions.append(model.predict(x))
            model.adapt(y, x)
        return predictions

    return run


def gram(d: int) -> Run:
    """The floor: no learning, only the second moments that any exact method must take in, by one BLAS call."""

    def run(X: Matrix, y: Vector) -> Matrix:
        return X.T @ X

    return run


BATCH, ONE_ROW, NUMPY, RIVER, SGD, PADASIP, GRAM = "batch", "one_row", "numpy", "river", "sgd", "padasip", "gram"
DICT, PRIOR, TWO = "dict", "prior", "two"
CONSTANT, AUTO, AUTO_ROW, AUTO_DICT, SCALED = "constant", "auto", "auto_row", "auto_dict", "river_scaled"

METHODS = (
    Method(BATCH, "onward batch", onward_batch, as_block, whole=True),
    Method(ONE_ROW, "onward one row", one_by_one(forward), as_arrays),
    Method(NUMPY, "NumPy loop", numpy_loop, as_arrays),
    Method(RIVER, "river Bayes", river_bayes, as_dicts, needs="river"),
    Method(SGD, "sklearn SGD", sklearn_sgd, as_tables),
    Method(PADASIP, "padasip RLS", padasip_rls, as_arrays, needs="padasip"),
    Method(GRAM, "X.T @ X", gram, as_block, whole=True, predicts=False),
)

VARIANTS = (
    Method(DICT, "a dict", one_by_one(forward), as_dicts),
    Method(PRIOR, "a prior", one_by_one(forward_with_prior), as_arrays),
    Method(TWO, "two targets", one_by_one(forward), as_pairs),
)

AUTOS = (
    Method(CONSTANT, "single, batch", in_batches(forward_with_constant), as_block),
    Method(AUTO, "auto, batch", in_batches(auto), as_block),
    Method(AUTO_ROW, "auto, one row", one_by_one(auto), as_arrays),
    Method(AUTO_DICT, "auto, a dict", one_by_one(auto), as_dicts),
    Method(SCALED, "river Bayes, scaled", river_scaled_bayes, as_dicts, needs="river"),
)
AUTO_DIMS = 100  # up to so many features: with more, one round of it would take minutes
