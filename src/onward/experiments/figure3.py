"""Figure 3: OFUL and OFUL^f on a linear bandit of many dimensions with hardly any regularisation.

The paper does not say whether its ten arms are drawn once or anew each round, nor how long they are, nor which index
was played. So all of it is run: {fixed, fresh} arms × {full norm, uniform norm} × {full index, S-term dropped, index as
printed}; and, for fewer rounds, over λ. OFUL's own index is not printed wrongly; beside OFUL^f's printed one it has the
uniform width, as the paper has it.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from onward.bandits import OFUL
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary, UniformNormArms
from onward.bandits.policy import Policy
from onward.bandits.rules import Bias
from onward.core.checks import positive, probability, whole
from onward.experiments.bandit_games import batches, kept_rounds, of, regrets
from onward.experiments.base import Claim, Piece, Verdict
from onward.experiments.figure3_drawings import draw_curves, draw_map
from onward.experiments.statistics import Estimate, log_contrast, ratio
from onward.pages.drawing import Drawing

NAME = "figure3"
TITLE = "Figure 3: OFUL and OFUL^f on a linear bandit, with hardly any regularisation"

ARMS = {"fixed": "arms drawn once", "fresh": "arms drawn anew each round"}
NORMS = ("full", "uniform")
INDICES = {"full": "full index", "no-bias": "S-term dropped", "printed": "index as printed"}
FORWARD_BIAS: dict[str, Bias] = {"full": "tight", "no-bias": "none", "printed": "paper"}
MUCH = 1.25  # "much worse": a regret so many times the other's
LESS = 2.0  # "substantial": the other's regret so many times as large
STEADIER = 1.5  # "more robust": a small λ costs so many times as much, against the best λ

Variant = tuple[str, str, str]  # arms, norm, index


@dataclass(frozen=True)
class Config:
    """Settings; those that the paper gives are its own."""

    seed: int = 0
    repeats: int = 100
    fresh_repeats: int = 40  # with arms drawn anew each round a repeat costs several times as much
    horizon: int = 100_000
    d: int = 100
    n_arms: int = 10
    norm: float = 200.0
    variance: float = 0.1  # of the noise
    lam: float = 1e-5
    delta: float = 1e-3
    theta_bound: float = 1.0
    kept: int = 60  # rounds that are kept, spread by ratios
    map_lams: tuple[float, ...] = (1e-5, 1e-3, 0.1, 10.0, 1000.0)
    map_horizon: int = 2000
    map_repeats: int = 25

    def __post_init__(self) -> None:
        for name in ("repeats", "fresh_repeats", "horizon", "d", "n_arms", "kept", "map_horizon", "map_repeats"):
            whole(name, getattr(self, name))
        for name in ("norm", "variance", "lam", "theta_bound"):
            positive(name, getattr(self, name))
        for lam in self.map_lams:
            positive("each of map_lams", lam)
        if len(self.map_lams) < 2:
            raise ValueError(f"map_lams must hold at least two values of λ, got {self.map_lams}")
        probability("delta", self.delta)

    def said(self, norm: str) -> str:
        """The law of the arms' norms, in words."""
        return f"norm {self.norm:g}" if norm == "full" else f"norm U[0, {self.norm:g}]"


def pieces(config: Config) -> Sequence[Piece]:
    """Ten repeats of fixed arms at a time, one of fresh ones; and the map, five repeats at a time."""
    found = []
    for arms, norm in itertools.product(ARMS, NORMS):
        repeats, size = (config.fresh_repeats, 1) if arms == "fresh" else (config.repeats, 10)
        for part, total, each in (("curves", repeats, size), ("map", config.map_repeats, 5)):
            about = {"part": part, "arms": arms, "norm": norm}
            found += [
                Piece(f"{part}-{arms}-{norm}-{first:04d}", {**about, "first": first, "count": count})
                for first, count in batches(total, each)
            ]
    return found


