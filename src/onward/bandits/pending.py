"""Decisions that wait for their rewards, each under a key."""

import math
from array import array
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from onward.core.checks import is_unicode, is_whole, whole
from onward.core.factor import ORDINARY
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

_BITS = 12
_ROWS = 1 << _BITS  # of a block
_LAST = _ROWS - 1
_COLUMNS = 4  # of what a file holds beside keys and rows: the time, the probability, the action and the round
NEVER = math.inf  # the time of a slot in which nothing waits
KEY_BITS = 128  # of a key that is a whole number: those of a UUID
_OWN_KEYS = 2**64  # keys that nobody named are below
UNKNOWN = -1  # the number of an action that was none of those offered


def checked_key(key: object, name: str = "key") -> str | int:
    """A key as text or a whole number of Python's own, which files give back as it was; ValueError if it is none."""
    if isinstance(key, str):
        if key.isascii() or is_unicode(key):
            return str(key)
        raise ValueError(f"{name} must be Unicode text, got half of a pair of surrogates in {brief(key)}")
    if not is_whole(key):
        raise ValueError(f"{name} must be text or a whole number, got {brief(key)}")
    if abs(number := int(key)) >= 2**KEY_BITS:
        raise ValueError(f"{name} must be text or a whole number of at most {KEY_BITS} bits, got {brief(key)}")
    return number


class Decision(NamedTuple):
    """What was decided: the action, the probability with which it was chosen, and the key that waits for its reward.

    Attributes:
        action: its number; of arms, the name.
        probability: with which it was chosen.
        key: under which it waits.

    Example:
        >>> from onward.bandits import Greedy
        >>> policy = Greedy(seed=0)
        >>> policy.learn([1.0, 0.0], 1.0)
        >>> policy.decide([[1.0, 0.0], [0.0, 1.0]], key="visit 1")
        Decision(action=0, probability=1.0, key='visit 1')
    """

    action: Any  # its number among those offered; the name of an arm, or a node
    probability: float
    key: Any


class Counts(NamedTuple):
    """What became of all decisions so far.

    Attributes:
        decided: how many there were.
        pending: how many wait for their reward.
        rewarded: how many had theirs.
        expired: how many `expire` has ended.
        cancelled: how many `cancel` has ended.
        overridden: how many were taken otherwise than decided.

    Example:
        >>> from onward.bandits import Greedy
        >>> policy = Greedy(seed=0)
        >>> first, second = (policy.decide([[1.0], [2.0]]) for _ in range(2))
        >>> policy.reward(first.key, 1.0)
        >>> policy.counts
        Counts(decided=2, pending=1, rewarded=1, expired=0, cancelled=0, overridden=0)
    """

    decided: int
    pending: int  # still waiting
    rewarded: int
    expired: int
    cancelled: int
    overridden: int  # of whichever became something: another action was taken


class PendingDecision(NamedTuple):
    """A decision that waits for its reward.

    Attributes:
        action: its number; of arms, the name.
        probability: with which it was chosen; None if it was overridden.
        at: when it was decided, in seconds.
        round: how many decisions there were before.
        row: the features of the action, or the context.

    Example:
        >>> from onward.bandits import Greedy
        >>> policy = Greedy(seed=0)
        >>> decision = policy.decide([[3.0]], key="visit 1", at=0.0)
        >>> policy.pending["visit 1"]
        PendingDecision(action=0, probability=1.0, at=0.0, round=0, row=array([3.]))
    """

    action: Any  # as in `Decision`; None if another action was taken, whose number is not known
    probability: float | None  # None if another action was taken
    at: float  # when it was decided, in seconds
    round: int  # how many decisions there were before it
    row: Vector  # the features that the reward will be learned with


