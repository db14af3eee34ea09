"""A service without a database: loops by hand, for tests of what is above."""

import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from onward.service.answer_types import (
    Explained,
    LearnAnswer,
    Names,
    PredictAnswer,
    Prediction,
    SnapshotAnswer,
    Weighed,
)
from onward.service.configuration import LoopConfig, ModelConfig
from onward.service.encoder import Born
from onward.service.entries import Activate, Decide, Entry, Install
from onward.service.loop import Loop
from onward.service.outcomes import Answer, Outcome
from onward.service.regression_model import Model
from onward.service.request_errors import RequestError
from onward.service.request_types import DecideRequest, LearnRequest, PolicyRequest, RewardRequest


class ListedLog(NamedTuple):
    """A log that is all here."""

    config: LoopConfig
    entries: list[Entry]

    @contextmanager
    def opened(self) -> Iterator[tuple[LoopConfig, list[Entry]]]:
        yield self.config, self.entries


class MemoryService:
    """Loops by name, and what they were told."""

    def __init__(self) -> None:
        self.loops: dict[str, Loop] = {}
        self.models: dict[str, Model] = {}
        self.learned: set[tuple[str, str]] = set()
        self.entries: dict[str, list[Entry]] = {}
        self.reason: str | None = None

    async def names(self) -> Names:
        return Names([*self.loops], [*self.models])

    def _loop(self, name: str) -> Loop:
        if name not in self.loops:
            raise RequestError("unknown_loop", f"there is no loop {name!r}", "loop")
        return self.loops[name]

    def _model(self, name: str) -> Model:
        if name not in self.models:
            raise RequestError("unknown_model", f"there is no model {name!r}", "model")
        return self.models[name]

    def _any(self, name: str, kind: str) -> Loop | Model:
        return self._model(name) if kind == "model" else self._loop(name)

    async def state(self, name: str, kind: str, *, with_digest: bool = False) -> dict[str, Any]:
        found = self._any(name, kind)
        return found.state() | ({"digest": found.digest()} if with_digest else {})

    async def summary(self, name: str, kind: str) -> dict[str, Any]:
        return self._any(name, kind).summary()

    async def features(self, name: str) -> Sequence[Born]:
        return list(self._loop(name).encoder.names.items())

    async def settings_before(self, name: str, at: float | None) -> LoopConfig:
        return self._loop(name).config

    async def log_source(self, name: str, since: float | None, until: float | None) -> ListedLog:
        entries = [entry async for some in self.log(name, since, until) for entry in some]
        return ListedLog(self._loop(name).config, entries)

    async def make(self, name: str, config: LoopConfig | ModelConfig) -> bool:
        if isinstance(config, ModelConfig):
            if name in self.loops:
                raise RequestError("conflict", f"{name!r} is a loop", "model")
            created = name not in self.models
            if created:
                self.models[name], self.entries[name] = Model(name, config), []
            else:
                self.models[name].check_change(config)
            return created
        if name in self.models:
            raise RequestError("conflict", f"{name!r} is a model", "loop")
        created = name not in self.loops
        if created:
            self.loops[name], self.entries[name] = Loop(name, config), []
        else:
            self.loops[name].check_change(config)
        return created

    async def remove(self, name: str, kind: str) -> None:
        if kind == "model":
            self._model(name)
            del self.models[name]
        else:
            self._loop(name)
            del self.loops[name]

    def _fold(self, loop: Loop, entry: Entry) -> Any:
        outcome = loop.fold(entry)
        self.entries[loop.name].append(entry)
        return outcome

    async def decide(self, name: str, asked: Sequence[DecideRequest]) -> list[Answer]:
        loop, proposed = self._loop(name), []
        first = {each.event_id: each for each in self.entries[name] if isinstance(each.content, Decide)}
        for number, each in enumerate(asked):
            event = each.event_id or uuid.uuid4().hex
            try:
                entry = first.get(event) or loop.propose(
                    event,
                    each.context,
                    each.actions,
                    each.k,
                    at=time.time(),
                    active=each.active,
                    excluded=each.excluded,
                    taken=each.taken,
                    probability=each.probability,
                    subject=each.subject,
                )
            except RequestError as error:
                place = f"[{number}]." if len(asked) > 1 else ""
                raise RequestError(error.code, error.message, f"{place}{error.field}") from error
            proposed.append(entry)
            first[event] = entry
        for number, entry in enumerate(proposed):
            if entry not in self.entries[name] and entry not in proposed[:number]:
                self._fold(loop, entry)
        return [loop.answer(entry) for entry in proposed]

    async def reward(self, name: str, given: Sequence[RewardRequest]) -> list[Any]:
        loop = self._loop(name)
        ready = [loop.propose_reward(each.event_id, each.value, at=time.time()) for each in given]
        return [self._fold(loop, entry).status for entry in ready]

    async def activate(self, name: str, events: Sequence[str]) -> list[Any]:
        loop = self._loop(name)
        return [self._fold(loop, Entry(name, Activate(), event, time.time())).status for event in events]

    async def log(self, name: str, since: float | None, until: float | None) -> AsyncIterator[list[Entry]]:
        kept = [e for e in self.entries[name] if (since or 0) <= e.at and (until is None or e.at < until)]
        for start in range(0, len(kept), 2):
            yield kept[start : start + 2]

    async def decisions(self, name: str, limit: int) -> list[Explained]:
        self._loop(name)
        return [_explained(e) for e in reversed(self.entries[name]) if isinstance(e.content, Decide)][:limit]

    async def snapshots(self, name: str) -> list[SnapshotAnswer]:
        loop = self._loop(name)
        return [SnapshotAnswer(1, loop.version, 0.0, loop.digest())]

    async def install(self, name: str, change: PolicyRequest) -> int:
        loop = self._loop(name)
        if isinstance(change.snapshot, int):
            raise RequestError("unknown_snapshot", f"there is no snapshot {change.snapshot}", "snapshot")
        place: Any = "policy" if isinstance(change.policy, dict) else "shadow"
        settings: Any = change.policy if place == "policy" else change.shadow
        previous = loop.seq
        self._fold(loop, Entry(name, Install(place, settings)))
        return previous

    async def learn(self, name: str, asked: LearnRequest) -> LearnAnswer:
        model, event = self._model(name), asked.event_id or uuid.uuid4().hex
        status: Any = "already" if (name, event) in self.learned else "learned"
        outcome = Outcome("already")
        if status == "learned":
            entry = model.propose_learn(asked.rows, asked.targets, asked.weights, event_id=event, at=time.time())
            outcome = model.fold(entry)
            self.entries[name].append(entry)
            self.learned.add((name, event))
        return LearnAnswer(event, status, outcome.learned, model.version, outcome.refused)

    async def predict(self, name: str, rows: Sequence[dict[str, Any]]) -> PredictAnswer:
        model = self._model(name)
        return PredictAnswer([Prediction(*each) for each in model.predict(rows)], model.config.level, model.version)

    async def ready(self) -> str | None:
        return self.reason


def _explained(entry: Entry) -> Explained:
    content = entry.content
    assert isinstance(content, Decide)
    actions = [
        Weighed(action.id, *numbers)
        for action, *numbers in zip(
            content.actions, content.probabilities, content.estimates, content.widths, strict=True
        )
    ]
    chosen = content.actions[content.chosen].id
    return Explained(
        str(entry.event_id),
        entry.at,
        content.version,
        chosen,
        content.probability,
        content.is_own,
        content.context,
        actions,
    )
