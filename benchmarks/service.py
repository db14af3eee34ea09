"""What `onward serve` manages: decisions and durable rewards a second, beside a bare server that echoes.

    python benchmarks/service.py                            # SQLite: 20 seconds each
    python benchmarks/service.py --database postgresql://…  # a database that is there
    python benchmarks/service.py --events 1000000           # until there were so many; each tenth by itself

Client, server and database share the machine. Each decision is one request with 10 actions of 20 numbers, each reward
one request, over so many connections that are kept; a reward is for the decision that has waited longest, of 10,000.
The echo reads the same request into the same types and answers as much as a decision does, and does nothing else.
"""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import uvloop

from onward.service.entries import Action

D, K, BODIES = 20, 10, 200
_DECIDE, _REWARDS = "/v1/loops/bench/decide", "/v1/loops/bench/rewards"
_START = 60.0  # seconds that a server may take to start


# The echo


class Request(msgspec.Struct):
    event_id: str
    context: dict[str, Any]
    actions: list[Action]


class Echo(msgspec.Struct):
    event_id: str
    action: str
    probability: float
    ranking: list[dict[str, Any]]
    version: int


_decode, _encode = msgspec.json.Decoder(Request).decode, msgspec.json.Encoder().encode


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """A bare ASGI application that reads a decision's request and answers as much as a decision does."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    if scope["method"] == "POST" and scope["path"] == _DECIDE:
        asked = _decode(body)
        ranking = [{"id": action.id, "probability": 0.1} for action in asked.actions]
        answer = _encode(Echo(asked.event_id, asked.actions[0].id, 0.1, ranking, 1))
    else:
        answer = b'{"status": "learned"}'
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


# The client


class Caller(asyncio.Protocol):
    """A connection that is kept; one request at a time, as lean as can be, so that the server is what is measured."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        at = head.lower().index(b"content-length:") + 15
        length = int(head[at : (head + b"\r\n").index(b"\r\n", at)])
        if len(body) >= length and self._answer is not None:
            answer, self._answer, self._buffer = self._answer, None, b""
            if not head.startswith(b"HTTP/1.1 200"):
                answer.set_exception(RuntimeError(f"{head[:60]!r} {body[:200]!r}"))
            else:
                answer.set_result(body)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(RuntimeError("the server is gone"))

    async def post(self, path: str, body: bytes) -> bytes:
        self._answer = asyncio.get_running_loop().create_future()
        about = f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        self._transport.write(f"POST {path} HTTP/1.1\r\n{about}\r\n\r\n".encode() + body)
        return await self._answer


def bodies() -> list[bytes]:
    rng = np.random.default_rng(0)
    return [
        json.dumps(
            [
                {"id": f"a{i}", "features": {f"x{j}": round(float(rng.standard_normal()), 6) for j in range(D)}}
                for i in range(K)
            ]
        ).encode()
        for _ in range(BODIES)
    ]


class Load:
    """Decisions, and rewards for those that have waited longest."""

    def __init__(self, pending: int) -> None:
        self._actions, self._pending = bodies(), pending
        self._waiting: deque[str] = deque()
        self._count = 0
        self.before = 0.0  # seconds of processors that the server had used when the load began
        self.times: dict[str, list[float]] = {"decide": [], "reward": []}

    async def decide(self, caller: Caller) -> None:
        self._count += 1
        event = f"{os.getpid()}-{self._count}"
        body = b'{"event_id": "%s", "context": {}, "actions": %s}' % (
            event.encode(),
            self._actions[self._count % BODIES],
        )
        await self._timed("decide", caller, _DECIDE, body)
        self._waiting.append(event)

    async def reward(self, caller: Caller) -> None:
        event = self._waiting.popleft()
        value = (hash(event) % 1000) / 1000
        await self._timed("reward", caller, _REWARDS, b'{"event_id": "%s", "value": %g}' % (event.encode(), value))

    async def _timed(self, name: str, caller: Caller, path: str, body: bytes) -> None:
        begun = time.perf_counter()
        await caller.post(path, body)
        self.times[name].append(time.perf_counter() - begun)

    async def run(self, pid: int, port: int, connections: int, until: Callable[[float], bool]) -> float:
        """Fill up with decisions that wait, then one reward for each decision; the seconds that the latter took."""
        loop = asyncio.get_running_loop()
        callers = [(await loop.create_connection(Caller, "127.0.0.1", port))[1] for _ in range(connections)]

        async def fill(caller: Caller) -> None:
            while len(self._waiting) < self._pending:
                await self.decide(caller)

        async def work(caller: Caller) -> None:
            while not until(time.perf_counter() - begun):
                await self.decide(caller)
                await self.reward(caller)

        await asyncio.gather(*map(fill, callers))
        self.times, self.before = {"decide": [], "reward": []}, used(pid)
        begun = time.perf_counter()
        await asyncio.gather(*map(work, callers))
        return time.perf_counter() - begun


