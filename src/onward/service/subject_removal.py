"""The events of a person, deleted from logs and states."""

import time
from collections.abc import Sequence

from onward.service.entries import Entry, Forget
from onward.service.loop import Loop
from onward.service.rebuilding import load
from onward.service.regression_model import Model
from onward.service.store import Store
from onward.service.store_errors import StoreError
from onward.service.store_removal import find_events_of, remove_events
from onward.service.store_values import Position, Snapshot


class NotDeletedError(StoreError):
    """Events of a person are still there: by loop, why; and by loop, how many entries were removed of others."""

    def __init__(self, why: dict[str, str], removed: dict[str, int]) -> None:
        told = "; ".join(f"{name}: {reason}" for name, reason in why.items())
        super().__init__(f"events about this subject may still be there, as deleting them failed: {told}")
        self.removed = removed


def delete_subject(store: Store, subject: str) -> dict[str, int]:
    """Delete all events about a person, and say by loop how many entries were removed.

    Decisions that wait are dropped, unlearned. The state after that becomes the base from which rebuilds start; then
    the entries of the person's events go, and all older snapshots. What stays are sums: what the policy has learned
    from all rewards together, and the loop's statistics, from which nobody's event can be read; and the names of levels
    and actions, which are a person's if decisions gave persons' names as values: `FeatureRule.exclude` keeps those out;
    and ids of events that ended and whose entries were pruned before, as nothing tells any more whose they were.
    Backups that were made before still have the events.

    Several servers on PostgreSQL may go on meanwhile; on SQLite, the caller must be the one server (`Store.claim`).
    Where it fails in one loop, the others are gone on with, and NotDeletedError says so in the end.
    """
    removed, failed = {}, {}
    written = find_events_of(store, subject)
    for name, stored in store.loops().items():
        if stored.kind != "loop":
            continue
        try:
            count = _delete_in(store, name, subject, written.get(name, ()))
        except Exception as error:  # whatever is wrong with one loop is nothing to the others
            failed[name] = str(error) or type(error).__name__
            continue
        if count is not None:
            removed[name] = count
    if failed:
        raise NotDeletedError(failed, removed)
    return removed


def _delete_in(store: Store, name: str, subject: str, written: Sequence[str]) -> int | None:
    """Delete a person's events of one loop, and count their entries; None if there are none."""
    current, birth = load(store, name)
    events = list(dict.fromkeys([*written, *_waiting_events(current, subject)]))
    if not events:
        return None
    known = {name: Position(current.seq, birth)}
    appended = store.append([Entry(name, Forget(events), at=time.time())], known)
    if name not in appended.positions:
        return None  # deleted meanwhile, with all it had
    for entry in appended.news[name]:
        current.fold(entry)
    state, digest = current.to_snapshot()
    snapshot = Snapshot(name, current.seq, current.version, time.time(), digest, True, state)
    if not store.save_snapshot(snapshot, birth):
        raise StoreError(f"{name!r} was changed meanwhile: ask again", is_transient=True)
    return remove_events(store, name, events, current.seq)


def _waiting_events(current: Loop | Model, subject: str) -> list[str]:
    """The events of a person that wait, also to be counted: the log knows them no more where old entries are gone."""
    if not isinstance(current, Loop):
        return []
    not_counted = current.waiting.by_event | current.in_order.held
    return [event for event, each in not_counted.items() if each.subject == subject]
