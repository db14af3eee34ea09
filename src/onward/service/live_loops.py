"""The loops and models that a server holds in memory, each a fold over its log as far as it was read."""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from onward.service.configuration import Span
from onward.service.entries import Entry
from onward.service.group_commit import GroupCommit, Written
from onward.service.loop import Loop
from onward.service.loop_facts import Facts, add_counts
from onward.service.outcomes import Outcome
from onward.service.rebuilding import load
from onward.service.regression_model import Model
from onward.service.request_errors import RequestError
from onward.service.store import Store
from onward.service.store_errors import StoreError
from onward.service.store_values import Position, Snapshot

T = TypeVar("T", Loop, Model)

log = logging.getLogger("onward.service")

_MOST_DIGESTS = 8  # that are remembered, to be compared with snapshots of the learner


class Live:
    """A loop or model in memory."""

    def __init__(self, current: Loop | Model, birth: str) -> None:
        self.current, self.birth = current, birth
        self.is_learner = False  # whether expiry and snapshots are up to this server
        self.saved_seq = current.seq  # up to which no snapshot is needed
        self.digests: dict[int, str] = {}  # at the entries where the learner makes snapshots
        self.deciding: dict[str, asyncio.Future[list[Written]]] = {}  # decisions that are not durable yet, by event
        self.facts = Facts.of_nothing()  # as the store said last


