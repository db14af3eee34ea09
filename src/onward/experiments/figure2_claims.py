"""The claims of figure 2: ridge depends on λ as 1/λ and then settles, forward is robust; and is forward ahead?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from onward.core.types import Matrix, Vector
from onward.experiments.base import Claim
from onward.experiments.judging import DISTRUST, IN_BRACKETS, doubts, listed, regime, verdict
from onward.experiments.regression_data import LEARNERS
from onward.experiments.statistics import (
    TRUSTED,
    UNKNOWN,
    Estimate,
    excess,
    exponent,
    median,
    quotient,
    ratio,
    share,
    spread,
    top_shares,
)
from onward.experiments.tidy import values_of

if TYPE_CHECKING:
    from onward.experiments.figure2 import Config

NEAR = 0.2  # an exponent this near to −1 is one of −1
SLIGHT = 0.1  # an exponent nearer to 0 is no dependence to speak of
LARGER = 1.5  # a spread over λ is the larger of two if it is this many times the other
LEFT_OUT = f"Of small λ, those at which one repeat makes up more than {TRUSTED:.0%} of a mean are left out."


def claims(config: "Config", frame: pl.DataFrame) -> Sequence[Claim]:
    """All of them, decided on the frame."""
    return [
        _inverse_lambda(config, frame),
        _settles(config, frame),
        _robust(config, frame),
        _forward_ahead(config, frame),
    ]


class Cells:
    """Values on the map, or of another part, read off quickly: by quantity, learner, σ and λ."""

    def __init__(self, frame: pl.DataFrame, part: str = "map") -> None:
        columns = ["quantity", "learner", "sigma", "lam"]
        found = frame.filter(pl.col("part") == part).partition_by(columns, as_dict=True)
        self._values = {key: values_of(each) for key, each in found.items()}

    def at(self, quantity: str, learner: str, sigma: float, lam: float) -> Matrix:
        """A row for each repeat, a column for each round that is kept."""
        return self._values[quantity, learner, sigma, lam]

    def columns(self, quantity: str, learner: str, sigma: float, lams: Sequence[float], mark: int) -> Matrix:
        """At one of the rounds kept: a column for each λ."""
        return np.column_stack([self.at(quantity, learner, sigma, lam)[:, mark] for lam in lams])


def map_ratio(cells: Cells, sigma: float, lam: float) -> Estimate:
    """Ridge's regret to θ* over forward's at the last round."""
    ridge, forward = (cells.at("regret", learner, sigma, lam)[:, -1] for learner in LEARNERS)
    return ratio(ridge, forward)


def map_typical(cells: Cells, sigma: float, lam: float) -> tuple[Estimate, Estimate]:
    """Of single repeats: the median of ridge's regret over forward's, and the share in which forward's is smaller.

    Where forward's is not positive, the repeat's ratio lies beyond all others, on the side of the one that loses more.
    """
    ridge, forward = (cells.at("regret", learner, sigma, lam)[:, -1] for learner in LEARNERS)
    less = forward < ridge
    beyond = np.where(less, np.inf, -np.inf)
    return median(np.divide(ridge, forward, out=beyond, where=forward > 0)), share(less)


def _usable(*groups: Matrix) -> list[int]:
    """The columns, one for each λ, whose means can be trusted in all groups."""
    shares = np.max([top_shares(each) for each in groups], axis=0)
    return [int(i) for i in np.flatnonzero(shares <= TRUSTED)]


def _left_out(lams: Sequence[float], usable: Sequence[int]) -> str:
    """Which λ are not usable, in words to follow others."""
    out = [lam for i, lam in enumerate(lams) if i not in usable]
    return f" (without λ = {listed(out)}, where a few repeats make up the mean)" if out else ""


def _curves(config: "Config", frame: pl.DataFrame, learner: str, quantity: str) -> dict[int, Matrix]:
    """Of the paper's λ, at the rounds that claims ask for: a column for each λ."""
    found = frame.filter(
        (pl.col("part") == "lines") & (pl.col("learner") == learner) & (pl.col("quantity") == quantity)
    )
    return {
        mark: np.column_stack([values_of(found, lam=lam, round=mark)[:, 0] for lam in config.curve_lams])
        for mark in config.marks
    }


