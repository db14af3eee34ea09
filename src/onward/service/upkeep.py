"""What a server does by itself: expiry, following the log of other servers, taking over from one that is gone."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from onward.service.entries import Entry, Expire
from onward.service.following import LearnerLocks, Listener
from onward.service.live_loops import LiveLoops, log
from onward.service.request_errors import RequestError
from onward.service.retention import remove_old
from onward.service.store_errors import StoreError
from onward.service.store_values import StoredLoop

_EXPIRE_SECONDS = 0.5
_FOLLOW_SECONDS = 0.5
_LEARNER_SECONDS = 1.0
_CHECKPOINT_SECONDS = 0.5
_MOST_PAGES = 2000  # of SQLite's WAL, after which nobody writes until all of it is copied
_COUNT_SECONDS = 1.0
_MOST_EXPIRED = 300  # decisions that one entry ends: so many are learned in the time of a few requests
_RETAIN_SECONDS = 10.0


class Upkeep:
    """The background work of a server.

    The learner of a loop lets decisions expire, makes snapshots and removes what is old, nobody else.
    """

    def __init__(self, loops: LiveLoops, clock: Callable[[], float]) -> None:
        self._loops, self._clock = loops, clock
        self._store = loops.store
        self._tasks: list[asyncio.Task[None]] = []
        self._catching_up: dict[str, asyncio.Task[None]] = {}
        self._failing: set[str] = set()
        self._tried: dict[str, StoredLoop] = {}
        self._locks = LearnerLocks(self._store) if self._store.is_shared else None
        self._taking_over = asyncio.Lock()
        self._listener: Listener | None = None

    async def start(self) -> None:
        """Load all loops, since decisions of all expire, and go on with it from then on."""
        for name in await asyncio.to_thread(self._store.loops):
            try:
                await self._loops.load(name)
            except RequestError:
                continue  # deleted meanwhile
            except StoreError as error:
                if error.is_transient:
                    raise
        self._begin("expiry", self._expire, _EXPIRE_SECONDS)
        self._begin("loading", self._load_anew, _FOLLOW_SECONDS)
        self._begin("counting", self._loops.save_counts, _COUNT_SECONDS)
        if not self._store.is_shared:
            self._begin("copying the WAL", self._checkpoint, _CHECKPOINT_SECONDS)
        else:
            await self.take_over()
            loop = asyncio.get_running_loop()

            def heard(name: str) -> None:
                with contextlib.suppress(RuntimeError):  # all is over: the listener was not waited for any longer
                    loop.call_soon_threadsafe(self._heard, name)

            self._listener = Listener(self._store, heard)
            self._begin("following", self._follow, _FOLLOW_SECONDS)
            self._begin("learning", self.take_over, _LEARNER_SECONDS)
        self._begin("retention", self._remove_old, _RETAIN_SECONDS)  # last, when it is known who learns

    async def stop_working(self) -> None:
        """Begin nothing new."""
        if self._listener is not None:
            await asyncio.to_thread(self._listener.stop)
        for task in [*self._tasks, *self._catching_up.values()]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, StoreError):
                await task

    async def finish(self) -> None:
        """Be up to date before the last states are stored.

        Whoever learned may have stopped just before this server, or the database may have been away: then nobody else
        stores the last state. And what other servers wrote may not have been read here yet.
        """
        if self._locks is None:
            return
        for is_last in (False, True):
            try:
                await self.take_over()
                for name, live in list(self._loops.by_name.items()):
                    if live.is_learner:
                        await self._loops.writer.catch_up(name)
                return
            except StoreError as error:  # if only the connection was lost, there is another one the next time
                if is_last:
                    log.warning("the last states may not be stored: %s", error)

    def release(self) -> None:
        """Let other servers learn."""
        if self._locks is not None:
            self._locks.close()

    def _begin(self, what: str, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._tasks.append(asyncio.create_task(self._repeat(what, work, seconds)))

    async def _repeat(self, what: str, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        while True:
            began = time.monotonic()
            try:
                await work()
                self._failing.discard(what)
            except StoreError as error:
                if what not in self._failing:  # said once, not every second
                    log.warning("%s: %s", what, error)
                self._failing.add(what)
            except Exception:
                log.exception("%s failed", what)
            await asyncio.sleep(max(0.05, seconds - (time.monotonic() - began)))

    async def _expire(self) -> None:
        now = self._clock()
        while due := {
            name: live.birth for name, live in self._loops.by_name.items() if live.is_learner and live.current.due(now)
        }:
            entries = [Entry(name, Expire(_MOST_EXPIRED), at=now) for name in due]
            await self._loops.writer.append(entries, due)

    async def _checkpoint(self) -> None:
        """Copy SQLite's WAL to its file while calls go on; if they never leave it a pause, in between two writes.

        What is left by then is little, so that nobody notices; and the WAL stays small.
        """
        checkpoint = self._store.database.checkpoint
        if await asyncio.to_thread(checkpoint) > _MOST_PAGES:
            await asyncio.to_thread(checkpoint)
            await self._loops.writer.run(checkpoint)

    async def _remove_old(self) -> None:
        for live in list(self._loops.by_name.values()):
            if live.is_learner:
                await remove_old(self._loops, live, self._clock())

    async def _load_anew(self) -> None:
        """Load what was dropped because something failed: its decisions expire, whether anybody asks for it or not."""
        for name in list(self._loops.to_load):
            try:
                await self._loops.load(name)
            except RequestError:
                pass  # deleted meanwhile
            except StoreError as error:
                if error.is_transient:
                    raise
            self._loops.to_load.discard(name)

    # Several servers

    def _heard(self, name: str) -> None:
        for each in [name] if name else list(self._loops.by_name):
            if each in self._loops.by_name and each not in self._catching_up:
                task = self._catching_up[each] = asyncio.create_task(self._catch_up(each))
                task.add_done_callback(lambda _, each=each: self._catching_up.pop(each, None))  # type: ignore[misc]

    async def _catch_up(self, name: str) -> None:
        with contextlib.suppress(StoreError):  # polling says so
            await self._loops.writer.catch_up(name)

    async def _follow(self) -> None:
        """Load what others have made, drop what they have deleted, read what they have written."""
        before = dict(self._loops.by_name)  # what is made here while the store is asked is not in its answer
        stored = await asyncio.to_thread(self._store.loops)
        for name, live in before.items():
            is_gone = name not in stored or stored[name].birth != live.birth
            if is_gone and self._loops.by_name.get(name) is live:
                self._loops.drop(name)
        for name in [name for name in self._loops.broken if name not in stored]:
            del self._loops.broken[name]
        failed: StoreError | None = None
        for name, each in stored.items():
            live_now = self._loops.by_name.get(name)
            if live_now is not None:
                if each.last_seq > live_now.current.seq:
                    self._heard(name)
            elif name not in self._loops.broken or self._tried.get(name) != each:
                self._tried[name] = each  # one that cannot be loaded is tried again when its log has changed
                try:
                    await self._loops.load(name)
                except RequestError:
                    continue  # deleted meanwhile
                except StoreError as error:
                    failed = error
        if failed is not None:
            raise failed

    async def take_over(self) -> None:
        """Become the learner of loops that have none; compare with the snapshots of those that others learn."""
        if self._locks is None:
            return
        try:
            async with self._taking_over:
                held = await asyncio.to_thread(self._locks.try_all, list(self._loops.by_name))
        except StoreError:
            for live in self._loops.by_name.values():
                live.is_learner = False
            raise
        for name, live in self._loops.by_name.items():
            if (name in held) != live.is_learner:
                live.is_learner = name in held
                log.info("%s: this server %s", name, "learns" if live.is_learner else "follows")
                if live.is_learner and live.current.seq - live.saved_seq >= self._loops.snapshot_every:
                    self._loops.save(live)  # whoever learned before did not come to it
        await self._compare()

    async def _compare(self) -> None:
        followed = [name for name, live in self._loops.by_name.items() if not live.is_learner and live.digests]
        if not followed:
            return
        latest = await asyncio.to_thread(self._store.latest_digests)
        for name in followed:
            live, (seq, digest) = self._loops.by_name.get(name), latest.get(name, (0, ""))
            if live is not None and live.digests.get(seq, digest) != digest:
                log.error("%s: the state at entry %d is not that of the learner, which is taken over", name, seq)
                self._loops.drop(name)
                with contextlib.suppress(RequestError):  # deleted meanwhile
                    await self._loops.load(name)
