"""What figures 4a and 4b share: policies for worlds that change, with the settings of Russac et al. (2019)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from onward.bandits import OFUL, DetectingLinUCB, DLinUCB, OracleRestart, SWLinUCB
from onward.bandits.environments import LinearWorld
from onward.bandits.policy import Policy
from onward.core.checks import positive, probability, whole
from onward.experiments.bandit_games import batches, kept_rounds, of, regrets, rounds_of
from onward.experiments.base import Claim, Piece
from onward.experiments.statistics import mean, ratio
from onward.pages.drawing import Drawing, Line, Panel
from onward.pages.style import COLORS, blank, draw_line, dress, legend_of

LINES = {
    "D-LinUCB": COLORS["ridge"],
    "D-LinUCB^f": COLORS["forward"],
    "SW-LinUCB": "#3d8b5f",
    "LinUCB": "#8a6d9c",
    "LinUCB-OR": "#b08d00",
    "dLinUCB": "#5f6b73",
}
PAR = 0.1  # "on par": regrets within this share of each other


@dataclass(frozen=True)
class Settings:
    """Settings; those that the paper gives are its own."""

    seed: int = 0
    repeats: int = 100
    horizon: int = 6000
    d: int = 2
    n_arms: int = 50
    sigma: float = 1.0
    delta: float = 0.01
    lam: float = 0.1
    theta_bound: float = 1.0
    variation: float = 4 + 2**0.5  # B_T
    detection_window: int = 200
    kept: int = 120  # rounds that are kept, evenly spread

    def __post_init__(self) -> None:
        for name in ("sigma", "lam", "theta_bound", "variation"):
            positive(name, getattr(self, name))
        probability("delta", self.delta)
        for name in ("repeats", "n_arms", "kept", "detection_window"):
            whole(name, getattr(self, name))
        whole("horizon", self.horizon, 12)
        whole("d", self.d, 2)
        if not self.variation < self.d * self.horizon:
            raise ValueError(f"variation must be below d·horizon = {self.d * self.horizon}, got {self.variation!r}")

    @property
    def gamma(self) -> float:
        """1 − (B_T/(dT))^(2/3)."""
        return 1.0 - math.pow(self.variation / (self.d * self.horizon), 2 / 3)

    @property
    def window(self) -> int:
        """(dT/B_T)^(2/3), τ."""
        return max(1, int((self.d * self.horizon / self.variation) ** (2 / 3)))


def policies(config: Settings, change_points: Sequence[int]) -> dict[str, Policy]:
    """Those of the figure. The oracle is told the change points; without any it is LinUCB."""
    known: dict[str, Any] = {"sigma": config.sigma, "theta_bound": config.theta_bound, "delta": config.delta}
    forgetting: dict[str, Any] = {
        **known,
        "width": "uniform",
        "action_bound": 1.0,
    }  # β as printed: no arm is longer than 1
    found: dict[str, Policy] = {
        "D-LinUCB": DLinUCB(config.gamma, config.lam, estimator="ridge", **forgetting),
        "D-LinUCB^f": DLinUCB(config.gamma, config.lam, estimator="forward", **forgetting),
        "SW-LinUCB": SWLinUCB(config.window, config.lam, estimator="ridge", **forgetting),
        "LinUCB": OFUL(config.lam, estimator="ridge", **known),
        "dLinUCB": DetectingLinUCB(config.detection_window, config.lam, estimator="ridge", **known),
    }
    if change_points:
        found["LinUCB-OR"] = OracleRestart(change_points, config.lam, estimator="ridge", **known)
    return found


class ChangingWorld:
    """What both have in common: the policies, the pieces and the picture."""

    NAME = ""
    TITLE = ""

    def world(self, config: Settings) -> LinearWorld:
        """Arms, the path of θ*, and noise."""
        raise NotImplementedError

    def claims(self, config: Settings, frame: pl.DataFrame) -> Sequence[Claim]:
        """What the paper says."""
        raise NotImplementedError

    def pieces(self, config: Settings) -> Sequence[Piece]:
        """Ten repeats at a time."""
        return [Piece(f"{first:04d}", {"first": first, "count": count}) for first, count in batches(config.repeats, 10)]

    def compute(self, config: Settings, piece: Piece) -> pl.DataFrame:
        """All policies in some repeats."""
        world = self.world(config)
        keep = kept_rounds(config.horizon, config.kept, log=False)
        players = policies(config, world.theta.change_points)
        first, count = piece.about["first"], piece.about["count"]
        return regrets(players, world, config.horizon, first, count, config.seed, keep)

    def draw(self, config: Settings, frame: pl.DataFrame) -> Sequence[Drawing]:
        """Regret over rounds."""
        figure, (axes,) = blank(1, 1, (9.0, 4.4))
        rounds, lines = rounds_of(frame).astype(float), []
        repeats = 0
        for policy, color in LINES.items():
            if not (frame["policy"] == policy).any():
                continue
            regret = of(frame, policy)
            repeats = len(regret)
            middle, spread = regret.mean(axis=0), regret.std(axis=0, ddof=1) if repeats > 1 else 0 * regret[0]
            error = spread / np.sqrt(repeats)
            lines.append(Line(policy, rounds, middle, middle - spread, middle + spread))
            draw_line(axes, lines[-1], color, "--" if policy == "D-LinUCB^f" else "-")
            axes.fill_between(rounds, middle - error, middle + error, color=color, alpha=0.35, linewidth=0)
        points = self.world(config).theta.change_points
        for point in points:
            axes.axvline(point, color="0.5", linewidth=0.8, linestyle=":")
        axes.set(xlim=(0, config.horizon), ylim=(0, None))
        what = self.TITLE.partition(": ")[2]
        title = f"{what[0].upper()}{what[1:]}: mean ± 1 standard deviation over {repeats} repeats"
        dress(axes, title=title, xlabel="round", ylabel="cumulative regret")
        legend_of(figure, *axes.get_legend_handles_labels())
        changes = f" Dotted: θ* changes after rounds {', '.join(map(str, points))}." if points else ""
        return [
            Drawing(
                self.NAME,
                self.TITLE,
                figure,
                f"Cumulative pseudo-regret, mean of {repeats} repeats; shaded: one standard deviation, darker: one "
                f"standard error.{changes} d = {config.d}, {config.n_arms} fresh arms a round, σ = {config.sigma:g}, "
                f"λ = {config.lam:g}, δ = {config.delta:g}, γ = {config.gamma:.5f}, τ = {config.window}.",
                "Line chart of the regret over rounds of "
                + ", ".join(f"{line.label} ({line.y[-1]:.0f} at the end)" for line in lines)
                + ".",
                [Panel(axes, lines)],
            )
        ]


def on_par(figure: str, frame: pl.DataFrame) -> Claim:
    """D-LinUCB^f is on par with D-LinUCB."""
    found = ratio(of(frame, "D-LinUCB^f")[:, -1], of(frame, "D-LinUCB")[:, -1])
    inside = found.lower > 1 - PAR and found.upper < 1 + PAR
    near = found.upper >= 1 - PAR and found.lower <= 1 + PAR and found.upper - found.lower < 2 * PAR
    who = "D-LinUCB^f loses more" if found.lower > 1 else "neither is ahead"
    who = "D-LinUCB^f loses less" if found.upper < 1 else who
    return Claim(
        "forward-on-par",
        "D-LinUCB^f compares on par with D-LinUCB.",
        "supported" if inside else "partly" if near else "not supported",
        f"Regret of D-LinUCB^f over D-LinUCB's at the end: {found} (99% interval): {who}.",
        f"Ratio of mean regrets, paired over repeats: supported if its 99% interval lies within 1 ± {PAR:g}; "
        "partly if it "
        "reaches into that range and is narrower than it; otherwise, too few repeats to tell included, not supported.",
        f"the setting of {figure}" if inside else f"nearly; {who}" if near else "not here",
        {"ratio": found.record()},
        short=f"{found} of D-LinUCB's regret",
    )


def better(first: str, second: str, says: str, frame: pl.DataFrame) -> Claim:
    """The first policy loses less than the second."""
    a, b = of(frame, first)[:, -1], of(frame, second)[:, -1]
    gap, found = mean(a - b), ratio(a, b)
    holds = gap.upper < 0
    return Claim(
        f"{first}-better".lower(),
        says,
        "supported" if holds else "not supported",
        f"Regret at the end: {first} {a.mean():.0f}, {second} {b.mean():.0f}; difference {gap} and ratio {found} "
        "(99% intervals).",
        f"Paired difference {first} − {second} over repeats: supported if its 99% interval is below 0, otherwise "
        "not supported.",
        "this setting" if holds else "not here",
        {"difference": gap.record(), "ratio": found.record()},
        short=f"{found} of {second}'s regret",
    )
