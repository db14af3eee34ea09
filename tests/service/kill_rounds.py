"""Servers that are killed at random moments under load: what was acknowledged must be there, once, to the last bit.

    python -m tests.service.kill_rounds --rounds 200    # SQLite, and PostgreSQL where it is installed

Each round starts what was killed, lets clients decide and reward as fast as they can, and kills a server without
warning. A client whose call got no answer makes the same call again after the restart, as an application would. In the
end the log is read, folded by hand, and compared with what clients were told and with what the server knew.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onward.service.entries import Decide, Reward
from onward.service.folding import begin
from onward.service.rebuilding import verify
from onward.service.store import open_store
from tests.service.postgres import NoPostgresError, postgres

LOOP = "kill"
CONFIG = {
    "policy": {"name": "LinUCB", "seed": 7},
    "reward": {"wait": "1d", "default": 0, "aggregate": "first"},
    "explore": 0.1,
}
_SECONDS = 180.0  # that a server may take to start
_CALL = 30.0  # that a call may take


Say = Callable[[str], None]


def _say_nothing(text: str) -> None:
    pass


class BrokenPromiseError(AssertionError):
    """Something that was promised did not hold."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """`onward serve` in a process of its own, which can be killed."""

    def __init__(self, database: str, *options: str) -> None:
        self.port = free_port()
        self._command = [sys.executable, "-m", "onward", "serve", "--database", database]
        self._command += ["--listen", f"127.0.0.1:{self.port}", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [*self._command, "--log-level", "warning"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until it says that it can serve."""
        assert self._process is not None
        begun = time.monotonic()
        while time.monotonic() - begun < _SECONDS:
            if self._process.poll() is not None:
                raise BrokenPromiseError(f"the server ended with {self._process.returncode}: {' '.join(self._command)}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if call(self.port, "GET", "/readyz")[0] == 200:
                    return
            time.sleep(0.02)
        raise BrokenPromiseError(f"the server was not ready after {_SECONDS:g} s")

    def kill(self) -> None:
        """End it without warning."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int:
        """End it as an administrator would: its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(_SECONDS)

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None


def call(port: int, method: str, path: str, body: Any = None, connection: Any = None) -> tuple[int, Any]:
    """One call: the status and the answer."""
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=_CALL)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    own.request(method, path, data, {"Content-Type": "application/json"} if data else {})
    answer = own.getresponse()
    text = answer.read()
    if connection is None:
        own.close()
    return answer.status, json.loads(text) if text and text[:1] in b"{[" else text


@dataclass
class Told:
    """What clients were told, and what they did not get to know."""

    decided: dict[str, Any] = field(default_factory=dict)
    rewarded: dict[str, list[str]] = field(default_factory=dict)  # what each try was told
    values: dict[str, float] = field(default_factory=dict)
    refused: int = 0  # calls that the server said it could not do just now
    states: dict[int, str] = field(default_factory=dict)  # digests of the state under load, by entry of the log

    def merge(self, other: "Told") -> None:
        self.decided |= other.decided
        self.values |= other.values
        for event, tries in other.rewarded.items():
            self.rewarded.setdefault(event, []).extend(tries)
        self.refused += other.refused
        self.note_states(other.states)

    def note_states(self, states: dict[int, str]) -> None:
        """What servers knew at an entry of the log: all the same, whoever tells it."""
        for seq, digest in states.items():
            if self.states.setdefault(seq, digest) != digest:
                raise BrokenPromiseError(f"at entry {seq} the state was {self.states[seq]}, and elsewhere {digest}")


