"""How entries are appended to logs: one transaction, a place for each without gaps, each event begun once."""

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from onward.service.entries import Entry
from onward.service.sqlite_statements import Prepared, insert_entries
from onward.service.store_errors import StoreError
from onward.service.store_schema import IS_FIRST, entries, loops
from onward.service.store_values import (
    Appended,
    Position,
    begins_event,
    begins_loop,
    entry_of,
    kind_of_loop,
    row_of,
)

CHANNEL = "onward"
"""Of PostgreSQL's notifications: who wrote, and the name of a loop whose log has grown, or nothing for any."""

UNBORN = "unborn"
"""As the birth of a loop that an entry is meant for: one that is not there yet, which the entry makes."""

ENTRY_COLUMNS = (entries.c.loop, entries.c.seq, entries.c.at, entries.c.event_id, entries.c.body)
_MOST_NOTIFIED = 20  # loops that are named; nobody is told of more one by one
_first_entry = sa.select(*ENTRY_COLUMNS).where(entries.c.loop == sa.bindparam("of_loop"), IS_FIRST)
# One statement for any number of events, so that it is prepared once.
_FIRST: dict[str, sa.Executable] = {
    "sqlite": _first_entry.where(sa.text("event_id IN (SELECT value FROM json_each(:events))")),
    # One look into the index for each event, whatever the planner thinks of a table that it has not analysed yet.
    "postgresql": sa.text(
        "SELECT found.* FROM unnest(CAST(:events AS text[])) AS asked(event) CROSS JOIN LATERAL ("
        "SELECT loop, seq, at, event_id, body FROM entries WHERE loop = :of_loop AND event_id = asked.event "
        "AND kind IN ('decide', 'learn') LIMIT 1) AS found"
    ),
}
_AFTER = (
    sa.select(*ENTRY_COLUMNS)
    .where(entries.c.loop == sa.bindparam("of_loop"), entries.c.seq > sa.bindparam("after"))
    .order_by(entries.c.seq)
)
_LOCK = sa.select(loops.c.name, loops.c.birth, loops.c.last_seq).with_for_update()
_LOCK_ONE = _LOCK.where(loops.c.name == sa.bindparam("of_loop"))
_GROW = loops.update().where(loops.c.name == sa.bindparam("of_loop")).values(last_seq=sa.bindparam("to_seq"))
_SQLITE_LOCK_ONE, _SQLITE_FIRST, _SQLITE_GROW = Prepared(_LOCK_ONE), Prepared(_FIRST["sqlite"]), Prepared(_GROW)


def append_entries(
    connection: sa.Connection,
    batch: Sequence[Entry],
    known: Mapping[str, Position],
    births: Sequence[str | None],
    only_here: bool,
) -> Appended:
    """Append a batch inside a transaction that writes; see `Store.append`."""
    by_loop: defaultdict[str, list[int]] = defaultdict(list)
    for index, entry in enumerate(batch):
        by_loop[entry.loop].append(index)
    _create_loops(connection, batch, known)
    result = Appended([None] * len(batch), [False] * len(batch), {}, {})
    rows = []
    for name, (birth, last) in lock_loops(connection, by_loop).items():
        before = known.get(name, Position(last, birth))
        if before.birth != birth:
            continue  # deleted and made again: what was proposed was meant for the other
        if last < before.seq:
            raise StoreError(
                f"the log of {name!r} ends at entry {last}, but entry {before.seq} was read from it before: the "
                "database was replaced by an older one; start again to use it"
            )
        news = read_after(connection, name, before.seq) if last > before.seq else []
        if only_here and last != before.seq:
            result.news[name], result.positions[name] = news, Position(last, birth)
            continue
        firsts = _find_firsts(connection, name, [batch[index] for index in by_loop[name]])
        for index in by_loop[name]:
            entry = batch[index]
            if last and (births[index] == UNBORN or (name not in known and begins_loop(entry))):
                result.repeated[index] = True  # somebody else made it
                continue
            if births[index] not in (None, birth, UNBORN):
                continue  # as above, though this server has read the new one by now, or has read none
            event = entry.event_id if begins_event(entry) else None
            if event is not None and event in firsts:
                result.stored[index], result.repeated[index] = firsts[event], True
                continue
            last += 1
            stored = Entry(name, entry.content, entry.event_id, entry.at, last)
            if event is not None:
                firsts[event] = stored
            result.stored[index] = stored
            rows.append(row_of(stored))
            news.append(stored)
        result.news[name] = news
        result.positions[name] = Position(last, birth)
    if rows:
        grown = sorted({row["loop"] for row in rows})
        if connection.dialect.name == "sqlite":
            insert_entries(connection, rows)
            for name in grown:
                _SQLITE_GROW.run(connection, of_loop=name, to_seq=result.positions[name].seq)
        else:
            connection.execute(entries.insert(), rows)
            connection.execute(_GROW, [{"of_loop": name, "to_seq": result.positions[name].seq} for name in grown])
            notify(connection, grown)
    return result


