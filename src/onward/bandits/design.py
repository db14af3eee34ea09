"""The values that a policy is made of, checked together, and as plain values for files."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits.functions import CompiledFunction, find_function
from onward.bandits.memories import KINDS, Everything, Memory
from onward.bandits.policy_known import Known
from onward.bandits.rules import ESTIMATORS, RULES, Estimator, Optimistic, Rule, Sampling, one_of
from onward.core.checks import fraction
from onward.core.shown import brief

Lam = float | ArrayLike | None


class Design(NamedTuple):
    """The values that a policy is made of."""

    memory: Memory
    rule: Rule
    estimator: Estimator
    lam: float | tuple[float, ...] | None
    prior_mean: tuple[float, ...] | None
    known: Known
    explore: float = 0.0

    @classmethod
    def from_arguments(
        cls,
        memory: Memory | None,
        rule: Rule | None,
        estimator: Estimator,
        lam: Lam,
        prior_mean: ArrayLike | None,
        known: Known | None,
        explore: float = 0.0,
    ) -> Self:
        """The design of these parts, each the usual one if it is None."""
        one_of("estimator", estimator, ESTIMATORS)
        memory = Everything() if memory is None else _instance("memory", memory, Memory)
        rule = Optimistic() if rule is None else _instance("rule", rule, Rule)
        known = Known() if known is None else _instance("known", known, Known)
        design = cls(
            memory,
            _resolve_rule(rule, memory, estimator, known),
            estimator,
            _lam(lam),
            _mean(prior_mean),
            known,
            fraction("explore", explore),
        )
        given = design.rule
        if isinstance(given, Optimistic) and given.width == "printed":
            if (estimator, given.bias) != ("forward", "paper"):
                raise ValueError(
                    "width='printed' is Algorithm 3 as printed: expected estimator='forward' and bias='paper', "
                    f"got {brief(estimator)} and {given.bias!r}"
                )
            if not isinstance(design.lam, float):
                raise ValueError(
                    f"width='printed' is Algorithm 3 as printed: expected one lam for all, got {brief(lam)}"
                )
        return design

    def plain(self) -> dict[str, Any]:
        """All of it as plain values, which `from_plain` takes."""
        parts = {"memory": _describe_part(self.memory), "rule": _describe_part(self.rule), "estimator": self.estimator}
        return parts | self.plain_numbers() | {"known": dict(vars(self.known))}

    def plain_numbers(self) -> dict[str, Any]:
        """λ and, if there are any, the prior mean and the share of exploring."""
        lam = list(self.lam) if isinstance(self.lam, tuple) else self.lam
        prior = {} if self.prior_mean is None else {"prior_mean": list(self.prior_mean)}
        return {"lam": lam} | prior | ({"explore": self.explore} if self.explore else {})


def from_plain(description: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a policy from plain values: those of `Design.plain`, or a named policy's as they are."""
    given = dict(description)
    exploring = given["rule"] if isinstance(given.get("rule"), dict) else given
    if "bias" in exploring:
        exploring.setdefault("radius", "sum")  # earlier files: it was the only one
    if isinstance(given.get("memory"), dict):
        given["memory"] = _make_part({kind.__name__: kind for kind in KINDS}, given["memory"])
        given["rule"] = _make_part(RULES, given["rule"])
        given["known"] = Known(**given["known"])
    return given


def plain_part(value: Any) -> dict[str, Any] | None:
    """A memory, a rule, a compiled function or what is known as plain values; None if it is none of them."""
    if isinstance(value, Memory | Rule):
        return {"part": "memory" if isinstance(value, Memory) else "rule", **_describe_part(value)}
    if isinstance(value, Known):
        return {"part": "known", **vars(value)}
    if isinstance(value, CompiledFunction):
        return {"part": "function", "kind": value.kind, "name": value.name}
    return None


def part_from_plain(description: Mapping[str, Any]) -> Any:
    """What `plain_part` described; None if it is no such description."""
    given = dict(description)
    part = given.pop("part", None)
    if part == "known":
        return Known(**given)
    if part == "function":
        return find_function(**given)
    if part in ("memory", "rule"):
        return _make_part({kind.__name__: kind for kind in KINDS} if part == "memory" else RULES, given)
    return None


def _resolve_rule(rule: Rule, memory: Memory, estimator: Estimator, known: Known) -> Rule:
    """The rule with the radius and the scale that it has here; ValueError if what it was told is not proven."""
    if not isinstance(rule, Optimistic | Sampling):
        return rule
    if known.theta_bound is None and (rule.width == "printed" or getattr(rule, "clipped", False)):
        what = "width='printed'" if rule.width == "printed" else "clipped=True"
        raise ValueError(f"{what} is made of S: expected theta_bound, got None")
    if rule.scale is None:
        # A detector learns no reward beyond its width: that must not be narrow while σ̂ is rough.
        own = isinstance(rule, Optimistic) and (rule.index is not None or isinstance(rule.width, float) or rule.clipped)
        own |= isinstance(rule.width, CompiledFunction)
        rule = replace(rule, scale=1.0 if known.sigma is not None or memory.checks or own else "auto")
    if rule.scale == "auto" and getattr(rule, "clipped", False):
        raise ValueError("clipped=True cuts an index at one scale: expected a number as scale beside it, got 'auto'")
    proven = memory.keeps_floor and isinstance(rule.width, str) and rule.width != "printed"
    fits = estimator == "ridge" or rule.bias in ("sharp", "none")
    if rule.radius == "joint" and not proven:
        raise ValueError(
            "radius='joint' is proven for memories that count all rewards alike, and widths of the theory: expected "
            f"'sum' with {memory} and width={rule.width!r}"
        )
    if rule.radius == "joint" and not fits:
        raise ValueError(f"bias={rule.bias!r} goes with radius='sum', got 'joint': expected bias='sharp'")
    joint = proven and fits and isinstance(rule, Optimistic)
    return rule if rule.radius is not None else replace(rule, radius="joint" if joint else "sum")


def _instance(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {brief(value)}")
    return value


def _describe_part(value: Memory | Rule) -> dict[str, Any]:
    return {"kind": type(value).__name__, **value.parameters()}


def _make_part(kinds: Mapping[str, Any], description: Mapping[str, Any]) -> Any:
    given = dict(description)
    return kinds[given.pop("kind")](**given)


def _lam(lam: Lam) -> float | tuple[float, ...] | None:
    if lam is None:
        return None
    values = _as_array(lam)
    if (
        values.dtype.kind not in "iuf"
        or values.ndim > 1
        or not values.size
        or not (np.isfinite(values) & (values > 0)).all()
    ):
        raise ValueError(f"lam must be a number > 0, or one for each feature, got {brief(lam)}")
    if not ((values >= 1e-15) & (values <= 1e15)).all():
        raise ValueError(f"lam must be between 1e-15 and 1e15, got {brief(lam)}")
    return tuple(values.astype(float).tolist()) if values.ndim else float(values)


def _as_array(values: Any) -> NDArray[Any]:
    """Values as an array; of what is none, such as lists of several lengths, an array without numbers."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.empty(0, dtype=object)


def _mean(prior_mean: ArrayLike | None) -> tuple[float, ...] | None:
    if prior_mean is None:
        return None
    values = _as_array(prior_mean)
    if values.dtype.kind not in "iuf" or values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"prior_mean must be finite numbers, one for each feature, got {brief(prior_mean)}")
    return tuple(values.astype(float).tolist())
