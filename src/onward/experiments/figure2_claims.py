"""The claims of figure 2: ridge depends on λ as 1/λ and then settles, forward is robust; and is forward ahead?"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from onward.core.types import Matrix, Vector
from onward.experiments.claims import DISTRUST, Claim, Finding, Regime
from onward.experiments.estimates import TRUSTED, UNKNOWN, Estimate, exponent, median
from onward.experiments.figure2_cells import Cells, find_usable, list_pairs, map_ratio, map_typical, name_left_out
from onward.experiments.figure2_settings import Figure2Config
from onward.experiments.figure2_spreads import decide_robust, decide_settles
from onward.experiments.repeat_frame import value_matrix
from onward.experiments.verdicts import Condition, Every, Rule, Some, split_by_answer, within

NEAR = 0.2  # an exponent this near to −1 is one of −1
SLIGHT = 0.1  # an exponent nearer to 0 is no dependence to speak of
LEFT_OUT = f"Of small λ, those at which one repeat makes up more than {TRUSTED:.0%} of a mean are left out."


def decide_claims(config: Figure2Config, frame: pl.DataFrame) -> Sequence[Claim]:
    """All of them, decided on the frame."""
    cells, early = Cells(frame), Cells(frame, "early")
    return [
        _inverse_lambda(config, early, frame),
        decide_settles(config, cells, early, f"{LEFT_OUT} {DISTRUST}"),
        decide_robust(config, cells, f"{LEFT_OUT} {DISTRUST}"),
        _forward_ahead(config, cells),
    ]


def _inverse_lambda(config: Figure2Config, cells: Cells, frame: pl.DataFrame) -> Claim:
    lams, first = config.small_lams, 2 * config.d
    errors = {sigma: cells.columns("error", "ridge", sigma, lams, 1) for sigma in config.all_sigmas}
    usable = {sigma: find_usable(each) for sigma, each in errors.items()}
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
    exact = {sigma: _is_inverse(f"exponent at σ={sigma:g}", power, "early") for sigma, power in powers.items()}
    grows = {
        sigma: Condition(f"exponent at σ={sigma:g}", power, "below", -SLIGHT, ("early",))
        for sigma, power in powers.items()
    }
    slower, perhaps = split_by_answer({sigma: each for sigma, each in grows.items() if not exact[sigma].holds})
    on_made = {"√λe₁ and e₁": _is_inverse("exponent on rows made for it", made, "made")}
    rounds, small = f"in ridge's squared errors of the first {first} rounds", f"λ = {lams[0]:g} … {lams[-1]:g}"
    return Claim(
        id="inverse-lambda",
        statement="In the first rounds ridge's regret depends on λ as 1/λ.",
        rule=Rule(
            "Slope of log(mean of the summed squared errors over the first 2d rounds) against log λ, λ ≤ "
            f"{config.small_lam:g}: supported if its interval lies within −1 ± {NEAR:g} at σ = {config.sigma:g}; "
            f"partly if at some σ tried it lies below −{SLIGHT:g}. {LEFT_OUT} {DISTRUST}",
            exact[config.sigma],
            Some(list(grows.values())),
        ),
        numbers={
            f"exponent over the {config.curve_name}": curves,
            **{f"exponent at σ={sigma:g}": power for sigma, power in powers.items()},
            **{f"exponent over all small λ at σ={sigma:g}": power for sigma, power in whole.items()},
            **{f"median exponent at σ={sigma:g}": power for sigma, power in typical.items()},
            "exponent on rows made for it": made,
        },
        findings=[
            Finding(f"power of λ {rounds}, over the {config.curve_name}", curves, "power", headline=True),
            Finding(f"over {small}", here, "power", name_left_out(lams, usable[config.sigma]), headline=True),
            Finding(f"at σ = {last:g}", powers[last], "power", name_left_out(lams, usable[last])),
            Finding("of the median repeat over all of these λ", typical[config.sigma], "power"),
            Finding(f"at σ = {last:g}", typical[last], "power"),
            Finding("on rows made for it, √λe₁ and e₁", made, "power"),
        ],
        regimes=[
            Regime.of(exact, "σ", "as 1/λ"),
            Regime(slower, config.all_sigmas, "σ", "growing as λ falls, but more slowly", perhaps),
            Regime.of(on_made, words="as 1/λ on rows made for it"),
        ],
        comments=[f"1/λ has the power −1{', as here' if curves.within(-1 - NEAR, -1 + NEAR) else ''}."],
    )


def _is_inverse(name: str, power: Estimate, group: str) -> Every:
    return within(name, power, -1 - NEAR, -1 + NEAR, (group,))


def _own_exponents(columns: Matrix, lams: Sequence[float]) -> Vector:
    """The slope of each repeat by itself."""
    x = np.log(lams) - np.mean(np.log(lams))
    slopes: Vector = np.sum(np.log(columns) * x, axis=1) / np.sum(x**2)
    return slopes


def _forward_ahead(config: Figure2Config, cells: Cells) -> Claim:
    most = 1 + config.margin
    pairs = [(sigma, lam) for sigma in config.all_sigmas for lam in sorted(config.map_lams)]
    ratios = {pair: map_ratio(cells, *pair) for pair in pairs}
    names = {(sigma, lam): f"ratio at σ={sigma:g}, λ={lam:g}" for sigma, lam in pairs}
    typical = {pair: map_typical(cells, *pair) for pair in pairs}
    ahead = {pair: Condition(names[pair], ratios[pair], "above", most, ("map",)) for pair in pairs}
    not_behind = {pair: Condition(names[pair], ratios[pair], "above", 1 / most, ("map",)) for pair in pairs}
    alike = {pair: within(names[pair], ratios[pair], 1 / most, most, ("map",)) for pair in pairs}
    counts = {
        "ahead": sum(each.holds is True for each in ahead.values()),
        "behind": sum(each.holds is False for each in not_behind.values()),
        "on par": sum(each.holds is True for each in alike.values()),
    }
    best, worst = (pick(pairs, key=lambda pair: ratios[pair].value) for pick in (max, min))
    here = {lam: map_ratio(cells, config.sigma, lam) for lam in config.curve_lams}
    return Claim(
        id="forward-ahead",
        statement="Our question: is forward's regret no larger than ridge's?",
        rule=Rule(
            f"Ridge's over forward's mean regret to θ* after T rounds, for each σ and λ of the map: forward is ahead "
            f"if the interval lies above {most:g}, behind if below 1/{most:g}, on par if between, and else it is "
            f"undecided. Supported if ahead somewhere and behind nowhere, partly if ahead somewhere. {DISTRUST}",
            Every([Some(list(ahead.values())), *not_behind.values()]),
            Some(list(ahead.values())),
        ),
        numbers={
            **{names[pair]: each for pair, each in ratios.items()},
            **{f"median {names[pair]}": each for pair, (each, _) in typical.items()},
            **{
                f"share of repeats with forward ahead at σ={sigma:g}, λ={lam:g}": each
                for (sigma, lam), (_, each) in typical.items()
            },
            **{f"ratio at the curves' λ={lam:.4g}": each for lam, each in here.items()},
        },
        findings=[
            Finding(f"of {len(pairs)} pairs of σ and λ, forward ahead", counts["ahead"], headline=True),
            Finding("behind", counts["behind"], headline=True),
            Finding("on par", counts["on par"], headline=True),
            Finding("undecided", len(pairs) - sum(counts.values()), headline=True),
            Finding(f"ridge's over forward's at σ = {worst[0]:g}, λ = {worst[1]:g}, the least", ratios[worst]),
            Finding(f"at σ = {best[0]:g}, λ = {best[1]:g}, the most", ratios[best]),
            *(Finding(f"at σ = {config.sigma:g}, λ = {lam:.3g}", each) for lam, each in here.items()),
        ],
        regimes=[Regime(list_pairs(pair for pair in pairs if ahead[pair].holds), list_pairs(pairs))],
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
    cells = "; ".join(list_pairs(apart))
    favoured = "ridge" if means[pair].value > 1 else "forward"
    return (
        f"Mean and median disagree at {cells}: at σ = {pair[0]:g}, λ = {pair[1]:g} the ratio of means is "
        f"{means[pair].mark}{means[pair].value:.2g}, but the median repeat's is {medians[pair].value:.2g}: the typical "
        f"run favours {favoured}."
    )
