"""A conditional logit of what a log's policy took: a guess at that policy, for checks of its propensities."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from onward.bandits.logs import LoggedData
from onward.core.types import Matrix, Vector

PENALTY = 1.0  # of squared coefficients, on features of unit spread
MOST_NUMBERS = 1_000_000  # of features that are laid out at once
ITERATIONS = 50
POSITIONS = 20  # with at most so many actions in every set, each place has a constant of its own


class ChoiceModel:
    """P(a) ∝ exp(xₐᵀβ): of a log of contexts, with a β for each arm; of others, with a constant for each place.

    It is fitted to the first of the events, and asked about later ones.
    """

    def __init__(self, log: LoggedData, events: NDArray[np.int64]) -> None:
        self._taken = log.taken[events]
        sizes = log.actions.sizes[events]
        self._k = int(sizes.max())
        self._open = np.arange(self._k) < sizes[:, None]
        self._contexts: Matrix | None = None
        self._actions: Any = None
        if log.contexts is not None:
            self._contexts = np.column_stack([_scaled(log.contexts[events]), np.ones(len(events))])
            self._shape: tuple[int, ...] = (self._contexts.shape[1], self._k)
        else:
            d = log.actions.dimension
            constants = self._k if self._open.all() and self._k <= POSITIONS else 0
            # Of many features, those that fit: fewer make a poorer guess, not a wrong check.
            used = max(0, min(d, MOST_NUMBERS // (len(events) * self._k) - constants))
            table = np.zeros((len(events), self._k, used + constants))
            for row, event in zip(table, events, strict=True):
                actions = log.actions[int(event)]
                row[: len(actions), :used] = actions[:, :used]
                row[:, used:] = np.eye(self._k, constants)
            flat = table[..., :used]
            spread = flat[self._open].std(axis=0)
            table[..., :used] /= np.where(spread > 0, spread, 1.0)
            self._actions, self._shape = table, (used + constants,)
        self._beta: Vector = np.zeros(int(np.prod(self._shape)))

    def fitted(self, count: int) -> Self:
        """Fit the first events, from where it was."""
        rows = np.arange(count)

        def loss(beta: Vector) -> tuple[float, Vector]:
            logs = self._logs(beta, 0, count)
            gaps = np.exp(logs)
            gaps[rows, self._taken[:count]] -= 1.0
            if self._contexts is not None:
                gradient = (self._contexts[:count].T @ gaps).ravel()
            else:
                gradient = np.einsum("nk,nkd->d", gaps, self._actions[:count])
            chosen = float(logs[rows, self._taken[:count]].sum())
            return 0.5 * PENALTY * float(beta @ beta) - chosen, PENALTY * beta + gradient

        found = minimize(loss, self._beta, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
        self._beta = np.asarray(found.x)
        return self

    def probabilities(self, first: int, last: int) -> Matrix:
        """Of each action in these events, (last − first, k); 0 where there is none."""
        return np.asarray(np.exp(self._logs(self._beta, first, last)))

    def _logs(self, beta: Vector, first: int, last: int) -> Matrix:
        if self._contexts is not None:
            scores = self._contexts[first:last] @ beta.reshape(self._shape)
        else:
            scores = self._actions[first:last] @ beta
        return np.asarray(log_softmax(np.where(self._open[first:last], scores, -np.inf), axis=1))


def _scaled(table: Matrix) -> Matrix:
    spread = table.std(axis=0)
    return np.asarray((table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
