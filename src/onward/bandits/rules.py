"""The rules that turn what is known into a choice: values, checked where they are made."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from onward.bandits.functions import CompiledFunction, find_function
from onward.bandits.settings import (
    AS_IN_PAPER,
    AS_PRINTED,
    BY_CONSTANTS,
    BY_DETERMINANT,
    BY_FUNCTION,
    BY_MULTIPLE,
    BY_TRACE,
    EPSILON_GREEDY,
    FORWARD,
    GREEDY,
    INVERSE_GAP,
    NO_BIAS,
    OPTIMISTIC,
    RIDGE,
    SAMPLING,
    SHARP,
    SOFTMAX,
    TIGHT,
    UNIFORM_AT_RANDOM,
)
from onward.core.checks import fraction, not_negative, positive
from onward.core.shown import brief

Estimator = Literal["forward", "ridge"]
Width = Literal["determinant", "trace", "uniform", "printed"]
Bias = Literal["sharp", "tight", "paper", "none"]
Radius = Literal["joint", "sum"]

ESTIMATORS = {"ridge": RIDGE, "forward": FORWARD}
WIDTHS = {"determinant": BY_DETERMINANT, "trace": BY_TRACE, "uniform": BY_CONSTANTS, "printed": AS_PRINTED}
RADII = {"sum": 0, "joint": 1}
BIASES = {"sharp": SHARP, "tight": TIGHT, "paper": AS_IN_PAPER, "none": NO_BIAS}


# The scales that are tuned: the least, and how many there are, each twice the one before. Of a number of σ and of the
# theory's widths, chosen on the first worlds of benchmarks/bandit_defaults.py; forward's estimates of what was not met
# yet shrink so far that narrow widths never come back to it.
OF_DEVIATIONS = {"scale": 0.25, "scales": 4.0}
OF_WIDTHS, OF_FORWARD_WIDTHS = {"scale": 0.06, "scales": 3.0}, {"scale": 0.05, "scales": 4.0}


def one_of(name: str, value: object, allowed: Mapping[str, int]) -> int:
    """The code of a named choice, or an error that lists the choices."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {brief(value)}")
    return allowed[value]


