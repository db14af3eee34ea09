"""Sharp forward: figures 3 and 4b again, with an index that the paper does not have beside the paper's.

Forward's index can be (1 − h)·[ridge's index] + h‖x‖S: between two upper bounds, each of them valid, so its bias falls
as 1/n where that of √h·√(λ + ‖x‖²)S falls as 1/√n. Ridge's own can be cut at ‖x‖S, which no mean exceeds. It is a
section of the report like a figure of the paper, so that it is run, resumed, decided and drawn in the same way.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onward.bandits import OFUL, DLinUCB
from onward.bandits.environments import LinearWorld
from onward.core.checks import positive, whole
from onward.experiments import (
    bandit_games,
    changing_worlds,
    figure3,
    figure3_settings,
    figure4b,
    repeat_frame,
    sharp_claims,
    sharp_drawings,
)
from onward.experiments.bandit_games import Player, play_piece, spaced_rounds
from onward.experiments.changing_worlds import LONGEST
from onward.experiments.claims import Claim
from onward.experiments.figure import Figure, Piece, Settings
from onward.experiments.figure3 import make_world
from onward.experiments.figure3_settings import ARMS, NORMS, Figure3Config
from onward.experiments.figure4b import FIGURE_4B, Figure4bConfig
from onward.experiments.repeat_frame import split_repeats
from onward.pages.drawing import Drawing

INDICES: dict[tuple[str, str], dict[str, Any]] = {
    ("ridge", "plain"): {"estimator": "ridge", "bias": "tight"},
    ("ridge", "clipped"): {"estimator": "ridge", "bias": "tight", "clipped": True},
    ("forward", "tight"): {"estimator": "forward", "bias": "tight"},
    ("forward", "sharp"): {"estimator": "forward", "bias": "sharp"},
    ("forward", "sharp, clipped"): {"estimator": "forward", "bias": "sharp", "clipped": True},
}
SLOW = "slow"


@dataclass(frozen=True)
class SharpConfig(Settings):
    """Settings; all others are those of figures 3 and 4b."""

    fresh_repeats: int = 30  # with arms drawn anew each round a repeat costs several times as much
    horizon: int = 20_000  # of the worlds of figure 3; that of figure 4b is its own
    d: int = 100
    n_arms: int = 10
    lam: float = 1e-5
    slow_horizon: int = 6000
    kept: int = 60  # rounds that are kept

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fresh_repeats", "horizon", "d", "n_arms", "kept"):
            whole(name, getattr(self, name))
        whole("slow_horizon", self.slow_horizon, 12)
        positive("lam", self.lam)

    @property
    def still(self) -> Figure3Config:
        """The worlds of figure 3."""
        return Figure3Config(seed=self.seed, horizon=self.horizon, d=self.d, n_arms=self.n_arms, lam=self.lam)

    @property
    def slow(self) -> Figure4bConfig:
        """The world of figure 4b."""
        return Figure4bConfig(seed=self.seed, horizon=self.slow_horizon)

    @property
    def worlds(self) -> dict[str, str]:
        """Every world in words, by its name, which is that of its group of repeats."""
        still = {
            f"{arms}-{norm}": f"{arms} arms, {self.still.describe_norm(norm)}"
            for arms, norm in itertools.product(ARMS, NORMS)
        }
        return {**still, SLOW: "the slow change of figure 4b"}


class Sharp(Figure[SharpConfig]):
    """Regrets in the worlds of both figures, of ridge and forward with each index."""

    name = "sharp"
    title = "Sharp forward: figures 3 and 4b with an index of ours beside the paper's"
    of_paper = False
    Config = SharpConfig
    quick_settings: ClassVar[Mapping[str, Any]] = {
        "repeats": 5,
        "fresh_repeats": 3,
        "horizon": 3000,
        "undecided_times": 1,
    }
    repeat_settings = ("repeats", "fresh_repeats")
    computing_modules = (bandit_games, repeat_frame, figure3, figure3_settings, figure4b, changing_worlds)

    def remarks(self, config: SharpConfig) -> list[str]:
        """What the indices are, and what was changed."""
        said = (
            "None of this is in the paper. With q = xᵀG⁻¹x and h = q/(1 + q), the paper's forward index with its tight "
            "bias is (1 − h)p + √h (σ√(2 log(1/δ) + I) + √(λ + ‖x‖²) S). The sharp one is (1 − h)·[ridge's index] + "
            "h‖x‖S. A clipped index is cut at ‖x‖S. All are upper bounds with the same probability, and have the same "
            "radius of noise."
        )
        return [said, *super().remarks(config)]

    def groups(self, config: SharpConfig) -> Mapping[str, int]:
        """The worlds."""
        return {name: config.fresh_repeats if name.startswith("fresh") else config.repeats for name in config.worlds}

    def cut(self, config: SharpConfig, group: str, start: int, stop: int) -> Sequence[Piece]:
        """Ten repeats at a time, and of fresh arms five."""
        return split_repeats(group, start, stop, 5 if group.startswith("fresh") else 10)

    def compute(self, config: SharpConfig, piece: Piece) -> pl.DataFrame:
        """All indices in some repeats of one world."""
        name = piece.about["part"]
        slow = name == SLOW
        rounds = spaced_rounds(config.slow_horizon if slow else config.horizon, config.kept, log=not slow)
        players = make_players(config, slow)
        world = self._make_world(config, name)
        return play_piece(players, world, int(rounds[-1]), config.seed, piece, rounds, part=name)

    def _make_world(self, config: SharpConfig, name: str) -> LinearWorld:
        if name == SLOW:
            return FIGURE_4B.make_world(config.slow)
        return make_world(config.still, *name.split("-"))

    def claims(self, config: SharpConfig, frame: pl.DataFrame) -> Sequence[Claim]:
        """What we say of these indices, and what came out."""
        return sharp_claims.decide_claims(config.worlds, frame)

    def draw(self, config: SharpConfig, frame: pl.DataFrame) -> Sequence[Drawing]:
        """Ratios to ridge's regret, and curves."""
        return [
            sharp_drawings.draw_ratios(config.worlds, frame),
            sharp_drawings.draw_curves(config.worlds, frame),
        ]


def make_players(config: SharpConfig, slow: bool) -> list[Player]:
    """OFUL or D-LinUCB with each index; all of them meet the same arms and noise."""
    told: Figure3Config | Figure4bConfig = config.slow if slow else config.still
    found = []
    for (estimator, index), how in INDICES.items():
        known: dict[str, Any] = {"theta_bound": told.theta_bound, "delta": told.delta, "radius": "sum", **how}
        if isinstance(told, Figure4bConfig):
            known |= {"sigma": told.sigma, "width": told.width, "action_bound": LONGEST}
            policy: OFUL | DLinUCB = DLinUCB(told.gamma, told.lam, **known)
        else:
            policy = OFUL(told.lam, sigma=float(np.sqrt(told.variance)), **known)
        found.append(Player(policy, {"estimator": estimator, "index": index}))
    return found


SHARP = Sharp()
