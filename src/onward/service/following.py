"""Several servers on one PostgreSQL: who learns, and who hears that a log has grown."""

import hashlib
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import sqlalchemy as sa

from onward.service.store import Store
from onward.service.store_append import CHANNEL
from onward.service.store_errors import StoreError, store_error

_LISTEN_SECONDS = 0.2  # after which it is asked whether to stop
_AGAIN_SECONDS = 1.0  # after which a lost connection is made again
_TAKE = sa.text("SELECT number FROM unnest(CAST(:numbers AS bigint[])) AS number WHERE pg_try_advisory_lock(number)")


class LearnerLocks:
    """Locks of loops that end with the connection, so that another server takes over when this one is killed."""

    def __init__(self, store: Store) -> None:
        self._database = store.database
        self._connection: sa.Connection | None = None
        self._using = threading.Lock()  # whoever waited for `try_all` may be gone while it still works
        self._is_closed = False
        self.held: set[str] = set()

    def try_all(self, names: list[str]) -> set[str]:
        """Take the locks that are free: all that are held now. StoreError if the connection is lost; then none is."""
        with self._using:
            return set() if self._is_closed else self._try_all(names)

    def _try_all(self, names: list[str]) -> set[str]:
        try:
            if self._connection is None:
                self._connection = self._database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            free = {_number(name): name for name in names if name not in self.held}
            # All in one statement, also if there are none: whoever follows many loops asks every second.
            taken = self._connection.execute(_TAKE, {"numbers": list(free)}).scalars()
            self.held.update(free[number] for number in taken)
            for name in self.held - set(names):
                self._connection.execute(sa.select(sa.func.pg_advisory_unlock(_number(name))))
                self.held.discard(name)
        except sa.exc.SQLAlchemyError as error:
            self._release()
            raise store_error(error, self._database.where) from error
        return set(self.held)

    def close(self) -> None:
        """Let others have all of them, and take none any more."""
        with self._using:
            self._is_closed = True
            self._release()

    def _release(self) -> None:
        self.held.clear()
        if self._connection is not None:
            self._connection.invalidate()  # locks are of the session, so it must not go back to the pool
            self._connection.close()
            self._connection = None


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(b"onward loop " + name.encode()).digest()[:8], "big", signed=True)


class Listener:
    """A thread that hears of what other servers write, while the connection holds. Polling makes up for the rest."""

    def __init__(self, store: Store, heard: Callable[[str], None]) -> None:
        self._database, self._heard = store.database, heard
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="onward-listener", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, soon."""
        self._stopping.set()
        self._thread.join(5.0)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                self._listen()
            except (sa.exc.SQLAlchemyError, psycopg.Error, StoreError):
                self._stopping.wait(_AGAIN_SECONDS)

    def _listen(self) -> None:
        borrowed = self._database.engine.raw_connection()
        connection: Any = borrowed.driver_connection
        borrowed.detach()  # from the pool: nobody else may have it
        try:
            connection.autocommit = True
            connection.execute(f"LISTEN {CHANNEL}")
            while not self._stopping.is_set():
                for said in connection.notifies(timeout=_LISTEN_SECONDS):
                    writer, _, name = said.payload.partition(" ")
                    if writer != self._database.writer:
                        self._heard(name)
                    if self._stopping.is_set():
                        return
        finally:
            connection.close()
