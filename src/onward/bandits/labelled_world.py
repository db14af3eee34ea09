"""A labelled table as a bandit: its classes are the arms, and the right one earns 1.

    world = from_classification(X, y)
    runs = play({"LinUCB": LinUCB(), "random": Random()}, world, horizon=2000, repeats=5)
    log = world.log(EpsilonGreedy(0.2), n=5000)          # what it would have logged, to be judged by `evaluate`

The regret of `play` is then the number of wrong answers.
"""

import copy
import math
import numbers
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike

from onward.bandits.action_sets import ArmsInContext
from onward.bandits.disjoint import Disjoint
from onward.bandits.logs import LoggedData
from onward.bandits.world_parts import Part
from onward.core.checks import whole
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

Scaling = Literal["beforehand", "online"]


def from_classification(
    X: ArrayLike, y: ArrayLike, *, scaling: Scaling | None = "beforehand", intercept: bool = True
) -> "LabelledWorld":
    """A labelled table as a world for `play`, or as a log.

    Args:
        X: (n, c), numbers: the contexts.
        y: (n,), the classes, of any kind; sorted, they are the arms 0, 1, ….
        scaling: "beforehand": columns have mean 0 and variance 1 over the whole table, as in most benchmarks, which
            is a little more than one would know; "online": by what was met so far, the present row included; None: as
            they are.
        intercept: whether a constant is added.

    Returns:
        A world for `play`, whose `log` method gives a log.

    Raises:
        ValueError: if the table has fewer than two classes, or a value is not finite.

    Example:
        >>> from onward.bandits import LinUCB, from_classification, play
        >>> world = from_classification([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
        >>> world.n_arms, world.n_features
        (2, 2)
        >>> world.log(n=100)  # what a uniform policy would have logged
        LoggedData(100 events, 2 arms of 4 features)
    """
    return LabelledWorld(X, y, scaling, intercept)