def _create_loops(connection: sa.Connection, batch: Sequence[Entry], known: Mapping[str, Position]) -> None:
    new = {
        entry.loop: {
            "name": entry.loop,
            "kind": kind_of_loop(entry),
            "birth": uuid.uuid4().hex,
            "created": entry.at,
            "last_seq": 0,
            "base_seq": 0,
        }
        for entry in reversed(batch)
        if begins_loop(entry) and entry.loop not in known
    }
    if new:
        insert: sa.Insert
        if connection.dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import insert as insert_postgres

            insert = insert_postgres(loops).on_conflict_do_nothing()
        else:
            from sqlalchemy.dialects.sqlite import insert as insert_sqlite

            insert = insert_sqlite(loops).on_conflict_do_nothing()
        # In one order everywhere: two that create the same loops wait for each other's names.
        connection.execute(insert, [new[name] for name in sorted(new)])


def lock_loops(connection: sa.Connection, names: Mapping[str, object] | Sequence[str]) -> dict[str, tuple[str, int]]:
    """Birth and last seq of those loops that there are; nobody else appends to them before this transaction ends."""
    wanted = sorted(names)
    rows: Iterable[Any]
    if len(wanted) == 1 and connection.dialect.name == "sqlite":
        rows = _SQLITE_LOCK_ONE.run(connection, of_loop=wanted[0])
    elif len(wanted) == 1:  # as most batches are: a statement that is put together once
        rows = connection.execute(_LOCK_ONE, {"of_loop": wanted[0]})
    else:
        ordered = _LOCK.where(loops.c.name.in_(wanted)).order_by(loops.c.name)  # so that no two wait for each other
        rows = connection.execute(ordered)
    return {name: (birth, last) for name, birth, last in rows}


def read_after(connection: sa.Connection, loop: str, seq: int, limit: int | None = None) -> list[Entry]:
    """The entries of a loop after one of them, in order."""
    statement = _AFTER if limit is None else _AFTER.limit(limit)
    return [entry_of(row) for row in connection.execute(statement, {"of_loop": loop, "after": seq})]


def read_news(connection: sa.Connection, loop: str, known: Position, limit: int) -> list[Entry]:
    """The next entries after a position; none if that loop is gone, even if there is another of its name."""
    statement = _AFTER.join(loops, entries.c.loop == loops.c.name).where(loops.c.birth == known.birth).limit(limit)
    return [entry_of(row) for row in connection.execute(statement, {"of_loop": loop, "after": known.seq})]


def _find_firsts(connection: sa.Connection, loop: str, batch: Sequence[Entry]) -> dict[str | None, Entry]:
    """By event, the entry that began it, of those events that the batch would begin."""
    events = [entry.event_id for entry in batch if begins_event(entry)]
    if not events:
        return {}
    rows: Iterable[Any]
    if connection.dialect.name == "sqlite":
        rows = _SQLITE_FIRST.run(connection, of_loop=loop, events=json.dumps(events))
    else:
        rows = connection.execute(_FIRST["postgresql"], {"of_loop": loop, "events": events})
    return {entry.event_id: entry for entry in map(entry_of, rows)}


def notify(connection: sa.Connection, names: Sequence[str]) -> None:
    """Tell the other servers, when this transaction is committed, that logs have grown. SQLite has no others."""
    if connection.dialect.name == "postgresql":
        writer = connection.get_execution_options().get("onward_writer", "")
        told = names if len(names) <= _MOST_NOTIFIED else [""]
        statement = sa.select(sa.func.pg_notify(CHANNEL, sa.bindparam("said")))
        for name in told:
            connection.execute(statement, {"said": f"{writer} {name}"})


def is_written(connection: sa.Connection, appended: Appended) -> bool:
    """Whether a batch whose commit was not answered is in the log: it is wholly there, or not at all.

    The loops are locked first, which waits for a commit that is still on its way.
    """
    written = [e for e, again in zip(appended.stored, appended.repeated, strict=True) if e is not None and not again]
    if not written:
        return False
    lock_loops(connection, [entry.loop for entry in written])
    last = written[-1]
    where = (entries.c.loop == last.loop, entries.c.seq == last.seq)
    row = connection.execute(sa.select(*ENTRY_COLUMNS).where(*where)).first()
    return row is not None and entry_of(row) == last