class LiveLoops:
    """Loops and models by name, loaded when they are first asked for."""

    def __init__(
        self, store: Store, snapshot_every: int, retain: Span | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.store, self.snapshot_every, self.retain, self._clock = store, snapshot_every, retain, clock
        self.by_name: dict[str, Live] = {}
        self.writer = GroupCommit(store, self._deliver, self._give_up)
        self.to_load: set[str] = set()
        """Those that were dropped because something failed: whoever looks after the loops loads them anew."""
        self.broken: dict[str, str] = {}
        """Those that are stored and could not be loaded when it was last tried, with why."""
        self.told: dict[tuple[str, str], Counter[str]] = {}
        """By name and birth, rewards that were answered without an entry and are not counted in the store yet."""
        self.counting = asyncio.Lock()  # held while counts are in the store and here, or in neither
        self._loading: dict[str, asyncio.Task[Live]] = {}
        self._saving: set[asyncio.Task[bool]] = set()

    async def get(self, name: str) -> Live | None:
        """A loop or model by name; None if there is none."""
        live = self.by_name.get(name)
        if live is not None:
            return live
        if await asyncio.to_thread(self.store.loop, name) is None:
            return None
        return await self.load(name)

    async def load(self, name: str) -> Live:
        """Load a loop or model that is stored; whoever asks meanwhile waits for the same."""
        task = self._loading.get(name)
        if task is None:
            task = self._loading[name] = asyncio.create_task(self._load(name))
            task.add_done_callback(lambda _: self._loading.pop(name, None))
        return await asyncio.shield(task)

    async def _load(self, name: str) -> Live:
        if name in self.by_name:
            return self.by_name[name]
        try:
            current, birth = await asyncio.to_thread(load, self.store, name)
        except StoreError as error:
            if not error.is_transient:
                self.broken[name] = str(error)
            raise
        except Exception as error:  # whatever a log holds that cannot be folded: the other loops go on
            if await asyncio.to_thread(self.store.loop, name) is None:
                raise no_such("loop", name) from error
            said = f"{name!r} cannot be made from its log: {error}"
            if name not in self.broken:  # said once, however often it is asked for
                log.exception("%s cannot be loaded", name)
            self.broken[name] = said
            raise StoreError(said) from error
        self.broken.pop(name, None)
        latest = await asyncio.to_thread(self.store.latest_digests)
        live = Live(current, birth)
        live.is_learner = not self.store.is_shared
        live.saved_seq = latest.get(name, (0, ""))[0]
        # Whoever finds the loop here finds how far it was read as well: nothing is awaited in between.
        self.writer.positions[name] = Position(current.seq, birth)
        self.by_name[name] = live
        return live

    def drop(self, name: str) -> None:
        """Forget a loop or model here; if it is stored, it is loaded when it is next asked for."""
        self.by_name.pop(name, None)
        self.writer.positions.pop(name, None)

    def _give_up(self, name: str) -> None:
        self.drop(name)
        self.to_load.add(name)

    def loop(self, live: Live | None, name: str) -> tuple[Live, Loop]:
        """What was found as a loop; RequestError if it is none."""
        return _require_kind(live, name, Loop)

    def model(self, live: Live | None, name: str) -> tuple[Live, Model]:
        """What was found as a model; RequestError if it is none."""
        return _require_kind(live, name, Model)

    def _deliver(self, news: dict[str, list[Entry]]) -> dict[tuple[str, int], Outcome]:
        """Fold entries that are durable, in the order of the log."""
        outcomes = {}
        for name, entries in news.items():
            live = self.by_name.get(name)
            if live is None:
                continue  # they are read when it is loaded
            for entry in entries:
                if entry.seq <= live.current.seq:
                    continue
                try:
                    outcomes[name, entry.seq] = live.current.fold(entry)
                except Exception:
                    # Entries were removed before they were read here, or it is a fault of ours: the log knows better.
                    log.exception("entry %d of %s cannot be taken in: it is loaded anew", entry.seq, name)
                    self._give_up(name)
                    break
                if entry.seq % self.snapshot_every == 0:
                    try:
                        self._mark(live)
                    except Exception:  # what was folded stands: the next snapshot makes up for it
                        log.exception("no snapshot of %s at entry %d", name, entry.seq)
        return outcomes

    def _mark(self, live: Live) -> None:
        if live.is_learner:
            self.save(live)
        else:
            live.digests[live.current.seq] = live.current.digest()
            while len(live.digests) > _MOST_DIGESTS:
                del live.digests[next(iter(live.digests))]

    def save(self, live: Live) -> "asyncio.Task[bool]":
        """Store a snapshot of the state as it is now: whether it is stored, at the end. An error is logged."""
        current = live.current
        name, seq, version, finish = current.name, current.seq, current.version, _begin_snapshot(current)

        def store() -> bool:  # on the writer's thread, while calls are answered
            state, digest = finish()
            snapshot = Snapshot(name, seq, version, self._clock(), digest, False, state)
            return self.store.save_snapshot(snapshot, live.birth)

        task = asyncio.create_task(self._save(live, seq, store))
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)
        return task

    async def _save(self, live: Live, seq: int, store: Callable[[], bool]) -> bool:
        try:
            is_stored = await self.writer.run(store)
            live.saved_seq = max(live.saved_seq, seq)
            return is_stored
        except StoreError as error:
            log.warning("no snapshot of %s at entry %d: %s", live.current.name, seq, error)
        except Exception:  # the next one makes up for it
            log.exception("no snapshot of %s at entry %d", live.current.name, seq)
        return False

    def count(self, live: Live, statuses: Iterable[str]) -> None:
        """Count rewards that were answered without an entry; `save_counts` stores it."""
        self.told.setdefault((live.current.name, live.birth), Counter()).update(statuses)

    async def save_counts(self) -> None:
        """Add what was counted here to the counters in the store."""
        async with self.counting:
            for name, birth in list(self.told):
                counts = self.told.pop((name, birth))
                try:
                    await self.writer.run(lambda n=name, b=birth, c=counts: add_counts(self.store, n, b, c))  # type: ignore[misc]
                except StoreError as error:
                    if not error.is_uncertain:  # better counted once too little than twice
                        self.told.setdefault((name, birth), Counter()).update(counts)
                    raise

    async def close(self) -> None:
        """Finish what is queued, store counts and the last states, and end the writer."""
        with contextlib.suppress(StoreError):
            await self.writer.run(lambda: None)  # what was asked for before is taken in by then
            await self.save_counts()
        for live in list(self.by_name.values()):
            if live.is_learner and live.current.seq > live.saved_seq:
                self.save(live)
        if self._saving:
            await asyncio.wait(self._saving)
        await self.writer.close()


def _begin_snapshot(current: Loop | Model) -> Callable[[], tuple[bytes, str]]:
    """`begin_snapshot`; of a state that no snapshot can hold, a function that says so where it is finished."""
    try:
        return current.begin_snapshot()
    except Exception as error:
        failed = error

    def fail() -> tuple[bytes, str]:
        raise failed

    return fail


def _require_kind(live: Live | None, name: str, kind: type[T]) -> tuple[Live, T]:
    if live is None or not isinstance(live.current, kind):
        raise no_such(kind.kind, name)
    return live, live.current


def no_such(kind: str, name: str) -> RequestError:
    """What is said where there is no loop or model of a name."""
    return RequestError(f"unknown_{kind}", f"there is no {kind} {name!r}", kind)
