"""What a loop is asked, checked: RequestError says what is wrong."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import UnsetType

from onward.bandits.late_rewards import as_seconds
from onward.bandits.logs import LEAST_PROPENSITY
from onward.core.factor import ORDINARY
from onward.service.configuration import FeatureRule, LoopConfig, Mode, ModelConfig, Span
from onward.service.entries import Action, Decide, Values
from onward.service.entry_checks import fault_of
from onward.service.request_errors import RequestError
from onward.service.request_types import DecideRequest

_MOST_WORK = 1_000_000_000  # actions × features² of one decision: about a second
_MOST_BATCH_WORK = 10_000_000_000  # of those of one request
_ALL = np.empty(0, dtype=np.bool_)


def application_choice(
    mode: Mode,
    actions: Sequence[Action],
    places: dict[str, int],
    available: Any,
    taken: str | None,
    probability: float | None,
) -> tuple[int, float] | None:
    """What the application itself takes, where it decides, and with which probability."""
    if mode == "online":
        if taken is not None or probability is not None:
            field = "taken" if taken is not None else "probability"
            raise RequestError("bad_request", "the loop decides: its mode is online, expected none", field)
        return None
    place = 0 if taken is None else places.get(taken, -1)
    if taken is None and len(available):
        place = int(np.argmax(available))
    if place < 0 or (len(available) and not available[place]):
        raise RequestError("bad_request", f"{taken!r:.80} is no available action", "taken")
    if probability is not None and not LEAST_PROPENSITY <= probability <= 1.0:
        expected = f"expected a probability from {LEAST_PROPENSITY:g} to 1"
        raise RequestError("bad_request", f"{expected}, got {probability!r:.80}", "probability")
    return place, 1.0 if probability is None else float(probability)


def check_finite(decision: Decide) -> None:
    """RequestError if a number of a decision is none, or too large: no log and no state could hold it."""
    # A sum that is finite shows at once that all are; one that is not may be of numbers that are merely large.
    is_finite = math.isfinite(sum(decision.widths)) or all(map(math.isfinite, decision.widths))
    if not is_finite or fault_of(decision) is not None:
        told = "the policy's settings and these features give numbers that are too large"
        raise RequestError("not_finite", told, "actions")


def check_names(context: Values, actions: Sequence[Action]) -> None:
    """RequestError if a feature has the empty name, which stands for products."""
    check_name_of_each(context, "context")
    for i, action in enumerate(actions):
        if "" in action.features:
            check_name_of_each(action.features, f"actions[{i}].features")


def check_name_of_each(values: Values, where: str) -> None:
    """RequestError if a value has the empty name."""
    if "" in values:
        raise RequestError("bad_feature", "expected names of at least one character, got the empty name", where)


def check_new(count: int, rule: FeatureRule) -> None:
    """RequestError if one decision brings so many new features that it would fill places meant for others."""
    if count > rule.most_new:
        raise RequestError(
            "too_many_new_features",
            f"expected at most {rule.most_new:,} new features in one decision, got {count:,}: tell the loop a larger "
            "features.max_new or max_features if all of them are meant",
            "actions",
        )


def check_work(n_actions: int, d: int) -> None:
    """RequestError if looking at so many actions of d features would hold up everybody else."""
    if n_actions * d * d > _MOST_WORK:
        most = f"expected at most {_MOST_WORK:.0e} as actions times features²"
        raise RequestError("too_many_features", f"{most}, got {n_actions} actions of {d} features", "actions")


def check_batch_work(asked: Sequence[DecideRequest], d: int) -> None:
    """RequestError if decisions with d features that are asked for at once would take too long together."""
    n_actions = sum(len(each.actions) for each in asked)
    if n_actions * d * d > _MOST_BATCH_WORK:
        most = f"expected at most {_MOST_BATCH_WORK:.0e} as actions times features² of all decisions together"
        raise RequestError("too_many_features", f"{most}, got {n_actions} actions of {d} features: ask for fewer")


def check_settings(config: LoopConfig | ModelConfig) -> None:
    """RequestError if a number among settings is NaN or infinite: in the log, null would stand in its place."""
    left = [msgspec.to_builtins(config)]
    while left:
        value = left.pop()
        if isinstance(value, dict | list | tuple):
            left.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise RequestError("bad_request", f"expected finite numbers as settings, got {value!r}")


def seconds_to_wait(config: LoopConfig) -> float:
    """For how long the loop waits for a reward, of settings that can be."""
    try:
        seconds = as_seconds("wait", config.reward.wait)
    except ValueError as error:
        raise RequestError("bad_request", str(error)[:300], "reward.wait") from error
    default = config.reward.default
    if default is not None and not abs(default) < ORDINARY:
        raise RequestError(
            "bad_request", f"expected a number below {ORDINARY:g} in size, got {default!r}", "reward.default"
        )
    if math.isnan(config.explore):
        raise RequestError("bad_request", "expected a probability, got nan", "explore")
    check_retain(config.retain, seconds)
    return seconds


def check_retain(retain: Span | UnsetType | None, wait: float = 0.0) -> None:
    """RequestError if entries cannot be kept for so long, where a reward is waited for as long as that."""
    if retain is None or isinstance(retain, UnsetType):
        return
    try:
        seconds = as_seconds("retain", retain)
    except ValueError as error:
        raise RequestError("bad_request", str(error)[:300], "retain") from error
    if seconds < wait or seconds == 0.0:
        least = f"at least as long as a reward is waited for ({wait:g} s)" if wait else "a span above 0"
        raise RequestError("bad_request", f"expected {least}, got {retain!r:.80}", "retain")


def places_of(actions: Sequence[Action], excluded: Iterable[str]) -> tuple[dict[str, int], Any]:
    """Where each action is, and which are available: an empty mask if all are."""
    if not actions:
        raise RequestError("bad_request", "expected at least one action, got none", "actions")
    places = {action.id: i for i, action in enumerate(actions)}
    if len(places) < len(actions):
        seen: set[str] = set()
        i, twice = next((i, a.id) for i, a in enumerate(actions) if a.id in seen or seen.add(a.id))  # type: ignore[func-returns-value]
        raise RequestError("bad_request", f"two actions have the id {twice!r:.80}", f"actions[{i}].id")
    out = set(excluded)
    if not out:
        return places, _ALL
    unknown = out - places.keys()
    if unknown:
        raise RequestError("bad_request", f"{min(unknown)!r:.80} is excluded, but no action", "excluded")
    available = np.array([action.id not in out for action in actions])
    if not available.any():
        raise RequestError("bad_request", "expected at least one action that is not excluded, got none", "excluded")
    return places, available
