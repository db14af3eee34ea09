"""What requests say: bodies decode straight into these."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from onward.bandits.logs import LEAST_PROPENSITY
from onward.service.entries import Action, Values

Share = Annotated[float, Meta(ge=LEAST_PROPENSITY, le=1.0)]
Moment = str | float
Reward = Annotated[float, Meta(ge=-1e20, le=1e20)]


class DecideRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision that is asked for."""

    actions: list[Action]
    """What may be done, in the order in which the application would offer it."""
    event_id: str | None = None
    """Under which its reward will come; asked again with the same one, the first answer is given again. Without it,
    one is made."""
    context: Values = {}
    """What is known of the situation, by name: numbers, text, booleans."""
    k: Annotated[int, Meta(ge=1)] = 1
    """How many actions will be shown: so many are ranked first."""
    active: bool = True
    """False: no reward is expected until the decision is activated."""
    taken: str | None = None
    """In the modes observe and apprentice: what the application does; by default the first action."""
    probability: Share | None = None
    """The probability with which the application did that, if it is known."""
    subject: str | None = None
    """Whom it is about, so that what is known of a person can be deleted."""
    excluded: list[str] = []
    """Actions that must not be taken this time."""


class RewardRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reward of a decision."""

    event_id: str
    """Of the decision."""
    value: float
    """What it earned."""
    reward_id: str | None = None
    """Where several rewards of a decision count: sent again with the same one, a reward counts once."""


class ActivateRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision was used, so that a reward can be expected."""

    event_id: str


class PolicyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another policy: exactly one of these."""

    policy: dict[str, Any] | UnsetType = UNSET
    """In place of the one there is: its name and arguments."""
    shadow: dict[str, Any] | UnsetType | None = UNSET
    """Beside it, learning and judged on the same events, deciding nothing; null: away with it."""
    snapshot: Annotated[int, Meta(ge=1, le=2**63 - 1)] | UnsetType = UNSET
    """Back to what the policy knew at this snapshot (its `seq`)."""
    learn: Literal["nothing", "log"] = "nothing"
    """What a new policy or shadow knows when it begins: nothing, or all that the log tells."""
    request_id: str | None = None
    """Of this request: asked again with the same one, it is done once, and the first `previous` is answered again."""


Method = Literal["ips", "snips", "dr"]


class EvaluateRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Policies that are judged on the log."""

    policies: list[dict[str, Any]]
    """Each with its name and arguments, as in a loop's settings."""
    methods: list[Method] = msgspec.field(default_factory=lambda: ["ips", "snips", "dr"])
    """Inverse propensities, self-normalized, or doubly robust."""
    since: Moment | None = None
    """From when on: ISO 8601, or seconds since 1970."""
    until: Moment | None = None
    """Until when, as since."""
    learn: Literal["all", "none"] = "all"
    """Whether a policy learns each event after it was judged on it."""
    delta: Annotated[float, Meta(ge=1e-12, lt=1.0)] = 0.05
    """Intervals may fail with this probability."""
    interval: Literal["normal", "empirical_bernstein", "anytime"] = "normal"
    """Of ips and dr: true in the limit, for any number of events, or at all numbers at once: look as often as you like.
    The last two need `reward_range`."""
    reward_range: tuple[Reward, Reward] | None = None
    """The least and the largest reward there can be, if that is known."""
    clip: Annotated[float, Meta(ge=1e-6, le=1e12)] | None = None
    """Weights count as this much at most."""


class PredictRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows to predict."""

    rows: list[Values]


class LearnRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows to learn."""

    rows: list[Values]
    """Values by name, for each: numbers, text, booleans."""
    targets: list[float]
    """Of each row."""
    weights: list[Annotated[float, Meta(gt=0.0)]] | None = None
    """Of each row; null: 1."""
    event_id: str | None = None
    """Sent again with the same one, the rows are learned once. Without it, one is made."""


class RankableAction(msgspec.Struct, frozen=True):
    """An action as Personalizer's requests have it."""

    id: str
    features: list[Values] | None = None


class RankRequest(msgspec.Struct, frozen=True, rename="camel"):
    """A decision that is asked for, as Personalizer's clients ask."""

    actions: list[RankableAction]
    context_features: list[Values] | None = None
    excluded_actions: list[str] | None = None
    event_id: str | None = None
    defer_activation: bool | None = None


class RankReward(msgspec.Struct, frozen=True):
    """A reward as Personalizer's clients send it."""

    value: float