class Tenths:
    """Tells of each tenth of a long run how fast it was, what it cost, and how much memory the server held after it."""

    def __init__(self, load: Load, pid: int, events: int) -> None:
        self._load, self._pid, self._events = load, pid, events
        self._next, self._since, self._used = events // 10, 0.0, 0.0
        self._before: dict[str, int] = dict.fromkeys(load.times, 0)

    def is_over(self, elapsed: float) -> bool:
        """Whether all events are done; prints a line when another tenth is."""
        done = sum(map(len, self._load.times.values()))
        if done >= self._next:
            cpu = used(self._pid)
            each = 1e6 * (cpu - (self._used or self._load.before)) / (done - sum(self._before.values()))
            parts = []
            for kind, times in self._load.times.items():
                own = times[self._before[kind] :]
                rate, p99 = len(own) / (elapsed - self._since), float(np.percentile(own, 99)) * 1e3
                parts.append(f"{rate:6.0f} {kind}s a second, p99 {p99:4.0f} ms")
                self._before[kind] = len(times)
            told = "    ".join([*parts, f"{each:3.0f} µs a request", f"{resident(self._pid):4.0f} MB"])
            print(f"  {done:>9,} events    {told}", flush=True)
            self._next, self._since, self._used = self._next + self._events // 10, elapsed, cpu
        return done >= self._events


# Servers


@contextlib.contextmanager
def serving(command: list[str], port: int) -> Iterator[int]:
    """A server as a process of its own, until the end of the block; its process id."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        begun = time.monotonic()
        while True:
            if process.poll() is not None or time.monotonic() - begun > _START:
                raise SystemExit(f"the server did not start: {' '.join(command)}")
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2):
                break
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def used(pid: int) -> float:
    """Seconds of processors that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(name: str, load: Load, seconds: float, cpu: float) -> None:
    each = 1e6 * cpu / sum(map(len, load.times.values()))
    print(f"{name}: {each:.0f} µs of a processor for each request")
    for kind, times in load.times.items():
        p50, p99, worst = np.percentile(times, [50, 99, 100]) * 1e3
        print(
            f"  {kind + 's':<9} {len(times) / seconds:7.0f} a second    p50 {p50:6.2f}    p99 {p99:6.2f}    "
            f"worst {worst:6.1f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--database", help="a URL; a new SQLite file by default")
    parser.add_argument("--policy", default="LinUCB", help="the loop's policy: %(default)s")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--events", type=int, help="go on until there are so many decisions and rewards")
    parser.add_argument("--pending", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=48)
    given = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    echoing = [sys.executable, "-m", "uvicorn", "benchmarks.service:echo", "--port", str(port), "--no-access-log"]
    with serving([*echoing, "--log-level", "error"], port) as pid:
        load = Load(100)
        seconds = uvloop.run(load.run(pid, port, given.connections, lambda elapsed: elapsed > min(given.seconds, 10)))
        report("bare echo", load, seconds, used(pid) - load.before)
    with tempfile.TemporaryDirectory() as folder:
        database = given.database or f"sqlite:///{Path(folder) / 'log.db'}"
        own = [sys.executable, "-m", "onward", "serve", "--database", database, "--listen", f"127.0.0.1:{port}"]
        with serving(own, port) as pid:
            config = {
                "policy": {"name": given.policy},
                "features": {"intercept": False, "interactions": False},
                "reward": {"wait": "1d"},
            }
            put = urllib.request.Request(
                f"http://127.0.0.1:{port}/v1/loops/bench", json.dumps(config).encode(), method="PUT"
            )
            put.add_header("Content-Type", "application/json")
            urllib.request.urlopen(put, timeout=60).close()
            load = Load(given.pending)
            tenths = None if given.events is None else Tenths(load, pid, given.events)

            def is_over(elapsed: float) -> bool:
                return elapsed > given.seconds if tenths is None else tenths.is_over(elapsed)

            seconds = uvloop.run(load.run(pid, port, given.connections, is_over))
            name = f"{given.policy}, {database.partition(':')[0]}, {given.pending:,} waiting"
            report(name, load, seconds, used(pid) - load.before)
            print(f"  memory of the server: {resident(pid):.0f} MB")


if __name__ == "__main__":
    main()