class Client:
    """Decides and rewards until it is told to stop, or its server is gone; a call without an answer it makes again."""

    def __init__(self, number: int, seed: int) -> None:
        self._number, self._random, self._count = number, random.Random(seed), 0
        self._open: tuple[str, Any, str] | None = None  # path, body and event of a call without an answer
        self.told = Told()
        self.failure: BrokenPromiseError | None = None

    def work(self, port: int, halt: threading.Event) -> None:
        """Call until told to halt, or until nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_CALL)
        try:
            while not halt.is_set():
                self._open = self._open or self._next()
                if not self._call(port, connection):
                    time.sleep(0.02)
        except (OSError, http.client.HTTPException):
            pass  # it was killed
        except BrokenPromiseError as error:
            self.failure = error
        finally:
            connection.close()

    def finish(self, port: int) -> None:
        """Make the call again that had no answer."""
        if self._open is not None and not self._call(port, None):
            raise BrokenPromiseError(f"{self._open[0]} is refused by a server that is ready")

    def _call(self, port: int, connection: Any) -> bool:
        """Make the call that is open; whether it was done, as a server may say that it cannot just now."""
        assert self._open is not None
        path, body, event = self._open
        status, answer = call(port, "POST", path, body, connection)
        if status == 503:
            self.told.refused += 1
            return False
        if status != 200:
            raise BrokenPromiseError(f"{path} gave {status}: {answer}")
        self._note(path, event, answer)
        self._open = None
        return True

    def _next(self) -> tuple[str, Any, str]:
        waiting = [event for event in self.told.decided if event not in self.told.rewarded]
        draw = self._random.random()
        if len(waiting) > 5 and draw < 0.5:
            event = self._random.choice(waiting)
            self.told.values[event] = round(self._random.random(), 3)
            return f"/v1/loops/{LOOP}/rewards", {"event_id": event, "value": self.told.values[event]}, event
        if self.told.rewarded and draw < 0.55:  # a reward that comes twice
            event = self._random.choice(list(self.told.rewarded))
            return f"/v1/loops/{LOOP}/rewards", {"event_id": event, "value": self.told.values[event]}, event
        if self.told.decided and draw < 0.6:  # a decision that is asked for twice
            event = self._random.choice(list(self.told.decided))
            return f"/v1/loops/{LOOP}/decide", {"event_id": event, "actions": [{"id": "other"}]}, event
        self._count += 1
        event = f"c{self._number}-{self._count}"
        actions = [
            {"id": name, "features": {"x": self._random.random(), "topic": self._random.choice("stu")}}
            for name in "abc"
        ]
        context = {"hour": self._random.random(), "device": self._random.choice(["phone", "desk"])}
        return f"/v1/loops/{LOOP}/decide", {"event_id": event, "context": context, "actions": actions}, event

    def _note(self, path: str, event: str, answer: Any) -> None:
        if path.endswith("rewards"):
            self.told.rewarded.setdefault(event, []).append(answer["status"])
        elif self.told.decided.setdefault(event, answer) != answer:
            raise BrokenPromiseError(f"{event} was answered {self.told.decided[event]}, and later {answer}")


@contextlib.contextmanager
def load(clients: list[Client], ports: list[int]) -> Iterator[None]:
    """All clients at work, spread over servers, until the end of the block."""
    halt = threading.Event()
    threads = [
        threading.Thread(target=client.work, args=(ports[i % len(ports)], halt)) for i, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        halt.set()
        for thread in threads:
            thread.join(_SECONDS)
    for client in clients:
        if client.failure is not None:
            raise client.failure


def rounds(
    database: str,
    count: int,
    seed: int,
    *,
    n_servers: int = 1,
    n_clients: int = 4,
    disturb: Callable[[random.Random, list[Server]], None] | None = None,
    say: Say = _say_nothing,
) -> Told:
    """Kill a server so many times under load, or disturb all otherwise; what clients were told."""
    lots, servers = random.Random(seed), [Server(database) for _ in range(n_servers)]
    clients, seen = [Client(i, seed * 1000 + i) for i in range(n_clients)], Told()
    try:
        for number in range(count):
            for server in servers:
                if not server.runs:
                    server.start()
            if number == 0:
                status, answer = call(servers[0].port, "PUT", f"/v1/loops/{LOOP}", CONFIG)
                if status not in (200, 201):
                    raise BrokenPromiseError(f"the loop was not made: {status} {answer}")
            with load(clients, [server.port for server in servers]):
                time.sleep(lots.uniform(0.05, 0.6))
                for server in servers:
                    seen.note_states(served_state(server))
                if disturb is None:
                    lots.choice(servers).kill()
                    time.sleep(0.3 if n_servers > 1 else 0.0)  # others go on
                else:
                    disturb(lots, servers)
            say(f"{number + 1} of {count}")
        for server in servers:
            if not server.runs:
                server.start()
        for client in clients:
            client.finish(servers[-1].port)
        for server in servers:
            code = server.stop()
            if code != 0:
                raise BrokenPromiseError(f"a server that was told to stop exited with {code}")
    finally:
        for server in servers:
            server.kill()
    for client in clients:
        seen.merge(client.told)
    return seen


def served_state(server: Server) -> dict[int, str]:
    """The digest of what a server knows now, by the entry up to which it has read the log; nothing if it cannot say."""
    status, answer = call(server.port, "GET", f"/v1/loops/{LOOP}/state?digest=true")
    return {answer["seq"]: answer["digest"]} if status == 200 else {}


def judge(database: str, told: Told) -> dict[str, int]:
    """Whether the log holds what clients were told, and the state is what the log makes; BrokenPromiseError if not."""
    with open_store(database) as store:
        entries = list(store.iterate(LOOP))
        snapshot = store.snapshot(LOOP)
        first = [entry for entry in entries if isinstance(entry.content, Decide)]
        decided = {str(entry.event_id): entry for entry in first}
        if len(decided) < len(first):
            raise BrokenPromiseError("an event was decided twice")
        for event, answer in told.decided.items():
            if event not in decided:
                raise BrokenPromiseError(f"decision {event} was answered, and is lost")
            content = decided[event].content
            assert isinstance(content, Decide)
            if (content.actions[content.chosen].id, content.probability) != (answer["action"], answer["probability"]):
                raise BrokenPromiseError(f"decision {event} is another one than was answered")
        rewards = Counter(str(entry.event_id) for entry in entries if isinstance(entry.content, Reward))
        for event, tries in told.rewarded.items():
            if not rewards[event]:
                raise BrokenPromiseError(f"the reward of {event} was acknowledged ({tries}), and is lost")
            if tries.count("learned") > 1:
                raise BrokenPromiseError(f"the reward of {event} was learned {tries.count('learned')} times: {tries}")
        values = {str(e.event_id): e.content.value for e in reversed(entries) if isinstance(e.content, Reward)}
        wrong = [event for event in told.rewarded if values[event] != told.values[event]]
        if wrong:
            raise BrokenPromiseError(
                f"the reward of {wrong[0]} is {values[wrong[0]]}, sent was {told.values[wrong[0]]}"
            )
        wrong_states = []
        loop = begin(entries[0])
        for entry in entries[1:]:
            loop.fold(entry)
            if entry.seq in told.states and told.states[entry.seq] != loop.digest():
                wrong_states.append(entry.seq)
        if wrong_states:
            raise BrokenPromiseError(f"what was served under load at entry {wrong_states[0]} is not what the log makes")
        unlike = [each.seq for each in verify(store, LOOP) if not each.is_same]
        if unlike:
            raise BrokenPromiseError(f"folded from snapshots, the state at entry {unlike[0]} is another one")
        learned = loop.state()["learned"]
        if learned != len(rewards):
            raise BrokenPromiseError(f"{learned} rewards were learned, of {len(rewards)} events that had some")
        if [entry.seq for entry in entries] != list(range(1, len(entries) + 1)):
            raise BrokenPromiseError("the log has gaps")
        if snapshot is None or snapshot.seq != entries[-1].seq:
            left = "none" if snapshot is None else f"one at entry {snapshot.seq}"
            raise BrokenPromiseError(f"expected a snapshot at the last entry, {entries[-1].seq}, got {left}")
        if snapshot.digest != loop.digest():
            raise BrokenPromiseError("the state that was served is not the one that the log makes")
    counts = {"decisions": len(decided), "rewards": len(rewards), "entries": len(entries), "refused": told.refused}
    return counts | {"states": len(told.states)}


# Kills, and what else befalls servers


def kills(kind: str, count: int, seed: int, n_servers: int = 1, say: Say = _say_nothing) -> dict[str, int]:
    """Kill a server so many times; the counts of what was there in the end."""
    if kind == "postgresql":
        with postgres() as server:
            return judge(server.url, rounds(server.url, count, seed, n_servers=n_servers, say=say))
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'log.db'}"
        return judge(url, rounds(url, count, seed, say=say))


def database_away(count: int, seed: int, say: Say = _say_nothing) -> dict[str, int]:
    """Two servers whose PostgreSQL crashes under load and comes back, so many times."""
    with postgres() as server:

        def crash(lots: random.Random, servers: list[Server]) -> None:
            server.stop("immediate")
            time.sleep(lots.uniform(0.2, 1.0))
            server.start()
            for each in servers:
                each.wait_until_ready()
            time.sleep(0.3)

        return judge(server.url, rounds(server.url, count, seed, n_servers=2, disturb=crash, say=say))


def full_disk(count: int, seed: int, say: Say = _say_nothing) -> dict[str, int]:
    """A server on SQLite whose disk is full for a while, so many times; SkippedError where none can be had."""
    with small_disk(megabytes=64) as folder:
        filler = folder / "filler"

        def fill(lots: random.Random, servers: list[Server]) -> None:
            with contextlib.suppress(OSError), filler.open("wb") as file:
                while True:
                    file.write(bytes(65536))
            time.sleep(lots.uniform(0.5, 1.0))
            filler.unlink()
            for each in servers:
                each.wait_until_ready()
            time.sleep(0.3)

        url = f"sqlite:///{folder / 'log.db'}"
        counts = judge(url, rounds(url, count, seed, disturb=fill, say=say))
    if not counts["refused"]:
        raise BrokenPromiseError("the disk was never full: nothing was tried")
    return counts


class SkippedError(Exception):
    """What cannot be had here."""


@contextlib.contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A folder on a disk of its own, of that size."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder]
        if shutil.which("mount") is None or subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
            raise SkippedError("no disk of a small size can be mounted: that needs root")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="kills of each kind; a tenth of other accidents")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    count, seed, few = given.rounds, given.seed, max(1, given.rounds // 10)

    def say(text: str) -> None:
        print(f"\r{text}", end="", flush=True)

    scenarios: dict[str, Callable[[], dict[str, int]]] = {
        f"{count} kills on SQLite": lambda: kills("sqlite", count, seed, say=say),
        f"{count} kills on PostgreSQL": lambda: kills("postgresql", count, seed, say=say),
        f"{count} kills of one of two servers on PostgreSQL": lambda: kills("postgresql", count, seed, 2, say),
        f"{few} crashes of PostgreSQL under two servers": lambda: database_away(few, seed, say),
        f"{few} times a full disk under SQLite": lambda: full_disk(few, seed, say),
    }
    for name, scenario in scenarios.items():
        begun = time.monotonic()
        try:
            counts = scenario()
        except (NoPostgresError, SkippedError) as error:
            print(f"\r{name}: skipped, {error}")
            continue
        print(f"\r{name}: nothing lost, nothing twice, same bits, in {time.monotonic() - begun:.0f} s: {counts}")


if __name__ == "__main__":
    main()
