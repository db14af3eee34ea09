"""What figures 4a and 4b share: policies for worlds that change, with the settings of Russac et al. (2019)."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from onward.bandits import OFUL, DetectingLinUCB, DLinUCB, OracleRestart, SWLinUCB, width_function
from onward.bandits.environments import LinearWorld
from onward.bandits.functions import CompiledFunction
from onward.bandits.policy import Policy
from onward.core.checks import positive, probability, whole
from onward.experiments import bandit_games, changing_claims, changing_drawings, repeat_frame
from onward.experiments.bandit_games import Player, play_piece, spaced_rounds
from onward.experiments.claims import Claim
from onward.experiments.figure import Figure, Piece, Settings
from onward.experiments.repeat_frame import split_repeats
from onward.pages.drawing import Drawing

BETAS = {
    "unchanged": "D-LinUCB's own β",
    "tight": "the tight β, √(λ + ‖x‖²)S for √λS",
    "paper": "the paper's β, (√λ + ‖x‖)S for √λS",
    "sharp": "the sharp index",
}
WIDTHS = ("uniform", "determinant")
LONGEST = 1.0  # no arm is longer


@dataclass(frozen=True)
class ChangingConfig(Settings):
    """Settings; those that the paper gives are its own, the others those of Russac et al."""

    undecided_times: int = 8
    horizon: int = 6000
    d: int = 2
    n_arms: int = 50
    sigma: float = 1.0
    delta: float = 0.01
    lam: float = 0.1
    theta_bound: float = 1.0
    variation: float = 4 + 2**0.5  # B_T
    detection_window: int = 200
    width: str = "uniform"  # of all policies, as in the code of Russac et al.; or "determinant", the tightest
    beta: str = "tight"  # of D-LinUCB^f, which the paper does not print
    betas: tuple[str, ...] = tuple(BETAS)  # for which the claim on it is tried, too
    kept: int = 120  # rounds that are kept, evenly spread

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sigma", "lam", "theta_bound", "variation"):
            positive(name, getattr(self, name))
        probability("delta", self.delta)
        for name in ("n_arms", "kept", "detection_window"):
            whole(name, getattr(self, name))
        whole("horizon", self.horizon, 12)
        whole("d", self.d, 2)
        if not self.variation < self.d * self.horizon:
            raise ValueError(f"variation must be below d·horizon = {self.d * self.horizon}, got {self.variation!r}")
        if self.width not in WIDTHS:
            raise ValueError(f"width must be one of {', '.join(WIDTHS)}, got {self.width!r}")
        for beta in self.all_betas:
            if beta not in BETAS:
                raise ValueError(f"beta and betas must be among {', '.join(BETAS)}, got {beta!r}")

    @property
    def all_betas(self) -> tuple[str, ...]:
        """Every β that D-LinUCB^f is played with; its own first."""
        return tuple(dict.fromkeys((self.beta, *self.betas)))

    @property
    def gamma(self) -> float:
        """1 − (B_T/(dT))^(2/3)."""
        return 1.0 - math.pow(self.variation / (self.d * self.horizon), 2 / 3)

    @property
    def window(self) -> int:
        """(dT/B_T)^(2/3), τ."""
        return max(1, int((self.d * self.horizon / self.variation) ** (2 / 3)))


def make_players(config: ChangingConfig, change_points: Sequence[int]) -> list[Player]:
    """Those of the figure, D-LinUCB^f with every β. The oracle is told the change points; without any it is LinUCB."""
    known: dict[str, Any] = {
        "sigma": config.sigma,
        "theta_bound": config.theta_bound,
        "delta": config.delta,
        "action_bound": LONGEST,
        "radius": "sum",
    }
    ridge: dict[str, Any] = {**known, "width": config.width, "bias": "tight", "estimator": "ridge"}
    found: dict[str, Policy] = {
        "D-LinUCB": DLinUCB(config.gamma, config.lam, **ridge),
        "SW-LinUCB": SWLinUCB(config.window, config.lam, **ridge),
        "LinUCB": OFUL(config.lam, **ridge),
        "dLinUCB": DetectingLinUCB(config.detection_window, config.lam, **ridge),
    }
    if change_points:
        found["LinUCB-OR"] = OracleRestart(change_points, config.lam, **ridge)
    players = [Player(policy, {"policy": name, "beta": ""}) for name, policy in found.items()]
    for beta in config.all_betas:
        own = {"width": _unchanged_radius(config), "bias": "none"} if beta == "unchanged" else {"bias": beta}
        forward: dict[str, Any] = {**known, "width": config.width, **own, "estimator": "forward"}
        players.append(Player(DLinUCB(config.gamma, config.lam, **forward), {"policy": "D-LinUCB^f", "beta": beta}))
    return players


def _unchanged_radius(config: ChangingConfig) -> CompiledFunction:
    """The whole β of D-LinUCB, √λ S included, as the width of a policy without a bias of its own."""
    bound, square, uniform = float(config.theta_bound), LONGEST**2, config.width == "uniform"

    @width_function
    def unchanged(gain: float, rounds: float, dimension: float, lam: float, sigma: float, delta: float) -> float:
        if uniform:  # `rounds` is Σ γ^2s
            gain = dimension * math.log(1.0 + rounds * square / (lam * dimension))
        return math.sqrt(lam) * bound + sigma * math.sqrt(gain - 2.0 * math.log(delta))

    return unchanged


class ChangingWorld(Figure[ChangingConfig]):
    """What both have in common: the policies, the pieces, the claims and the picture."""

    Config: type[ChangingConfig] = ChangingConfig
    quick_settings: ClassVar[Mapping[str, Any]] = {"repeats": 10, "undecided_times": 1}
    computing_modules = (bandit_games, repeat_frame)
    better: ClassVar[str]  # the policy that the paper says is the better one here,
    worse: ClassVar[str]  # and the one that it is compared with,
    changes: ClassVar[str]  # for such changes

    @abstractmethod
    def make_world(self, config: ChangingConfig) -> LinearWorld:
        """Arms, the path of θ*, and noise."""

    def remarks(self, config: ChangingConfig) -> list[str]:
        """What is derived from the settings, and what was changed."""
        widths = (
            "All policies have widths of one kind, uniform, as in the code of Russac et al.: SW-LinUCB's is the one of "
            "Cheung et al., d log((1 + τ/λ)/δ)."
            if config.width == "uniform"
            else "All policies have the width by the determinant of their own design."
        )
        derived = (
            f"γ = {config.gamma:.5f} and τ = {config.window}, from B_T = {config.variation:.5g}. {widths} dLinUCB has "
            f"δ₂ = 0.01 and δ̃ = 0.002. The paper does not print β of D-LinUCB^f: here it has {BETAS[config.beta]}."
        )
        return [derived, *super().remarks(config)]

    def groups(self, config: ChangingConfig) -> Mapping[str, int]:
        """One: all policies meet in every repeat."""
        return {"repeats": config.repeats}

    def cut(self, config: ChangingConfig, group: str, start: int, stop: int) -> Sequence[Piece]:
        """Ten repeats at a time."""
        return split_repeats(group, start, stop, 10)

    def compute(self, config: ChangingConfig, piece: Piece) -> pl.DataFrame:
        """All policies in some repeats."""
        world = self.make_world(config)
        rounds = spaced_rounds(config.horizon, config.kept, log=False)
        players = make_players(config, world.theta.change_points)
        return play_piece(players, world, config.horizon, config.seed, piece, rounds)

    def claims(self, config: ChangingConfig, frame: pl.DataFrame) -> Sequence[Claim]:
        """On par with its forward form, and which policy is better suited to such changes."""
        names = {beta: BETAS[beta] for beta in config.all_betas}
        return [
            changing_claims.decide_on_par(names, frame),
            changing_claims.decide_better_suited(self.better, self.worse, self.changes, frame),
        ]

    def draw(self, config: ChangingConfig, frame: pl.DataFrame) -> Sequence[Drawing]:
        """Regret over rounds, and how that of D-LinUCB^f hangs on its β."""
        points = self.make_world(config).theta.change_points
        what = (
            f"d = {config.d}, {config.n_arms} fresh arms a round, σ = {config.sigma:g}, λ = {config.lam:g}, "
            f"δ = {config.delta:g}, γ = {config.gamma:.5f}, τ = {config.window}."
        )
        return [
            changing_drawings.draw_regret(self.name, self.title, frame, config.beta, points, what),
            changing_drawings.draw_betas(self.name, frame, {beta: BETAS[beta] for beta in config.all_betas}),
        ]
