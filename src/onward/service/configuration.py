"""What a loop or a model is told when it is made."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

Span = str | float
"""Of time: seconds, or a text such as "90s", "2h" or "7d"."""
Mode = Literal["online", "apprentice", "observe"]
Aggregate = Literal["first", "sum", "last"]
AtMost = Annotated[int, msgspec.Meta(ge=1, le=5000)]
Probability = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class RewardRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a decision's reward counts, and what counts if none comes.

    Attributes:
        wait: how long a reward is waited for: seconds, or text such as "1h".
        default: the reward that counts if none comes; None to learn nothing.
        aggregate: of several rewards, the "first", the "last" or their "sum".

    Example:
        >>> from onward.service import RewardRule
        >>> RewardRule(wait="10m", default=0.0)  # no click within ten minutes is an answer
        RewardRule(wait='10m', default=0.0, aggregate='first')
    """

    wait: Span = "1h"
    """For how long a reward is waited for: a span such as "90s", "2h" or "7d", or seconds."""
    default: float | None = None
    """The reward of a decision that has none when the wait is over; null: nothing is learned from it."""
    aggregate: Aggregate = "first"
    """Of several rewards of one decision: the first, at once; or their sum, or the last, when the wait is over."""


class FeatureRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How contexts and actions become features.

    Attributes:
        intercept: whether there is a constant feature.
        interactions: products of features of actions and context: all, none, or pairs of names.
        max_features: the most there may be.
        max_levels: the most that a name may have.
        max_new: the most that one decision may bring.
        exclude: names that are no features.

    Example:
        >>> from onward.service import FeatureRule
        >>> FeatureRule(interactions=[("topic", "device")]).max_levels
        100
    """

    intercept: bool = True
    """Whether every action has a feature of 1."""
    interactions: bool | list[tuple[str, str]] = True
    """Products that are features: true for each of an action's with each of its context's; or pairs of names."""
    max_features: AtMost = 500
    """So many features at most; what comes later is left out."""
    max_levels: AtMost = 100
    """So many texts of one name at most; all others share one feature, `name=(other)`."""
    max_new: AtMost | UnsetType = UNSET
    """So many new features of one decision at most; one with more is refused, so that it cannot fill all places. If it
    is not told, half of `max_features`, or 100 if that is more."""
    exclude: list[str] | UnsetType = UNSET
    """Names that are never learned from: what contexts and actions hold under them is logged, and is no feature.
    `outer` stands for all of an object, `outer.inner` for one thing in it, `action` for the ids of actions."""

    @property
    def most_new(self) -> int:
        """How many new features one decision may have."""
        return max(100, self.max_features // 2) if isinstance(self.max_new, UnsetType) else self.max_new


class LoopConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A loop: decisions, their rewards, and the policy that learns from them.

    Attributes:
        policy: its name and settings.
        reward: when a reward counts.
        explore: with this probability, any action is taken.
        mode: "online": the policy decides; "apprentice": the application does, and the policy learns from it;
            "observe": as that, for an application that has decided already.
        features: how contexts and actions become features.
        retain: how long the log is kept: seconds, or text such as "30d"; None for ever.

    Example:
        >>> from onward.service import LoopConfig, RewardRule
        >>> LoopConfig(policy={"name": "LinTS", "seed": 7}, reward=RewardRule(default=0.0)).explore
        0.05
    """

    policy: dict[str, Any] = msgspec.field(default_factory=lambda: {"name": "LinUCB"})
    """Its name, one of `onward.bandits`, and its arguments."""
    reward: RewardRule = RewardRule()
    explore: Probability = 0.05
    """With this probability any available action is taken, so that each has a known probability above 0."""
    mode: Mode = "online"
    features: FeatureRule = FeatureRule()
    retain: Span | UnsetType | None = UNSET
    """For how long entries of the log are kept, such as "90d": at least as long as a reward is waited for; null: for
    ever. If it is not told, what the server's own settings say. What was learned stays."""


class ModelConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A regression model that learns over HTTP.

    Attributes:
        learner: "auto", "forward" or "ridge".
        settings: of the learner.
        max_features: the most there may be.
        max_levels: the most that a name may have.
        level: of the intervals: the share of targets that lie inside.
        retain: how long the log is kept: seconds, or text such as "30d"; None for ever.

    Example:
        >>> from onward.service import ModelConfig
        >>> ModelConfig(learner="ridge", settings={"lam": 0.1}).level
        0.95
    """

    learner: Literal["auto", "forward", "ridge"] = "auto"
    settings: dict[str, Any] = {}
    """Arguments of the learner, such as {"lam": 1.0}."""
    max_features: AtMost = 500
    """So many features at most; what comes later is left out."""
    max_levels: AtMost = 100
    """So many texts of one name at most; all others share one feature, `name=(other)`."""
    level: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] = 0.95
    """Of the intervals that predictions come with."""
    retain: Span | UnsetType | None = UNSET
    """For how long entries of the log are kept, such as "90d"; null: for ever. If it is not told, what the server's own
    settings say. What was learned stays."""
