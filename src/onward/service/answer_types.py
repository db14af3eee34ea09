"""What answers say."""

from typing import Any, Literal

import msgspec

from onward.service.configuration import LoopConfig, ModelConfig
from onward.service.outcomes import Ranked

RewardStatus = Literal["learned", "noted", "already", "late", "unknown"]
ActivateStatus = Literal["activated", "already", "late", "unknown"]


class RewardAnswer(msgspec.Struct, frozen=True):
    """What became of a reward."""

    event_id: str
    status: RewardStatus
    """learned; noted: it counts when the wait is over; already: there was one before; late: the wait was over;
    unknown: no such decision."""


class ActivateAnswer(msgspec.Struct, frozen=True):
    """What became of an activation."""

    event_id: str
    status: ActivateStatus


class LoopAnswer(msgspec.Struct, frozen=True):
    """A loop was made or changed."""

    name: str
    created: bool
    """False: it was there, and goes on with these settings."""
    config: LoopConfig


class ModelAnswer(msgspec.Struct, frozen=True):
    """A model was made or changed."""

    name: str
    created: bool
    config: ModelConfig


class Names(msgspec.Struct, frozen=True):
    """The loops and models there are."""

    loops: list[str]
    models: list[str]


class Weighed(msgspec.Struct, frozen=True):
    """An action of a decision, with why it was taken or not."""

    id: str
    probability: float
    estimate: float | None = None
    width: float | None = None


class Explained(msgspec.Struct, frozen=True):
    """A decision with why."""

    event_id: str
    at: float
    """Seconds since 1970."""
    version: int
    action: str
    probability: float
    is_own: bool
    """Whether the application decided, not the policy."""
    context: dict[str, Any]
    actions: list[Weighed]


class SnapshotAnswer(msgspec.Struct, frozen=True):
    """A state that was stored."""

    seq: int
    version: int
    at: float
    digest: str


class PolicyAnswer(msgspec.Struct, frozen=True):
    """The policies of a loop, after a change."""

    policy: dict[str, Any]
    shadow: dict[str, Any] | None
    version: int
    previous: int
    """The snapshot of before: {"snapshot": previous} goes back."""


class Estimate(msgspec.Struct, frozen=True):
    """What a policy would have earned a decision, by one method."""

    method: str
    value: float | None
    """Inside its interval: cut to it where `uncut` is outside, as an estimate of few events may be; see warnings."""
    low: float | None
    high: float | None
    """An interval, cut to the range of rewards."""
    uncut: float | None
    """The estimate itself."""
    effective_samples: float | None
    reliable: bool
    """Whether there are 50 effective samples, and the mean weight is 1 but for chance."""
    warnings: list[str]


class PolicyValue(msgspec.Struct, frozen=True):
    """What a policy would have earned on the log."""

    policy: dict[str, Any]
    estimates: list[Estimate]


class EvaluateAnswer(msgspec.Struct, frozen=True):
    """Policies as the log judges them."""

    events: int
    """Decisions with a reward and a known probability, which is what can be judged on."""
    left_out: int
    """Other decisions: without a reward that counts, or taken by the application, which told no probability."""
    pending: int
    """Where a default counts if no reward comes: decisions that still wait, and all after the first of them."""
    logged: float
    """What was earned a decision."""
    policies: list[PolicyValue]


class Prediction(msgspec.Struct, frozen=True):
    """A prediction with its interval."""

    value: float
    low: float | None
    high: float | None


class PredictAnswer(msgspec.Struct, frozen=True):
    """Predictions of rows, in their order."""

    predictions: list[Prediction]
    level: float
    """Of the intervals."""
    version: int


class LearnAnswer(msgspec.Struct, frozen=True):
    """What became of rows."""

    event_id: str
    status: Literal["learned", "already"]
    learned: int
    """How many of these rows: none, if they were learned before."""
    version: int
    """Of the model: how many rows it has learned in all."""
    refused: int = 0
    """How many of these rows could not be learned."""


class Health(msgspec.Struct, frozen=True):
    """Whether the server lives, or can serve."""

    status: Literal["ok", "starting", "unready"]
    reason: str | None = None


class RankAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A decision, as Personalizer's clients read it."""

    ranking: list[Ranked]
    event_id: str
    reward_action_id: str
