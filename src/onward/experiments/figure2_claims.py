"""The claims of figure 2: ridge depends on λ as 1/λ and then settles, forward is robust; and is forward ahead?"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from onward.core.types import Matrix, Vector
from onward.experiments.claims import DISTRUST, Claim, Finding, Regime, decide, list_values
from onward.experiments.estimates import (
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
from onward.experiments.figure2_settings import Figure2Config
from onward.experiments.regression_problems import LEARNERS
from onward.experiments.repeat_frame import value_matrix

NEAR = 0.2  # an exponent this near to −1 is one of −1
SLIGHT = 0.1  # an exponent nearer to 0 is no dependence to speak of
LARGER = 1.5  # a spread over λ is the larger of two if it is this many times the other
MADE_ROWS = ("√λe₁ and e₁",)
LEFT_OUT = f"Of small λ, those at which one repeat makes up more than {TRUSTED:.0%} of a mean are left out."


def decide_claims(config: Figure2Config, frame: pl.DataFrame) -> Sequence[Claim]:
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
        self._values = {key: value_matrix(each) for key, each in found.items()}

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
    """Which λ are not usable, in words."""
    out = [lam for i, lam in enumerate(lams) if i not in usable]
    return f"without λ = {list_values(out)}, where a few repeats make up the mean" if out else ""


def _curves(config: Figure2Config, frame: pl.DataFrame, learner: str, quantity: str) -> dict[int, Matrix]:
    """Of the paper's λ, at the rounds that claims ask for: a column for each λ."""
    found = frame.filter(
        (pl.col("part") == "lines") & (pl.col("learner") == learner) & (pl.col("quantity") == quantity)
    )
    return {
        mark: np.column_stack([value_matrix(found, lam=lam, round=mark)[:, 0] for lam in config.curve_lams])
        for mark in config.marks
    }


def _inverse_lambda(config: Figure2Config, frame: pl.DataFrame) -> Claim:
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
    made = exponent(np.column_stack([value_matrix(made_frame, lam=lam)[:, 0] for lam in lams]), lams)
    here, last = powers[config.sigma], config.all_sigmas[-1]
    grows = [sigma for sigma, power in powers.items() if power.below(-SLIGHT)]
    exact = [sigma for sigma, power in powers.items() if _is_inverse(power)]
    rounds, small = f"in ridge's squared errors of the first {first} rounds", f"λ = {lams[0]:g} … {lams[-1]:g}"
    return Claim(
        id="inverse-lambda",
        statement="In the first rounds ridge's regret depends on λ as 1/λ.",
        rule=(
            "Slope of log(mean of the summed squared errors over the first 2d rounds) against log λ, λ ≤ "
            f"{config.small_lam:g}: supported if its interval lies within −1 ± {NEAR:g} at σ = {config.sigma:g}; "
            f"partly if at some σ tried it lies below −{SLIGHT:g}. {LEFT_OUT} {DISTRUST}"
        ),
        verdict=decide(_is_inverse(here), bool(grows)),
        numbers={
            f"exponent over the {config.curve_name}": curves,
            **{f"exponent at σ={sigma:g}": power for sigma, power in powers.items()},
            **{f"exponent over all small λ at σ={sigma:g}": power for sigma, power in whole.items()},
            **{f"median exponent at σ={sigma:g}": power for sigma, power in typical.items()},
            "exponent on rows made for it": made,
        },
        findings=[
            Finding(f"power of λ {rounds}, over the {config.curve_name}", curves, "power", headline=True),
            Finding(f"over {small}", here, "power", _left_out(lams, usable[config.sigma]), headline=True),
            Finding(f"at σ = {last:g}", powers[last], "power", _left_out(lams, usable[last])),
            Finding("of the median repeat over all of these λ", typical[config.sigma], "power"),
            Finding(f"at σ = {last:g}", typical[last], "power"),
            Finding("on rows made for it, √λe₁ and e₁", made, "power"),
        ],
        regimes=[
            Regime(exact, config.all_sigmas, "σ", "as 1/λ"),
            Regime([s for s in grows if s not in exact], config.all_sigmas, "σ", "growing as λ falls, but more slowly"),
            Regime(MADE_ROWS if _is_inverse(made) else (), MADE_ROWS, words="as 1/λ on rows made for it"),
        ],
        comments=[f"1/λ has the power −1{', as here' if _is_inverse(curves) else ''}."],
    )


