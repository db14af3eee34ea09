"""What decisions and entries lead to."""

from typing import Literal, NamedTuple

import msgspec

Status = Literal["learned", "noted", "already", "late", "unknown", "activated", "decided", "done"]


class Answer(msgspec.Struct, frozen=True):
    """What was decided."""

    event_id: str
    action: str
    probability: float
    ranking: list["Ranked"]
    version: int


class Ranked(msgspec.Struct, frozen=True):
    """An action in the ranking, with the probability with which the policy takes it first."""

    id: str
    probability: float


class Outcome(NamedTuple):
    """What an entry did."""

    status: Status
    learned: int = 0  # rewards, defaults included
    expired: int = 0
    refused: int = 0  # rows of a model that could not be learned
