"""One thread that writes: whatever calls have brought by then goes into one transaction."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from onward.service.entries import Entry
from onward.service.outcomes import Outcome
from onward.service.store import Store
from onward.service.store_errors import StoreError
from onward.service.store_values import Appended, Position

T = TypeVar("T")

_log = logging.getLogger("onward.service")

_MOST_AT_ONCE = 500  # entries of a transaction, unless one call brings more
_MOST_QUEUED = 50_000  # entries that wait to be written
_PAGE = 1000
_MANY = 6  # calls of a transaction, from which on the next one waits a moment for more
_LINGER = 0.004  # seconds of that moment
_WORTHWHILE = 64  # entries that are enough

Deliver = Callable[[dict[str, list[Entry]]], dict[tuple[str, int], Outcome]]
"""Takes in entries that are durable, by loop in order, and gives what each did by loop and seq."""


class Written(NamedTuple):
    """What became of an entry."""

    entry: Entry | None  # with its seq, or the first one of its event; None: the loop is gone, or was there already
    is_repeated: bool
    outcome: Outcome | None  # None: it was not written, or the loop is not loaded


class _Job(NamedTuple):
    future: "asyncio.Future[Any]"
    entries: Sequence[Entry] = ()
    births: Mapping[str, str] = {}
    work: Callable[[], Any] | None = None


class GroupCommit:
    """The writer of a server. Its methods are called on the event loop's thread.

    `deliver` is called there, too, in the order of the log, before a call is answered; if it fails, `drop` is called
    with the name of each loop that it was to take in. `positions` says how far each loaded loop's log was handed to
    it; only the writer's thread moves them on.
    """

    def __init__(self, store: Store, deliver: Deliver, drop: Callable[[str], None]) -> None:
        self._store, self._deliver, self._drop = store, deliver, drop
        self.positions: dict[str, Position] = {}
        self.on_commit: Callable[[int, float], None] | None = None
        """Told of each transaction how many entries it held, and how many seconds it took; on the writer's thread."""
        self._loop = asyncio.get_running_loop()
        self._jobs: deque[_Job] = deque()
        self._queued = 0
        self._wake = threading.Condition()
        self._waits_for = 0  # entries that are enough to wake the writer, which costs as much as writing one
        self._is_closing = False
        self._ended = self._loop.create_future()
        threading.Thread(target=self._work, name="onward-writer", daemon=True).start()

    def submit(self, entries: Sequence[Entry], births: Mapping[str, str]) -> "asyncio.Future[list[Written]]":
        """Write entries, all in one transaction: what became of each, once they are durable and taken in.

        `births` says by name for which loop they were proposed: one that was made again since does not get them.
        StoreError: none of them was written, unless it says that this is not known.
        """
        if self._queued > _MOST_QUEUED:
            raise StoreError("too many entries wait to be written: the database is too slow", is_transient=True)
        return self._put(_Job(self._loop.create_future(), entries, births))

    async def append(self, entries: Sequence[Entry], births: Mapping[str, str]) -> list[Written]:
        """What `submit` promises."""
        return await self.submit(entries, births)

    async def catch_up(self, name: str) -> None:
        """Take in what others have written to the log of a loaded loop."""
        await self.run(lambda: self._read_news(name))

    async def run(self, work: Callable[[], T]) -> T:
        """Do something else that writes, after all that was asked for before."""
        result: T = await self._put(_Job(self._loop.create_future(), work=work))
        return result

    async def close(self) -> None:
        """Finish what is queued, and end the thread."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        await self._ended

    def _put(self, job: _Job) -> "asyncio.Future[Any]":
        with self._wake:
            if self._is_closing:
                raise StoreError("the server is stopping", is_transient=True)
            self._jobs.append(job)
            self._queued += len(job.entries)
            if self._queued >= self._waits_for or job.work is not None:
                self._wake.notify()
        return job.future

    # On the writer's thread

    def _is_worthwhile(self) -> bool:
        works = self._jobs[0].work is not None or self._jobs[-1].work is not None
        return self._queued >= _WORTHWHILE or self._is_closing or works

    def _work(self) -> None:
        busy = False  # many write at once: then a moment's wait makes one transaction of several
        while True:
            with self._wake:
                self._waits_for = 0
                while not self._jobs and not self._is_closing:
                    self._wake.wait()
                if not self._jobs:
                    break
                if busy and not self._is_worthwhile():
                    self._waits_for = _WORTHWHILE
                    self._wake.wait_for(self._is_worthwhile, _LINGER)
                jobs = self._take()
            try:
                if jobs[0].work is not None:
                    self._call(_resolve, jobs[0].future, jobs[0].work())
                else:
                    self._write(jobs)
                    busy = len(jobs) >= _MANY
            except Exception as error:  # whatever it is, those who wait must hear of it, and the thread go on
                for job in jobs:
                    self._call(_fail, job.future, error)
        self._call(_resolve, self._ended, None)

    def _take(self) -> list[_Job]:
        jobs = [self._jobs.popleft()]
        count = len(jobs[0].entries)
        while jobs[0].work is None and self._jobs and self._jobs[0].work is None and count < _MOST_AT_ONCE:
            jobs.append(self._jobs.popleft())
            count += len(jobs[-1].entries)
        self._queued -= count
        return jobs

    def _write(self, jobs: list[_Job]) -> None:
        batch = [entry for job in jobs for entry in job.entries]
        births = [job.births.get(entry.loop) for job in jobs for entry in job.entries]
        known = {
            name: position
            for name in {entry.loop for entry in batch}
            if (position := self.positions.get(name)) is not None
        }
        began = time.perf_counter()
        appended = self._store.append(batch, known, births=births)
        self._tell(len(batch), time.perf_counter() - began)
        for name, position in known.items():
            self._move(name, position, appended.positions.get(name))
        self._call(self._finish, jobs, appended)

    def _tell(self, count: int, seconds: float) -> None:
        if self.on_commit is not None:
            try:
                self.on_commit(count, seconds)
            except Exception:  # it is durable, whatever becomes of numbers about it
                _log.exception("a transaction was not counted")

    def _read_news(self, name: str) -> None:
        while (known := self.positions.get(name)) is not None:
            news = self._store.news(name, known, _PAGE)
            if news:
                self._move(name, known, Position(news[-1].seq, known.birth))
                self._call(self._take_in, {name: news})
            if len(news) < _PAGE:
                return

    def _move(self, name: str, known: Position, to: Position | None) -> None:
        """Move a position on, unless the loop was unloaded meanwhile, or loaded anew."""
        if to is not None and self.positions.get(name) is known:
            self.positions[name] = to

    def _call(self, function: Callable[..., Any], *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)

    # On the event loop's thread again

    def _finish(self, jobs: list[_Job], appended: Appended) -> None:
        outcomes = self._take_in(appended.news)
        if outcomes is None:
            error = StoreError("it was not taken in here: ask again", is_transient=True, is_uncertain=True)
            for job in jobs:
                _fail(job.future, error)
            return
        place = 0
        for job in jobs:
            written = []
            for _ in job.entries:
                entry, repeated = appended.stored[place], appended.repeated[place]
                outcome = None if entry is None or repeated else outcomes.get((entry.loop, entry.seq))
                written.append(Written(entry, repeated, outcome))
                place += 1
            _resolve(job.future, written)

    def _take_in(self, news: dict[str, list[Entry]]) -> dict[tuple[str, int], Outcome] | None:
        """What `deliver` gives; None if it failed, when its loops are read anew from the log."""
        try:
            return self._deliver(news)
        except Exception:
            _log.exception("entries of %s were not taken in", ", ".join(news))
            for name in news:
                self._drop(name)
            return None


def _resolve(future: "asyncio.Future[Any]", result: Any) -> None:
    if not future.done():  # whoever waited may have gone
        future.set_result(result)


def _fail(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