def _inverse_lambda(config: "Config", frame: pl.DataFrame) -> Claim:
    cells, lams, first = Cells(frame, "early"), config.small_lams, 2 * config.d
    errors = {sigma: cells.columns("error", "ridge", sigma, lams, 1) for sigma in config.all_sigmas}
    usable = {sigma: _usable(each) for sigma, each in errors.items()}
    powers = {
        sigma: exponent(each[:, usable[sigma]], np.array(lams)[usable[sigma]]) if len(usable[sigma]) > 1 else UNKNOWN
        for sigma, each in errors.items()
    }
    whole = {sigma: exponent(each, lams) for sigma, each in errors.items()}
    typical = {sigma: median(_own_exponents(each, lams)) for sigma, each in errors.items()}
    curves = exponent(cells.columns("error", "ridge", config.sigma, config.curve_lams, 1), config.curve_lams)
    made_frame = frame.filter((pl.col("part") == "made") & (pl.col("learner") == "ridge"))
    made = exponent(np.column_stack([values_of(made_frame, lam=lam)[:, 0] for lam in lams]), lams)
    here, last = powers[config.sigma], config.all_sigmas[-1]
    grows = [sigma for sigma, power in powers.items() if power.below(-SLIGHT)]
    exact = [sigma for sigma, power in powers.items() if _is_inverse(power)]
    return Claim(
        name="inverse-lambda",
        says="In the first rounds ridge's regret depends on λ as 1/λ.",
        verdict=verdict(_is_inverse(here), bool(grows)),
        finding=(
            f"Over the {config.curve_name} at σ = {config.sigma:g} the power of λ in ridge's squared errors of the "
            f"first {first} rounds is {curves.signed} {IN_BRACKETS}, "
            f"{'as for 1/λ' if _is_inverse(curves) else 'not −1'}. Over "
            f"λ = {lams[0]:g} … {lams[-1]:g} it is {here.signed}{_left_out(lams, usable[config.sigma])}, and "
            f"{powers[last].signed} at σ = {last:g}{_left_out(lams, usable[last])}. That is of the mean: the median "
            f"repeat's own power, over all of them, is {typical[config.sigma].signed} and {typical[last].signed}. On "
            f"rows made for it, √λe₁ and e₁, it is {made.signed}." + doubts([curves, *powers.values(), made])
        ),
        rule=(
            "Slope of log(mean of the summed squared errors over the first 2d rounds) against log λ, λ ≤ "
            f"{config.small_lam:g}: supported if its interval lies within −1 ± {NEAR:g} at σ = {config.sigma:g}; "
            f"partly if at some σ tried it lies below −{SLIGHT:g}. {LEFT_OUT} {DISTRUST}"
        ),
        regime=(
            f"as 1/λ: {regime('σ', exact, config.all_sigmas)}; growing as λ falls, but more slowly: "
            f"{regime('σ', [s for s in grows if s not in exact], config.all_sigmas)}"
            + ("; as 1/λ on rows √λe₁, e₁, made for it" if _is_inverse(made) else "")
        ),
        numbers={
            f"exponent over the {config.curve_name}": curves.record(),
            **{f"exponent at σ={sigma:g}": power.record() for sigma, power in powers.items()},
            **{f"exponent over all small λ at σ={sigma:g}": power.record() for sigma, power in whole.items()},
            **{f"median exponent at σ={sigma:g}": power.record() for sigma, power in typical.items()},
            "exponent on rows made for it": made.record(),
        },
        short=f"power {curves.signed} over the {config.curve_name}, {here.signed} over small λ; 1/λ is −1",
    )


def _is_inverse(power: Estimate) -> bool:
    return power.within(-1 - NEAR, -1 + NEAR)


def _own_exponents(columns: Matrix, lams: Sequence[float]) -> Vector:
    """The slope of each repeat by itself."""
    x = np.log(lams) - np.mean(np.log(lams))
    slopes: Vector = np.sum(np.log(columns) * x, axis=1) / np.sum(x**2)
    return slopes


