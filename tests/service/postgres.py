"""A real PostgreSQL for tests: Debian's package, started in a folder of its own, on a socket of its own."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_BINARIES = Path("/usr/lib/postgresql")
_SECONDS = 120.0


class NoPostgresError(Exception):
    """Why there is no PostgreSQL here."""


class Postgres:
    """A server of PostgreSQL that can be stopped, killed and started again. Its data are durable: fsync is on."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries, self.folder = binaries, folder
        self._data = folder / "data"
        self._call("initdb", "-D", self._data, "-U", "onward", "--auth=trust", "-E", "UTF8", "--locale=C", "-N")
        self.start()

    @property
    def url(self) -> str:
        """Of its one database."""
        return f"postgresql://onward@/postgres?host={self.folder}"

    def start(self) -> None:
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c shared_buffers=32MB"
        self._call("pg_ctl", "start", "-w", "-D", self._data, "-l", self.folder / "log", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """With mode "immediate": as a crash."""
        self._call("pg_ctl", "stop", "-w", "-D", self._data, "-m", mode)

    def empty(self) -> None:
        """Remove all that tests left behind, and the connections of those that are still there."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'onward'"
            )
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")

    def _call(self, program: str, *arguments: object) -> None:
        command = [str(self._binaries / program), *map(str, arguments)]
        if os.getuid() == 0:  # as which it refuses to run
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=_SECONDS
        )
        if done.returncode:
            raise NoPostgresError(f"{program} failed: {done.stderr.decode(errors='replace')[-300:]}")


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """A server for as long as it is needed; NoPostgresError if none can be had."""
    found = sorted(_BINARIES.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise NoPostgresError(f"there is no PostgreSQL in {_BINARIES}: install Debian's package postgresql")
    folder = Path(tempfile.mkdtemp(prefix="onward-pg-", dir="/tmp"))  # a short path: that of a socket is limited
    server = None
    try:
        if os.getuid() == 0:
            try:
                user = pwd.getpwnam("postgres")
            except KeyError as error:
                raise NoPostgresError("PostgreSQL does not run as root, and there is no user postgres") from error
            os.chown(folder, user.pw_uid, user.pw_gid)
        server = Postgres(found[-1].parent, folder)
        yield server
    finally:
        if server is not None:
            with contextlib.suppress(NoPostgresError, subprocess.TimeoutExpired):
                server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)