class Pending:
    """Rows by key, in blocks that are used again: each decision costs the same, however many wait.

    `slots` says in which row of which block a key's features are; what else is known of it has the same place in
    columns of numbers.
    """

    def __init__(self) -> None:
        self.slots: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._blocks: list[Matrix] = []
        self._free: list[int] = []
        self._times, self._probabilities = array("d"), array("d")
        self.actions, self._rounds = array("q"), array("q")
        self.rounds = 0  # decisions so far: the number of the next one
        self.next_key = 0  # above all whole numbers below _OWN_KEYS that were keys
        self.rewarded = self.expired = self.cancelled = self.overridden = 0

    def __len__(self) -> int:
        return len(self.slots)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._blocks = [np.array(block) for block in self._blocks]  # some copies come as files that cannot be written

    def copy(self) -> "Pending":
        """Another one that holds the same."""
        other = Pending()
        other.__dict__.update(
            {name: value.copy() if isinstance(value, dict | list) else value for name, value in self.__dict__.items()}
        )
        other._blocks = [block.copy() for block in self._blocks]
        other._times, other._probabilities = self._times[:], self._probabilities[:]
        other.actions, other._rounds = self.actions[:], self._rounds[:]
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> "Pending":
        return self.copy()

    @property
    def counts(self) -> Counts:
        """What became of all decisions so far."""
        waiting = len(self.slots)
        decided = waiting + self.rewarded + self.expired + self.cancelled
        return Counts(decided, waiting, self.rewarded, self.expired, self.cancelled, self.overridden)

    # Keys

    def new_key(self, key: Hashable) -> Hashable:
        """The key under which a decision can be put: None becomes a number that never was one; ValueError if none."""
        if key is None:
            return self.next_key
        own = checked_key(key)
        if own in self.slots:
            raise ValueError(f"a decision already waits under key {brief(key)}; expected a new key for each decision")
        return own

    def is_free(self, key: object) -> bool:
        """Whether a key is plain text or a number of Python's own, and none waits under it: a quick look."""
        plain = key.isascii() if type(key) is str else type(key) is int and -_OWN_KEYS < key < _OWN_KEYS
        return plain and key not in self.slots

    def slot(self, key: Hashable) -> int:
        """Where the decision under the key is, or ValueError."""
        if not (isinstance(key, str) or is_whole(key)) or key not in self.slots:
            raise ValueError(
                f"no decision waits under key {brief(key)} ({len(self.slots)} wait): "
                "it was never decided, or its reward has come already, or it was cancelled or has expired"
            )
        return self.slots[key]

    @staticmethod
    def plain(key: Any) -> Any:
        """The key as text or a number of Python's own."""
        return key if isinstance(key, str) else int(key)

    # One decision

    def add(self, key: Hashable, row: Vector, at: float, probability: float, action: int) -> None:
        """Remember a decision under a key of `new_key`."""
        slot = self._free.pop() if self._free else self._new_slot(len(row))
        self._blocks[slot >> _BITS][slot & _LAST] = row
        self._keys[slot] = key
        self._times[slot] = at
        self._probabilities[slot] = probability
        self.actions[slot] = action
        self._rounds[slot] = self.rounds
        self.rounds += 1
        if type(key) is int and self.next_key <= key < _OWN_KEYS:
            self.next_key = key + 1
        self.slots[key] = slot

    def _new_slot(self, width: int) -> int:
        """The first row of a new block, the others of which are free."""
        first = len(self._keys)
        self._blocks.append(np.empty((_ROWS, width)))
        self._keys.extend([None] * _ROWS)
        for column, value in self._columns(NEVER, math.nan, UNKNOWN, 0):
            column.extend(array(column.typecode, [value]) * _ROWS)
        self._free.extend(range(first + _LAST, first, -1))
        return first

    def _columns(self, *values: Any) -> Iterator[tuple["array[Any]", Any]]:
        return zip((self._times, self._probabilities, self.actions, self._rounds), values, strict=True)

    def row(self, slot: int) -> Vector:
        """The features of a decision, not a copy."""
        row: Vector = self._blocks[slot >> _BITS][slot & _LAST]
        return row

    def drop(self, key: Hashable, slot: int) -> None:
        """Forget a decision."""
        del self.slots[key]
        self._times[slot] = NEVER
        self._keys[slot] = None
        if self.slots or len(self._blocks) == 1:
            self._free.append(slot)
        else:  # what many decisions took is given back
            self._keys, self._blocks, self._free = [], [], []
            for column, _ in self._columns(0, 0, 0, 0):
                del column[:]

    def replace(self, key: Hashable, row: Vector | None, action: int) -> None:
        """Note that another action was taken; a row of None stays."""
        slot = self.slot(key)
        if row is not None:
            self.row(slot)[:] = row
        if not math.isnan(self._probabilities[slot]):
            self.overridden += 1
        self.actions[slot], self._probabilities[slot] = action, math.nan

    def decision(self, key: Hashable) -> PendingDecision:
        """What is known of the decision under the key; its action is a number."""
        slot = self.slot(key)
        action, probability = self.actions[slot], self._probabilities[slot]
        return PendingDecision(
            None if action == UNKNOWN else action,
            None if math.isnan(probability) else probability,
            self._times[slot],
            self._rounds[slot],
            self.row(slot).copy(),
        )

    # Many decisions

    def before(self, at: float, rounds: int) -> list[Hashable]:
        """The keys of decisions of before that time, or before that round: the oldest first."""
        numbers = np.array(self._rounds)
        times = np.array(self._times)
        found = np.flatnonzero((times != NEVER) & ((times < at) | (numbers < rounds)))
        return [self._keys[slot] for slot in found[np.argsort(numbers[found])].tolist()]

    def of_action(self, action: int) -> list[Hashable]:
        """The keys of decisions for an action: the oldest first."""
        return [key for key, slot in self.slots.items() if self.actions[slot] == action]

    def cancel_of(self, action: int) -> None:
        """Wait no longer for the rewards of decisions for an action."""
        for key in self.of_action(action):
            self.cancelled += 1
            self.drop(key, self.slots[key])

    def widen(self, width: int) -> None:
        """Have rows of so many features: those that come last were 0 so far."""
        for b, block in enumerate(self._blocks):
            self._blocks[b] = np.concatenate([block, np.zeros((len(block), width - block.shape[1]))], axis=1)

    def record(self, width: int) -> tuple[dict[str, Any], dict[str, Matrix]]:
        """Keys and counts, rows and what else is known of them, for a file."""
        slots = np.fromiter(self.slots.values(), dtype=np.int64, count=len(self.slots))
        rows = np.empty((len(slots), width))
        for b, block in enumerate(self._blocks):
            inside = slots >> _BITS == b
            rows[inside] = block[slots[inside] & _LAST]
        columns = [np.array(column)[slots] for column, _ in self._columns(0, 0, 0, 0)]
        about = np.column_stack(columns).astype(np.float64) if len(slots) else np.empty((0, _COLUMNS))
        counts = [self.rounds, self.next_key, self.rewarded, self.expired, self.cancelled, self.overridden]
        return {"pending": list(self.slots), "counts": counts}, {"pending": rows, "decisions": about}

    @classmethod
    def from_record(
        cls, settings: dict[str, Any], arrays: dict[str, Any], width: int, arms: Collection[int] | None = None
    ) -> Self:
        """What `record` gave for rows of that width, or what files held before: rows alone, behind the arm's number.

        `arms` are the numbers that actions can have where they are arms. ValueError if it does not fit together.
        """
        pending, keys, rows = cls(), settings["pending"], arrays["pending"]
        about = arrays.get("decisions")
        if not isinstance(keys, list) or rows.ndim != 2 or len(keys) != len(rows):
            raise ValueError(f"expected a row for each key of a decision that waits, got {rows.shape} numbers")
        if about is None:
            actions, rows = (rows[:, 0], rows[:, 1:]) if arms is not None and len(rows) else (np.zeros(len(keys)), rows)
            about = np.column_stack([np.full((len(keys), 2), [0.0, math.nan]), actions, range(len(keys))])
        if about.shape != (len(keys), _COLUMNS) or (len(rows) and rows.shape[1] != width):
            raise ValueError(
                f"{len(keys)} keys, rows of {rows.shape} and {about.shape} numbers of decisions that wait, "
                f"expected {width} features"
            )
        for key in keys:
            pending.new_key(key)
        pending.slots = dict(zip(keys, range(len(keys)), strict=True))
        if len(pending.slots) != len(keys):
            raise ValueError("two decisions wait under one key")
        pending.rounds = len(keys)
        pending.next_key = max([0, *(key + 1 for key in keys if isinstance(key, int) and key < _OWN_KEYS)])
        if "counts" in settings:
            counts = [whole("each of counts", count, 0) for count in settings["counts"]]
            rounds, next_key, pending.rewarded, pending.expired, pending.cancelled, pending.overridden = counts
            if not pending.rounds <= rounds < 2**53 or next_key < pending.next_key:
                raise ValueError(f"{rounds} rounds and {next_key} as the next key cannot be of decisions that wait")
            pending.rounds, pending.next_key = rounds, next_key
        _check_waiting(rows, about, pending.rounds, arms)
        for first in range(0, len(keys), _ROWS):
            pending._free.clear()  # the block before is full
            pending._new_slot(width)
            held = rows[first : first + _ROWS]
            pending._blocks[-1][: len(held)] = held
        pending._keys[: len(keys)] = keys
        pending._free = list(range(len(pending._keys) - 1, len(keys) - 1, -1))
        for (column, _), values in zip(pending._columns(0, 0, 0, 0), about.T, strict=True):
            column[: len(keys)] = array(column.typecode, values.astype(column.typecode).tobytes())
        return pending


