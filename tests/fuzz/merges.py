"""Models of different rows, merged, beside one that learned all rows: alike to 1e-9, or refused."""

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from onward import ForwardRegressor, RidgeRegressor
from onward.core.types import Matrix, Vector
from tests.fuzz.using import FOREIGN, Lie

CLOSE = 1e-9  # of the largest target
SURE = 1e-12  # orders of the same rows that differ by more leave rounding the word, and nothing is asked of a merge
IN_A_ROW, AS_A_QUEUE, PARTS = range(3)  # each to the first; the last to the first, until one is left; without λ


@dataclass
class Case:
    """Rows, their parts, and settings. Values and weights may be hundreds of orders of magnitude apart."""

    X: Matrix
    y: Matrix | Vector
    w: Vector | None
    learner: type[Any]
    lam: float | list[float]
    settings: dict[str, Any]
    parts: list[Any]
    how: int

    def fitted(self, rows: Any, lam: Any = None, settings: dict[str, Any] | None = None) -> Any:
        model = self.learner(self.lam if lam is None else lam, **(self.settings if settings is None else settings))
        weights = {} if self.w is None else {"sample_weight": self.w[rows]}
        return model.fit(self.X[rows], self.y[rows], **weights)

    def merged(self) -> Any:
        if self.how == PARTS:
            whole = self.learner(self.lam, **self.settings)
            for rows in self.parts:
                whole.merge_part(self.fitted(rows, 0.0, {"fit_intercept": self.settings["fit_intercept"]}))
            return whole
        models = [self.fitted(rows) for rows in self.parts]
        while len(models) > 1:
            if self.how == IN_A_ROW:
                models[0].merge(models.pop(1))
            else:
                last = models.pop()
                models.append(models.pop(0).merge(last))
        return models[0]


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.choice([2, 3, 5, 9, 20, 40])), int(rng.integers(1, 6)), int(rng.choice([1, 1, 2]))
    reach = rng.choice([0, 3, 10, 30, 70, 150])
    shape = [(1, 1), (n, d), (1, d), (n, 1)][rng.integers(4)]
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-reach, reach, shape)
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = X[:, 0] * 10.0 ** rng.uniform(-3, 3)
    if rng.random() < 0.2:
        X[rng.random((n, d)) < 0.5] = 0
    if rng.random() < 0.2:
        X = X + 10.0 ** rng.uniform(-reach, reach)
    Y = rng.standard_normal((n, m)) * 10.0 ** rng.uniform(-reach, reach, [(1, 1), (n, 1)][rng.integers(2)])
    lam: Any = 10.0 ** rng.uniform(-300, 300) if rng.random() < 0.4 else 10.0 ** rng.uniform(-20, 20)
    if rng.random() < 0.2:
        lam = (10.0 ** rng.uniform(-30, 30, d)).tolist()
    w = None
    if rng.random() >= 0.6:
        w = 10.0 ** rng.uniform(-reach, reach, n) if rng.random() < 0.5 else rng.random(n) + 0.1
    settings: dict[str, Any] = {"fit_intercept": bool(rng.random() < 0.5)}
    learner: type[Any] = [RidgeRegressor, ForwardRegressor][rng.integers(2)]
    if settings["fit_intercept"] and rng.random() < 0.3:
        settings["intercept_lam"] = 10.0 ** rng.uniform(-300, 300)
    if rng.random() < 0.2:
        settings["prior_mean"] = (rng.standard_normal(d) * 10.0 ** rng.uniform(-reach, reach)).tolist()
    count = min(int(rng.integers(2, 5)), n)
    parts = np.split(np.arange(n), np.sort(rng.choice(np.arange(1, n), count - 1, replace=False)))
    how = int(rng.integers(3))
    y = Y[:, 0] if m == 1 else Y
    return Case(X, y, w, ForwardRegressor if how == PARTS else learner, lam, settings, parts, how)


def exact(about: Case, state: Any) -> Matrix:
    """Predictions of the rows by elimination in fractions: where two orders agree by luck, they are not right."""
    n, first = len(about.X), int(about.settings["fit_intercept"])
    d = about.X.shape[1] + first
    rows = [[Fraction(1)] * first + [Fraction(v) for v in row] for row in about.X.tolist()]
    prior = [[Fraction(v) for v in row] for row in state.prior.tolist()]
    weights = [Fraction(v) for v in ([1.0] * n if about.w is None else about.w.tolist())]
    targets = about.y.reshape(n, -1).tolist()
    m, out = len(targets[0]), np.empty((n, len(targets[0])))
    left = [
        [Fraction(t[h]) - sum(r[j] * prior[j][h] for j in range(d)) for h in range(m)]
        for r, t in zip(rows, targets, strict=True)
    ]
    G = [
        [sum((v * r[i] * r[j] for v, r in zip(weights, rows, strict=True)), Fraction(0)) for j in range(d)]
        + [sum((v * r[i] * e[h] for v, r, e in zip(weights, rows, left, strict=True)), Fraction(0)) for h in range(m)]
        for i in range(d)
    ]
    for j, each in enumerate(state.lam.tolist()):
        G[j][j] += Fraction(each)
    for i in range(d):
        if G[i][i] == 0:
            raise Lie("a problem without a solution that was learned")
        for j in range(d):
            if j != i and G[j][i]:
                share = G[j][i] / G[i][i]
                G[j] = [mine - share * theirs for mine, theirs in zip(G[j], G[i], strict=True)]
    for h in range(m):
        theta = [G[j][d + h] / G[j][j] + prior[j][h] for j in range(d)]
        out[:, h] = [float(sum(v * t for v, t in zip(r, theta, strict=True))) for r in rows]
    return out


def merged(seed: int) -> list[str]:
    """The words of a refusal; Lie if a merge says something else than one pass, in any order of the rows."""
    about = case(seed)
    every, rng = np.arange(len(about.X)), np.random.default_rng([seed, 1])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = about.fitted(every)
            right = whole.predict(about.X)
            orders = [about.fitted(order).predict(about.X) for order in (every[::-1], rng.permutation(every))]
            model = about.merged()
            together = model.predict(about.X)
    except ValueError as error:
        if FOREIGN.search(str(error)) or len(str(error)) > 1000:
            raise
        return [f"{type(error).__name__}: {error}"]
    state = model.information_
    if not (np.isfinite(together).all() and (state.D > 0).all() and (state.loss >= 0).all()):
        raise Lie("a merged model that predicts no numbers, or has negative pivots or losses")
    largest = max(np.abs(about.y).max(), np.abs(right).max())  # rows of little weight may have huge predictions
    if "prior_mean" in about.settings:
        largest = max(largest, np.abs(about.X * np.array(about.settings["prior_mean"])).max())
    off = np.abs(together - right).max()
    sure = max(np.abs(other - right).max() for other in orders) <= SURE * largest
    if sure and off > CLOSE * largest:
        truth = exact(about, whole.information_).reshape(right.shape)
        if np.abs(truth - right).max() <= CLOSE * largest < np.abs(truth - together).max():
            raise Lie(f"a merge that is off by {off / largest:.2g} of the largest target")
    return []