def _is_inverse(power: Estimate) -> bool:
    return power.within(-1 - NEAR, -1 + NEAR)


def _own_exponents(columns: Matrix, lams: Sequence[float]) -> Vector:
    """The slope of each repeat by itself."""
    x = np.log(lams) - np.mean(np.log(lams))
    slopes: Vector = np.sum(np.log(columns) * x, axis=1) / np.sum(x**2)
    return slopes


def _settles(config: Figure2Config, frame: pl.DataFrame) -> Claim:
    cells, many, d = Cells(frame), Cells(frame, "early"), config.d
    full_rank, early_end, half, end = config.marks
    curves = _curves(config, frame, "ridge", "error")
    early = curves[early_end] - curves[full_rank]
    late = curves[end] - curves[half]
    paper = Spreads(spread(early), spread(late), excess(early, late))
    smallest = ratio(late[:, int(np.argmin(config.curve_lams))], late[:, int(np.argmin(late.mean(axis=0)))])

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
    held = [sigma for sigma, spreads in small.items() if spreads.narrow(config.alike)]
    here = small[config.sigma]
    reach = {lam: [sigma for sigma, most in up_to.items() if most == lam] for lam in ascending}
    largest = "The largest λ goes on shrinking."
    return Claim(
        id="settles",
        statement="Once the design is of full rank, 1/λ disappears and ridge's regret is much less sensitive to λ.",
        rule=(
            "Largest over smallest mean across λ, of the summed squared errors: supported if, over the "
            f"{config.curve_name} at σ = {config.sigma:g}, the interval for the second half of the rounds lies below "
            f"{config.alike:g} and that for rounds d + 1 to 2d is surely at least {LARGER:g} times as large; partly if "
            f"so over λ ≤ {config.small_lam:g} at some σ tried. {LEFT_OUT} {DISTRUST}"
        ),
        verdict=decide(paper.narrow(config.alike), bool(held)),
        numbers={
            f"early spread, {config.curve_name}": paper.wide,
            f"late spread, {config.curve_name}": paper.other,
            f"early over late, {config.curve_name}": paper.excess,
            f"smallest λ over the cheapest, late, {config.curve_name}": smallest,
            **{f"early spread, small λ, σ={sigma:g}": each.wide for sigma, each in small.items()},
            **{f"late spread, small λ, σ={sigma:g}": each.other for sigma, each in small.items()},
            **{f"early over late, small λ, σ={sigma:g}": each.excess for sigma, each in small.items()},
        },
        findings=[
            Finding(f"spread over the {config.curve_name} in rounds {d + 1}–{2 * d}", paper.wide, headline=True),
            Finding("in the second half of the rounds", paper.other, headline=True),
            Finding("cost of the smallest λ there, over that of the cheapest", smallest),
            Finding(f"spread over small λ (≤ {config.small_lam:g}) in rounds {d + 1}–{2 * d}", here.wide),
            Finding("in the second half", here.other, note=_left_out(few, usable[config.sigma])),
        ],
        regimes=[
            Regime(held, config.all_sigmas, "σ", f"λ ≤ {config.small_lam:g}"),
            *(
                Regime(sigmas, config.all_sigmas, "σ", f"λ does not matter in the second half up to {lam:g}")
                for lam, sigmas in reach.items()
                if sigmas
            ),
        ],
        comments=[
            *([largest] if _largest_costs_most(config, late) else []),
            *(["Small λ no longer hurts there."] if smallest.below(config.alike) else []),
        ],
    )


class Spreads(NamedTuple):
    """Factors by which means differ over λ: of what should be wide, of the other, and the one over the other."""

    wide: Estimate
    other: Estimate
    excess: Estimate

    def narrow(self, alike: float) -> bool:
        """Whether the other is surely narrow, and the first surely wider."""
        return self.other.below(alike) and self.excess.above(LARGER)


