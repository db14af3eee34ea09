"""The log of all loops and models, with snapshots of their states, in SQLite or PostgreSQL.

Calls block, and may come from several threads.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import sqlalchemy as sa

from onward.service.database import Database
from onward.service.entries import Entry
from onward.service.file_lock import FileLock
from onward.service.store_append import ENTRY_COLUMNS, append_entries, is_written, notify, read_after, read_news
from onward.service.store_errors import StoreError
from onward.service.store_schema import IS_FIRST, IS_LATER, entries, loops, prepare, snapshots
from onward.service.store_values import Appended, Position, Snapshot, StoredLoop, entry_of

_PAGE = 1000  # entries that an iterator reads at once
_SETTLE_SECONDS = 10.0  # for which the outcome of a commit that was not answered is asked for
_HEAD = [column for column in snapshots.c if column.name != "state"]


class Store:
    """An append-only log for each loop, and snapshots. Made by `open_store`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lock: FileLock | None = None

    @property
    def is_shared(self) -> bool:
        """Whether several servers can work on it at once."""
        return self.database.is_postgres

    def claim(self) -> None:
        """Be the one server of an SQLite file; StoreError if there is another. Nothing to do on PostgreSQL."""
        if self.database.path is not None and self._lock is None:
            self._lock = FileLock(self.database.path)

    def close(self) -> None:
        """End all connections, and let another server have the file."""
        self.database.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ping(self) -> None:
        """StoreError if the database cannot be reached."""
        self.database.run(lambda connection: connection.execute(sa.select(1)).all())

    # The log

    def append(
        self,
        batch: Sequence[Entry],
        known: Mapping[str, Position],
        *,
        births: Sequence[str | None] | None = None,
        only_here: bool = False,
    ) -> Appended:
        """Write entries in one transaction, durable on return: all of them, or none and a StoreError.

        Each gets the next seq of its loop. One that begins an event which is there already is not written; the first
        one comes back instead. `known` says how far the caller has read each log; what others wrote since comes back,
        too, unless the loop is not `known`. An entry `Begin` or `BeginModel` of a loop that is not known makes it; if
        there is one already, it is not written (`repeated`). Entries of loops that are gone are not written, and come
        back as None; `births` says of each entry for which loop of that name it was proposed, None: for any;
        `UNBORN`: for one that it makes, so that it is not written if there is one by now, known or not.
        `only_here`: nothing is written to a log that has grown since the known position.

        If the connection is lost while the database commits, the log is asked what became of it.
        """
        appended: Appended | None = None
        meant = [None] * len(batch) if births is None else births

        def work(connection: sa.Connection) -> Appended:
            nonlocal appended
            appended = append_entries(connection, batch, known, meant, only_here)
            return appended

        try:
            return self.database.run(work, write=True)
        except StoreError as error:
            if not error.is_uncertain or appended is None:
                raise
            return appended if self._settled(appended, error) else self.database.run(work, write=True)

    def _settled(self, appended: Appended, error: StoreError) -> bool:
        """Whether a commit of unknown outcome took place; the error again if that cannot be found out."""
        ends = time.monotonic() + _SETTLE_SECONDS
        while True:
            try:
                return self.database.run(lambda connection: is_written(connection, appended), write=True)
            except StoreError as again:
                if not again.is_transient or time.monotonic() > ends:
                    raise error from again
                time.sleep(0.1)

    def loops(self) -> dict[str, StoredLoop]:
        """All loops and models by name."""
        rows = self.database.run(lambda connection: connection.execute(sa.select(loops)).all())
        return {row.name: StoredLoop(*row) for row in rows}

    def loop(self, name: str) -> StoredLoop | None:
        """A loop or model, or None if there is none of this name."""
        query = sa.select(loops).where(loops.c.name == name)
        row = self.database.run(lambda connection: connection.execute(query).first())
        return None if row is None else StoredLoop(*row)

    def read(self, loop: str, after: int = 0, limit: int = _PAGE) -> list[Entry]:
        """The next entries of a loop after one of them, in order."""
        return self.database.run(lambda connection: read_after(connection, loop, after, limit))

    def news(self, loop: str, known: Position, limit: int = _PAGE) -> list[Entry]:
        """The next entries after a position; none if that loop is gone, even if there is another of its name."""
        return self.database.run(lambda connection: read_news(connection, loop, known, limit))

    def last_decisions(self, loop: str, limit: int) -> list[Entry]:
        """The entries of the last decisions, the last one first."""
        query = sa.select(*ENTRY_COLUMNS).where(entries.c.loop == loop, entries.c.kind == "decide")
        query = query.order_by(entries.c.seq.desc()).limit(limit)
        return [entry_of(row) for row in self.database.run(lambda connection: connection.execute(query).all())]

    def last_settings(self, loop: str, before: float) -> Entry | None:
        """The last entry before a time that gave a loop its settings; None if there is none."""
        query = sa.select(*ENTRY_COLUMNS).where(entries.c.loop == loop, entries.c.kind == "begin")
        query = query.where(entries.c.at < before).order_by(entries.c.seq.desc()).limit(1)
        row = self.database.run(lambda connection: connection.execute(query).first())
        return None if row is None else entry_of(row)

    def events(self, loop: str, events: Sequence[str]) -> dict[str, list[Entry]]:
        """By event, all entries that it has, in order; an event without any is left out."""
        query = sa.select(*ENTRY_COLUMNS).where(entries.c.loop == loop, entries.c.event_id.in_(events))
        both = sa.union_all(query.where(IS_FIRST), query.where(IS_LATER)).order_by("seq")
        found: dict[str, list[Entry]] = {}
        for row in self.database.run(lambda connection: connection.execute(both).all()):
            entry = entry_of(row)
            found.setdefault(str(entry.event_id), []).append(entry)
        return found

    def iterate(
        self, loop: str, *, after: int = 0, since: float | None = None, until: float | None = None
    ) -> Iterator[Entry]:
        """Entries in order, of a time since ≤ at < until, read page by page: what is appended meanwhile comes, too."""
        query = sa.select(*ENTRY_COLUMNS).where(entries.c.loop == loop).order_by(entries.c.seq).limit(_PAGE)
        if since is not None:
            query = query.where(entries.c.at >= since)
        if until is not None:
            query = query.where(entries.c.at < until)
        while True:
            page = query.where(entries.c.seq > after)
            rows = self.database.run(lambda connection, page=page: connection.execute(page).all())  # type: ignore[misc]
            yield from map(entry_of, rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1].seq

    # Snapshots

    def save_snapshot(self, snapshot: Snapshot, birth: str) -> bool:
        """Keep a state; False if the loop is gone, or starts from a later snapshot by now."""

        def work(connection: sa.Connection) -> bool:
            query = sa.select(loops.c.base_seq).where(loops.c.name == snapshot.loop, loops.c.birth == birth)
            base = connection.scalar(query.with_for_update())
            if base is None or snapshot.seq < base:
                return False
            place = (snapshots.c.loop == snapshot.loop, snapshots.c.seq == snapshot.seq)
            if connection.execute(sa.select(*_HEAD).where(*place)).first() is None:
                connection.execute(snapshots.insert(), snapshot._asdict())
                notify(connection, [snapshot.loop])
            return True

        return self.database.run(work, write=True)

    def snapshots(self, loop: str) -> list[Snapshot]:
        """All snapshots of a loop in order, without their states."""
        query = sa.select(*_HEAD).where(snapshots.c.loop == loop).order_by(snapshots.c.seq)
        return [Snapshot(*row) for row in self.database.run(lambda connection: connection.execute(query).all())]

    def snapshot(self, loop: str, at_most: int | None = None) -> Snapshot | None:
        """The latest snapshot, or the latest at or before an entry; None if there is none."""
        query = sa.select(snapshots).where(snapshots.c.loop == loop).order_by(snapshots.c.seq.desc()).limit(1)
        if at_most is not None:
            query = query.where(snapshots.c.seq <= at_most)
        row = self.database.run(lambda connection: connection.execute(query).first())
        return None if row is None else Snapshot(*row)

    def latest_digests(self) -> dict[str, tuple[int, str]]:
        """By loop, seq and digest of its latest snapshot."""
        latest = sa.select(snapshots.c.loop, sa.func.max(snapshots.c.seq).label("seq")).group_by(snapshots.c.loop)
        found = latest.subquery()
        query = sa.select(snapshots.c.loop, snapshots.c.seq, snapshots.c.digest).join(
            found, (found.c.loop == snapshots.c.loop) & (found.c.seq == snapshots.c.seq)
        )
        rows: Sequence[Any] = self.database.run(lambda connection: connection.execute(query).all())
        return {loop: (seq, digest) for loop, seq, digest in rows}


def open_store(url: str) -> Store:
    """The store at `sqlite:///path` or `postgresql://…`, whose tables are made or brought up to date."""
    database = Database(url)
    try:
        if database.path is not None and not database.path.parent.is_dir():
            raise StoreError(f"the database {database.where} cannot be made: there is no folder {database.path.parent}")
        database.run(lambda connection: prepare(connection, database.where), write=True)
        database.remember_file()
    except BaseException:
        database.close()
        raise
    return Store(database)
