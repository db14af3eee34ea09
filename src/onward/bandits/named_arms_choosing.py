"""Choices of arms whose contexts are dicts or data frames, by name."""

import copy
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import ArrayLike

from onward.bandits.disjoint import Disjoint
from onward.bandits.feature_names import FeatureNames, named_row, named_rows, plain_row
from onward.bandits.feature_start import Start
from onward.bandits.inputs import as_mask
from onward.bandits.late_rewards import When, as_time
from onward.bandits.pending import Decision
from onward.bandits.proposing import ALL_AVAILABLE, Proposal
from onward.bandits.wrapping import Wrapping
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Matrix, Vector

Names = Mapping[str, Any]


class NamedArmsChoices(Wrapping):
    """The part of `NamedArms` that chooses, and says what it makes of contexts."""

    _arms: Disjoint
    _features: FeatureNames
    _start: Start

    @property
    def _wrapped(self) -> Disjoint:
        return self._arms

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """Their names, in the order of `index`."""
        return self._arms.arms

    def choose(self, context: Names, available: ArrayLike | None = None) -> Hashable:
        """The name of the arm to play for a context, a dict. Ties are broken at random.

        Args:
            available: whether each may be played; None if all may.
        """
        chosen: Hashable = self._answer("choose", context, available)
        return chosen

    def choose_with_probability(self, context: Names, available: ArrayLike | None = None) -> tuple[Hashable, float]:
        """What `choose` gives, and the probability with which it was drawn: see `Policy.choose_with_probability`.

        Args:
            context: a dict, of what the arms have in common.
            available: whether each may be played; None if all may.
        """
        chosen: tuple[Hashable, float] = self._answer("choose_with_probability", context, available)
        return chosen

    def rank(self, context: Names, k: int, available: ArrayLike | None = None) -> list[Hashable]:
        """The names of the k arms with the largest indices, the best first: see `Policy.rank`.

        Args:
            context: a dict, of what the arms have in common.
            k: how many.
            available: whether each may be played; None if all may.
        """
        ranked: list[Hashable] = self._answer("rank", context, available, k=k)
        return ranked

    def propose(self, context: Names, k: int, available: ArrayLike | None = None) -> Proposal:
        """k different arms, each drawn as `choose` would draw it without those before it: see `Policy.propose`.

        Args:
            context: a dict, of what the arms have in common.
            k: how many.
            available: whether each may be played; None if all may.
        """
        proposal: Proposal = self._answer("propose", context, available, k=k)
        return proposal

    def choose_many(self, contexts: Any, available: Any = None) -> list[Hashable]:
        """What `choose` would say to one context after the other, with nothing learned in between: the same choices.

        Args:
            contexts: dicts or a data frame, a row for each.
            available: whether each arm may be played, a row for each context; None if all may.
        """
        rows = named_rows(contexts, "contexts")
        with self._lock, interrupts_deferred(), self._noting_what_is_left():
            table, arms = self._encode(rows, keep=True)
            chosen: list[Hashable] = list(arms.choose_many(table, available))
            if self._is_noting:
                masks: Any = [None] * len(rows) if available is None else available
                for row, free, one in zip(rows, masks, chosen, strict=True):
                    mask = None if free is None else as_mask(free, len(self.arms))
                    self._note_offer("choose", row, {"available": mask}, one)
        return chosen

    def decide(
        self, context: Names, key: Hashable = None, available: ArrayLike | None = None, *, at: When = None
    ) -> Decision:
        """`choose`, and remember arm and context under a key until the `reward` comes: see `Policy.decide`.

        Args:
            available: whether each may be played; None if all may.
            at: when it is decided, for `expire`: a date, or seconds by your own clock; None for `time.time()`.
        """
        now = as_time("at", at)
        with self._lock, interrupts_deferred(), self._noting_what_is_left():
            own, arms = self._pending.new_key(key), self._arms
            row, mask = self._offer(context, available)
            with arms._lock:
                place, probability = arms.choose_to_decide(row, ALL_AVAILABLE if mask is None else mask)
            self._pending.add(own, row, now, probability, arms._serials[place])
            decision = Decision(arms._names[place], probability, own)
            self._note_offer("decide", context, {"available": mask, "key": own, "at": now}, decision)
        return decision

    def _answer(self, done: str, context: Names, available: ArrayLike | None, **given: Any) -> Any:
        """What the arms inside say when they are asked by the method of this name."""
        with self._lock, interrupts_deferred(), self._noting_what_is_left():
            row, mask = self._offer(context, available)
            answer = getattr(self._arms, done)(row, *given.values(), mask)
            self._note_offer(done, context, {**given, "available": mask}, answer)
        return answer

    def _offer(self, context: Names, available: ArrayLike | None) -> tuple[Vector, Any]:
        """The context as numbers, whose features are known from now on, and the mask or None; the lock is held."""
        row = named_row(context, "context")
        mask = None if available is None else as_mask(available, len(self.arms))
        table, _ = self._encode([row], keep=True)
        return table[0], mask

    @contextmanager
    def _noting_what_is_left(self) -> Iterator[None]:
        """See to it that names which were learned before something was refused are written down; the lock is held."""
        known = len(self._features.columns)
        try:
            yield
        except BaseException:
            if len(self._features.columns) > known:
                self._note_state()
            raise

    def _note_offer(self, done: str, context: Names, given: Mapping[str, Any], result: Any) -> None:
        """Write down what was done in a context; the lock is held."""
        if self._is_noting:
            self._note(done, {"context": plain_row(named_row(context, "context")), **given}, result)

    def _go_the_long_way(self) -> None:
        self._arms._begin_as_from_bytes()

    def _note_state(self) -> None:
        super()._note_state()
        if self._is_noting:
            self._arms._begin_as_from_bytes()

    # What it makes of contexts

    def index(self, context: Names) -> Vector:
        """The index of each arm, in the order of `arms`. Changes nothing.

        Args:
            context: a dict, of what the arms have in common.
        """
        with self._lock:
            table, arms = self._encode([named_row(context, "context")], keep=False)
            return arms.index(table[0])

    def estimate(self, context: Names) -> Vector:
        """The estimated reward of each arm, in the order of `arms`. Changes nothing.

        Args:
            context: a dict, of what the arms have in common.
        """
        with self._lock:
            table, arms = self._encode([named_row(context, "context")], keep=False)
            return arms.estimate(table[0])

    def probabilities(self, context: Names, available: ArrayLike | None = None) -> Vector:
        """The chance with which each arm would be chosen now, in the order of `arms`. Changes nothing.

        Args:
            context: a dict, of what the arms have in common.
            available: whether each may be played; None if all may.
        """
        with self._lock:
            table, arms = self._encode([named_row(context, "context")], keep=False)
            return arms.probabilities(table[0], available)

    # Names

    def _encode(self, rows: Sequence[Names], keep: bool) -> tuple[Matrix, Disjoint]:
        """The rows as numbers, and the arms that know their features: themselves if that is kept, else others."""
        with self._lock, interrupts_deferred():
            encoded = self._features.encode(rows, None)
            new = self._features.new_in(encoded)
            table = self._features.matrix(encoded, new)
            arms = self._to_look_at()
            arms._policy.checked_table(table)
            if new:
                arms = arms if keep else copy.deepcopy(arms)
                names = [*self._features.columns, *new]
                arms.grow(self._start.settings(arms.as_policy(), names, table), len(names))
            if keep:
                self._features.add(new, encoded.kinds)
                self._pending.widen(len(self._features.columns))
            return table, arms
