"""The service: loops and models in memory, joined with their logs in a database, and with time.

A decision or a reward is answered when it is durable and taken in. If the database fails, the calls that wait get a
`StoreError`, the states in memory are as before, and calls work again when the database does.
"""

import asyncio
import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from onward.service.answer_types import (
    ActivateStatus,
    LearnAnswer,
    PredictAnswer,
    Prediction,
    RewardStatus,
)
from onward.service.configuration import LoopConfig, ModelConfig, Span
from onward.service.engine_answers import status_of, stored_entry
from onward.service.entries import Activate, Begin, BeginModel, Entry, Reward
from onward.service.event_status import find_decided, find_waiting
from onward.service.group_commit import Written
from onward.service.live_loops import Live, LiveLoops, no_such
from onward.service.loop import Loop
from onward.service.loop_checks import check_batch_work
from onward.service.outcomes import Answer, Outcome
from onward.service.policy_change import install_policy
from onward.service.regression_model import Model
from onward.service.request_errors import RequestError
from onward.service.request_types import DecideRequest, LearnRequest, PolicyRequest, RewardRequest
from onward.service.service_views import ServiceViews
from onward.service.steady_clock import SteadyClock
from onward.service.store import Store
from onward.service.store_append import UNBORN
from onward.service.store_errors import StoreError
from onward.service.store_removal import delete_loop
from onward.service.upkeep import Upkeep

SNAPSHOT_EVERY = 10_000
_TURN = 0.005  # seconds of a request with many decisions, after which others are answered
_TRIES = 10  # to make a loop that others make and delete meanwhile
_PING_SECONDS = 3.0  # after which a database that says nothing counts as away


