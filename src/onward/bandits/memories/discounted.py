"""The memory that lets the past count less with every reward."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from onward.bandits.memories.memory import Memory
from onward.bandits.model import Model, clear_model, learn_row, model_size, view_model
from onward.bandits.settings import BY_CONSTANTS, Head, memory_at, view_head
from onward.core.checks import is_real, probability
from onward.core.compile import compiled, inlined
from onward.core.factor import Factor, absorb_one, clear, factor_size, new_scratch, view_factor
from onward.core.shown import brief
from onward.core.tiles import discount
from onward.core.types import Vector

COMPILED_FROM = "395e84207185d960"  # other files whose code is compiled into this one: see tools/digests.py

FADED = 1e-20


@dataclass(frozen=True)
class Discounted(Memory):
    """Every new reward lets those before count γ times as much.

    Args:
        gamma: γ in (0, 1]; 1 forgets nothing.

    Raises:
        ValueError: if γ is not in (0, 1], or too small to be squared.

    Example:
        >>> from onward.bandits import Discounted, Policy
        >>> policy = Policy(Discounted(0.5), lam=0.01, seed=0)
        >>> policy.learn_many([[1.0]] * 6, [0.0] * 3 + [1.0] * 3)
        >>> policy.estimate([[1.0]]).round(2)
        array([0.88])
    """

    gamma: float = 0.99

    kind: ClassVar[int] = 1
    has_second: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_real(self.gamma) or self.gamma != 1:
            try:
                probability("gamma", self.gamma)
            except ValueError:
                raise ValueError(f"gamma must be a number in (0, 1], got {brief(self.gamma)}") from None
        if self.gamma < 1e-100:
            raise ValueError(
                f"gamma must be at least 1e-100, or its square is no longer a number > 0, got {brief(self.gamma)}"
            )
        object.__setattr__(self, "gamma", float(self.gamma))

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        return {"gamma": self.gamma}

    def size(self, d: int, capacity: int) -> int:
        """Numbers in the memory.

        Args:
            d: how many features.
            capacity: for how many there is room.
        """
        return model_size(d) + factor_size(d, 1)


class Twofold(NamedTuple):
    """V = Σ γ^(t−s) xxᵀ + Λ as a model, and Ṽ = Σ γ^2(t−s) xxᵀ + Λ.

    Ṽ is only multiplied with, so its factor need not hold all of Λ: it holds the share `second.counts.counted` of it,
    and what reads it adds the rest. To give Λ back to a factor in every round takes nearly all of the round's time.
    """

    model: Model
    second: Factor


@inlined
def memory_in(buffer: Vector, d: int) -> Twofold:
    """Both factors."""
    return Twofold(view_model(buffer, memory_at(d), d), view_factor(buffer, second_at(d), d, 1))


@inlined
def second_at(d: int) -> int:
    """Where Ṽ begins."""
    return memory_at(d) + model_size(d)


@inlined
def begin(head: Head, buffer: Vector) -> None:
    """Know nothing."""
    memory = memory_in(buffer, head.lam.shape[0])
    clear_model(head, memory.model)
    clear(memory.second, head.lam)
    memory.second.counts[0].counted = 1.0


@inlined
def _let_fade(second: Factor, gamma: float, lam: Vector) -> None:
    """Let Λ fade with the rows, down to a share so small that it never counts: no pivot may become 0."""
    for k in range(lam.shape[0]):
        second.D[k] = max(gamma * second.D[k], FADED * lam[k])
    second.counts[0].counted *= gamma


@compiled
def learn(buffer: Vector, x: Vector, y: float, square: float) -> None:
    """Discount the past, then learn a reward."""
    head = view_head(buffer)
    memory, gamma, scratch = memory_in(buffer, x.shape[0]), head.settings[0].gamma, new_scratch(x.shape[0])
    if gamma < 1.0:
        discount(memory.model.factor, gamma, head.lam, scratch)
        if head.settings[0].width == BY_CONSTANTS:
            _let_fade(memory.second, gamma * gamma, head.lam)
        else:  # the width is that of Ṽ itself
            discount(memory.second, gamma * gamma, head.lam, scratch)
        memory.model.factor.counts[0].counted *= gamma * gamma
    absorb_one(memory.second, x, 0.0, 1.0, scratch)
    learn_row(memory.model, x, y, square, scratch)