class LabelledWorld(Part):
    """The rows of a labelled table in a random order, as often as it takes; see `from_classification`.

    An action is the context in a block of its own for each arm, so d = n_arms × c, and each arm has coefficients of
    its own. The reward is 1 for the right class and 0 for others.
    """

    def __init__(self, X: ArrayLike, y: ArrayLike, scaling: Scaling | None, intercept: bool) -> None:
        if scaling is not None and scaling not in get_args(Scaling):
            raise ValueError(f"scaling must be one of {', '.join(get_args(Scaling))} or None, got {brief(scaling)}")
        try:
            rows = np.array(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must be a table of numbers: {error}") from error
        if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
            raise ValueError(f"X must be finite numbers of shape (n, c), got shape {rows.shape}")
        labels = np.asarray(y)
        if labels.shape != (len(rows),):
            raise ValueError(f"y must have shape ({len(rows)},) as X has {len(rows)} rows, got {labels.shape}")
        missing = labels != labels if labels.dtype.kind == "f" else np.array([_is_missing(each) for each in labels])
        if missing.any():
            raise ValueError(
                f"y must hold a class in each row, got {brief(labels[missing][0])} in row {np.argmax(missing)}"
            )
        self.classes, self.labels = np.unique(labels, return_inverse=True)
        if len(self.classes) > max(10, len(rows) / 2):
            raise ValueError(
                f"y must hold classes that come again, got {len(self.classes):,} different values in {len(rows):,} rows"
            )
        if len(self.classes) < 2:
            raise ValueError(f"y must hold at least two classes, got {self.classes.tolist()}")
        if scaling == "beforehand":
            rows = _over(rows - rows.mean(axis=0), rows.std(axis=0))
        self.rows, self.scaling, self.intercept = rows, scaling, bool(intercept)

    @property
    def n_arms(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Numbers in a context, the constant included, c."""
        return int(self.rows.shape[1]) + self.intercept

    @property
    def dimension(self) -> int:
        """Numbers in an action, d."""
        return self.n_arms * self.n_features

    def start(self, seed: SeedSequence | int) -> "LabelledRun":
        """Begin a run: the seed gives the order of the rows."""
        return LabelledRun(self, np.random.default_rng(seed))

    def log(self, policy: Any = None, n: int | None = None, seed: int = 0) -> LoggedData:
        """What a policy would have logged that drew from its own `probabilities`, learning as it went.

        Args:
            policy: one of this library, a `Disjoint` among them, or any with `probabilities` and `learn`; None for the
                uniform one. It works on a copy.
            n: how many events; by default once through the table.
            seed: of the order of rows, and of what is taken.
        """
        n = len(self.rows) if n is None else whole("n", n, 1)
        policy = copy.deepcopy(policy)
        if policy is not None and not callable(getattr(policy, "probabilities", None)):
            raise ValueError(f"policy must have a method probabilities, got {type(policy).__name__}")
        rng, run = np.random.default_rng([whole("seed", seed, 0), 1]), self.start(seed)
        arms = policy.arms if isinstance(policy, Disjoint) else None
        if arms is not None and len(arms) != self.n_arms:
            raise ValueError(f"the policy has {len(arms)} arms, but the table has {self.n_arms} classes")
        contexts, chances = np.empty((n, self.n_features)), np.empty((n, self.n_arms))
        taken, rewards = np.empty(n, dtype=np.int64), np.empty(n)
        for t in range(n):
            contexts[t] = run.context()
            offer = run.offer() if arms is None else contexts[t].copy()
            chances[t] = np.full(self.n_arms, 1 / self.n_arms) if policy is None else policy.probabilities(offer)
            chances[t] /= chances[t].sum()
            chosen = int(np.searchsorted(np.cumsum(chances[t]), rng.random(), side="right"))
            chosen = min(chosen, int(np.flatnonzero(chances[t])[-1]))
            taken[t], rewards[t] = chosen, run.reward(chosen)
            if arms is not None:
                policy.learn(arms[chosen], offer, float(rewards[t]))
            elif policy is not None:
                policy.learn(offer[chosen], float(rewards[t]))
        return LoggedData.disjoint(contexts, self.n_arms, taken, chances[np.arange(n), taken], rewards, chances)

    def _settings(self) -> dict[str, Any]:
        return {"X": self.rows, "y": self.labels, "scaling": self.scaling or "none", "intercept": self.intercept}

    def __repr__(self) -> str:
        return f"LabelledWorld({len(self.rows):,} rows of {self.rows.shape[1]} columns, {self.n_arms} classes)"


class LabelledRun:
    """One run: `context` and `offer` look at the current row, `reward` ends the round."""

    def __init__(self, world: LabelledWorld, rng: np.random.Generator) -> None:
        self.world, self._rng = world, rng
        self._order, self._at = rng.permutation(len(world.rows)), 0
        self._seen = 0
        self._mean, self._squares = np.zeros(world.rows.shape[1]), np.zeros(world.rows.shape[1])
        self._meet()

    def _meet(self) -> None:
        """Begin a round."""
        if self._at == len(self._order):
            self._order, self._at = self._rng.permutation(len(self._order)), 0
        row = self.world.rows[self._order[self._at]]
        if self.world.scaling == "online":
            self._seen += 1
            before = row - self._mean
            self._mean = self._mean + before / self._seen
            self._squares = self._squares + before * (row - self._mean)
            row = _over(row - self._mean, np.sqrt(self._squares / self._seen))
        self._context = np.append(row, 1.0) if self.world.intercept else row.copy()

    def context(self) -> Vector:
        """The current row, scaled, (c,)."""
        return self._context.copy()

    def offer(self) -> Matrix:
        """The context in the block of each arm, (k, k·c)."""
        return ArmsInContext(self._context.reshape(1, -1), self.world.n_arms)[0]

    def means(self) -> Vector:
        """1 for the right class."""
        right = self.world.labels[self._order[self._at]]
        return np.asarray(np.arange(self.world.n_arms) == right, dtype=np.float64)

    def reward(self, chosen: int) -> float:
        """1 if it is right; the next round begins."""
        if not isinstance(chosen, numbers.Integral) or not 0 <= int(chosen) < self.world.n_arms:
            raise ValueError(f"chosen must be a whole number from 0 to {self.world.n_arms - 1}, got {brief(chosen)}")
        earned = float(self.means()[int(chosen)])
        self._at += 1
        self._meet()
        return earned


def _is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and math.isnan(label))


def _over(values: Matrix, spread: Vector) -> Matrix:
    """Values in units of their spread; 0 where there is none."""
    return np.asarray(values / np.where(spread > 0, spread, 1.0))