@dataclass(frozen=True)
class Rule:
    """How what is known becomes a choice."""

    kind: ClassVar[int]
    explores: ClassVar[bool] = False  # whether the widths of `Known` matter
    weighs: ClassVar[bool] = False  # whether σ of `Known` matters, and no more of it

    def settings(self) -> dict[str, float]:
        """The settings of compiled code, by the names of `settings.SETTINGS`."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Its parameters, as plain values."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True)
class _Exploring(Rule):
    width: Width | float | CompiledFunction = "determinant"
    bias: Bias = "tight"
    scale: float | Literal["auto"] | None = None
    radius: Radius | None = None

    explores: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", _function("width", self.width))
        if isinstance(self.width, int | float) and not isinstance(self.width, bool):
            object.__setattr__(self, "width", not_negative("width", self.width))
        elif not isinstance(self.width, CompiledFunction):
            one_of("width", self.width, WIDTHS)
        one_of("bias", self.bias, BIASES)
        if self.radius is not None:
            one_of("radius", self.radius, RADII)
        if isinstance(self.scale, str):
            if self.scale != "auto":
                raise ValueError(f"scale must be a number ≥ 0 or 'auto', got {brief(self.scale)}")
        elif self.scale is not None:
            object.__setattr__(self, "scale", not_negative("scale", self.scale))

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        own = self.width if isinstance(self.width, CompiledFunction) else None
        multiple = self.width if isinstance(self.width, float) else None
        return {
            "width": BY_FUNCTION if own else WIDTHS[str(self.width)] if multiple is None else BY_MULTIPLE,
            "multiple": multiple or 0.0,
            "bias": BIASES[self.bias],
            **self._scales(),
            "width_function": own.address if own else 0,
            "joint": RADII.get(self.radius or "sum", 0),
        }

    def _scales(self) -> dict[str, float]:
        """The scale, or the least of those that are tuned and how many there are."""
        if self.scale != "auto":
            return {"scale": 1.0 if self.scale is None else self.scale, "scales": 0.0}
        if isinstance(self.width, float):
            return OF_DEVIATIONS | ({"scales": 3.0} if self.kind == SAMPLING else {})
        return OF_WIDTHS


@dataclass(frozen=True)
class Optimistic(_Exploring):
    """The largest index: the estimate plus what noise and regularisation can hide.

    With W the radius of the confidence set, ridge's index is `p + √q W`, and forward's `(1−h)(p + √q W) + h‖x‖S` with
    h = q/(1+q): each of ridge's index and ‖x‖S is above the true mean, hence what lies between them.

    Args:
        width: what the noise can do, in the norm of G: "determinant" (tightest: the information gain itself), "trace",
            "uniform" (as in the paper), a `width_function`; or a number of σ, as textbooks have it, without an S-term
            and without a guarantee. With forward, "printed" is the whole index as Algorithm 3 prints it, error and all.
        bias: for forward, "sharp" as above, or the paper's `p/(1+q) + √h (noise + bias(x) S)` with bias(x) "tight"
            √(λ + ‖x‖²) or "paper" √λ + ‖x‖; "none" drops the S-term, and the guarantee with it.
        scale: multiplies what is added to explore. "auto" takes one of a few for each choice, those oftener that have
            earned more (see `tuning`): ¼, ½, 1 or 2 of a number of σ (2 not where it samples), 0.06, 0.12 or 0.24 of
            the theory's widths (with forward 0.05, 0.1, 0.2 or 0.4). None: 1 where σ is told or the width is a number
            or one's own; else, with no guarantee to keep, "auto".
        radius: W is "joint" √(noise² + λS²) or "sum" noise + √λS; None: joint where that is proven, which it is for
            memories that count all rewards alike, else sum.
        clipped: whether an index is cut to ‖x‖S, which no mean exceeds: the guarantee stays, but S must be right.
        index: an `index_function` in place of all that.

    Raises:
        ValueError: if a value is none of these, or `clipped` comes with another index.

    Example:
        >>> from onward.bandits import Optimistic, Policy
        >>> policy = Policy(rule=Optimistic(width=1.0, scale=1.0), lam=1.0, seed=0)
        >>> policy.learn([1.0, 0.0], 1.0)
        >>> policy.choose([[1.0, 0.0], [0.0, 1.0]]) in (0, 1)
        True
    """

    bias: Bias = "sharp"
    clipped: bool = False
    index: CompiledFunction | None = None

    kind: ClassVar[int] = OPTIMISTIC

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.clipped, bool):
            raise ValueError(f"clipped must be True or False, got {brief(self.clipped)}")
        object.__setattr__(self, "index", _function("index", self.index))
        if self.clipped and (self.index is not None or self.width == "printed"):
            other = "an index of one's own" if self.index is not None else "width='printed'"
            raise ValueError(f"clipped=True cuts the theory's index: expected none beside {other}")

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        own = self.index.address if self.index is not None else 0
        return super().settings() | {"index_function": own, "clipped": float(self.clipped)}

    def parameters(self) -> dict[str, Any]:
        """Its parameters; the index only if it has one of its own, and whether it is clipped if it is."""
        given = super().parameters()
        left = {"index": self.index is None, "clipped": not self.clipped}
        return {name: value for name, value in given.items() if not left.get(name)}


@dataclass(frozen=True)
class Sampling(_Exploring):
    """The best action for coefficients drawn around the estimate, by default from the posterior N(θ̂, σ²G⁻¹).

    Args:
        width, bias, scale, radius: as of `Optimistic`: a width of the theory makes the draws as wide as that reaches.

    Raises:
        ValueError: if a value is none of these, or is an index, by which nothing can be drawn.

    Example:
        >>> from onward.bandits import Known, Policy, Sampling
        >>> policy = Policy(rule=Sampling(), lam=1.0, known=Known(sigma=1.0), seed=0)
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(3)  # nothing is known yet
        array([0.5, 0.5])
    """

    width: Width | float | CompiledFunction = 1.0

    kind: ClassVar[int] = SAMPLING

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width == "printed":
            raise ValueError("width='printed' is an index of Algorithm 3: expected another width to sample by")
        if self.bias == "sharp":
            raise ValueError("bias='sharp' is an index: expected 'tight', 'paper' or 'none' to sample by")


@dataclass(frozen=True)
class Greedily(Rule):
    """The best estimate.

    Example:
        >>> from onward.bandits import Greedily, Policy
        >>> policy = Policy(rule=Greedily(), lam=1.0, seed=0)
        >>> policy.learn([1.0, 0.0], 1.0)
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]])
        array([1., 0.])
    """

    kind: ClassVar[int] = GREEDY


@dataclass(frozen=True)
class EpsilonGreedily(Rule):
    """The best estimate, but any available action with probability epsilon.

    Args:
        epsilon: the probability, from 0 to 1.

    Example:
        >>> from onward.bandits import EpsilonGreedily, Policy
        >>> policy = Policy(rule=EpsilonGreedily(0.2), lam=1.0, seed=0)
        >>> policy.learn([1.0, 0.0], 1.0)
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(3)
        array([0.9, 0.1])
    """

    epsilon: float = 0.05

    kind: ClassVar[int] = EPSILON_GREEDY

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", fraction("epsilon", self.epsilon))

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        return {"epsilon": self.epsilon}


@dataclass(frozen=True)
class AtRandom(Rule):
    """Any available action, each with the same chance.

    Example:
        >>> from onward.bandits import AtRandom, Policy
        >>> Policy(rule=AtRandom(), seed=0).probabilities([[1.0, 0.0], [0.0, 1.0]])
        array([0.5, 0.5])
    """

    kind: ClassVar[int] = UNIFORM_AT_RANDOM


class _Weighing(Rule):
    """Chances that fall with the distance from the best estimate: steeply as told, or by what is known."""

    usual_scale: ClassVar[float]
    told: ClassVar[str]  # the parameter that says how steeply, in place of the scale
    weighs: ClassVar[bool] = True
    scale: float | None

    def __post_init__(self) -> None:
        given = getattr(self, self.told)
        if given is not None:
            object.__setattr__(self, self.told, positive(self.told, given))
            if self.scale is not None:
                raise ValueError(f"{self.told} leaves nothing to scale: expected scale=None, got {brief(self.scale)}")
        else:
            object.__setattr__(self, "scale", self.usual_scale if self.scale is None else positive("scale", self.scale))

    def parameters(self) -> dict[str, Any]:
        """Its parameters: the scale, or what was told in place of it."""
        return {name: value for name, value in super().parameters().items() if value is not None}


@dataclass(frozen=True)
class InverseGap(_Weighing):
    """Inverse-gap weighting (Abe & Long 1999; SquareCB, Foster & Rakhlin 2020).

    Among k actions, one whose estimate is `gap` below the best is taken with probability 1/(k + γ gap), and the best
    one with what is left.

    Args:
        scale: γ = √k / (scale · off), with `off` the mean over available actions of σ√q: how far their estimates are
            off. So γ grows with √n, and it does not matter in which units rewards come. None: 0.03, which did well.
        gamma: γ itself, in place of that.

    Example:
        >>> from onward.bandits import InverseGap, Policy
        >>> policy = Policy(rule=InverseGap(gamma=8.0), lam=1.0, seed=0)
        >>> policy.learn([1.0, 0.0], 1.0)  # estimates 1/2 and 0
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(3)  # the other: 1 / (2 + 8 · 1/2)
        array([0.833, 0.167])
    """

    scale: float | None = None
    gamma: float | None = None

    kind: ClassVar[int] = INVERSE_GAP
    usual_scale: ClassVar[float] = 0.03  # of 0.01 to 0.1, on the first worlds of benchmarks/bandit_defaults.py
    told: ClassVar[str] = "gamma"

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        return {"scale": self.scale or 1.0, "steepness": self.gamma or 0.0}


@dataclass(frozen=True)
class Softmax(_Weighing):
    """Probabilities proportional to exp(estimate / temperature).

    Args:
        scale: the temperature is scale · off, with `off` the mean over available actions of σ√q: how far their
            estimates are off. So it falls with √n, and it does not matter in which units rewards come. None: 0.4, which
            did well.
        temperature: in units of the reward, in place of that.

    Example:
        >>> from onward.bandits import Policy, Softmax
        >>> policy = Policy(rule=Softmax(temperature=0.5), lam=1.0, seed=0)
        >>> policy.learn([1.0, 0.0], 1.0)  # estimates 1/2 and 0
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(3)  # proportional to e and 1
        array([0.731, 0.269])
    """

    scale: float | None = None
    temperature: float | None = None

    kind: ClassVar[int] = SOFTMAX
    usual_scale: ClassVar[float] = 0.4  # of 0.3 to 1.5, likewise
    told: ClassVar[str] = "temperature"

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        return {"scale": self.scale or 1.0, "steepness": 1.0 / self.temperature if self.temperature else 0.0}


RULES: dict[str, type[Rule]] = {
    rule.__name__: rule for rule in (Optimistic, Sampling, Greedily, EpsilonGreedily, AtRandom, InverseGap, Softmax)
}


def _function(kind: str, value: Any) -> Any:
    """A user's function as it stands in a file, `function NAME`, or the value as it is."""
    if isinstance(value, str) and value.startswith("function "):
        return find_function(kind, value.removeprefix("function "))
    if isinstance(value, CompiledFunction) and value.kind != kind:
        raise ValueError(f"{kind} must be made by @{kind}_function, got {brief(value)} of @{value.kind}_function")
    if kind == "index" and isinstance(value, str):
        raise ValueError(
            f"index must be made by @index_function, got {brief(value)}; clipped=True cuts indices at ‖x‖S"
        )
    if callable(value) and not isinstance(value, CompiledFunction):
        raise ValueError(f"{kind} must be made by @{kind}_function, got {brief(value)}")
    return value


def _plain(value: Any) -> Any:
    return f"function {value.name}" if isinstance(value, CompiledFunction) else value
