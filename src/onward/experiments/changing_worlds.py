"""What figures 4a and 4b share: policies for worlds that change, with the settings of Russac et al. (2019)."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from onward.bandits import OFUL, DetectingLinUCB, DLinUCB, OracleRestart, SWLinUCB
from onward.bandits.environments import LinearWorld
from onward.bandits.policy import Policy
from onward.core.checks import positive, probability, whole
from onward.experiments import bandit_games, repeat_frame
from onward.experiments.bandit_games import Player, kept_rounds, play_piece, regret_matrix, spaced_rounds
from onward.experiments.claims import Claim, Finding, Regime, decide
from onward.experiments.estimates import mean, ratio
from onward.experiments.figure import Figure, Piece, Settings
from onward.experiments.repeat_frame import split_repeats
from onward.experiments.repeat_lines import mean_line, standard_deviation, standard_error
from onward.pages.drawing import Drawing, Panel
from onward.pages.style import COLORS, add_figure_legend, draw_line, make_figure, style_axes

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
class ChangingConfig(Settings):
    """Settings; those that the paper gives are its own."""

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


def make_policies(config: ChangingConfig, change_points: Sequence[int]) -> dict[str, Policy]:
    """Those of the figure. The oracle is told the change points; without any it is LinUCB."""
    known: dict[str, Any] = {"sigma": config.sigma, "theta_bound": config.theta_bound, "delta": config.delta}
    known |= {"radius": "sum", "bias": "tight"}
    # β as printed: no arm is longer than 1.
    forgetting: dict[str, Any] = {**known, "width": "uniform", "action_bound": 1.0}
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


class ChangingWorld(Figure[ChangingConfig]):
    """What both have in common: the policies, the pieces, the claims and the picture."""

    Config: type[ChangingConfig] = ChangingConfig
    quick_settings: ClassVar[Mapping[str, Any]] = {"repeats": 10}
    computing_modules = (bandit_games, repeat_frame)
    better: ClassVar[str]  # the policy that the paper says is the better one here,
    worse: ClassVar[str]  # and the one that it is compared with,
    changes: ClassVar[str]  # for such changes

    @abstractmethod
    def make_world(self, config: ChangingConfig) -> LinearWorld:
        """Arms, the path of θ*, and noise."""

    def remarks(self, config: ChangingConfig) -> list[str]:
        """What is derived from the settings, and what was changed."""
        derived = (
            f"γ = {config.gamma:.5f} and τ = {config.window}, from B_T = {config.variation:.5g}. D-LinUCB and "
            "SW-LinUCB have the widths that their authors print (uniform), LinUCB, LinUCB-OR and dLinUCB the "
            "determinant's; dLinUCB has δ₂ = 0.01 and δ̃ = 0.002."
        )
        return [derived, *super().remarks(config)]

    def pieces(self, config: ChangingConfig) -> Sequence[Piece]:
        """Ten repeats at a time."""
        return split_repeats("repeats", config.repeats, 10)

    def compute(self, config: ChangingConfig, piece: Piece) -> pl.DataFrame:
        """All policies in some repeats."""
        world = self.make_world(config)
        rounds = spaced_rounds(config.horizon, config.kept, log=False)
        policies = make_policies(config, world.theta.change_points)
        players = [Player(policy, {"policy": name}) for name, policy in policies.items()]
        return play_piece(players, world, config.horizon, config.seed, piece, rounds)

    def claims(self, config: ChangingConfig, frame: pl.DataFrame) -> Sequence[Claim]:
        """On par with its forward form, and which policy is better suited to such changes."""
        return [self._forward_on_par(frame), self._better_suited(frame)]

    def draw(self, config: ChangingConfig, frame: pl.DataFrame) -> Sequence[Drawing]:
        """Regret over rounds."""
        figure, (axes,) = make_figure(1, 1, (9.0, 4.4))
        rounds, lines = kept_rounds(frame).astype(float), []
        repeats = 0
        for policy, color in LINES.items():
            if not (frame["policy"] == policy).any():
                continue
            regret = regret_matrix(frame, policy=policy)
            repeats, error = len(regret), standard_error(regret)
            lines.append(mean_line(policy, rounds, regret, standard_deviation(regret)))
            draw_line(axes, lines[-1], color, "--" if policy == "D-LinUCB^f" else "-")
            axes.fill_between(rounds, lines[-1].y - error, lines[-1].y + error, color=color, alpha=0.35, linewidth=0)
        points = self.make_world(config).theta.change_points
        for point in points:
            axes.axvline(point, color="0.5", linewidth=0.8, linestyle=":")
        axes.set(xlim=(0, config.horizon), ylim=(0, None))
        what = self.title.partition(": ")[2]
        title = f"{what[0].upper()}{what[1:]}: mean ± 1 standard deviation over {repeats} repeats"
        style_axes(axes, title=title, xlabel="round", ylabel="cumulative regret")
        add_figure_legend(figure, *axes.get_legend_handles_labels())
        changes = f" Dotted: θ* changes after rounds {', '.join(map(str, points))}." if points else ""
        return [
            Drawing(
                self.name,
                self.title,
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

    def _forward_on_par(self, frame: pl.DataFrame) -> Claim:
        forward, ridge = (regret_matrix(frame, policy=policy)[:, -1] for policy in ("D-LinUCB^f", "D-LinUCB"))
        found = ratio(forward, ridge)
        inside = found.lower > 1 - PAR and found.upper < 1 + PAR
        near = found.upper >= 1 - PAR and found.lower <= 1 + PAR and found.upper - found.lower < 2 * PAR
        who = "loses more" if found.lower > 1 else "loses less" if found.upper < 1 else "is neither ahead nor behind"
        return Claim(
            id="forward-on-par",
            statement="D-LinUCB^f compares on par with D-LinUCB.",
            rule=(
                f"Ratio of mean regrets, paired over repeats: supported if its 99% interval lies within 1 ± {PAR:g}; "
                "partly if it reaches into that range and is narrower than it; otherwise, too few repeats to tell "
                "included, not supported."
            ),
            verdict=decide(inside, near),
            numbers={"ratio": found},
            findings=[Finding("regret of D-LinUCB^f over D-LinUCB's at the end", found, headline=True)],
            regimes=[Regime(["this setting"] if inside else [], ["this setting"])],
            comments=[f"D-LinUCB^f {who}."],
        )

    def _better_suited(self, frame: pl.DataFrame) -> Claim:
        a, b = (regret_matrix(frame, policy=policy)[:, -1] for policy in (self.better, self.worse))
        gap, found = mean(a - b), ratio(a, b)
        holds = gap.upper < 0
        return Claim(
            id=f"{self.better}-better".lower(),
            statement=f"{self.better} is better suited to {self.changes} changes than {self.worse}.",
            rule=(
                f"Paired difference {self.better} − {self.worse} over repeats: supported if its 99% interval is below "
                "0, otherwise not supported."
            ),
            verdict=decide(holds, False),
            numbers={"difference": gap, "ratio": found},
            findings=[
                Finding(f"regret at the end of {self.better}", round(float(a.mean()))),
                Finding(f"of {self.worse}", round(float(b.mean()))),
                Finding("difference", gap),
                Finding(f"ratio of {self.better}'s to {self.worse}'s", found, headline=True),
            ],
            regimes=[Regime(["this setting"] if holds else [], ["this setting"])],
        )
