"""The settings of figure 3, and its variants: how arms are drawn, how long they are, and which index is played."""

import itertools
from dataclasses import dataclass

from onward.core.checks import positive, probability, whole
from onward.experiments.figure import Settings

ARMS = {"fixed": "arms drawn once", "fresh": "arms drawn anew each round"}
NORMS = ("full", "uniform")
INDICES = {"full": "full index", "no-bias": "S-term dropped", "printed": "index as printed"}


@dataclass(frozen=True)
class Variant:
    """One reading of what the paper does not say."""

    arms: str
    norm: str
    index: str


VARIANTS = tuple(itertools.starmap(Variant, itertools.product(ARMS, NORMS, INDICES)))


@dataclass(frozen=True)
class Figure3Config(Settings):
    """Settings; those that the paper gives are its own."""

    fresh_repeats: int = 30  # with arms drawn anew each round a repeat costs several times as much
    horizon: int = 100_000
    d: int = 100
    n_arms: int = 10
    norm: float = 200.0
    variance: float = 0.1  # of the noise
    lam: float = 1e-5
    delta: float = 1e-3
    theta_law: str = "ball"  # or "sphere": θ* is uniform in the one or on the other,
    theta_norm: float = 1.0  # whose radius this is
    theta_bound: float = 1.0  # S
    kept: int = 60  # rounds that are kept, spread by ratios
    map_lams: tuple[float, ...] = (1e-5, 1e-3, 0.1, 10.0, 1000.0)
    map_horizon: int = 2000
    map_repeats: int = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fresh_repeats", "horizon", "d", "n_arms", "kept", "map_horizon", "map_repeats"):
            whole(name, getattr(self, name))
        for name in ("norm", "variance", "lam", "theta_norm", "theta_bound"):
            positive(name, getattr(self, name))
        if self.theta_law not in ("sphere", "ball"):
            raise ValueError(f"theta_law must be 'sphere' or 'ball', got {self.theta_law!r}")
        if self.theta_norm > self.theta_bound:
            raise ValueError(f"theta_bound must be at least theta_norm = {self.theta_norm:g}, got {self.theta_bound:g}")
        for lam in self.map_lams:
            positive("each of map_lams", lam)
        if len(self.map_lams) < 2:
            raise ValueError(f"map_lams must hold at least two values of λ, got {self.map_lams}")
        probability("delta", self.delta)

    def describe_norm(self, norm: str) -> str:
        """The law of the arms' norms, in words."""
        return f"norm {self.norm:g}" if norm == "full" else f"norm U[0, {self.norm:g}]"

    def describe(self, variant: Variant) -> str:
        """A variant in words."""
        return f"{variant.arms} arms, {self.describe_norm(variant.norm)}, {INDICES[variant.index]}"