def _settled(early: Matrix, late: Matrix) -> Spreads:
    """Spreads over λ early and late, of different repeats, and the one over the other."""
    if early.shape[1] < 2:
        return Spreads(UNKNOWN, UNKNOWN, UNKNOWN)
    spreads = spread(early), spread(late)
    return Spreads(*spreads, quotient(*spreads))


def _largest_costs_most(config: Figure2Config, columns: Matrix) -> bool:
    """Whether the largest λ costs most, and by far."""
    costs = columns.mean(axis=0)[np.argsort(config.curve_lams)]
    return bool(costs[-1] > config.alike * costs[:-1].max(initial=0))


def _robust(config: Figure2Config, frame: pl.DataFrame) -> Claim:
    cells, end, last = Cells(frame), config.rounds, config.all_sigmas[-1]

    def compare(ridge: Matrix, forward: Matrix) -> Spreads:
        if not ridge.shape[1]:
            return Spreads(UNKNOWN, UNKNOWN, UNKNOWN)
        return Spreads(spread(ridge), spread(forward), excess(ridge, forward))

    final = {learner: _curves(config, frame, learner, "regret")[end] for learner in LEARNERS}
    paper = compare(final["ridge"], final["forward"])
    small, usable = {}, {}
    for sigma in config.all_sigmas:
        both = [cells.columns("regret", learner, sigma, config.small_lams, 0) for learner in LEARNERS]
        usable[sigma] = _usable(*both)
        small[sigma] = compare(*(each[:, usable[sigma]] for each in both))
    held = [sigma for sigma, spreads in small.items() if spreads.narrow(config.alike)]
    here, notes = small[config.sigma], {s: _left_out(config.small_lams, usable[s]) for s in (config.sigma, last)}
    return Claim(
        id="robust-to-lambda",
        statement="The forward algorithm is robust to λ, contrarily to ridge.",
        rule=(
            "Largest over smallest mean across λ, of the regret to θ* after T rounds: supported if, over the "
            f"{config.curve_name} at σ = {config.sigma:g}, forward's interval lies below {config.alike:g} and ridge's "
            f"is surely at least {LARGER:g} times forward's; partly if so over λ ≤ {config.small_lam:g} at some σ "
            f"tried. {LEFT_OUT} {DISTRUST}"
        ),
        verdict=decide(paper.narrow(config.alike), bool(held)),
        numbers={
            f"ridge's spread, {config.curve_name}": paper.wide,
            f"forward's spread, {config.curve_name}": paper.other,
            f"ridge's over forward's spread, {config.curve_name}": paper.excess,
            **{f"ridge's spread, small λ, σ={sigma:g}": each.wide for sigma, each in small.items()},
            **{f"forward's spread, small λ, σ={sigma:g}": each.other for sigma, each in small.items()},
            **{f"ridge's over forward's, small λ, σ={sigma:g}": each.excess for sigma, each in small.items()},
        },
        findings=[
            Finding(f"spread of forward's final regret over the {config.curve_name}", paper.other, headline=True),
            Finding("of ridge's", paper.wide, headline=True),
            Finding(f"of forward's over small λ (≤ {config.small_lam:g})", here.other),
            Finding(f"of ridge's at σ = {config.sigma:g}", here.wide, note=notes[config.sigma]),
            Finding(f"at σ = {last:g}", small[last].wide, note=notes[last]),
        ],
        regimes=[Regime(held, config.all_sigmas, "σ", f"λ ≤ {config.small_lam:g}")],
        comments=["The largest λ goes on shrinking."] if _largest_costs_most(config, final["forward"]) else [],
    )