def _settles(config: "Config", frame: pl.DataFrame) -> Claim:
    cells, many, d = Cells(frame), Cells(frame, "early"), config.d
    full_rank, early_end, half, end = config.marks
    curves = _curves(config, frame, "ridge", "error")
    early = curves[early_end] - curves[full_rank]
    late = curves[end] - curves[half]
    paper = (spread(early), spread(late), excess(early, late))
    smallest = ratio(late[:, int(np.argmin(config.curve_lams))], late[:, int(np.argmin(late.mean(axis=0)))])

    def holds(spreads: tuple[Estimate, Estimate, Estimate]) -> bool:
        return spreads[1].below(config.alike) and spreads[2].above(LARGER)

    small, usable, up_to = {}, {}, {}
    ascending, few = sorted(config.map_lams), config.small_lams
    for sigma in config.all_sigmas:
        sums = [cells.columns("error", "ridge", sigma, ascending, mark) for mark in range(4)]
        last = sums[3] - sums[2]
        at = [many.columns("error", "ridge", sigma, few, mark) for mark in range(2)]
        first = at[1] - at[0]
        usable[sigma] = _usable(first, last[:, : len(few)])
        small[sigma] = _settled(first[:, usable[sigma]], last[:, usable[sigma]])
        alike = [i for i in range(1, last.shape[1] + 1) if spread(last[:, :i]).below(config.alike)]
        up_to[sigma] = ascending[max(alike) - 1] if alike else None
    held = [sigma for sigma, spreads in small.items() if holds(spreads)]
    here = small[config.sigma]
    reach = {lam: [sigma for sigma, most in up_to.items() if most == lam] for lam in ascending}
    return Claim(
        name="settles",
        says="Once the design is of full rank, 1/λ disappears and ridge's regret is much less sensitive to λ.",
        verdict=verdict(holds(paper), bool(held)),
        finding=(
            f"Over the {config.curve_name}, what rounds {d + 1}–{2 * d} cost differs by a factor of {paper[0].marked} "
            f"{IN_BRACKETS}, and what the second half of the rounds costs by {paper[1].marked}{_why(config, late)}. "
            f"There the smallest λ costs {smallest.marked} times as much as the cheapest"
            f"{': small λ no longer hurts' if smallest.below(config.alike) else ''}. Among small λ (≤ "
            f"{config.small_lam:g}) the factor goes from {here[0].marked} to {here[1].marked}"
            f"{_left_out(few, usable[config.sigma])}."
            + doubts([*paper, smallest, *(each for spreads in small.values() for each in spreads)])
        ),
        rule=(
            "Largest over smallest mean across λ, of the summed squared errors: supported if, over the "
            f"{config.curve_name} at σ = {config.sigma:g}, the interval for the second half of the rounds lies below "
            f"{config.alike:g} and that for rounds d + 1 to 2d is surely at least {LARGER:g} times as large; partly if "
            f"so over λ ≤ {config.small_lam:g} at some σ tried. {LEFT_OUT} {DISTRUST}"
        ),
        regime=(
            f"λ ≤ {config.small_lam:g} and {regime('σ', held, config.all_sigmas)}; in the second half λ does not "
            "matter up to "
            + (", ".join(f"{lam:g} (σ = {listed(where)})" for lam, where in reach.items() if where) or "none tried")
        ),
        numbers={
            f"early spread, {config.curve_name}": paper[0].record(),
            f"late spread, {config.curve_name}": paper[1].record(),
            f"early over late, {config.curve_name}": paper[2].record(),
            f"smallest λ over the cheapest, late, {config.curve_name}": smallest.record(),
            **{f"early spread, small λ, σ={sigma:g}": each[0].record() for sigma, each in small.items()},
            **{f"late spread, small λ, σ={sigma:g}": each[1].record() for sigma, each in small.items()},
            **{f"early over late, small λ, σ={sigma:g}": each[2].record() for sigma, each in small.items()},
        },
        short=f"spread over the {config.curve_name} {paper[0].brief} early, {paper[1].brief} late",
    )


def _settled(early: Matrix, late: Matrix) -> tuple[Estimate, Estimate, Estimate]:
    """Spreads over λ early and late, of different repeats, and the one over the other."""
    if early.shape[1] < 2:
        return UNKNOWN, UNKNOWN, UNKNOWN
    spreads = spread(early), spread(late)
    return *spreads, quotient(*spreads)


