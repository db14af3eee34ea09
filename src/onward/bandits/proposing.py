"""What a policy says of its chances, and choices of several actions at once."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits.journaling import Journaled
from onward.core.checks import whole
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

SAMPLES = 128  # directions that probabilities are averaged over
MANY = 32  # with more actions than this, which have smaller probabilities, half as many
ALL_AVAILABLE = np.empty(0, dtype=np.bool_)
LOGGED_SAMPLES = 32  # directions that a choice is drawn from whose probability is to be logged


class Proposal(NamedTuple):
    """Actions for the places of a slate, the first place first."""

    actions: tuple[Any, ...]
    """Their numbers, or the names of arms; each is there once."""
    probabilities: tuple[float, ...]
    """Of each, the probability with which it was drawn for its place, given those before it."""

    @property
    def probability(self) -> float:
        """Of the slate as it stands, in this order: the product."""
        return float(np.prod(self.probabilities))


class Proposing(Journaled):
    """Probabilities, rankings and slates, from what a policy knows. `Policy` and `Disjoint` say how they look at it."""

    def _offer(self, offered: Any, available: ArrayLike | None) -> tuple[Matrix | Vector, NDArray[np.bool_]]:
        """What is offered as the loops take it, and the mask, empty if all are available."""
        raise NotImplementedError

    def _chances(self, checked: Any, mask: NDArray[np.bool_], samples: int) -> Matrix:
        """The probability of each and its standard error, as two rows."""
        raise NotImplementedError

    def draw_with_probability(self, checked: Any, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """The place of an action, drawn as `choose` draws it, and the probability with which it was.

        Args:
            mask: which may be played; empty if all may.
        """
        raise NotImplementedError

    def choose_to_decide(self, checked: Any, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """What `draw_with_probability` gives, in less time where one action is the best; the lock is held.

        Args:
            mask: which may be played; empty if all may.
        """
        raise NotImplementedError

    def _index_to_rank(self, checked: Any) -> Vector:
        """The index of each; a sampling rule has drawn it for this ranking."""
        raise NotImplementedError

    def _label(self, place: int) -> Any:
        """What the caller knows the action at a place by."""
        raise NotImplementedError

    @overload
    def probabilities(
        self,
        offered: Any,
        available: ArrayLike | None = None,
        samples: int | None = None,
        with_error: Literal[False] = ...,
    ) -> Vector: ...
    @overload
    def probabilities(
        self, offered: Any, available: ArrayLike | None = None, samples: int | None = None, *, with_error: Literal[True]
    ) -> tuple[Vector, Vector]: ...

    def probabilities(
        self, offered: Any, available: ArrayLike | None = None, samples: int | None = None, with_error: bool = False
    ) -> Vector | tuple[Vector, Vector]:
        """The probability with which each action would be chosen now: what a log needs as propensity. Changes nothing.

        Exact where a formula says it: for every rule but `Sampling`, and there for two actions or features of one
        dimension, and for the arms of a `Disjoint`. Otherwise it is averaged over directions in which coefficients can
        lie, exact along each of them. These depend on what is known and offered only: asking twice says the same.

        Args:
            offered: the actions (k, d), or for arms the context (d,).
            available: (k,) whether each may be played; None if all may.
            samples: how many directions, about; None: 128, and 64 for more than 32 actions.
            with_error: whether to return the standard error of each, too: 0 where it is exact.

        Returns:
            Probabilities (k,), which sum to 1; with `with_error`, a pair of these and their standard errors.
        """
        wanted = None if samples is None else whole("samples", samples, 1)
        checked, mask = self._offer(offered, available)
        count = wanted or self._samples(checked, mask)
        with self._lock:
            chances, errors = self._chances(checked, mask, count)
        return (chances, errors) if with_error else chances

    def choose_with_probability(self, offered: Any, available: ArrayLike | None = None) -> tuple[Any, float]:
        """What `choose` gives, an action's number or an arm's name, and the probability with which it was drawn.

        For a log, where the reward is told by `learn`; `decide` does the same and waits for the `reward`. Where a rule
        samples, the probability is that given a few directions that were drawn before: see docs/bandits.md.

        Args:
            offered: the actions (k, d), or for arms the context (d,).
            available: whether each may be played, (k,); None if all may.
        """
        with self._lock, interrupts_deferred(), self._noting("choose_with_probability") as noting:
            checked, mask = self._offer(offered, available)
            place, probability = self.choose_to_decide(checked, mask)
            chosen = self._label(place), probability
            noting({"offered": checked, "available": mask}, chosen)
        return chosen

    def rank(self, offered: Any, k: int, available: ArrayLike | None = None) -> list[Any]:
        """The k actions with the largest indices, the best first: no two alike, and ties in random order.

        For a rule that samples it is one sample that ranks them all. No lots are drawn otherwise: neither those of
        `explore` nor those of a rule that draws among estimates. For these, see `propose`.

        Args:
            offered: the actions (k, d), or for arms the context (d,).
            available: whether each may be played, (k,); None if all may.
        """
        whole("k", k, 1)
        with self._lock:
            checked, mask, count = self._offer_to_take(k, offered, available)
            free = np.flatnonzero(mask) if len(mask) else np.arange(self._count(checked))
            index = self._index_to_rank(checked)
            lots = self._rng.random(len(free)) if len(np.unique(index[free])) < len(free) else index[free]
            ranked = [self._label(int(place)) for place in free[np.lexsort((lots, -index[free]))[:count]]]
            self._note("rank", {"offered": checked, "k": count, "available": mask}, ranked)
        return ranked

    def propose(self, offered: Any, k: int, available: ArrayLike | None = None) -> Proposal:
        """k different actions, each drawn as `choose` would draw it if those before it were not available.

        A slate for places one after the other. The probability of each is that at its place, given those before it;
        their product is that of the slate.

        Args:
            offered: the actions (k, d), or for arms the context (d,).
        """
        whole("k", k, 1)
        with self._lock:
            checked, mask, count = self._offer_to_take(k, offered, available)
            free = mask.copy() if len(mask) else np.ones(self._count(checked), dtype=np.bool_)
            places, probabilities = [], []
            for _ in range(count):
                place, probability = self.draw_with_probability(checked, free)
                places.append(self._label(place))
                probabilities.append(probability)
                free[place] = False
            proposal = Proposal(tuple(places), tuple(probabilities))
            self._note("propose", {"offered": checked, "k": count, "available": mask}, proposal)
        return proposal

    def _offer_to_take(self, k: int, offered: Any, available: ArrayLike | None) -> tuple[Any, NDArray[np.bool_], int]:
        """What is offered, the mask, and k as a number; ValueError, and no names are noted, if there are fewer."""
        named = self._names_features()
        columns = named._columns
        checked, mask = self._offer(offered, available)
        free = int(np.count_nonzero(mask)) if len(mask) else self._count(checked)
        if k > free:
            named._columns = columns  # what was refused leaves nothing behind
            raise ValueError(f"k must be at most the number of available actions, {free}, got {brief(k)}")
        return checked, mask, int(k)

    def _names_features(self) -> Any:
        """The policy that notes how features are called."""
        return self

    def _count(self, checked: Any) -> int:
        """How many actions are offered."""
        raise NotImplementedError

    def _samples(self, checked: Any, mask: NDArray[np.bool_]) -> int:
        free = int(np.count_nonzero(mask)) if len(mask) else self._count(checked)
        return SAMPLES if free <= MANY else SAMPLES // 2


def stacked(tables: Sequence[Matrix]) -> tuple[Matrix, NDArray[np.int64]]:
    """Tables on top of each other, and where each of them begins, with the end of the last."""
    starts = np.cumsum([0, *(len(table) for table in tables)], dtype=np.int64)
    return np.concatenate(tables), starts
