"""What a service says of its loops and models: what is in memory here, and what the store knows beside."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

from onward.service.answer_types import Explained, Names, SnapshotAnswer
from onward.service.configuration import LoopConfig
from onward.service.encoder import Born
from onward.service.engine_answers import explained, next_page
from onward.service.entries import Entry
from onward.service.live_loops import Live, LiveLoops
from onward.service.loop import Loop
from onward.service.loop_facts import read_facts
from onward.service.retention import seconds_kept
from onward.service.store import Store
from onward.service.store_errors import StoreError
from onward.service.stored_log import StoredLog, settings_before


class ServiceViews:
    """The part of a service that changes nothing."""

    store: Store
    loops: LiveLoops
    _is_stopping: bool

    async def names(self) -> Names:
        """The loops and models there are: on a shared store also those that other servers have just made."""
        kinds = {name: live.current.kind for name, live in self.loops.by_name.items()}
        if self.store.is_shared:
            with contextlib.suppress(StoreError):  # while it is away, those that are known here
                stored = await asyncio.to_thread(self.store.loops)
                kinds = {name: each.kind for name, each in stored.items()}
        return Names(*(sorted(name for name, each in kinds.items() if each == kind) for kind in ("loop", "model")))

    async def summary(self, name: str, kind: str) -> dict[str, Any]:
        """What is known of a loop or a model, without what grows with what was learned."""
        live = await self._find(name, kind)
        return await self._with_facts(live, live.current.summary())

    async def state(self, name: str, kind: str, *, with_digest: bool = False) -> dict[str, Any]:
        """All that is known of a loop or a model, as plain values; `with_digest`: and what tells it from all others."""
        live = await self._find(name, kind)
        state = live.current.state()
        if with_digest:
            state["digest"] = live.current.digest()
        return await self._with_facts(live, state)

    async def _with_facts(self, live: Live, state: dict[str, Any]) -> dict[str, Any]:
        """With what the store knows beside; while it is away, with what it said last."""
        name, birth = live.current.name, live.birth
        async with self.loops.counting:
            with contextlib.suppress(StoreError):
                found = await asyncio.to_thread(read_facts, self.store, name, birth)
                live.facts = found or live.facts
            facts = live.facts
            for status, count in (Counter(facts.counts) + self.loops.told.get((name, birth), Counter())).items():
                state[status] += count
        seconds = seconds_kept(live.current.config, self.loops.retain)
        told = {"first": facts.first_seq, "since": facts.since, "base": facts.base_seq, "retain_seconds": seconds}
        return state | {"snapshot": facts.snapshot, "log": told}

    async def features(self, name: str) -> Sequence[Born]:
        """The features that a loop knows, in their order."""
        _, loop = await self._loop(name)
        return list(loop.encoder.names.items())

    async def settings_before(self, name: str, at: float | None) -> LoopConfig:
        """A loop's settings before a time; for None, before all that the log holds."""
        _, loop = await self._loop(name)
        return await asyncio.to_thread(settings_before, self.store, name, at, loop.config)

    async def log_source(self, name: str, since: float | None, until: float | None) -> StoredLog:
        """Where another process finds the log's entries of a time."""
        _, loop = await self._loop(name)
        database = self.store.database
        url = database.url.render_as_string(hide_password=False)
        return StoredLog(url, database.file, name, since, until, loop.config)

    async def log(self, name: str, since: float | None, until: float | None) -> AsyncIterator[list[Entry]]:
        """The log's entries of a time, some at a time."""
        entries = self.store.iterate(name, since=since, until=until)
        while some := await asyncio.to_thread(next_page, entries):
            yield some

    async def decisions(self, name: str, limit: int) -> list[Explained]:
        """The last decisions, the last one first, with why."""
        await self._loop(name)
        return [explained(entry) for entry in await asyncio.to_thread(self.store.last_decisions, name, limit)]

    async def snapshots(self, name: str) -> list[SnapshotAnswer]:
        """The states that are stored, the last one first."""
        await self._loop(name)
        found = await asyncio.to_thread(self.store.snapshots, name)
        return [SnapshotAnswer(each.seq, each.version, each.at, each.digest) for each in reversed(found)]

    async def _loop(self, name: str) -> tuple[Live, Loop]:
        self._check_open()
        return self.loops.loop(self.loops.by_name.get(name) or await self.loops.get(name), name)

    async def _find(self, name: str, kind: str) -> Live:
        """A loop or a model, loaded if it is only stored, as when another server has just made it."""
        self._check_open()
        live = await self.loops.get(name)
        return self.loops.model(live, name)[0] if kind == "model" else self.loops.loop(live, name)[0]

    def _check_open(self) -> None:
        if self._is_stopping:
            raise StoreError("the server is stopping", is_transient=True)
