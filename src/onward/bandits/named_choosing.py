"""Choices of a policy whose actions and contexts are dicts or data frames, by name."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits.feature_names import FeatureNames, named_row, named_rows, plain_context, plain_rows
from onward.bandits.feature_start import Start
from onward.bandits.inputs import as_mask
from onward.bandits.late_rewards import When, as_time
from onward.bandits.pending import Decision
from onward.bandits.policy import Policy
from onward.bandits.proposing import ALL_AVAILABLE, Proposal
from onward.bandits.wrapping import Wrapping
from onward.core.checks import is_iterable, is_many
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import came
from onward.core.types import Matrix, Vector

Names = Mapping[str, Any]


class NamedChoices(Wrapping):
    """The part of `Named` that chooses, and says what it makes of actions."""

    _policy: Policy
    _features: FeatureNames
    _start: Start

    @property
    def _wrapped(self) -> Policy:
        return self._policy

    def choose(self, actions: Any, context: Names | None = None, available: ArrayLike | None = None) -> int:
        """The number of the action to play. Ties are broken at random.

        Args:
            actions: a list of dicts or a data frame, a row for each action; another set each round, if you like.
            context: a dict, of what the actions have in common.
            available: whether each may be played; None if all may.
        """
        chosen: int = self._answer("choose", actions, context, available)
        return chosen

    def choose_with_probability(
        self, actions: Any, context: Names | None = None, available: ArrayLike | None = None
    ) -> tuple[int, float]:
        """What `choose` gives, and the probability with which it was drawn: see `Policy.choose_with_probability`.

        Args:
            actions: a list of dicts or a data frame, a row for each action.
            context: a dict, of what the actions have in common.
            available: whether each may be played; None if all may.
        """
        chosen: tuple[int, float] = self._answer("choose_with_probability", actions, context, available)
        return chosen

    def rank(self, actions: Any, k: int, context: Names | None = None, available: ArrayLike | None = None) -> list[int]:
        """The numbers of the k actions with the largest indices, the best first: see `Policy.rank`.

        Args:
            actions: a list of dicts or a data frame, a row for each action.
            k: how many.
            context: a dict, of what the actions have in common.
            available: whether each may be played; None if all may.
        """
        ranked: list[int] = self._answer("rank", actions, context, available, k=k)
        return ranked

    def propose(
        self, actions: Any, k: int, context: Names | None = None, available: ArrayLike | None = None
    ) -> Proposal:
        """k different actions, each drawn as `choose` would draw it without those before it: see `Policy.propose`.

        Args:
            actions: a list of dicts or a data frame, a row for each action.
            k: how many.
            context: a dict, of what the actions have in common.
            available: whether each may be played; None if all may.
        """
        proposal: Proposal = self._answer("propose", actions, context, available, k=k)
        return proposal

    def choose_many(self, actions: Any, contexts: Any = None, available: Any = None) -> NDArray[np.int64]:
        """What `choose` would say to one round after the other, with nothing learned in between: the same choices.

        Args:
            actions: of each round, a list of dicts or a data frame; or one of these alone, for all contexts.
            contexts: dicts or a data frame, a row for each round; or one dict for all; None if there are none.
            available: whether each action may be played, a row for each round; None if all may.
        """
        common = None if contexts is None else _rows_or_one(contexts)
        offers = _offers(actions, common)
        if isinstance(common, list) and len(common) != len(offers):
            raise ValueError(f"contexts must have {len(offers)} rows, one for each round, got {len(common)}")
        if available is not None and not (is_many(available) and len(available) == len(offers)):
            got = len(available) if is_many(available) else came(available)
            raise ValueError(f"available must have a row for each of {len(offers)} rounds, got {got}")
        each = common if isinstance(common, list) else [common] * len(offers)
        masks = [None if available is None else available[i] for i in range(len(offers))]
        chosen = np.empty(len(offers), dtype=np.int64)
        with self._lock, interrupts_deferred():
            # Names and masks of all rounds are looked at before the first choice: all of them or none.
            sizes = [len(rows) for rows in offers]
            tables = [row for rows in offers for row in rows]
            contexts_of_rows = [context for context, size in zip(each, sizes, strict=True) for _ in range(size)]
            table, new, kinds = self._encode(tables, None if common is None else contexts_of_rows)
            policy = self._checked(self._to_look_at(), table, new)
            told = [None if mask is None else as_mask(mask, size) for mask, size in zip(masks, sizes, strict=True)]
            parts = np.split(table, np.cumsum(sizes)[:-1])
            if len(set(sizes)) == 1 and available is None:
                chosen[:] = policy.choose_many(np.ascontiguousarray(table.reshape(len(offers), sizes[0], -1)))
            else:
                chosen[:] = policy.choose_many(parts, None if available is None else told)
            self._commit(policy, new, kinds)
            if self._is_noting:
                for rows, context, mask, one in zip(offers, each, told, chosen.tolist(), strict=True):
                    self._note_offer("choose", rows, context, {"available": mask}, one)
        return chosen

    def decide(
        self,
        actions: Any,
        key: Hashable = None,
        context: Names | None = None,
        available: ArrayLike | None = None,
        *,
        at: When = None,
    ) -> Decision:
        """`choose`, and remember the action under a key until its `reward` comes: see `Policy.decide`.

        Args:
            actions: a list of dicts or a data frame, a row for each action.
            context: a dict, of what the actions have in common.
            available: whether each may be played; None if all may.
            at: when it is decided, for `expire`: a date, or seconds by your own clock; None for `time.time()`.
        """
        now, rows = as_time("at", at), named_rows(actions, "actions")
        with self._lock, interrupts_deferred():
            own = self._pending.new_key(key)
            with self._offered(rows, context, available) as (policy, table, mask), policy._lock:
                chosen, probability = policy.choose_to_decide(table, ALL_AVAILABLE if mask is None else mask)
            self._pending.add(own, table[chosen], now, probability, chosen)
            decision = Decision(chosen, probability, own)
            self._note_offer("decide", rows, context, {"available": mask, "key": own, "at": now}, decision)
        return decision

    def _answer(self, done: str, actions: Any, context: Names | None, available: ArrayLike | None, **given: Any) -> Any:
        """What the policy inside says when it is asked by the method of this name."""
        rows = named_rows(actions, "actions")
        with self._lock, interrupts_deferred():
            with self._offered(rows, context, available) as (policy, table, mask):
                answer = getattr(policy, done)(table, *given.values(), mask)
            self._note_offer(done, rows, context, {**given, "available": mask}, answer)
        return answer

    @contextmanager
    def _offered(
        self, rows: Sequence[Names], context: Names | None, available: ArrayLike | None
    ) -> Iterator[tuple[Policy, Matrix, NDArray[np.bool_] | None]]:
        """The policy that knows the actions' features, the actions as numbers, and the mask or None; the lock is held.

        New names are known from then on, unless what happens inside is refused.
        """
        table, new, kinds = self._encode(rows, context)
        mask = None if available is None else as_mask(available, len(table))
        policy = self._checked(self._to_look_at(), table, new)
        yield policy, table, mask
        self._commit(policy, new, kinds)

    def _note_offer(
        self, done: str, rows: Sequence[Names], context: Names | None, given: Mapping[str, Any], result: Any
    ) -> None:
        """Write down what was done with actions in a context; the lock is held."""
        if self._is_noting:
            self._note(done, {"actions": plain_rows(rows), "context": plain_context(context), **given}, result)

    # What it makes of actions

    def index(self, actions: Any, context: Names | None = None) -> Vector:
        """The index of each action: `choose` takes the largest. Changes nothing.

        Args:
            actions: a list of dicts or a data frame, a row for each action.
            context: a dict, of what the actions have in common.
        """
        with self._lock:
            policy, table = self._read(actions, context)
            return policy.index(table)

    def estimate(self, actions: Any, context: Names | None = None) -> Vector:
        """The estimated reward of each action. Changes nothing.

        Args:
            actions: a list of dicts or a data frame, a row for each action.
            context: a dict, of what the actions have in common.
        """
        with self._lock:
            policy, table = self._read(actions, context)
            return policy.estimate(table)

    def leverage(self, actions: Any, context: Names | None = None) -> Vector:
        """xᵀG⁻¹x of each action: how little is known in its direction. Changes nothing.

        Args:
            actions: a list of dicts or a data frame, a row for each action.
            context: a dict, of what the actions have in common.
        """
        with self._lock:
            policy, table = self._read(actions, context)
            return policy.leverage(table)

    def probabilities(self, actions: Any, context: Names | None = None, available: ArrayLike | None = None) -> Vector:
        """The chance with which each action would be chosen now. Changes nothing.

        Args:
            actions: a list of dicts or a data frame, a row for each action.
            context: a dict, of what the actions have in common.
            available: whether each may be played; None if all may.
        """
        with self._lock:
            policy, table = self._read(actions, context)
            return policy.probabilities(table, available)

    def _read(self, actions: Any, context: Names | None) -> tuple[Policy, Matrix]:
        """The policy that knows the actions' features, and the actions as numbers; the lock is held."""
        table, new, _ = self._encode(named_rows(actions, "actions"), context)
        return self._checked(self._to_look_at(), table, new), table

    # Names

    def _encode(self, rows: Sequence[Names], contexts: Any) -> tuple[Matrix, list[str], dict[str, str]]:
        """The rows as numbers, the features among them that are new, and the kinds of their columns."""
        contexts = contexts if contexts is None or isinstance(contexts, list) else [named_row(contexts, "context")]
        if contexts is not None and len(contexts) == 1:
            contexts = contexts * len(rows)
        encoded = self._features.encode(rows, contexts)
        new = self._features.new_in(encoded)
        return self._features.matrix(encoded, new), new, encoded.kinds

    def _checked(self, policy: Policy, table: Matrix, new: Sequence[str]) -> Policy:
        """The policy, or one that knows the `new` features too; ValueError if it cannot take the table."""
        if not new:
            policy.checked_table(table)
            return policy
        larger = self._start.grown(policy, [*self._features.columns, *new], table)
        larger.checked_table(table)
        return larger

    def _commit(self, policy: Policy, new: Sequence[str], kinds: Mapping[str, str]) -> None:
        self._policy = policy
        self._features.add(new, kinds)
        if new:
            self._pending.widen(len(self._features.columns))


def _rows_or_one(contexts: Any) -> list[Names] | Names:
    """A dict as it is; of a list of dicts or a data frame, a dict for each row."""
    return contexts if isinstance(contexts, Mapping) else list(named_rows(contexts, "contexts"))


def _offers(actions: Any, contexts: list[Names] | Names | None) -> list[list[Names]]:
    """The actions of each round as dicts; of one set of actions alone, once for each context."""
    one = not isinstance(actions, list | tuple) or (bool(actions) and isinstance(actions[0], Mapping))
    if one and is_iterable(actions):
        if not isinstance(contexts, list):
            raise ValueError("contexts must have a row for each round where one set of actions is given, got none")
        return [list(named_rows(actions, "actions"))] * len(contexts)
    if not isinstance(actions, list | tuple) or not actions:
        raise ValueError(f"actions must be dicts or a data frame for each round, at least one, got {came(actions)}")
    return [list(named_rows(rows, "actions")) for rows in actions]
