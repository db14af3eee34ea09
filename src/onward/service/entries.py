"""What the log of a loop or a model holds: an entry for whatever changes it, in order.

The state of a loop is a fold over its entries, so an entry holds all that is needed to do the same again. It is told
as JSON, and stored as `packed_content` says.
"""

from typing import Any, Literal

import msgspec

from onward.service.configuration import LoopConfig, ModelConfig

Values = dict[str, Any]
"""Features by name: numbers, text and booleans; objects inside objects are read as `outer.inner`, null as absent."""


NUMBERS = frozenset((float, int, bool))
"""The types of values that are numbers."""


# Without gc: values as JSON has them hold no circles, and there are so many that looking for circles would cost a lot.


class Action(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, forbid_unknown_fields=True):
    """An action that is offered. Requests have it as it is: a field that is misspelt is refused.

    Attributes:
        id: what it is called.
        features: values by name.

    Example:
        >>> from onward.service import Action
        >>> Action("a", {"topic": "sport"})
        Action(id='a', features={'topic': 'sport'})
    """

    id: str
    features: Values = {}


class Content(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=str.lower, gc=False):
    """What an entry says."""


class Begin(Content, frozen=True):
    """A loop begins, or goes on with other settings, but for its features and its policy, which `Install` changes."""

    config: LoopConfig


class BeginModel(Content, frozen=True, tag="begin_model"):
    """A regression model begins."""

    config: ModelConfig


class Decide(Content, frozen=True):
    """A decision that was made, and all it was made of."""

    version: int  # of the model that it was made with
    after: int  # the entry up to which the server that decided had read the log
    context: Values
    actions: list[Action]
    chosen: int  # which action was taken: the policy's, or the application's where that decides
    probability: float  # with which it was taken
    probabilities: list[float]  # with which the policy takes each action
    ranking: list[int]  # the actions in the order of the answer, the chosen one first
    estimates: list[float]  # of the reward of each action
    widths: list[float]  # a standard deviation of each estimate
    leverage: float  # of the chosen action: how little was known in its direction
    row: dict[str, float]  # the features of the chosen action that are not 0, by name: what its reward is learned with
    # Where scales are tuned: how often each was taken, and the chance with which each takes the chosen action
    scales: tuple[list[float], list[float]] | None = None
    born: list[tuple[str, str]] | None = None  # features that were new, and the name of each
    longest: float = 0.0  # the largest squared length of the actions, ...
    typical: float = 0.0  # ... and the median of those that are not 0
    shadow: float | None = None  # the probability with which the shadow policy takes the chosen action
    active: bool = True  # False: nothing is expected until it is activated
    subject: str | None = None  # whom it is about, so that what is known of a person can be deleted
    excluded: list[int] = []  # which actions were not available
    is_told: bool = True  # False: the application decided, and did not say with which probability
    k: int = 1  # how many places of the ranking were drawn
    left_out: int = 0  # features and products of the actions that had no place
    is_own: bool = False  # True: the application decided, as the mode was then


class Reward(Content, frozen=True):
    """A reward came."""

    value: float
    id: str | None = None  # of this reward, where several count: told again, it counts once


class Activate(Content, frozen=True):
    """A decision was used, so that a reward can be expected."""


class Expire(Content, frozen=True):
    """Time went on: decisions that have waited too long at this entry's time are over."""

    most: int | None = None  # so many at most, the oldest; None: all


class Forget(Content, frozen=True):
    """Decisions that wait are dropped, unlearned: somebody's events were deleted."""

    events: list[str]


class Install(Content, frozen=True):
    """Another policy in place of the one there was, as its shadow, or in place of neither."""

    place: Literal["policy", "shadow"]
    policy: dict[str, Any] | None = None  # its settings; None: away with the shadow
    state: bytes | None = None  # what it knows already, as `Learner.to_bytes` gives it; None: nothing
    source: str = ""  # where that comes from, for people
    id: str | None = None  # of the request: asked again, it is done once
    previous: int = 0  # the snapshot of before


class Learn(Content, frozen=True):
    """Rows that a regression model learns: the event of each is that of the entry, or `event#n`."""

    rows: list[Values]
    targets: list[float]
    weights: list[float] | None = None


AnyContent = Begin | BeginModel | Decide | Reward | Activate | Expire | Forget | Install | Learn


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An entry of the log."""

    loop: str  # of which loop or model
    content: AnyContent
    event_id: str | None = None  # of Decide, Reward, Activate, and of Learn if the caller gave one
    at: float = 0.0  # seconds since 1970
    seq: int = 0  # its place in the log of this loop, from 1 without gaps; 0 until it is stored


to_json = msgspec.json.Encoder().encode
"""A content as JSON."""

from_json = msgspec.json.Decoder(AnyContent).decode
"""The content that `to_json` wrote."""
