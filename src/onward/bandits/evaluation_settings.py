"""Which settings of an evaluation fit together."""

from typing import get_args

from onward.bandits.log_walk import RewardModel
from onward.bandits.policy_value import Interval, Learn, Method
from onward.bandits.value_estimators import SHRINKING
from onward.core.checks import positive, probability, whole
from onward.core.shown import brief

WITH_MODEL: tuple[Method, ...] = ("dm", "dr", "switch", "dros")
BOUNDED: tuple[Method, ...] = ("ips", "dr")  # whose events have values in a range
DM_FOLDS = 5


def check_settings(
    method: Method,
    learn: Learn | None,
    delta: float,
    clip: float | None,
    interval: Interval,
    reward_range: tuple[float, float] | None,
    model: RewardModel | None = None,
    folds: int | None = None,
    shrinkage: float | None = None,
) -> tuple[Learn, int | None]:
    """What the policy learns and how many folds there are, or an error that says which settings do not fit together."""
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}, got {brief(method)}")
    known: tuple[Learn, ...] = ("matched", "all", "none") if method == "replay" else ("none", "all")
    if learn is None:
        learn = known[0]
    if learn not in known:
        raise ValueError(f"learn must be one of {', '.join(known)} with method={method!r}, got {brief(learn)}")
    probability("delta", delta)
    if method not in WITH_MODEL:
        for name, given in (("model", model), ("folds", folds)):
            if given is not None:
                raise ValueError(f"{name} is for methods {', '.join(WITH_MODEL)}, got one with method={method!r}")
    if folds is not None:
        whole("folds", folds, 2)
    if clip is not None:
        positive("clip", clip)
        if method == "replay":
            raise ValueError(f"clip is for methods that weigh events, got clip={clip!r} with method='replay'")
    if shrinkage is not None:
        positive("shrinkage", shrinkage)
        if method not in SHRINKING:
            raise ValueError(f"shrinkage is for methods {', '.join(SHRINKING)}, got it with method={method!r}")
    if interval not in get_args(Interval):
        raise ValueError(f"interval must be one of {', '.join(get_args(Interval))}, got {brief(interval)}")
    if interval != "normal":
        if method not in BOUNDED:
            raise ValueError(f"interval={interval!r} is for methods ips and dr, got method={method!r}")
        if reward_range is None:
            raise ValueError(f"interval={interval!r} needs reward_range=(low, high), got None")
    return learn, DM_FOLDS if method == "dm" and folds is None else folds