class Service(ServiceViews):
    """Loops and models on one store. Made and used on one event loop.

        service = await Service.start(open_store("sqlite:///log.db"))
        await service.make("news", LoopConfig())
        [answer] = await service.decide("news", [DecideRequest(actions, "e1")])
        await service.stop()

    Args:
        store: where the log is; it is closed by `stop`.
        snapshot_every: after so many entries of a loop its state is stored.
        clock: what time it is, in seconds since 1970; None: a `SteadyClock`.
        retain: for how long entries of loops and models are kept that do not say themselves; None: for ever.
    """

    def __init__(
        self,
        store: Store,
        *,
        snapshot_every: int = SNAPSHOT_EVERY,
        clock: Callable[[], float] | None = None,
        retain: Span | None = None,
    ) -> None:
        store.claim()
        clock = self._clock = SteadyClock() if clock is None else clock
        self.store = store
        self.loops = LiveLoops(store, snapshot_every, retain, clock)
        self._upkeep = Upkeep(self.loops, clock)
        self._is_stopping = False
        self._pinging: asyncio.Task[str | None] | None = None

    @classmethod
    async def start(cls, store: Store, **settings: Any) -> "Service":
        """A service that has loaded what is stored, and looks after it from now on."""
        service = cls(store, **settings)
        await service._upkeep.start()
        return service

    async def stop(self) -> None:
        """Refuse new calls, finish what is queued, store the states, and let another server have it."""
        if self._is_stopping:
            return
        self._is_stopping = True
        await self._upkeep.stop_working()
        await self._upkeep.finish()
        await self.loops.close()
        await asyncio.to_thread(self._upkeep.release)
        self.store.close()

    async def ready(self) -> str | None:
        """Why it cannot serve just now; None if it can."""
        if self._is_stopping:
            return "the server is stopping"
        if self._pinging is None:  # one at a time: of a database that hangs, each would hold a thread
            self._pinging = asyncio.create_task(self._ping())
        pinging = self._pinging
        if not (await asyncio.wait({pinging}, timeout=_PING_SECONDS))[0]:
            return f"the database {self.store.database.where} does not answer"
        if (failed := pinging.result()) is not None:
            return failed
        if self.loops.broken:
            name, reason = next(iter(self.loops.broken.items()))
            count = len(self.loops.broken)
            return reason if count == 1 else f"{count} loops or models cannot be loaded, among them {name!r}: {reason}"
        return None

    async def _ping(self) -> str | None:
        """Why the database cannot be reached; None if it can."""
        try:
            await asyncio.to_thread(self.store.ping)
        except StoreError as error:
            return str(error)
        finally:
            self._pinging = None
        return None

    # Making and removing

    async def make(self, name: str, config: LoopConfig | ModelConfig) -> bool:
        """Make a loop or a model, or let it go on with other settings; whether it is new.

        Of several that make one of the same name at once, here or on other servers, one does; the others change it.
        """
        self._check_open()
        content = BeginModel(config) if isinstance(config, ModelConfig) else Begin(config)
        entry = Entry(name, content, at=self._clock())
        for _ in range(_TRIES):
            live = await self.loops.get(name)
            if live is None:
                (Model if isinstance(config, ModelConfig) else Loop)(name, config)  # type: ignore[arg-type]
                [written] = await self.loops.writer.append([entry], {name: UNBORN})
                if written.entry is None and not written.is_repeated:
                    self.loops.drop(name)  # one that was deleted by another server was still known here
                    continue
                if written.is_repeated:
                    continue
                with contextlib.suppress(RequestError):  # deleted by now
                    await self.loops.load(name)
                await self._upkeep.take_over()
                return True
            if await self._change(live, entry):
                return False
        raise StoreError(f"{name!r} is made and deleted again and again: ask again", is_transient=True)

    async def _change(self, live: Live, entry: Entry) -> bool:
        """Let a loop or a model go on with other settings; False if it was deleted meanwhile."""
        config = entry.content.config  # type: ignore[union-attr]
        if not await self._is_up_to_date(live):
            return False
        kind = "model" if isinstance(config, ModelConfig) else "loop"
        if live.current.kind != kind:
            raise RequestError("conflict", f"{entry.loop!r} is a {live.current.kind}", kind)
        live.current.check_change(config)  # type: ignore[arg-type]
        if config != live.current.config:
            try:
                await self._append(live, [entry])
            except RequestError:
                return False
        return True

    async def _is_up_to_date(self, live: Live) -> bool:
        """Read what other servers wrote to a loop or a model; False if they have deleted it."""
        if not self.store.is_shared:
            return True
        name = live.current.name
        await self.loops.writer.catch_up(name)
        stored = await asyncio.to_thread(self.store.loop, name)
        is_there = stored is not None and stored.birth == live.birth
        if not is_there:
            self._drop(live)
        return is_there

    async def remove(self, name: str, kind: str) -> None:
        """Remove a loop or a model and its log."""
        self._check_open()
        stored = await asyncio.to_thread(self.store.loop, name)  # not loaded: what cannot be can still be removed
        if stored is None or stored.kind != kind:
            raise no_such(kind, name)
        await self.loops.writer.run(lambda: delete_loop(self.store, name))
        self.loops.drop(name)
        self.loops.broken.pop(name, None)

    # Decisions and rewards

    async def decide(self, name: str, asked: Sequence[DecideRequest]) -> list[Answer]:
        """Decide them all, or none if something is wrong with one. An event that was decided gets its first answer."""
        live, loop = await self._loop(name)
        events = [each.event_id or uuid.uuid4().hex for each in asked]
        first: dict[str, Entry] = {}
        if any(loop.is_waiting(event) or loop.finished(event) is not None for event in events):
            first = await find_decided(self.loops, live, loop, events)
        now = self.loops.by_name.get(name)
        if now is not None and now.birth != live.birth:
            raise RequestError("unknown_loop", f"{name!r} was deleted", "loop")
        check_batch_work(asked, len(loop.encoder.columns))
        proposed: dict[str, Entry] = {}
        waited: list[asyncio.Future[list[Written]]] = []
        turn = time.monotonic()
        for number, (event, each) in enumerate(zip(events, asked, strict=True)):
            if time.monotonic() - turn > _TURN:
                await asyncio.sleep(0)  # others get their turn, who may decide some of these events
                rest = [event for event in events[number:] if event not in first and event not in proposed]
                first |= await find_decided(self.loops, live, loop, rest)
                turn = time.monotonic()
            if event in first or event in proposed:
                continue
            if event in live.deciding:
                waited.append(live.deciding[event])
            else:
                proposed[event] = self._propose(loop, event, each, number if len(asked) > 1 else None)
        if proposed:
            first |= await self._write_decisions(live, proposed)
        for future in waited:
            first |= self._firsts(live, await asyncio.shield(future))
        return [Loop.answer(first[event]) for event in events]

    def _propose(self, loop: Loop, event: str, asked: DecideRequest, number: int | None) -> Entry:
        if loop.is_waiting(event) or loop.finished(event) is not None:
            raise RequestError("conflict", f"{event!r:.80} was decided, and its entry removed from the log", "event_id")
        try:
            return loop.propose(
                event,
                asked.context,
                asked.actions,
                asked.k,
                at=self._clock(),
                active=asked.active,
                excluded=asked.excluded,
                taken=asked.taken,
                probability=asked.probability,
                subject=asked.subject,
            )
        except RequestError as error:
            if number is None:
                raise
            field = f"[{number}].{error.field}" if error.field else f"[{number}]"
            raise RequestError(error.code, error.message, field) from error

    async def _write_decisions(self, live: Live, proposed: dict[str, Entry]) -> dict[str, Entry]:
        """Write decisions down, while whoever asks for the same events waits for the same answers."""
        writing = self.loops.writer.submit(list(proposed.values()), {live.current.name: live.birth})
        live.deciding.update(dict.fromkeys(proposed, writing))
        writing.add_done_callback(lambda _: _forget(live.deciding, proposed))
        # It is written also if whoever asked has gone: others may wait for it.
        return self._firsts(live, await asyncio.shield(writing))

    def _firsts(self, live: Live, written: Sequence[Written]) -> dict[str, Entry]:
        """By event, the entries that decided what was asked for."""
        self._check_there(live, written)
        return {str(entry.event_id): entry for entry in map(stored_entry, written)}

    async def reward(self, name: str, given: Sequence[RewardRequest]) -> list[RewardStatus]:
        """What became of each, when it is durable."""
        _, loop = await self._loop(name)
        now = self._clock()
        entries = [loop.propose_reward(each.event_id, each.value, at=now, reward_id=each.reward_id) for each in given]
        statuses = await self._report(name, entries)
        return statuses  # type: ignore[return-value]

    async def activate(self, name: str, events: Sequence[str]) -> list[ActivateStatus]:
        """What became of each, when it is durable."""
        now = self._clock()
        statuses = await self._report(name, [Entry(name, Activate(), event, now) for event in events])
        return statuses  # type: ignore[return-value]

    async def _report(self, name: str, entries: Sequence[Entry]) -> list[str]:
        """Write down what is said of events that wait; what is said of others is answered, and counted here."""
        live, loop = await self._loop(name)
        over = await find_waiting(self.loops, live, loop, [str(entry.event_id) for entry in entries])
        written = await self._append(live, [entry for entry in entries if entry.event_id not in over])
        strays = [entry for entry in entries if entry.event_id in over and isinstance(entry.content, Reward)]
        if strays:
            self.loops.count(live, (over[str(entry.event_id)] for entry in strays))
        results = iter(written)
        return [over[str(entry.event_id)] if entry.event_id in over else status_of(next(results)) for entry in entries]

    # Policies

    async def install(self, name: str, change: PolicyRequest) -> int:
        """Another policy, or a shadow beside it, or what the policy knew at a snapshot."""
        live, _ = await self._loop(name)
        return await install_policy(self.loops, live, change, self._clock())

    # Models

    async def learn(self, name: str, asked: LearnRequest) -> LearnAnswer:
        """Learn rows, once for each event."""
        self._check_open()
        live, model = self.loops.model(await self.loops.get(name), name)
        event = asked.event_id or uuid.uuid4().hex
        entry = model.propose_learn(asked.rows, asked.targets, asked.weights, event_id=event, at=self._clock())
        [written] = await self._append(live, [entry])
        did = written.outcome or Outcome("already")
        status: Literal["already", "learned"] = "already" if written.is_repeated else "learned"
        return LearnAnswer(event, status, did.learned, model.version, did.refused)

    async def predict(self, name: str, rows: Sequence[dict[str, Any]]) -> PredictAnswer:
        """Predict rows."""
        _, model = self.loops.model(await self.loops.get(name), name)
        found = [Prediction(*each) for each in model.predict(rows)]
        return PredictAnswer(found, model.config.level, model.version)

    async def _append(self, live: Live, entries: Sequence[Entry]) -> list[Written]:
        if not entries:
            return []
        births = {live.current.name: live.birth}
        written = await self.loops.writer.append(entries, births)  # it is written also if whoever asked has gone
        self._check_there(live, written)
        return written

    def _check_there(self, live: Live, written: Sequence[Written]) -> None:
        if any(each.entry is None for each in written):
            name = live.current.name
            self._drop(live)
            raise RequestError("unknown_loop", f"{name!r} was deleted", "loop")

    def _drop(self, live: Live) -> None:
        """Forget a loop or a model that was deleted, and not another one of its name that was made since."""
        found = self.loops.by_name.get(live.current.name)
        if found is not None and found.birth == live.birth:
            self.loops.drop(live.current.name)


def _forget(deciding: dict[str, Any], events: Iterable[str]) -> None:
    for event in events:
        deciding.pop(event, None)
