"""What the store knows of a loop beside its state: how far its log goes back, its last snapshot, and counters."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from onward.service.store import Store
from onward.service.store_schema import IS_SETTINGS, counters, entries, loops, snapshots


class Facts(NamedTuple):
    """What the store knows of a loop or a model."""

    base_seq: int  # a rebuild starts from the snapshot at this entry; 0: from nothing
    first_seq: int | None  # of the oldest entry that is there, settings aside; None: there is none
    since: float | None  # when that was
    snapshot: dict[str, Any] | None  # seq, time and digest of the last one
    counts: dict[str, int]  # rewards that were answered without an entry, by status, of all servers

    @classmethod
    def of_nothing(cls) -> "Facts":
        """Those of a loop of which nothing was asked yet."""
        return cls(0, None, None, None, {})


def read_facts(store: Store, name: str, birth: str) -> Facts | None:
    """The facts of a loop; None if it is gone, even if there is another of its name."""

    def work(connection: sa.Connection) -> Facts | None:
        base = connection.scalar(sa.select(loops.c.base_seq).where(loops.c.name == name, loops.c.birth == birth))
        if base is None:
            return None
        in_order = sa.select(entries.c.seq, entries.c.at).where(entries.c.loop == name, sa.not_(IS_SETTINGS))
        first = connection.execute(in_order.order_by(entries.c.seq).limit(1)).first()
        heads = sa.select(snapshots.c.seq, snapshots.c.at, snapshots.c.digest).where(snapshots.c.loop == name)
        last = connection.execute(heads.order_by(snapshots.c.seq.desc()).limit(1)).first()
        told = connection.execute(sa.select(counters.c.status, counters.c.count).where(counters.c.loop == name))
        return Facts(
            base,
            None if first is None else first.seq,
            None if first is None else first.at,
            None if last is None else dict(last._mapping),
            {row[0]: row[1] for row in told},
        )

    return store.database.run(work)


def add_counts(store: Store, name: str, birth: str, counts: Mapping[str, int]) -> None:
    """Add to a loop's counters; nothing is done if it is gone."""

    def work(connection: sa.Connection) -> None:
        here = sa.select(loops.c.name).where(loops.c.name == name, loops.c.birth == birth)
        if connection.scalar(here.with_for_update()) is None:
            return
        for status, count in counts.items():
            place = (counters.c.loop == name, counters.c.status == status)
            more = counters.update().where(*place).values(count=counters.c.count + count)
            if not connection.execute(more).rowcount:  # nobody else adds one: the loop is locked
                connection.execute(counters.insert(), {"loop": name, "status": status, "count": count})

    store.database.run(work, write=True)