def policies(config: Config, lam: float) -> dict[str, Policy]:
    """OFUL and OFUL^f with each index; all of them meet the same arms and noise."""
    found: dict[str, Policy] = {}
    known: dict[str, Any] = {
        "sigma": config.variance**0.5,
        "theta_bound": config.theta_bound,
        "delta": config.delta,
    }
    for index in INDICES:
        ridge = OFUL(
            lam,
            **known,
            estimator="ridge",
            width="uniform" if index == "printed" else "determinant",
            bias="none" if index == "no-bias" else "tight",
        )
        forward = OFUL(
            lam,
            **known,
            estimator="forward",
            width="printed" if index == "printed" else "determinant",
            bias=FORWARD_BIAS[index],
        )
        found |= {f"OFUL {index} {lam!r}": ridge, f"OFUL^f {index} {lam!r}": forward}
    return found


def world(config: Config, arms: str, norm: str) -> LinearWorld:
    """Arms, θ* from the unit ball, Gaussian noise."""
    kind = SphereArms if norm == "full" else UniformNormArms
    offered = kind(config.n_arms, config.d, radius=config.norm, fresh=arms == "fresh")
    return LinearWorld(offered, Stationary.random(config.d, law="ball"), Gaussian(config.variance**0.5))


def compute(config: Config, piece: Piece) -> pl.DataFrame:
    """All policies in some repeats of one world."""
    about = piece.about
    curves = about["part"] == "curves"
    horizon = config.horizon if curves else config.map_horizon
    keep = kept_rounds(horizon, config.kept, log=True) if curves else np.array([horizon])
    players: dict[str, Policy] = {}
    for lam in (config.lam,) if curves else config.map_lams:
        players |= policies(config, lam)
    labels = {name: about[name] for name in ("part", "arms", "norm")}
    where = world(config, about["arms"], about["norm"])
    frame = regrets(players, where, horizon, about["first"], about["count"], config.seed, keep, **labels)
    parts = pl.col("policy").str.split(" ").list
    return frame.with_columns(policy=parts.get(0), index=parts.get(1), lam=parts.get(2).cast(pl.Float64))


def variants() -> list[Variant]:
    """All twelve."""
    return list(itertools.product(ARMS, NORMS, INDICES))


def final(frame: pl.DataFrame, part: str, policy: str, variant: Variant, lam: float) -> Any:
    """Regret at the end, a number for each repeat."""
    arms, norm, index = variant
    return of(frame.filter(pl.col("lam") == lam), policy, part=part, arms=arms, norm=norm, index=index)[:, -1]


def claims(config: Config, frame: pl.DataFrame) -> Sequence[Claim]:
    """OFUL^f is never much worse; it loses far less at this λ; it is more robust to λ."""
    ratios, fewer = {}, {}
    for variant in variants():
        forward, ridge = (final(frame, "curves", policy, variant, config.lam) for policy in ("OFUL^f", "OFUL"))
        ratios[variant] = ratio(forward, ridge)
        fewer[variant] = float(np.mean(forward < ridge))
    numbers: dict[str, Any] = {
        f"{_said(config, variant)}: regret over OFUL's": estimate.record() for variant, estimate in ratios.items()
    }
    numbers |= {
        f"{_said(config, variant)}: share of repeats with less regret": share for variant, share in fewer.items()
    }
    worse = [variant for variant, estimate in ratios.items() if estimate.lower > MUCH]
    safe = [variant for variant, estimate in ratios.items() if estimate.upper < MUCH]
    better = [variant for variant, estimate in ratios.items() if estimate.upper < 1 / LESS]
    extremes = sorted(estimate.value for estimate in ratios.values())
    short = f"{extremes[0]:.2g} to {extremes[-1]:,.0f} times OFUL's regret, by variant"
    at = f"At λ = {config.lam:g}, after {config.horizon:,} rounds"
    return [
        Claim(
            "never-much-worse",
            "OFUL^f is generally as good as OFUL, never much worse.",
            _verdict(len(safe), len(ratios)),
            f"{at}, OFUL^f's mean regret over OFUL's is {_by_world(config, ratios)} (over the three indices; 99% "
            f"intervals are among the numbers). It is more than {MUCH:g} times OFUL's in {len(worse)} of "
            f"{len(ratios)} variants.",
            f"Ratio of mean regrets over paired repeats: supported if its 99% interval lies below {MUCH:g} in every "
            "variant, not supported if in none, partly otherwise.",
            _where(config, safe),
            numbers,
            short=short,
        ),
        Claim(
            "less-regret",
            f"With λ = {config.lam:g}, OFUL incurs substantial regret, and OFUL^f much less.",
            _verdict(len(better), len(ratios)),
            f"{at}, OFUL^f's regret is below 1/{LESS:g} of OFUL's in {len(better)} of {len(ratios)} variants"
            + (f": {_where(config, better)}." if better else "."),
            f"The same ratio: supported if its 99% interval lies below 1/{LESS:g} in every variant, partly if in some.",
            _where(config, better),
            numbers,
            short=f"less than 1/{LESS:g} in {len(better)} of {len(ratios)} variants",
        ),
        _more_robust(config, frame),
    ]


