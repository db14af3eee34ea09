"""The tables of the store, their version, and how an older database becomes one of today."""

from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Double, Index, LargeBinary, MetaData, Text

from onward.service.store_errors import StoreError

metadata = MetaData()

meta = sa.Table("meta", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

loops = sa.Table(
    "loops",
    metadata,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # loop or model
    Column("birth", Text, nullable=False),  # tells a loop from an earlier one of the same name that was deleted
    Column("created", Double, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("base_seq", BigInteger, nullable=False),  # a rebuild starts from the snapshot at this entry; 0: from nothing
)

# Whoever writes has locked the loop's row, so a foreign key would only look at it once more for every entry.
entries = sa.Table(
    "entries",
    metadata,
    Column("loop", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("event_id", Text),
    Column("subject", Text),
    Column("body", LargeBinary, nullable=False),  # what `packed_content` packs
)
IS_FIRST = sa.text("kind IN ('decide', 'learn')")
"""Of the entries that begin an event: there is one for each, whoever asks twice."""
Index(
    "entries_first",
    entries.c.loop,
    entries.c.event_id,
    unique=True,
    sqlite_where=IS_FIRST,
    postgresql_where=IS_FIRST,
)
IS_LATER = sa.text("kind NOT IN ('decide', 'learn')")
"""Of all other entries. Each is in one index of events: random ids make an index dear to write."""
Index("entries_later", entries.c.loop, entries.c.event_id, sqlite_where=IS_LATER, postgresql_where=IS_LATER)
IS_SETTINGS = entries.c.kind.in_(("begin", "begin_model"))
"""Of the entries that say a loop's or a model's settings."""
_HAS_SUBJECT = sa.text("subject IS NOT NULL")
Index(
    "entries_subject",
    entries.c.subject,
    entries.c.loop,
    sqlite_where=_HAS_SUBJECT,
    postgresql_where=_HAS_SUBJECT,
)

snapshots = sa.Table(
    "snapshots",
    metadata,
    Column("loop", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    Column("digest", Text, nullable=False),
    Column("is_base", Boolean, nullable=False),
    Column("state", LargeBinary, nullable=False),
)

tokens = sa.Table(
    "tokens",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("created", Double, nullable=False),
)

# Of rewards that were answered without an entry, as there was nothing to learn: of all servers together.
counters = sa.Table(
    "counters",
    metadata,
    Column("loop", Text, primary_key=True),
    Column("status", Text, primary_key=True),  # already, late or unknown
    Column("count", BigInteger, nullable=False),
)

TABLES = (loops, entries, snapshots, tokens, counters)
"""What a backup holds, in an order in which it can be written."""

Upgrade = Callable[[sa.Connection], None]

UPGRADES: list[Upgrade] = []
"""Upgrade i makes a database of version i + 1 one of version i + 2. A new database is made as the tables above say."""


def current_version() -> int:
    """The version that this code reads and writes."""
    return 1 + len(UPGRADES)


def prepare(connection: sa.Connection, where: str) -> None:
    """Make the tables, or bring them up to date, in a transaction that excludes others which do the same."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7311866917461)"))
    found = schema_version(connection)
    if found > current_version():
        raise StoreError(
            f"the database {where} has version {found} of the tables, expected {current_version()} or older: it was "
            "written by a newer onward"
        )
    if found == current_version():
        return
    if found == 0:
        metadata.create_all(connection)
        connection.execute(meta.insert(), {"name": "version", "value": str(current_version())})
        return
    for upgrade in UPGRADES[found - 1 :]:
        upgrade(connection)
    connection.execute(meta.update().where(meta.c.name == "version"), {"value": str(current_version())})


def schema_version(connection: sa.Connection) -> int:
    """The version of a database's tables; 0 if there are none yet."""
    if not sa.inspect(connection).has_table("meta"):
        return 0
    found = connection.scalar(sa.select(meta.c.value).where(meta.c.name == "version"))
    return 0 if found is None else int(found)