def _forward_ahead(config: Figure2Config, frame: pl.DataFrame) -> Claim:
    cells, most = Cells(frame), 1 + config.margin
    pairs = [(sigma, lam) for sigma in config.all_sigmas for lam in sorted(config.map_lams)]
    ratios = {pair: map_ratio(cells, *pair) for pair in pairs}
    typical = {pair: map_typical(cells, *pair) for pair in pairs}
    ahead = [pair for pair, each in ratios.items() if each.above(most)]
    behind = [pair for pair, each in ratios.items() if each.below(1 / most)]
    alike = [pair for pair, each in ratios.items() if each.within(1 / most, most)]
    best, worst = (pick(pairs, key=lambda pair: ratios[pair].value) for pick in (max, min))
    ridge, forward = (_curves(config, frame, learner, "regret")[config.rounds] for learner in LEARNERS)
    here = {lam: ratio(ridge[:, i], forward[:, i]) for i, lam in enumerate(config.curve_lams)}
    return Claim(
        id="forward-ahead",
        statement="Our question: is forward's regret no larger than ridge's?",
        rule=(
            f"Ridge's over forward's mean regret to θ* after T rounds, for each σ and λ of the map: forward is ahead "
            f"if the interval lies above {most:g}, behind if below 1/{most:g}, on par if between, and else it is "
            f"undecided. Supported if ahead somewhere and behind nowhere, partly if ahead somewhere. {DISTRUST}"
        ),
        verdict=decide(not behind and bool(ahead), bool(ahead)),
        numbers={
            **{f"ratio at σ={sigma:g}, λ={lam:g}": each for (sigma, lam), each in ratios.items()},
            **{f"median ratio at σ={sigma:g}, λ={lam:g}": each for (sigma, lam), (each, _) in typical.items()},
            **{
                f"share of repeats with forward ahead at σ={sigma:g}, λ={lam:g}": each
                for (sigma, lam), (_, each) in typical.items()
            },
            **{f"ratio at the curves' λ={lam:.4g}": each for lam, each in here.items()},
        },
        findings=[
            Finding(f"of {len(pairs)} pairs of σ and λ, forward ahead", len(ahead), headline=True),
            Finding("behind", len(behind), headline=True),
            Finding("on par", len(alike), headline=True),
            Finding("undecided", len(pairs) - len(ahead) - len(behind) - len(alike), headline=True),
            Finding(f"ridge's over forward's at σ = {worst[0]:g}, λ = {worst[1]:g}, the least", ratios[worst]),
            Finding(f"at σ = {best[0]:g}, λ = {best[1]:g}, the most", ratios[best]),
            *(Finding(f"at σ = {config.sigma:g}, λ = {lam:.3g}", each) for lam, each in here.items()),
        ],
        regimes=[Regime(_list_pairs(ahead), _list_pairs(pairs))],
        comments=[_disagreement(ratios, {pair: middle for pair, (middle, _) in typical.items()}, most)],
        ours=True,
    )


def _disagreement(
    means: dict[tuple[float, float], Estimate], medians: dict[tuple[float, float], Estimate], most: float
) -> str:
    """Where the mean is in favour of one learner and the median repeat of the other, in a sentence."""
    apart = {
        pair: means[pair].value / medians[pair].value
        for pair in means
        if (means[pair].value > most and medians[pair].upper < 1 / most)
        or (means[pair].value < 1 / most and medians[pair].lower > most)
    }
    if not apart:
        return "Mean and median repeat favour the same learner wherever both favour one."
    pair = max(apart, key=lambda pair: abs(np.log(apart[pair])))
    cells = "; ".join(_list_pairs(apart))
    favoured = "ridge" if means[pair].value > 1 else "forward"
    return (
        f"Mean and median disagree at {cells}: at σ = {pair[0]:g}, λ = {pair[1]:g} the ratio of means is "
        f"{means[pair].mark}{means[pair].value:.2g}, but the median repeat's is {medians[pair].value:.2g}: the typical "
        f"run favours {favoured}."
    )


def _list_pairs(pairs: Iterable[tuple[float, float]]) -> list[str]:
    """Pairs of σ and λ in words, one for each σ."""
    by_sigma: dict[float, list[float]] = {}
    for sigma, lam in sorted(pairs):
        by_sigma.setdefault(sigma, []).append(lam)
    return [f"σ = {sigma:g}, λ = {list_values(lams)}" for sigma, lams in by_sigma.items()]