def fragility(config: Config, frame: pl.DataFrame, variant: Variant) -> tuple[Estimate, Estimate, Estimate]:
    """What the smallest λ costs against the best one: for OFUL, for OFUL^f, and the first over the second."""
    columns = []
    for policy in ("OFUL", "OFUL^f"):
        each = [final(frame, "map", policy, variant, lam) for lam in sorted(config.map_lams)]
        columns += [each[0], min(each, key=lambda values: float(values.mean()))]
    table = np.column_stack(columns)
    return (
        log_contrast(table, (1.0, -1.0, 0.0, 0.0)).exp(),
        log_contrast(table, (0.0, 0.0, 1.0, -1.0)).exp(),
        log_contrast(table, (1.0, -1.0, -1.0, 1.0)).exp(),
    )


def _more_robust(config: Config, frame: pl.DataFrame) -> Claim:
    found = {variant: fragility(config, frame, variant) for variant in variants()}
    held = [variant for variant, (_, _, excess) in found.items() if excess.lower > STEADIER]
    least, most = min(config.map_lams), max(config.map_lams)
    ridge, forward = ([each[i].value for each in found.values()] for i in (0, 1))
    return Claim(
        "more-robust",
        "OFUL^f is significantly more robust to λ than OFUL.",
        _verdict(len(held), len(found)),
        f"Over λ = {least:g} … {most:g} and {config.map_horizon:,} rounds, the smallest λ costs OFUL {min(ridge):.2f} "
        f"to {max(ridge):.2f} times the regret of its best λ, and OFUL^f {min(forward):.2f} to {max(forward):.2f} "
        "times, "
        f"depending on the variant.",
        f"Regret at λ = {least:g} over that at the best λ tried, OFUL's over OFUL^f's, paired over repeats: supported "
        f"if the 99% interval lies above {STEADIER:g} in every variant, partly if in some.",
        _where(config, held),
        {
            f"{_said(config, variant)}: {what}": estimate.record()
            for variant, each in found.items()
            for what, estimate in zip(("OFUL", "OFUL^f", "OFUL over OFUL^f"), each, strict=True)
        },
        short=f"λ = {least:g} costs OFUL up to {max(ridge):.2g}, OFUL^f up to {max(forward):.2g} times its best",
    )


def _by_world(config: Config, ratios: dict[Variant, Estimate]) -> str:
    """The range over the indices, for each kind of arms."""
    said = []
    for arms, norm in itertools.product(ARMS, NORMS):
        values = [estimate.value for (a, n, _), estimate in ratios.items() if (a, n) == (arms, norm)]
        said.append(f"{min(values):.2g} to {max(values):,.3g} with {arms} arms of {config.said(norm)}")
    return "; ".join(said)


def _said(config: Config, variant: Variant) -> str:
    arms, norm, index = variant
    return f"{arms} arms, {config.said(norm)}, {INDICES[index]}"


def _verdict(count: int, of_all: int) -> Verdict:
    return "supported" if count == of_all else "partly" if count else "not supported"


def _where(config: Config, held: Sequence[Variant]) -> str:
    if len(held) == len(variants()):
        return "in every variant tried"
    return "; ".join(_said(config, variant) for variant in held) if held else "in no variant tried"


def draw(config: Config, frame: pl.DataFrame) -> Sequence[Drawing]:
    """Curves with the paper's axes, the same with the first rounds spread out, and the map over λ."""
    curves = frame.filter(part="curves")
    found = [draw_curves(config, curves, arms, log) for arms in ARMS for log in (False, True)]
    return [*found, draw_map(config, frame.filter(part="map"))]
