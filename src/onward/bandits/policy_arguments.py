"""What the policies with names are told: the arguments that they share."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypedDict

from numpy.typing import ArrayLike

from onward.bandits.design import Lam
from onward.bandits.functions import CompiledFunction
from onward.bandits.memories import Memory
from onward.bandits.policy import Policy
from onward.bandits.policy_known import Known
from onward.bandits.randomness import Seed
from onward.bandits.rules import Bias, Estimator, Optimistic, Radius, Rule, Width


class Common(TypedDict, total=False):
    """What every policy that learns can be told.

    estimator: "ridge" or "forward".
    prior_mean: coefficients (features,) to start from; None for 0.
    explore: with this probability, any available action: see `Policy`.
    seed: of the policy's own random numbers.
    """

    estimator: Estimator
    prior_mean: ArrayLike | None
    explore: float
    seed: Seed


class Exploration(Common, total=False):
    """What every policy that explores by the theory's widths can be told, beside what is `Common`.

    sigma, theta_bound, delta, action_bound: see `Known` (None, None, 0.01, None).
    width, bias, scale, radius, clipped, index: see `rules.Optimistic`; the width is "determinant" unless the policy
        says otherwise, and LinTS has no sharp bias, no clipping and no index.
    """

    sigma: float | None
    theta_bound: float | None
    delta: float
    action_bound: float | None
    width: Width | float | CompiledFunction
    bias: Bias
    scale: float | Literal["auto"] | None
    radius: Radius | None
    clipped: bool
    index: CompiledFunction


_OF_KNOWN = ("sigma", "theta_bound", "delta", "action_bound")
_OF_RULE = ("width", "bias", "scale", "radius", "clipped", "index")


class ToldPolicy(Policy):
    """A policy that is known by its name: its settings are told in one list."""

    def _begin(self, memory: Memory, rule: Rule, lam: Lam, known: Known | None, settings: Mapping[str, Any]) -> None:
        unknown = settings.keys() - Common.__optional_keys__
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {', '.join(map(repr, sorted(unknown)))}")
        Policy.__init__(self, memory, rule, lam=lam, known=known, **settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that would make it again, as plain values."""
        given = self._common() | {"estimator": self.estimator} | self.memory.parameters()
        rule = self.rule.parameters()
        if not self.rule.explores:
            return given | rule | ({"sigma": self.known.sigma} if self.rule.weighs else {})
        known = vars(self.known)
        return given | {name: known[name] for name in _OF_KNOWN[:3]} | rule | {"action_bound": self.known.action_bound}


class ExploringPolicy(ToldPolicy):
    """One that explores by the theory's widths, or samples."""

    _rule: ClassVar[type[Rule]] = Optimistic
    _width: ClassVar[Width | float] = "determinant"

    def _explore(self, memory: Memory, lam: Lam, settings: Exploration) -> None:
        given: dict[str, Any] = {"width": self._width, **settings}
        known = Known(**{name: given.pop(name) for name in _OF_KNOWN if name in given})
        rule = self._rule(**{name: given.pop(name) for name in _OF_RULE if name in given})
        self._begin(memory, rule, lam, known, given)
