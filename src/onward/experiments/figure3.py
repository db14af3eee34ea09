"""Figure 3: OFUL and OFUL^f on a linear bandit of 100 dimensions with hardly any regularisation.

The paper does not say whether its ten arms are drawn once or anew each round, nor how long they are, nor which index
was played. So all of it is run: {fixed, fresh} arms × {norm 200, norm uniform in [0, 200]} × {full index, S-term
dropped, index as printed}. OFUL's own index is not printed wrongly; beside OFUL^f's printed one it has the uniform
width, as the paper has it.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from onward import bounds
from onward.bandits import OFUL
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary, UniformNormArms
from onward.bandits.policy import Bias, Policy
from onward.core.checks import positive, probability
from onward.experiments.bandit_games import batches, kept_rounds, names, of, regrets, rounds_of
from onward.experiments.base import Claim, Drawing, Line, Panel, Piece, Verdict
from onward.experiments.statistics import ratio
from onward.experiments.style import COLORS, blank, draw_line, dress, legend_of

NAME = "figure3"
TITLE = "Figure 3: a linear bandit with 10 arms in 100 dimensions, λ = 1/T"

ARMS = {"fixed": "arms drawn once", "fresh": "arms drawn anew each round"}
NORMS = {"200": "all of norm 200", "uniform": "norms uniform in [0, 200]"}
INDICES = {"full": "full index", "no-bias": "S-term dropped", "printed": "index as printed"}
FORWARD_BIAS: dict[str, Bias] = {"full": "tight", "no-bias": "none", "printed": "paper"}
MUCH = 1.25  # "much worse": a regret so many times the other's
ROBUST = 2.0  # "much more robust": the other's regret so many times as large


@dataclass(frozen=True)
class Config:
    """Settings; those that the paper gives are its own."""

    seed: int = 0
    repeats: int = 100
    fresh_repeats: int = 50  # with arms drawn anew each round a repeat costs ten times as much
    horizon: int = 100_000
    d: int = 100
    n_arms: int = 10
    norm: float = 200.0
    variance: float = 0.1  # of the noise
    lam: float = 1e-5
    delta: float = 1e-3
    theta_bound: float = 1.0
    kept: int = 60  # rounds that are kept, spread by ratios

    def __post_init__(self) -> None:
        for name in ("norm", "variance", "lam", "theta_bound"):
            positive(name, getattr(self, name))
        probability("delta", self.delta)


def pieces(config: Config) -> Sequence[Piece]:
    """Ten repeats of fixed arms at a time, two of fresh ones."""
    found = []
    for arms, norm in itertools.product(ARMS, NORMS):
        repeats, size = (config.fresh_repeats, 1) if arms == "fresh" else (config.repeats, 10)
        found += [
            Piece(f"{arms}-{norm}-{first:04d}", {"arms": arms, "norm": norm, "first": first, "count": count})
            for first, count in batches(min(repeats, config.repeats), size)
        ]
    return found


def policies(config: Config) -> dict[str, Policy]:
    """OFUL and OFUL^f with each index; all of them meet the same arms and noise."""
    found: dict[str, Policy] = {}
    known: dict[str, Any] = {"sigma": config.variance**0.5, "theta_bound": config.theta_bound, "delta": config.delta}
    for index in INDICES:
        ridge = OFUL(
            config.lam,
            **known,
            estimator="ridge",
            width="uniform" if index == "printed" else "determinant",
            bias="none" if index == "no-bias" else "tight",
        )
        forward = OFUL(
            config.lam,
            **known,
            estimator="forward",
            width="printed" if index == "printed" else "determinant",
            bias=FORWARD_BIAS[index],
        )
        found |= {f"OFUL {index}": ridge, f"OFUL^f {index}": forward}
    return found


def world(config: Config, arms: str, norm: str) -> LinearWorld:
    """Arms, θ* from the unit ball, Gaussian noise."""
    kind = SphereArms if norm == "200" else UniformNormArms
    offered = kind(config.n_arms, config.d, radius=config.norm, fresh=arms == "fresh")
    return LinearWorld(offered, Stationary.random(config.d, law="ball"), Gaussian(config.variance**0.5))


def compute(config: Config, piece: Piece) -> pl.DataFrame:
    """All policies in some repeats of one world."""
    about = piece.about
    keep = kept_rounds(config.horizon, config.kept, log=True)
    where = world(config, about["arms"], about["norm"])
    frame = regrets(
        policies(config),
        where,
        config.horizon,
        about["first"],
        about["count"],
        config.seed,
        keep,
        arms=about["arms"],
        norm=about["norm"],
    )
    parts = pl.col("policy").str.split(" ")
    return frame.with_columns(policy=parts.list.first(), index=parts.list.last())


def claims(config: Config, frame: pl.DataFrame) -> Sequence[Claim]:
    """OFUL^f is never much worse than OFUL; it is much more robust at this λ."""
    ratios = {}
    for arms, norm, index in itertools.product(ARMS, NORMS, INDICES):
        labels = {"arms": arms, "norm": norm, "index": index}
        pair = [of(frame, policy, **labels) for policy in ("OFUL^f", "OFUL")]
        if all(len(values) for values in pair):
            ratios[arms, norm, index] = ratio(pair[0][:, -1], pair[1][:, -1])
    numbers = {" ".join(key): estimate.record() for key, estimate in ratios.items()}
    worse = [key for key, estimate in ratios.items() if estimate.lower > MUCH]
    safe = [key for key, estimate in ratios.items() if estimate.upper < MUCH]
    better = [key for key, estimate in ratios.items() if estimate.upper < 1 / ROBUST]
    listing = "; ".join(f"{_said(key)}: {estimate}" for key, estimate in ratios.items())
    return [
        Claim(
            "never-much-worse",
            "OFUL^f is generally as good as OFUL, never much worse.",
            _verdict(len(safe), len(ratios)) if not worse else ("partly" if safe else "not supported"),
            f"Regret of OFUL^f over OFUL's at the end (99% intervals): {listing}.",
            f"The ratio of mean regrets, paired over repeats: supported if its 99% interval lies below {MUCH} in every "
            f"variant, not supported if in none, partly otherwise.",
            _where(safe, len(ratios)),
            numbers,
        ),
        Claim(
            "more-robust",
            "At λ = 1/T, OFUL suffers substantial regret and OFUL^f is significantly more robust.",
            _verdict(len(better), len(ratios)),
            f"OFUL^f's regret is less than 1/{ROBUST:g} of OFUL's in {len(better)} of {len(ratios)} variants: "
            f"{names([_said(key) for key in better])}.",
            f"Supported if the 99% interval of the ratio lies below 1/{ROBUST:g} in every variant, partly if in some.",
            _where(better, len(ratios)),
            numbers,
        ),
    ]


def _said(key: tuple[str, str, str]) -> str:
    arms, norm, index = key
    return f"{arms}, {'norm 200' if norm == '200' else 'U[0, 200]'}, {INDICES[index]}"


def _verdict(count: int, of_all: int) -> Verdict:
    return "supported" if count == of_all else "partly" if count else "not supported"


def _where(held: Sequence[tuple[str, str, str]], everything: int) -> str:
    if len(held) == everything:
        return "in every variant tried"
    return "; ".join(map(_said, held)) if held else "in no variant tried"


def draw(config: Config, frame: pl.DataFrame) -> Sequence[Drawing]:
    """A panel for each variant of arms and index, and the ratio of the regrets over all variants."""
    return [_curves(config, frame, arms) for arms in ARMS if (frame["arms"] == arms).any()]


def _curves(config: Config, frame: pl.DataFrame, arms: str) -> Drawing:
    figure, all_axes = blank(len(NORMS), len(INDICES), (9.5, 6.2))
    rounds = rounds_of(frame)
    known: dict[str, Any] = {"theta_bound": config.theta_bound, "sigma": config.variance**0.5, "delta": config.delta}
    constants: dict[str, Any] = {"d": config.d, "lam": config.lam, "feature_bound": config.norm}
    limits = {
        "OFUL": np.asarray(bounds.oful_regret(rounds, **constants, **known)),
        "OFUL^f": np.asarray(bounds.oful_forward_regret(rounds, **constants, **known)),
    }
    panels, repeats = [], 0
    for axes, (norm, index) in zip(all_axes, itertools.product(NORMS, INDICES), strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        lines = []
        for policy, color in (("OFUL", COLORS["ridge"]), ("OFUL^f", COLORS["forward"])):
            regret = of(frame, policy, arms=arms, norm=norm, index=index)
            repeats = len(regret)
            low, high = np.quantile(regret, [0.25, 0.75], axis=0)
            lines.append(Line(policy, rounds.astype(float), regret.mean(axis=0), low, high))
            draw_line(axes, lines[-1], color)
            if index == "full":  # the only one of the three that it bounds
                lines.append(Line(f"bound for {policy}", rounds.astype(float), limits[policy]))
                draw_line(axes, lines[-1], color, ":", 1.0)
        panels.append(Panel(axes, lines))
        title = f"{INDICES[index]}, {'norm 200' if norm == '200' else 'norm U[0, 200]'}"
        dress(axes, title=title, xlabel="round", ylabel="cumulative regret")
    lowest = min(float(line.y[line.y > 0].min()) for panel in panels for line in panel.lines if (line.y > 0).any())
    highest = max(float(line.y.max()) for panel in panels for line in panel.lines)
    for axes in all_axes:
        axes.set_ylim(lowest / 2, highest * 2)
    legend_of(figure, *all_axes[0].get_legend_handles_labels())
    return Drawing(
        f"{NAME}-{arms}",
        f"{TITLE}; {ARMS[arms]}",
        figure,
        f"Cumulative pseudo-regret, mean of {repeats} repeats, shaded from the first to the third quartile. Both axes "
        "are logarithmic (the paper's only upwards), so that the first rounds can be seen, which decide. "
        f"{ARMS[arms].capitalize()}. d = {config.d}, {config.n_arms} arms, λ = {config.lam:g}, "
        f"δ = {config.delta:g}, noise variance {config.variance:g}. Dotted: the corrected bounds of Theorem 4.1, which "
        "hold for the full index only. No regret is larger than 2XST; in this setting the bounds are.",
        f"Line charts of the regret of OFUL and OFUL^f over rounds, for three indices and two laws of the arms' norms; "
        f"{ARMS[arms]}.",
        panels,
    )
