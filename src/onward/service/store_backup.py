"""Copies of a whole store: one file of SQLite, whatever database it comes from, and whatever database it goes to."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa

from onward.service.database import Database
from onward.service.store import Store, open_store
from onward.service.store_errors import StoreError, store_error
from onward.service.store_schema import TABLES, prepare, schema_version, snapshots

_ROWS = 50  # that are copied at once: an entry has 2 MB at most, by the limit on bodies


def backup(store: Store, path: Path) -> None:
    """Write all there is at one moment to a new file, while servers go on; nothing is left behind if it fails.

    The file is a database of SQLite in itself: `onward serve` can go on from it, and `restore` brings it into another.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path}: there is such a file already, expected a new one")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: there is no such folder")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".backup-") as folder:
        made = Path(folder) / path.name
        if store.database.path is None:
            _copy_to_file(store, made)
        else:
            _copy_file(store.database.path, made)
        _finish(made)
        os.replace(made, path)


def _copy_file(source: Path, made: Path) -> None:
    """SQLite's own online backup: pages that change meanwhile are copied again."""
    try:
        with (
            closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as old,
            closing(sqlite3.connect(made)) as new,
        ):
            old.backup(new)
    except sqlite3.Error as error:
        raise StoreError(f"the backup of {source} failed: {error}", is_transient=True) from error


def _copy_to_file(store: Store, made: Path) -> None:
    with open_store(f"sqlite:///{made}") as target, _reading(store.database) as source:
        target.database.run(lambda connection: _copy_tables(source, connection), write=True)


def _finish(made: Path) -> None:
    """One plain file on the disk, without a log beside it."""
    with closing(sqlite3.connect(made)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    handle = os.open(made, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def restore(store: Store, path: Path) -> None:
    """Bring a backup into an empty store: wholly, or not at all. ValueError if it is not empty, or no backup."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    with tempfile.TemporaryDirectory(prefix="onward-") as folder:
        copy = Path(folder) / "backup.db"  # brought up to date, while the backup stays as it is
        shutil.copyfile(path, copy)
        _check_backup(copy, path)
        with open_store(f"sqlite:///{copy}") as source, _reading(source.database) as reading:
            store.database.run(lambda connection: _fill(reading, connection, store.database.where), write=True)


def _check_backup(copy: Path, path: Path) -> None:
    database = Database(f"sqlite:///{copy}")
    try:
        version = database.run(schema_version)
    except StoreError as error:
        raise ValueError(f"{path}: expected a backup of onward ({error})") from error
    finally:
        database.close()
    if version == 0:
        raise ValueError(f"{path}: expected a backup of onward, got another database")


def _fill(source: sa.Connection, target: sa.Connection, where: str) -> None:
    prepare(target, where)
    for table in TABLES:
        if target.execute(sa.select(table.primary_key.columns[0]).limit(1)).first() is not None:
            raise ValueError(f"the database {where} has {table.name} already: expected an empty one")
    _copy_tables(source, target)


@contextmanager
def _reading(database: Database) -> Iterator[sa.Connection]:
    """A connection that sees all tables as they are at one moment."""
    level = "REPEATABLE READ" if database.is_postgres else None
    try:
        with database.engine.connect() as connection:
            if level is not None:
                connection.execution_options(isolation_level=level)
            yield connection
    except sa.exc.SQLAlchemyError as error:
        raise store_error(error, database.where) from error


def _copy_tables(source: sa.Connection, target: sa.Connection) -> None:
    """Copy all rows, a few at a time: a snapshot may have as many bytes as there is memory for two of them."""
    for table in TABLES:
        rows = 1 if table is snapshots else _ROWS
        found = source.execution_options(stream_results=True, yield_per=rows).execute(sa.select(table))
        for some in found.partitions():
            target.execute(table.insert(), [dict(row._mapping) for row in some])