def _why(config: "Config", columns: Matrix) -> str:
    """What to add where the largest λ costs most, and by far."""
    costs = columns.mean(axis=0)[np.argsort(config.curve_lams)]
    return ", for the largest λ goes on shrinking" if costs[-1] > config.alike * costs[:-1].max(initial=0) else ""


def _robust(config: "Config", frame: pl.DataFrame) -> Claim:
    cells, end, last = Cells(frame), config.rounds, config.all_sigmas[-1]

    def compared(ridge: Matrix, forward: Matrix) -> tuple[Estimate, Estimate, Estimate]:
        if not ridge.shape[1]:
            return UNKNOWN, UNKNOWN, UNKNOWN
        return spread(ridge), spread(forward), excess(ridge, forward)

    def holds(spreads: tuple[Estimate, Estimate, Estimate]) -> bool:
        return spreads[1].below(config.alike) and spreads[2].above(LARGER)

    final = {learner: _curves(config, frame, learner, "regret")[end] for learner in LEARNERS}
    paper = compared(final["ridge"], final["forward"])
    small, usable = {}, {}
    for sigma in config.all_sigmas:
        both = [cells.columns("regret", learner, sigma, config.small_lams, 0) for learner in LEARNERS]
        usable[sigma] = _usable(*both)
        small[sigma] = compared(*(each[:, usable[sigma]] for each in both))
    held = [sigma for sigma, spreads in small.items() if holds(spreads)]
    here = small[config.sigma]
    return Claim(
        name="robust-to-lambda",
        says="The forward algorithm is robust to λ, contrarily to ridge.",
        verdict=verdict(holds(paper), bool(held)),
        finding=(
            f"Over the {config.curve_name} forward's final regret differs by a factor of {paper[1].marked} "
            f"{IN_BRACKETS} and ridge's by {paper[0].marked}{_why(config, final['forward'])}. Over small λ (≤ "
            f"{config.small_lam:g}) forward's differs by {here[1].marked}, ridge's by {here[0].marked} at σ = "
            f"{config.sigma:g}{_left_out(config.small_lams, usable[config.sigma])} and by {small[last][0].marked} at "
            f"σ = {last:g}{_left_out(config.small_lams, usable[last])}."
            + doubts([*paper, *(each for spreads in small.values() for each in spreads)])
        ),
        rule=(
            "Largest over smallest mean across λ, of the regret to θ* after T rounds: supported if, over the "
            f"{config.curve_name} at σ = {config.sigma:g}, forward's interval lies below {config.alike:g} and ridge's "
            f"is surely at least {LARGER:g} times forward's; partly if so over λ ≤ {config.small_lam:g} at some σ "
            f"tried. {LEFT_OUT} {DISTRUST}"
        ),
        regime=f"λ ≤ {config.small_lam:g} and {regime('σ', held, config.all_sigmas)}",
        numbers={
            f"ridge's spread, {config.curve_name}": paper[0].record(),
            f"forward's spread, {config.curve_name}": paper[1].record(),
            f"ridge's over forward's spread, {config.curve_name}": paper[2].record(),
            **{f"ridge's spread, small λ, σ={sigma:g}": each[0].record() for sigma, each in small.items()},
            **{f"forward's spread, small λ, σ={sigma:g}": each[1].record() for sigma, each in small.items()},
            **{f"ridge's over forward's, small λ, σ={sigma:g}": each[2].record() for sigma, each in small.items()},
        },
        short=f"spread over the {config.curve_name}: forward {paper[1].brief}, ridge {paper[0].brief}",
    )


