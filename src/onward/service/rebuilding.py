"""The state of a loop made again from its log, and whether that gives the same bits."""

import logging
import time
from collections.abc import Iterator
from typing import NamedTuple

from onward.service.folding import fold_entry, from_snapshot
from onward.service.loop import Loop
from onward.service.regression_model import Model
from onward.service.store import Store
from onward.service.store_errors import StoreError
from onward.service.store_values import Snapshot, StoredLoop
from onward.storage import StorageError

log = logging.getLogger(__name__)


def rebuild(store: Store, name: str, start: int | None = None) -> Loop | Model:
    """A loop or model as its log says: from the snapshot at entry `start`, or from the beginning of what is stored.

    That is an empty state, or where older entries were removed, the snapshot that became the base then.
    """
    stored = _stored(store, name)
    if start is None:
        start = stored.base_seq
    current = None if start == 0 else _state_at(store, stored, start)
    for entry in store.iterate(name, after=start):
        current = fold_entry(current, entry)
    if current is None:
        raise StoreError(f"the log of {name!r} is empty, expected at least its beginning")
    return current


def save_latest(store: Store, name: str) -> None:
    """Store a snapshot of a loop or model as it is now, unless there is one."""
    stored, latest = store.loop(name), store.snapshot(name)
    if stored is None:
        return
    if latest is not None and latest.seq >= stored.last_seq:
        return
    current, birth = load(store, name)
    state, digest = current.to_snapshot()
    store.save_snapshot(Snapshot(name, current.seq, current.version, time.time(), digest, False, state), birth)


def load(store: Store, name: str) -> tuple[Loop | Model, str]:
    """A loop or model as it is now, from its latest snapshot and what came after; and its birth.

    A snapshot only saves time: where one cannot be read, an earlier one is taken, or the log from its beginning.
    """
    for attempt in (0, 1):
        stored = _stored(store, name)
        try:
            current = _from_latest(store, stored)
        except (ValueError, TypeError):  # something was removed while it was read
            if attempt:
                raise
            continue
        again = store.loop(name)
        if again is not None and again.birth == stored.birth:
            return current, stored.birth
    raise StoreError(f"{name!r} was deleted and made again while it was loaded", is_transient=True)


def _from_latest(store: Store, stored: StoredLoop) -> Loop | Model:
    for each in reversed(store.snapshots(stored.name)):
        if each.seq <= stored.base_seq:
            break
        try:
            return rebuild(store, stored.name, each.seq)
        except StorageError as error:
            log.error(
                "the snapshot of %s at entry %d is passed over, as it cannot be read: %s", stored.name, each.seq, error
            )
    return rebuild(store, stored.name)


class Checked(NamedTuple):
    """A place in the log where states were compared."""

    seq: int
    from_start: str  # digest of what was folded from the beginning
    from_snapshot: str  # digest of what was folded from the snapshot before this place
    stored: str | None  # digest of the snapshot at this place; None at the end of the log

    @property
    def is_same(self) -> bool:
        """Whether all are the same, to the last bit."""
        return len({self.from_start, self.from_snapshot, self.stored or self.from_start}) == 1


def verify(store: Store, name: str) -> Iterator[Checked]:
    """Fold a log from its beginning, and from each snapshot to the next, and compare at each snapshot and at the end.

    A state folded from a snapshot that is the same at the next one is the same from there on, so this is what folding
    the whole log from every snapshot would say.
    """
    stored = _stored(store, name)
    marks = {each.seq: each for each in store.snapshots(name) if each.seq > stored.base_seq}
    base = stored.base_seq
    current, other = (None if base == 0 else _state_at(store, stored, base) for _ in range(2))
    for entry in store.iterate(name, after=base):
        current, other = fold_entry(current, entry), fold_entry(other, entry)
        mark = marks.get(entry.seq)
        if mark is not None:
            found = snapshot_at(store, name, entry.seq)
            kept = from_snapshot(stored.kind, found.state)
            digest = mark.digest if kept.digest() == mark.digest else f"damaged: {kept.digest()}"
            yield Checked(entry.seq, current.digest(), other.digest(), digest)
            other = kept
    if current is None or other is None:
        raise StoreError(f"the log of {name!r} is empty, expected at least its beginning")
    if current.seq not in marks:
        yield Checked(current.seq, current.digest(), other.digest(), None)


def snapshot_at(store: Store, name: str, seq: int) -> Snapshot:
    """The snapshot at one entry; ValueError if there is none."""
    found = store.snapshot(name, at_most=seq)
    if found is None or found.seq != seq:
        there = ", ".join(str(each.seq) for each in store.snapshots(name)[-10:]) or "none"
        raise ValueError(f"there is no snapshot of {name!r} at entry {seq}; the last ones are at {there}")
    return found


def _state_at(store: Store, stored: StoredLoop, seq: int) -> Loop | Model:
    return from_snapshot(stored.kind, snapshot_at(store, stored.name, seq).state)


def _stored(store: Store, name: str) -> StoredLoop:
    stored = store.loop(name)
    if stored is None:
        raise ValueError(f"there is no loop or model {name!r}")
    return stored
