"""The claims of figure 1: what becomes of the terms, and who ends better."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from onward.core.types import Matrix
from onward.experiments.claims import DISTRUST, Claim, Finding, Regime, list_values
from onward.experiments.estimates import Estimate, log_contrast, ratio
from onward.experiments.figure1_settings import Figure1Config
from onward.experiments.regression_problems import LEARNERS
from onward.experiments.repeat_frame import value_matrix
from onward.experiments.verdicts import Condition, Every, Rule, Side, within

VANISHED, SHRUNK = 0.01, 0.1  # of a term, what may be left at most
STEADY, STEADIER = 1 / 3, 10.0  # what must be left of a stable term; how many times less it falls than ridge's
CANCELLED = 0.9  # of forward's first terms, what its second must take off
GROUPS = ("repeats",)


@dataclass(frozen=True)
class Measured:
    """What is compared at one σ. A term's `left` is its mean in the last tenth over that in the first d rounds."""

    ridge_left: Estimate
    forward_left: Estimate
    ridge_falls_more: Estimate  # forward's over ridge's
    cancelled: Estimate  # forward's second over its first term, all rounds
    cancelled_late: Estimate  # in the last tenth
    loss_ratio: Estimate  # ridge's over forward's
    regret_ratio: Estimate  # to θ*
    penalized_ratio: Estimate  # of the regrets that the terms add up to

    @classmethod
    def at_noise(cls, config: Figure1Config, frame: pl.DataFrame, sigma: float) -> "Measured":
        """From the sums at σ."""
        sums = frame.filter((pl.col("part") == "sums") & (pl.col("sigma") == sigma))
        early, late, end = config.marks

        def sums_of(quantity: str, learner: str) -> Matrix:
            return value_matrix(sums, quantity=quantity, learner=learner)

        first, last = {}, {}
        for learner in LEARNERS:
            total = sums_of("first", learner)
            first[learner], last[learner] = total[:, 0] / early, (total[:, 2] - total[:, 1]) / (end - late)
        added, taken = sums_of("first", "forward"), sums_of("second", "forward")
        columns = np.column_stack([last["forward"], first["forward"], last["ridge"], first["ridge"]])
        less = log_contrast(columns, (1.0, -1.0, -1.0, 1.0))
        return cls(
            ridge_left=ratio(last["ridge"], first["ridge"]),
            forward_left=ratio(last["forward"], first["forward"]),
            ridge_falls_more=less.exp(),
            cancelled=ratio(taken[:, 2], added[:, 2]),
            cancelled_late=ratio(taken[:, 2] - taken[:, 1], added[:, 2] - added[:, 1]),
            loss_ratio=ratio(sums_of("loss", "ridge")[:, 2], sums_of("loss", "forward")[:, 2]),
            regret_ratio=ratio(sums_of("regret", "ridge")[:, 2], sums_of("regret", "forward")[:, 2]),
            penalized_ratio=ratio(sums_of("first", "ridge")[:, 2], added[:, 2] - taken[:, 2]),
        )


def decide_claims(config: Figure1Config, frame: pl.DataFrame) -> Sequence[Claim]:
    """All of them, decided on the frame."""
    measured = {sigma: Measured.at_noise(config, frame, sigma) for sigma in config.all_sigmas}
    return [
        _ridge_vanishes(config, measured, _left_soon(config, frame)),
        _forward_stable(config, measured),
        _cancelled(config, measured),
        _on_par(config, measured),
    ]


def _conditions(
    measured: dict[float, Measured], quantity: str, name: str, side: Side, line: float
) -> dict[float, Condition]:
    """That a quantity lies on one side of a line, at each σ."""
    return {
        sigma: Condition(f"{name} at σ={sigma:g}", getattr(each, quantity), side, line, GROUPS)
        for sigma, each in measured.items()
    }


def _ridge_vanishes(config: Figure1Config, measured: dict[float, Measured], soon: Estimate) -> Claim:
    here, noisiest = measured[config.sigma].ridge_left, config.all_sigmas[-1]
    most = measured[noisiest].ridge_left
    last = config.rounds - config.marks[1]
    vanished, shrunk = (_conditions(measured, "ridge_left", "left", "below", line) for line in (VANISHED, SHRUNK))
    return Claim(
        id="ridge-vanishes",
        statement="The first term of ridge's regret, (p − y)² h, vanishes quickly.",
        rule=Rule(
            f"Mean over the last tenth of the rounds, divided by that over the first d: supported if its interval lies "
            f"below {VANISHED:.0%} at σ = {config.sigma:g}, partly if below {SHRUNK:.0%}. {DISTRUST}",
            vanished[config.sigma],
            shrunk[config.sigma],
        ),
        numbers={
            **{f"left at σ={sigma:g}": m.ridge_left for sigma, m in measured.items()},
            f"left in rounds {_soon(config)} at σ={config.sigma:g}": soon,
        },
        findings=[
            Finding(f"left of it in the last {last} of {config.rounds} rounds", here, "percent", headline=True),
            Finding(f"in rounds {_soon(config)}", soon, "percent"),
            Finding(f"in the last {last} at σ = {noisiest:g}", most, "percent"),
        ],
        regimes=[Regime.of(vanished, "σ")],
        comments=["It cannot fall below σ²h, so the noisier, the more is left."] if most.value > here.value else [],
    )


def _soon(config: Figure1Config) -> str:
    return f"{2 * config.d + 1}–{min(4 * config.d, config.rounds)}"


