"""What decisions and entries lead to."""

from typing import Literal, NamedTuple

import msgspec

Status = Literal["learned", "noted", "already", "late", "unknown", "activated", "decided", "done"]


class Answer(msgspec.Struct, frozen=True):
    """What was decided.

    Attributes:
        event_id: of the decision.
        action: the id of what was taken.
        probability: with which it was taken.
        ranking: all actions, the one that was taken first.
        version: of the policy's state.

    Example:
        >>> from onward.service import Action, Loop
        >>> answer = Loop("news").decide("e1", {}, [Action("a")])
        >>> answer.action, answer.probability
        ('a', 1.0)
    """

    event_id: str
    action: str
    probability: float
    ranking: list["Ranked"]
    version: int


class Ranked(msgspec.Struct, frozen=True):
    """An action in the ranking, with the probability with which the policy takes it first.

    Attributes:
        id: of the action.
        probability: with which it is taken first.

    Example:
        >>> from onward.service import Action, Loop
        >>> Loop("news").decide("e1", {}, [Action("a")]).ranking
        [Ranked(id='a', probability=1.0)]
    """

    id: str
    probability: float


class Outcome(NamedTuple):
    """What an entry did."""

    status: Status
    learned: int = 0  # rewards, defaults included
    expired: int = 0
    refused: int = 0  # rows of a model that could not be learned