def _check_waiting(rows: Matrix, about: Matrix, rounds: int, arms: Collection[int] | None) -> None:
    """ValueError if these cannot be decisions that wait: their features, times, probabilities, actions and rounds."""
    times, probabilities, actions, numbers_ = about.T
    if not (np.abs(rows) < ORDINARY).all():
        raise ValueError("the features of decisions that wait must be finite")
    if not np.isfinite(times).all():
        raise ValueError("the times of decisions that wait must be finite")
    if not (np.isnan(probabilities) | ((probabilities > 0) & (probabilities <= 1 + 1e-9))).all():
        raise ValueError("the probabilities of decisions that wait must be above 0 and at most 1")
    known = np.isin(actions, list(arms)) if arms is not None else (actions >= UNKNOWN) & (actions < 2**53)
    if not (known.all() and (actions == np.round(actions)).all()):
        raise ValueError("the actions of decisions that wait must be some that there are")
    if not ((numbers_ >= 0) & (numbers_ < rounds) & (numbers_ == np.round(numbers_))).all():
        raise ValueError(f"the rounds of decisions that wait must be among {rounds}")


class PendingView:
    """The decisions that wait, by key: sized, iterable (the oldest first), `key in view`, and `view[key]`."""

    def __init__(self, pending: Pending, look_at: Callable[[Hashable], PendingDecision]) -> None:
        self._pending, self._look_at = pending, look_at

    def __len__(self) -> int:
        return len(self._pending)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(tuple(self._pending.slots))  # as it is now: others may decide meanwhile

    def __contains__(self, key: object) -> bool:
        return key in self._pending.slots

    def __getitem__(self, key: Hashable) -> PendingDecision:
        """What is known of the decision under the key; ValueError if none waits there."""
        return self._look_at(key)

    def __repr__(self) -> str:
        first: Sequence[Hashable] = [key for key, _ in zip(self._pending.slots, range(5), strict=False)]
        more = f", … {len(self)} in all" if len(self) > len(first) else ""
        return f"<{len(self)} pending: {', '.join(map(repr, first))}{more}>"
