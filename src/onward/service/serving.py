"""What the routes need of whoever keeps the loops: `Service`, or in tests something smaller."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from onward.service.answer_types import (
    ActivateStatus,
    Explained,
    LearnAnswer,
    Names,
    PredictAnswer,
    RewardStatus,
    SnapshotAnswer,
)
from onward.service.configuration import LoopConfig, ModelConfig
from onward.service.encoder import Born
from onward.service.entries import Entry
from onward.service.evaluation import LogSource
from onward.service.outcomes import Answer
from onward.service.request_types import DecideRequest, LearnRequest, PolicyRequest, RewardRequest


class Serving(Protocol):
    """Loops and models by name. RequestError for what is asked wrongly."""

    async def names(self) -> Names:
        """The loops and models there are."""

    async def state(self, name: str, kind: str, *, with_digest: bool = False) -> dict[str, Any]:
        """All that is known of a loop or a model, as plain values; `with_digest`: and what tells it from all others."""

    async def summary(self, name: str, kind: str) -> dict[str, Any]:
        """What is known of a loop or a model, without what grows with what was learned."""

    async def features(self, name: str) -> Sequence[Born]:
        """The features that a loop knows, in their order."""

    async def settings_before(self, name: str, at: float | None) -> LoopConfig:
        """A loop's settings before a time, as far as the log goes back; otherwise, and for None, those of now."""

    async def log_source(self, name: str, since: float | None, until: float | None) -> LogSource:
        """Where another process finds the log's entries of a time."""

    async def make(self, name: str, config: LoopConfig | ModelConfig) -> bool:
        """Make a loop or a model, or let it go on with other settings; whether it is new."""

    async def remove(self, name: str, kind: str) -> None:
        """Away with it and its log."""

    async def decide(self, name: str, asked: Sequence[DecideRequest]) -> list[Answer]:
        """Decide them all, or none if something is wrong with one."""

    async def reward(self, name: str, given: Sequence[RewardRequest]) -> list[RewardStatus]:
        """What became of each, when it is durable."""

    async def activate(self, name: str, events: Sequence[str]) -> list[ActivateStatus]:
        """What became of each, when it is durable."""

    def log(self, name: str, since: float | None, until: float | None) -> AsyncIterator[list[Entry]]:
        """The log's entries of a time, some at a time."""

    async def decisions(self, name: str, limit: int) -> list[Explained]:
        """The last decisions, the last one first, with why."""

    async def snapshots(self, name: str) -> list[SnapshotAnswer]:
        """The states that are stored, the last one first."""

    async def install(self, name: str, change: PolicyRequest) -> int:
        """Another policy; the snapshot of before."""

    async def learn(self, name: str, asked: LearnRequest) -> LearnAnswer:
        """Learn rows, once for each event."""

    async def predict(self, name: str, rows: Sequence[dict[str, Any]]) -> PredictAnswer:
        """Predict rows."""

    async def ready(self) -> str | None:
        """Why it cannot serve just now; None if it can."""