def _forward_ahead(config: "Config", frame: pl.DataFrame) -> Claim:
    cells, most = Cells(frame), 1 + config.margin
    pairs = [(sigma, lam) for sigma in config.all_sigmas for lam in sorted(config.map_lams)]
    ratios = {pair: map_ratio(cells, *pair) for pair in pairs}
    typical = {pair: map_typical(cells, *pair) for pair in pairs}
    ahead = [pair for pair, each in ratios.items() if each.above(most)]
    behind = [pair for pair, each in ratios.items() if each.below(1 / most)]
    alike = [pair for pair, each in ratios.items() if each.within(1 / most, most)]
    undecided = len(pairs) - len(ahead) - len(behind) - len(alike)
    best, worst = (pick(pairs, key=lambda pair: ratios[pair].value) for pick in (max, min))
    ridge, forward = (_curves(config, frame, learner, "regret")[config.rounds] for learner in LEARNERS)
    here = {lam: ratio(ridge[:, i], forward[:, i]) for i, lam in enumerate(config.curve_lams)}
    return Claim(
        name="forward-ahead",
        says="Our question: is forward's regret no larger than ridge's?",
        verdict=verdict(not behind and bool(ahead), bool(ahead)),
        finding=(
            f"Of {len(pairs)} pairs of σ and λ, forward's regret is smaller in {len(ahead)}, larger in {len(behind)}, "
            f"on par in {len(alike)} and undecided in {undecided}. Ridge's over forward's goes from "
            f"{ratios[worst].marked} (σ = {worst[0]:g}, λ = {worst[1]:g}) to {ratios[best].marked} (σ = {best[0]:g}, "
            f"λ = {best[1]:g}) {IN_BRACKETS}. At σ = {config.sigma:g} and the {config.curve_name} it is "
            f"{'; '.join(f'{each.marked} at λ = {lam:.3g}' for lam, each in here.items())}."
            + _disagreement(ratios, {pair: middle for pair, (middle, _) in typical.items()}, most)
            + doubts([*ratios.values(), *here.values()])
        ),
        rule=(
            f"Ridge's over forward's mean regret to θ* after T rounds, for each σ and λ of the map: forward is ahead "
            f"if the interval lies above {most:g}, behind if below 1/{most:g}, on par if between, and else it is "
            f"undecided. Supported if ahead somewhere and behind nowhere, partly if ahead somewhere. {DISTRUST}"
        ),
        regime=_listed_pairs(ahead) or "nowhere tried",
        numbers={
            **{f"ratio at σ={sigma:g}, λ={lam:g}": each.record() for (sigma, lam), each in ratios.items()},
            **{f"median ratio at σ={sigma:g}, λ={lam:g}": each.record() for (sigma, lam), (each, _) in typical.items()},
            **{
                f"share of repeats with forward ahead at σ={sigma:g}, λ={lam:g}": each.record()
                for (sigma, lam), (_, each) in typical.items()
            },
            **{f"ratio at the curves' λ={lam:.4g}": each.record() for lam, each in here.items()},
        },
        short=f"ahead {len(ahead)}, behind {len(behind)}, on par {len(alike)}, undecided {undecided} of {len(pairs)}",
        ours=True,
    )


def _disagreement(
    means: dict[tuple[float, float], Estimate], medians: dict[tuple[float, float], Estimate], most: float
) -> str:
    """Where the mean is in favour of one learner and the median repeat of the other, in sentences to follow others."""
    apart = {
        pair: means[pair].value / medians[pair].value
        for pair in means
        if (means[pair].value > most and medians[pair].upper < 1 / most)
        or (means[pair].value < 1 / most and medians[pair].lower > most)
    }
    if not apart:
        return " Mean and median repeat favour the same learner wherever both favour one."
    pair = max(apart, key=lambda pair: abs(np.log(apart[pair])))
    cells = _listed_pairs(list(apart))
    favoured = "ridge" if means[pair].value > 1 else "forward"
    return (
        f" Mean and median disagree at {cells}: at σ = {pair[0]:g}, λ = {pair[1]:g} the ratio of means is "
        f"{means[pair].mark}{means[pair].value:.2g}, but the median repeat's is {medians[pair].value:.2g}: the typical "
        f"run favours {favoured}."
    )


def _listed_pairs(pairs: Sequence[tuple[float, float]]) -> str:
    """Pairs of σ and λ in words, by σ."""
    sigmas = sorted({sigma for sigma, _ in pairs})
    return "; ".join(f"σ = {sigma:g}, λ = {listed([lam for s, lam in pairs if s == sigma])}" for sigma in sigmas)
