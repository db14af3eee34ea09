"""The statements of an append on SQLite, as text that is put together once.

Whenever a statement runs, the writer's thread lets other threads go on, and waits for its turn after it: a batch takes
as few statements as can be, however many entries it has.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from onward.service.store_schema import entries

_DIALECT = sqlite.dialect()
_SIZES = (8, 32, 128)  # rows of an insert: what a batch has less is filled up with rows that are left out
_COLUMNS = [column.name for column in entries.c]


class Prepared:
    """A statement with parameters by name."""

    def __init__(self, statement: Any) -> None:
        compiled: Any = statement.compile(dialect=_DIALECT)
        self._text, self._order = str(compiled), tuple(compiled.positiontup)

    def run(self, connection: sa.Connection, **values: Any) -> list[Any]:
        """What it gives for these values."""
        return _run(connection, self._text, [values[name] for name in self._order])


def _run(connection: sa.Connection, text: str, values: Sequence[Any]) -> list[Any]:
    """The rows of a statement, by the driver itself: SQLAlchemy's share is larger than that of SQLite."""
    try:
        rows: list[Any] = connection.connection.cursor().execute(text, values).fetchall()
    except sqlite3.Error as error:
        raise sa.exc.DBAPIError.instance(text, None, error, sqlite3.Error, dialect=_DIALECT) from error
    return rows


def insert_entries(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows of entries, so many at once that there are few statements."""
    start = 0
    while start < len(rows):
        left = len(rows) - start
        size = next((size for size in _SIZES if size >= left), _SIZES[-1])
        values = [row[name] for row in rows[start : start + size] for name in _COLUMNS]
        missing = [None] * (size * len(_COLUMNS) - len(values))
        _run(connection, _INSERTS[size], values + missing)
        start += size


def _insert_of(size: int) -> str:
    row = f"({', '.join('?' * len(_COLUMNS))})"
    names = ", ".join(f'"{name}"' for name in _COLUMNS)
    return f"INSERT INTO entries ({names}) SELECT * FROM (VALUES {', '.join([row] * size)}) WHERE column2 IS NOT NULL"


_INSERTS = {size: _insert_of(size) for size in _SIZES}
