"""The claims of figure 3: OFUL^f is never much worse, it loses far less at this λ, and it is more robust to λ."""

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from onward.core.types import Vector
from onward.experiments.bandit_games import regret_matrix
from onward.experiments.claims import DISTRUST, Claim, Finding, Regime
from onward.experiments.estimates import Estimate, log_contrast, ratio
from onward.experiments.figure3_settings import ARMS, NORMS, VARIANTS, Figure3Config, Variant
from onward.experiments.verdicts import Condition, Every, Rule, Side, Some

MUCH = 1.25  # "much worse": a regret so many times the other's
LESS = 2.0  # "substantial": the other's regret so many times as large
STEADIER = 1.5  # "more robust": a small λ costs so many times as much, against the best λ


def final_regret(frame: pl.DataFrame, part: str, policy: str, variant: Variant, lam: float) -> Vector:
    """Regret at the end, a number for each repeat."""
    return regret_matrix(frame, part=part, policy=policy, lam=lam, **asdict(variant))[:, -1]


def decide_claims(config: Figure3Config, frame: pl.DataFrame) -> Sequence[Claim]:
    """All of them, decided on the frame."""
    ratios, fewer = {}, {}
    for variant in VARIANTS:
        forward, ridge = (final_regret(frame, "curves", policy, variant, config.lam) for policy in ("OFUL^f", "OFUL"))
        ratios[variant] = ratio(forward, ridge)
        fewer[variant] = float(np.mean(forward < ridge))
    numbers: dict[str, Any] = {
        **{f"{config.describe(variant)}: regret over OFUL's": each for variant, each in ratios.items()},
        **{f"{config.describe(variant)}: share of repeats with less regret": each for variant, each in fewer.items()},
    }
    safe = _conditions(config, "curves", "regret over OFUL's", ratios, "below", MUCH)
    better = _conditions(config, "curves", "regret over OFUL's", ratios, "below", 1 / LESS)
    worse = [variant for variant, condition in safe.items() if condition.holds is False]
    least, most = (pick(ratios, key=lambda variant: ratios[variant].value) for pick in (min, max))
    return [
        Claim(
            id="never-much-worse",
            statement="OFUL^f is generally as good as OFUL, never much worse.",
            rule=Rule(
                f"Ratio of mean regrets over paired repeats: supported if its 99% interval lies below {MUCH:g} in "
                f"every variant, not supported if in none, partly otherwise. {DISTRUST}",
                Every(list(safe.values())),
                Some(list(safe.values())),
            ),
            numbers=numbers,
            findings=[
                Finding(
                    f"mean regret over OFUL's at λ = {config.lam:g} after {config.horizon:,} rounds, the least",
                    ratios[least],
                    note=config.describe(least),
                    headline=True,
                ),
                Finding("the most", ratios[most], note=config.describe(most), headline=True),
                Finding(f"variants in which it is surely more than {MUCH:g}", len(worse)),
                Finding("variants tried", len(ratios)),
            ],
            regimes=[_regime(config, safe)],
            comments=[f"Over the three indices it is {_ranges(config, ratios)}."],
        ),
        Claim(
            id="less-regret",
            statement=f"With λ = {config.lam:g}, OFUL incurs substantial regret, and OFUL^f much less.",
            rule=Rule(
                f"The same ratio: supported if its 99% interval lies below 1/{LESS:g} in every variant, partly if in "
                f"some. {DISTRUST}",
                Every(list(better.values())),
                Some(list(better.values())),
            ),
            numbers=numbers,
            findings=[
                Finding(
                    f"variants in which OFUL^f's regret is below 1/{LESS:g} of OFUL's",
                    sum(each.holds is True for each in better.values()),
                    headline=True,
                ),
                Finding("variants tried", len(ratios), headline=True),
            ],
            regimes=[_regime(config, better)],
        ),
        _more_robust(config, frame),
    ]


def costs_of_small_lam(
    config: Figure3Config, frame: pl.DataFrame, variant: Variant
) -> tuple[Estimate, Estimate, Estimate]:
    """What the smallest λ costs against the best one: for OFUL, for OFUL^f, and the first over the second."""
    columns = []
    for policy in ("OFUL", "OFUL^f"):
        each = [final_regret(frame, "map", policy, variant, lam) for lam in sorted(config.map_lams)]
        columns += [each[0], min(each, key=lambda values: float(values.mean()))]
    table = np.column_stack(columns)
    return (
        log_contrast(table, (1.0, -1.0, 0.0, 0.0)).exp(),
        log_contrast(table, (0.0, 0.0, 1.0, -1.0)).exp(),
        log_contrast(table, (1.0, -1.0, -1.0, 1.0)).exp(),
    )


def _more_robust(config: Figure3Config, frame: pl.DataFrame) -> Claim:
    costs = {variant: costs_of_small_lam(config, frame, variant) for variant in VARIANTS}
    excess = {variant: each[2] for variant, each in costs.items()}
    steadier = _conditions(config, "map", "OFUL over OFUL^f", excess, "above", STEADIER)
    least, most = min(config.map_lams), max(config.map_lams)
    ridge, forward = (max((each[i] for each in costs.values()), key=lambda cost: cost.value) for i in (0, 1))
    what = f"regret at λ = {least:g} over that at the best of λ = {least:g} … {most:g}, {config.map_horizon:,} rounds"
    return Claim(
        id="more-robust",
        statement="OFUL^f is significantly more robust to λ than OFUL.",
        rule=Rule(
            f"Regret at λ = {least:g} over that at the best λ tried, OFUL's over OFUL^f's, paired over repeats: "
            f"supported if the 99% interval lies above {STEADIER:g} in every variant, partly if in some. {DISTRUST}",
            Every(list(steadier.values())),
            Some(list(steadier.values())),
        ),
        numbers={
            f"{config.describe(variant)}: {name}": estimate
            for variant, each in costs.items()
            for name, estimate in zip(("OFUL", "OFUL^f", "OFUL over OFUL^f"), each, strict=True)
        },
        findings=[
            Finding(f"{what}, OFUL in its worst variant", ridge, headline=True),
            Finding("OFUL^f in its own", forward, headline=True),
        ],
        regimes=[_regime(config, steadier)],
    )


def _ranges(config: Figure3Config, ratios: dict[Variant, Estimate]) -> str:
    """The range over the indices, for each kind of arms."""
    said = []
    for arms, norm in itertools.product(ARMS, NORMS):
        values = [ratios[each].value for each in VARIANTS if (each.arms, each.norm) == (arms, norm)]
        said.append(f"{min(values):.2g} to {max(values):,.3g} with {arms} arms of {config.describe_norm(norm)}")
    return "; ".join(said)


def _conditions(
    config: Figure3Config, part: str, name: str, estimates: dict[Variant, Estimate], side: Side, line: float
) -> dict[Variant, Condition]:
    """That an estimate lies on one side of a line, in each variant."""
    return {
        variant: Condition(
            f"{config.describe(variant)}: {name}", each, side, line, (f"{part}-{variant.arms}-{variant.norm}",)
        )
        for variant, each in estimates.items()
    }


def _regime(config: Figure3Config, conditions: dict[Variant, Condition]) -> Regime:
    return Regime.of({config.describe(variant): each for variant, each in conditions.items()})
