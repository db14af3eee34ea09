"""What is removed from a store: old entries, loops, and the events of a person."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from onward.service.store import Store
from onward.service.store_append import notify
from onward.service.store_schema import (
    IS_FIRST,
    IS_LATER,
    IS_SETTINGS,
    counters,
    entries,
    loops,
    snapshots,
)

AT_ONCE = 500  # events or entries that one statement removes


class Pruned(NamedTuple):
    """What was removed of a loop."""

    entries: int
    snapshots: int
    base_seq: int  # a rebuild starts from the snapshot at this entry; 0: from nothing


class PruningPlan(NamedTuple):
    """Which entries of a loop are to be removed."""

    loop: str
    birth: str
    old: int  # those up to here, ...
    kept: int  # ... but for this one, which holds settings
    base_seq: int
    snapshots: int = 0  # that were removed already


def prune(store: Store, before: float) -> dict[str, Pruned]:
    """Remove the entries of all loops from before a time, and say by loop how many; see `plan_pruning`."""
    return {name: prune_loop(store, name, before) for name in sorted(store.loops())}


def prune_loop(store: Store, name: str, before: float) -> Pruned:
    """Remove the entries of a loop from before a time, some at a time, and say how many."""
    plan = plan_pruning(store, name, before)
    removed = 0
    while True:
        count = remove_some(store, plan)
        removed += count
        if count < AT_ONCE:
            return Pruned(removed, plan.snapshots, plan.base_seq)


def plan_pruning(store: Store, name: str, before: float) -> PruningPlan:
    """Let a loop be rebuilt without its entries from before a time, which `remove_some` removes from then on.

    Entries go only where there is a snapshot at or after them: the earliest such becomes the base from which a rebuild
    starts, and older ones go. So folding gives the same bits whenever the removal is broken off, and the next plan goes
    on with it. The last settings from before stay, as what came after is judged by them. An event whose entries are
    gone is unknown from then on, unless it still waits.
    """
    return store.database.run(lambda connection: _move_base(connection, name, before), write=True)


def remove_some(store: Store, plan: PruningPlan) -> int:
    """Remove up to `AT_ONCE` of the entries that a plan names, and count them: below that, it is done."""
    return store.database.run(lambda connection: _remove_some(connection, plan), write=True)


def _move_base(connection: sa.Connection, name: str, before: float) -> PruningPlan:
    """Let rebuilds start where a snapshot makes up for what is old."""
    columns = (loops.c.birth, loops.c.last_seq, loops.c.base_seq)
    found = connection.execute(sa.select(*columns).where(loops.c.name == name).with_for_update()).first()
    if found is None:
        return PruningPlan(name, "", 0, 0, 0)
    birth, last, base = found
    seqs = sa.select(entries.c.seq).where(entries.c.loop == name)
    old = _last_old(connection, name, before, last)
    stored = sa.select(snapshots.c.seq).where(snapshots.c.loop == name)
    new_base = connection.scalar(stored.where(snapshots.c.seq >= old).order_by(snapshots.c.seq).limit(1))
    if new_base is None:
        new_base = old = connection.scalar(stored.order_by(snapshots.c.seq.desc()).limit(1)) or 0
    told = seqs.where(IS_SETTINGS, entries.c.seq <= old)
    kept = connection.scalar(told.order_by(entries.c.seq.desc()).limit(1)) or 0
    if connection.scalar(seqs.where(entries.c.seq <= old, entries.c.seq != kept).limit(1)) is None:
        return PruningPlan(name, birth, 0, 0, base)
    removed = set_base(connection, name, new_base)
    return PruningPlan(name, birth, old, kept, new_base, removed)


def _last_old(connection: sa.Connection, name: str, before: float, last: int) -> int:
    """The entry up to which all are from before a time.

    An entry may say it is younger, if the clock was ahead: it is as old as those that came after it, unless those that
    say so are as many as the others. One from when the clock was behind makes nothing older.
    """
    of_loop = sa.select(entries.c.seq, entries.c.at).where(entries.c.loop == name)
    newer = connection.execute(of_loop.where(entries.c.at >= before).order_by(entries.c.seq).limit(1)).first()
    if newer is None:
        return last
    latest = sa.select(sa.func.max(entries.c.at)).where(entries.c.loop == name, entries.c.seq < newer.seq)
    least = connection.scalar(latest)
    least = -math.inf if least is None else least
    again = of_loop.where(entries.c.seq > newer.seq, entries.c.at < before, entries.c.at >= least)
    last_again = connection.execute(again.order_by(entries.c.seq.desc()).limit(1)).first()
    if last_again is None:
        return int(newer.seq) - 1
    count = sa.select(sa.func.count()).where(entries.c.loop == name, entries.c.seq <= last_again.seq)
    n_ahead, n = (connection.scalar(each) or 0 for each in (count.where(entries.c.at >= before), count))
    return int(last_again.seq) if 2 * n_ahead < n else int(newer.seq) - 1


def _remove_some(connection: sa.Connection, plan: PruningPlan) -> int:
    """Remove some of the entries that are to go, and count them: none if the loop was deleted, or made again."""
    here = sa.select(loops.c.name).where(loops.c.name == plan.loop, loops.c.birth == plan.birth)
    if connection.scalar(here.with_for_update()) is None:
        return 0
    of_loop = entries.c.loop == plan.loop
    some = sa.select(entries.c.seq).where(of_loop, entries.c.seq <= plan.old, entries.c.seq != plan.kept)
    chosen = some.order_by(entries.c.seq).limit(AT_ONCE)
    return connection.execute(entries.delete().where(of_loop, entries.c.seq.in_(chosen))).rowcount


def set_base(connection: sa.Connection, name: str, seq: int) -> int:
    """Let rebuilds start from the snapshot at an entry; those before are removed, and counted."""
    of_loop = snapshots.c.loop == name
    removed = connection.execute(snapshots.delete().where(of_loop, snapshots.c.seq < seq)).rowcount
    connection.execute(snapshots.update().where(of_loop, snapshots.c.seq == seq).values(is_base=True))
    connection.execute(loops.update().where(loops.c.name == name).values(base_seq=seq))
    return removed


def delete_loop(store: Store, name: str) -> bool:
    """Remove a loop or model with all its entries and snapshots; False if there is none."""

    def work(connection: sa.Connection) -> bool:
        one = sa.select(loops.c.name).where(loops.c.name == name).with_for_update()
        if connection.scalar(one) is None:
            return False
        connection.execute(entries.delete().where(entries.c.loop == name))
        connection.execute(snapshots.delete().where(snapshots.c.loop == name))
        connection.execute(counters.delete().where(counters.c.loop == name))
        connection.execute(loops.delete().where(loops.c.name == name))
        notify(connection, [name])
        return True

    return store.database.run(work, write=True)


def find_events_of(store: Store, subject: str) -> dict[str, list[str]]:
    """By loop, the events that are about a person."""
    query = sa.select(entries.c.loop, entries.c.event_id).where(entries.c.subject == subject).order_by(entries.c.seq)
    found: dict[str, list[str]] = {}
    for loop, event in store.database.run(lambda connection: connection.execute(query).all()):
        found.setdefault(loop, []).append(event)
    return found


def remove_events(store: Store, name: str, events: Sequence[str], base_seq: int) -> int:
    """Remove all entries of events, and count them; a rebuild starts from the snapshot at `base_seq` from then on.

    Entries that say which events were forgotten are removed, too.
    """

    def work(connection: sa.Connection) -> int:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete=ON")  # what was there is written over
        connection.scalar(sa.select(loops.c.name).where(loops.c.name == name).with_for_update())
        removed = 0
        for start in range(0, len(events), AT_ONCE):
            some = entries.c.event_id.in_(events[start : start + AT_ONCE])
            for which in (IS_FIRST, IS_LATER):
                statement = entries.delete().where(entries.c.loop == name, some, which, entries.c.seq <= base_seq)
                removed += connection.execute(statement).rowcount
        forgets = (entries.c.loop == name, entries.c.kind == "forget", entries.c.seq <= base_seq)
        connection.execute(entries.delete().where(*forgets))
        set_base(connection, name, base_seq)
        return removed

    removed = store.database.run(work, write=True)
    if not store.is_shared:  # the log beside the file holds what was there, too
        with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return removed
