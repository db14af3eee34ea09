"""Policies whose every step is written down, and made again from what was written."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from onward import storage
from onward.bandits.filed import Filed
from onward.bandits.journal import Journal, create_journal, is_begun, read_journal, reopen_journal
from onward.bandits.randomness import Seed, own_generator, part_from_parent
from onward.core.sharing import Shared
from onward.core.shown import brief, shortened
from onward.storage import StorageError

_STEPS = ("choose", "decide", "learn", "learn_many", "reward", "reward_many", "cancel", "expire", "override")
_DONE = frozenset(
    (*_STEPS, "choose_many", "choose_with_probability", "rank", "propose", "restart", "add_arm", "remove_arm")
)


class Journaled(Filed, Shared):
    """The part of a policy that keeps a journal."""

    _rng: np.random.Generator
    _journal: Journal | None = None
    _inside = False  # a step that is written down as a whole
    _replaying = False  # being made again from a journal
    _reads_for_journal = False  # one of these holds of the policy that wraps it
    _replayed: tuple[str, str] | None = None  # of which journal it is the end, and its digest then

    def journal(self, path: str | os.PathLike[str], *, fsync: bool = False) -> Journal:
        """Write down from now on whatever changes this policy: use the result in a `with` statement, or `close` it.

        `replay_journal(path)` gives the policy at the journal's end, to the last bit; the file holds how it began. A
        file that is there already is gone on with, if the policy is as the journal left it: it was closed with this
        policy, or this policy comes from `replay_journal`.

        Args:
            path: of the file.
            fsync: wait after each record until it is on the disk: it then survives the machine, not only the process.
        """
        target = Path(path)
        with self._lock:
            if self._journal is not None and self._journal.is_open:
                raise ValueError(f"this policy writes to the journal {self._journal.path} already: close it first")
            known, digest = self._replayed, self.digest()
            if is_begun(target):
                if known != (str(target.resolve()), digest) and _last_digest(target) != digest:
                    raise ValueError(
                        f"{path} is the journal of another policy, or does not end where this one is: expected a new "
                        "file, or the policy of replay_journal(path)"
                    )
                journal = reopen_journal(target, fsync)
                journal.append("begin", {"digest": digest})
            else:
                journal = create_journal(target, fsync)
                journal.append("begin", {"digest": digest, "state": self.to_bytes()})
            journal._on_close = self._end_journal
            self._journal = journal
            self._go_the_long_way()
        return journal

    def _go_the_long_way(self) -> None:
        """See to it that nothing happens that is not noted; the lock is held."""

    def _end_journal(self) -> None:
        with self._lock:
            journal, self._journal = self._journal, None
            if journal is not None and journal.is_open:
                journal.append("end", {"digest": self.digest()})

    @property
    def _reads_copies(self) -> bool:
        """Whether reading must leave buffers as they are: it keeps what it finds there, and is not written down."""
        return self._journal is not None or self._replaying or self._reads_for_journal

    @property
    def _is_noting(self) -> bool:
        """Whether what is done now is written down."""
        return self._journal is not None and not self._inside

    def _note(self, done: str, given: Mapping[str, Any], result: Any = None) -> None:
        """Write down what was done; the lock is held."""
        if self._journal is not None and not self._inside:
            empty = {name: None for name, value in given.items() if isinstance(value, np.ndarray) and not value.size}
            self._journal.append(done, {**given, **empty}, result)

    def _note_state(self) -> None:
        """Write down what the policy has become, after a step that cannot be told otherwise."""
        if self._journal is not None and not self._inside:
            self._journal.append("state", {"state": self.to_bytes()})

    @contextmanager
    def _noting(self, done: str) -> Iterator[Callable[..., None]]:
        """Let what happens inside be written down as one step; the lock is held."""
        before, self._inside = self._inside, True
        outcome: list[tuple[Mapping[str, Any], Any]] = []
        try:
            yield lambda given, result=None: outcome.append((given, result))
        finally:
            self._inside = before
        for given, result in outcome:
            self._note(done, given, result)

    def reseed(self, seed: Seed) -> None:
        """Begin another sequence of random numbers.

        Args:
            seed: of the random numbers; None for one of the system.
        """
        with self._lock:
            self._reseed(seed)
            self._note_state()

    def _reseed(self, seed: Seed) -> None:
        self._rng = own_generator(seed)

    def _after_fork(self) -> None:
        super()._after_fork()
        part_from_parent(self._rng)
        if self._journal is not None:
            self._journal.disown()


def replay_journal(path: str | os.PathLike[str], policy: Any = None) -> Any:
    """The policy at the end of a journal, to the last bit: its state, its random numbers and what waits.

    A last record that was not written to its end is left out, with a warning.

    Args:
        path: of a file that `journal` wrote.
        policy: as it was when the journal began; it stays as it is. None for the one that the file holds.

    Returns:
        The policy.

    Raises:
        StorageError: if the file is altered, or if what it tells does not come out again.

    Example:
        >>> from onward.bandits import LinUCB, replay_journal
        >>> policy = LinUCB(seed=0)
        >>> with policy.journal("policy.journal"):
        ...     policy.learn([1.0, 0.0], 0.5)
        >>> replay_journal("policy.journal").digest() == policy.digest()
        True
    """
    current: Any = None
    for number, done, given, result in read_journal(path):
        where = f"{path}: record {number}"
        if current is None:
            if done != "begin" or "state" not in given:
                raise StorageError(f"{where} is a {shortened(done)}, expected the beginning")
            current = _policy_in(given["state"], where)
            if policy is not None and policy.digest() != given.get("digest"):
                raise StorageError(f"{path} is the journal of another policy, or of this one at another time")
        elif done == "state":
            current = _policy_in(given.get("state"), where)
        elif done not in ("begin", "end"):
            _do(current, where, done, given, result)
        current._replaying = True
        if "digest" in given and current.digest() != given["digest"]:
            raise StorageError(f"{where} says that the policy is another one here: something was done unnoted")
    if current is None:
        raise StorageError(f"{path}: the journal is empty")
    current._replaying = False
    current._replayed = str(Path(path).resolve()), current.digest()
    return current


def _policy_in(state: Any, where: str) -> Any:
    """The policy whose bytes a record holds."""
    if not isinstance(state, np.ndarray):
        raise StorageError(f"{where} holds no policy, expected its bytes, got {brief(state)}")
    policy = storage.from_bytes(state.tobytes(), where)
    if not isinstance(policy, Journaled):
        raise StorageError(f"{where} holds a {type(policy).__name__}, expected a policy that keeps a journal")
    return policy


def _do(policy: Any, where: str, done: str, given: dict[str, Any], expected: Any) -> None:
    if done not in _DONE or not hasattr(policy, done):
        known = sorted(each for each in _DONE if hasattr(policy, each))
        raise StorageError(f"{where} tells of {brief(done)}, expected one of {', '.join(known)}")
    try:
        if done == "reward_many":
            given = {"rewards": _rewards(**given)}
        result = getattr(policy, done)(**given)
        came = json.loads(json.dumps(result))
    except Exception as error:  # whatever a record makes a policy do, it is the record that is wrong
        raise StorageError(f"{where}: {done} is refused ({shortened(str(error), 300)})") from error
    if came != expected:
        raise StorageError(f"{where}: {done} gives {brief(result)}, but it gave {brief(expected)}")


def _rewards(keys: Any, values: Any) -> dict[Any, float]:
    """The rewards by their keys, which are written apart."""
    if not isinstance(keys, list) or not isinstance(values, np.ndarray) or values.shape != (len(keys),):
        raise ValueError(f"expected a list of keys and as many rewards, got {brief(keys)} and {brief(values)}")
    return dict(zip(keys, values.tolist(), strict=True))


def _last_digest(path: Path) -> str | None:
    """How the policy was left when a journal was closed; None if it was not."""
    last = None
    for last in read_journal(path):  # noqa: B007
        pass
    return last.given.get("digest") if last is not None and last.done == "end" else None