def _left_soon(config: Figure1Config, frame: pl.DataFrame) -> Estimate:
    """Of ridge's first term: its mean over rounds 2d + 1 to 4d, over that of the first d."""
    terms = value_matrix(frame, part="terms", learner="ridge", quantity="first")
    return ratio(terms[:, 2 * config.d : 4 * config.d].mean(axis=1), terms[:, : config.d].mean(axis=1))


def _forward_stable(config: Figure1Config, measured: dict[float, Measured]) -> Claim:
    here = measured[config.sigma]
    left, times = here.forward_left, here.ridge_falls_more
    steady = _conditions(measured, "forward_left", "left", "above", STEADY)
    steadier = _conditions(measured, "ridge_falls_more", "times ridge's", "above", STEADIER)
    falls = "It falls, because the leverage h falls as d/t while y² stays."
    return Claim(
        id="forward-stable",
        statement="The first term of forward's regret, y² h, is quite stable.",
        rule=Rule(
            f"Mean over the last tenth of the rounds, divided by that over the first d: supported if its interval lies "
            f"above {STEADY:.0%} at σ = {config.sigma:g}; partly if it is more than {STEADIER:g} times ridge's. The "
            f"leverage h falls as d/t for any σ, so it can be supported only where y² grows. {DISTRUST}",
            steady[config.sigma],
            steadier[config.sigma],
        ),
        numbers={
            **{f"left at σ={sigma:g}": m.forward_left for sigma, m in measured.items()},
            **{f"times ridge's at σ={sigma:g}": m.ridge_falls_more for sigma, m in measured.items()},
        },
        findings=[
            Finding("left of it in the last tenth of the rounds", left, "percent", headline=True),
            Finding("times what is left of ridge's", times),
        ],
        regimes=[
            Regime.of(steady, "σ", "as it stands"),
            Regime.of(steadier, "σ", f"{STEADIER:g} times steadier than ridge's"),
        ],
        comments=[falls]
        if left.upper < 1
        else ["It rises."]
        if left.lower > 1
        else ["It neither surely falls nor rises."],
    )


def _cancelled(config: Figure1Config, measured: dict[float, Measured]) -> Claim:
    here, noisiest = measured[config.sigma], config.all_sigmas[-1]
    least = measured[noisiest].cancelled
    always = _conditions(measured, "cancelled", "cancelled", "above", CANCELLED)
    late = _conditions(measured, "cancelled_late", "cancelled late", "above", CANCELLED)
    return Claim(
        id="cancelled",
        statement="Forward's first term is essentially cancelled by its second term, q ŷ².",
        rule=Rule(
            "Sum of the second terms divided by that of the first: supported if its interval lies above "
            f"{CANCELLED:.0%} over all rounds at σ = {config.sigma:g}, partly if in the last tenth of them. {DISTRUST}",
            always[config.sigma],
            late[config.sigma],
        ),
        numbers={
            **{f"cancelled at σ={sigma:g}": m.cancelled for sigma, m in measured.items()},
            **{f"cancelled late at σ={sigma:g}": m.cancelled_late for sigma, m in measured.items()},
        },
        findings=[
            Finding("share that the second term takes off, over all rounds", here.cancelled, "percent", headline=True),
            Finding("in the last tenth of them", here.cancelled_late, "percent"),
            Finding(f"over all rounds at σ = {noisiest:g}", least, "percent"),
        ],
        regimes=[
            Regime.of(always, "σ", "over all rounds"),
            Regime.of(late, "σ", "over the last tenth of them"),
        ],
        comments=["It cancels signal, not noise."] if least.upper < here.cancelled.lower else [],
    )


def _on_par(config: Figure1Config, measured: dict[float, Measured]) -> Claim:
    def alike(quantity: str, name: str) -> dict[float, Every]:
        return {
            sigma: within(
                f"{name} at σ={sigma:g}", getattr(each, quantity), 1 / (1 + config.margin), 1 + config.margin, GROUPS
            )
            for sigma, each in measured.items()
        }

    regrets, losses = alike("regret_ratio", "regret ratio"), alike("loss_ratio", "loss ratio")
    here = measured[config.sigma]
    ahead = {
        "Ridge": [sigma for sigma, m in measured.items() if m.regret_ratio.below(1)],
        "Forward": [sigma for sigma, m in measured.items() if m.regret_ratio.above(1)],
    }
    return Claim(
        id="on-par",
        statement="Overall, the two strategies perform on par.",
        rule=Rule(
            "Ridge's over forward's, of the same repeats: supported if the interval for the regrets to θ* lies within "
            f"a factor of {1 + config.margin:g} at σ = {config.sigma:g}; partly if only that for the total losses, "
            f"noise included, does. {DISTRUST}",
            regrets[config.sigma],
            losses[config.sigma],
        ),
        numbers={
            **{f"regret ratio at σ={sigma:g}": m.regret_ratio for sigma, m in measured.items()},
            **{f"loss ratio at σ={sigma:g}": m.loss_ratio for sigma, m in measured.items()},
            **{f"penalised ratio at σ={sigma:g}": m.penalized_ratio for sigma, m in measured.items()},
        },
        findings=[
            Finding(f"ridge's regret to θ* over forward's at σ = {config.sigma:g}", here.regret_ratio, headline=True),
            Finding("its total loss over forward's", here.loss_ratio),
        ],
        regimes=[
            Regime.of(regrets, "σ", "regrets on par"),
            Regime.of(losses, "σ", "total losses on par, noise included"),
        ],
        comments=[
            f"{learner} has the smaller regret at σ = {list_values(sigmas)}."
            for learner, sigmas in ahead.items()
            if sigmas
        ],
    )
