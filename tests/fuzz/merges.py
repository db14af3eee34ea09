"""Two models of different rows, merged, beside one that learned all rows: alike to 1e-9, or refused."""

import random
import warnings
from typing import Any

import numpy as np

from onward import ForwardRegressor, RidgeRegressor
from onward.core.types import Matrix, Vector
from tests.fuzz.using import FOREIGN, Lie

CLOSE = 1e-9  # of the largest target


def _data(rng: random.Random) -> tuple[Matrix, Vector]:
    numbers = np.random.default_rng(rng.randrange(2**32))
    n, d, reach = rng.randint(2, 9), rng.randint(1, 3), rng.choice((0.0, 3.0, 20.0, 60.0, 150.0))
    X = numbers.standard_normal((n, d)) * 10.0 ** numbers.uniform(-reach, reach, rng.choice(((n, d), (1, d), (n, 1))))
    return X, numbers.standard_normal(n) * 10.0 ** numbers.uniform(-reach, reach)


def merged(seed: int) -> list[str]:
    """The words of a refusal; Lie if a merge says something else than one pass, in either order of the rows."""
    rng = random.Random(seed)
    X, y = _data(rng)
    cut = rng.randint(1, len(y) - 1)
    learner = rng.choice((RidgeRegressor, ForwardRegressor))
    lam, intercept = 10.0 ** rng.choice((-300, -100, -10, -3, 0, 0, 3, 100, 300)), rng.random() < 0.5

    def fitted(rows: Any) -> Any:
        return learner(lam, fit_intercept=intercept).fit(X[rows], y[rows])

    every, before, after = np.arange(len(y)), np.arange(cut), np.arange(cut, len(y))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            whole, back = fitted(every).predict(X), fitted(every[::-1]).predict(X)
            part = fitted(before).merge(fitted(after))
            together = part.predict(X)
    except ValueError as error:
        if FOREIGN.search(str(error)) or len(str(error)) > 1000:
            raise
        return [f"{type(error).__name__}: {error}"]
    if not (np.isfinite(together).all() and (part.information_.D >= 0).all()):
        raise Lie("a merged model that predicts no numbers, or has negative pivots")
    room = CLOSE * np.abs(y).max()
    # Where two orders of the same rows disagree, rounding has the word, and nothing is asked of a merge.
    if np.abs(whole - back).max() <= 1e-3 * room and np.abs(together - whole).max() > room:
        off = np.abs(together - whole).max() / np.abs(y).max()
        raise Lie(f"a merge that is off by {off:.2g} of the largest target")
    return []
