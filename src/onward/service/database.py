"""A database behind a URL: SQLite or PostgreSQL, transactions, and errors that are one kind of error."""

import os
import sqlite3
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from onward.service.store_errors import StoreError, store_error

T = TypeVar("T")
FileIdentity = tuple[int, int]
"""Of a file: its device and its number there, which another file in its place does not have."""

_BUSY_SECONDS = 10.0  # for which a lock of another process is waited for
# A server that was frozen in the middle of a transaction must not keep the others out for ever.
# A commit that was answered is on the disk, whatever the server's own settings say.
# A machine that is gone without a word must not keep its locks: PostgreSQL would look for it after two hours.
_POSTGRES_OPTIONS = (
    f"-c lock_timeout={int(_BUSY_SECONDS)}s -c idle_in_transaction_session_timeout=60s -c synchronous_commit=on "
    "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10s"
)
# A server copies its WAL to the file from time to time (`Database.checkpoint`). Where nobody does, or the WAL has grown
# to so many pages nevertheless, whoever writes copies it.
_SQLITE_SETTINGS = (
    "PRAGMA page_size=8192",  # of a new file: a decision with ten actions of twenty numbers is a little over 2 kB
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    # 32 MB of log beside the file, and what was larger once is given back: it must not fill a small disk.
    "PRAGMA wal_autocheckpoint=4000",
    "PRAGMA journal_size_limit=33554432",
    "PRAGMA cache_size=-32000",
    f"PRAGMA busy_timeout={int(1000 * _BUSY_SECONDS)}",
)


class Database:
    """Connections to one database, and transactions on it. May be used by several threads.

    Args:
        url: of the database.
        file: of SQLite, which file it must be; None: any, until `remember_file`.
    """

    def __init__(self, url: str, file: FileIdentity | None = None) -> None:
        self.url = _checked_url(url)
        self.where = self.url.render_as_string(hide_password=True)
        self.is_postgres = self.url.get_backend_name() == "postgresql"
        self.path = None if self.is_postgres else Path(self.url.database or "").absolute()
        self.writer = uuid.uuid4().hex  # who tells others of what was written
        self.file = file  # so that another in its place is noticed
        if self.is_postgres:
            self.engine = _postgres_engine(self.url)
        else:
            self.engine = _sqlite_engine(self.url)

    def run(self, work: Callable[[sa.Connection], T], *, write: bool = False) -> T:
        """Do work in one transaction; what was written is durable on return.

        A connection that turns out to be lost before anything was committed is replaced once, and the work done again.
        """
        try:
            return self._run_once(work, write)
        except _LostError:
            pass
        try:
            return self._run_once(work, write)
        except _LostError as error:
            raise error.said from error

    def _run_once(self, work: Callable[[sa.Connection], T], write: bool) -> T:
        committing = False
        try:
            self._check_file()
            options = {"onward_write": write, "onward_writer": self.writer}
            with self.engine.connect().execution_options(**options) as connection:
                connection.begin()
                result = work(connection)
                committing = write
                connection.commit()
            self._check_file(is_uncertain=committing)
        except sa.exc.SQLAlchemyError as error:
            said = store_error(error, self.where, is_uncertain=committing)
            if not committing and isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated:
                raise _LostError(said) from error
            raise said from error
        return result

    def _check_file(self, *, is_uncertain: bool = False) -> None:
        """StoreError if the file of SQLite is gone: what is written to a deleted file is lost without an error."""
        if self.path is None or self.file is None:
            return
        try:
            found = _identity(self.path)
        except OSError as error:
            raise StoreError(
                f"the database {self.where} is gone: {error.strerror}", is_transient=True, is_uncertain=is_uncertain
            ) from error
        if found != self.file:
            raise StoreError(
                f"the database {self.where} is another file than at the start: start again to use it",
                is_uncertain=is_uncertain,
            )

    def remember_file(self) -> None:
        """From now on, work only on the file that is there."""
        if self.path is not None:
            self.file = _identity(self.path)

    def checkpoint(self) -> int:
        """Copy what is in SQLite's WAL to the file, while others read and write; the pages that the WAL still has.

        It begins anew, instead of growing, if nobody has written to it since: 0.
        """
        try:
            connection = self.engine.raw_connection()
            try:
                _, pages, copied = connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            finally:
                connection.close()
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
            raise StoreError(f"the log beside {self.where} was not copied to it: {error}", is_transient=True) from error
        return 0 if copied == pages else int(pages)

    def close(self) -> None:
        """End all connections."""
        self.engine.dispose()


class _LostError(Exception):
    """The connection was lost before a commit: nothing was written."""

    def __init__(self, said: StoreError) -> None:
        super().__init__(str(said))
        self.said = said


def _identity(path: Path) -> FileIdentity:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _checked_url(url: str) -> sa.URL:
    expected = "expected sqlite:///path or postgresql://user@host/name"
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise ValueError(f"{expected} as the URL of a database, got {url!r}") from error
    name = parsed.get_backend_name()
    if name == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise ValueError(f"{expected}, got {url!r}: a log in memory would not last")
        return parsed
    if name in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise ValueError(f"{expected}, got a database of {name}")


def _postgres_engine(url: sa.URL) -> sa.Engine:
    settings: dict[str, Any] = {
        "connect_timeout": 5,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
        "application_name": "onward",
        "options": _POSTGRES_OPTIONS,
    }
    for name in url.query:  # what the URL says goes before
        settings.pop(name, None)
    return sa.create_engine(url, connect_args=settings, pool_size=5, max_overflow=10, pool_timeout=_BUSY_SECONDS)


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(
        url, poolclass=sa.QueuePool, connect_args={"check_same_thread": False}, pool_timeout=_BUSY_SECONDS
    )

    @sa.event.listens_for(engine, "connect")
    def connect(connection: Any, record: object) -> None:
        connection.isolation_level = None  # transactions begin below, not where Python's driver thinks best
        for setting in _SQLITE_SETTINGS:
            connection.execute(setting).fetchall()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # A transaction that would write must lock before it reads, or two of them fail each other.
        is_writing = connection.get_execution_options().get("onward_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")

    return engine
