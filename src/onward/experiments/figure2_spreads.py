"""The claims of figure 2 that compare λ: ridge settles once the design is of full rank, and forward is robust.

Both are asked over the paper's λ and over small ones, at every σ of the map. Predictions are linear in the targets, so
only σ over ‖θ*‖ counts: a larger σ is the same as a smaller θ*, of which the paper says nothing.
"""

from typing import NamedTuple

import numpy as np

from onward.core.types import Matrix
from onward.experiments.claims import Claim, Finding, Regime, list_values
from onward.experiments.estimates import UNKNOWN, Estimate, excess, quotient, ratio, spread
from onward.experiments.figure2_cells import Cells, find_usable, name_left_out
from onward.experiments.figure2_settings import Figure2Config
from onward.experiments.regression_problems import LEARNERS
from onward.experiments.verdicts import Condition, Every, Rule, Some, split_by_answer

LARGER = 1.5  # a spread over λ is the larger of two if it is this many times the other
SHRINKING = "The largest λ goes on shrinking."


class Spreads(NamedTuple):
    """Factors by which means differ over λ: of what should be wide, of the other, and the one over the other."""

    wide: Estimate
    other: Estimate
    excess: Estimate

    @classmethod
    def compare(cls, wide: Matrix, other: Matrix, *, paired: bool = True) -> "Spreads":
        """With a column for each λ, a row for each repeat, of the same repeats or of others."""
        if not wide.shape[1] or (wide.shape[1] < 2 and not paired):
            return cls(UNKNOWN, UNKNOWN, UNKNOWN)
        both = spread(wide), spread(other)
        return cls(*both, excess(wide, other) if paired else quotient(*both))

    def narrow(self, names: tuple[str, str], where: str, alike: float, groups: tuple[str, ...]) -> Every:
        """That the other is narrow, and the first wider."""
        other, times = (f"{name}, {where}" for name in names)
        return Every(
            [
                Condition(other, self.other, "below", alike, groups),
                Condition(times, self.excess, "above", LARGER, groups),
            ]
        )


def decide_settles(config: Figure2Config, cells: Cells, many: Cells, doubts: str) -> Claim:
    """Once the design is of full rank, ridge hardly depends on λ. `many` are the first rounds of more repeats."""
    names, d = ("late spread", "early over late"), config.d
    ascending, few = sorted(config.map_lams), config.small_lams
    paper, small, usable, up_to, late = {}, {}, {}, {}, {}
    for sigma in config.all_sigmas:
        at = [cells.columns("error", "ridge", sigma, config.curve_lams, mark) for mark in range(4)]
        late[sigma] = at[3] - at[2]
        paper[sigma] = Spreads.compare(at[1] - at[0], late[sigma])
        sums = [cells.columns("error", "ridge", sigma, ascending, mark) for mark in (2, 3)]
        last = sums[1] - sums[0]
        early = [many.columns("error", "ridge", sigma, few, mark) for mark in range(2)]
        first = early[1] - early[0]
        usable[sigma] = find_usable(first, last[:, : len(few)])
        small[sigma] = Spreads.compare(first[:, usable[sigma]], last[:, usable[sigma]], paired=False)
        alike = [i for i in range(1, last.shape[1] + 1) if spread(last[:, :i]).below(config.alike)]
        up_to[sigma] = ascending[max(alike) - 1] if alike else None
    on_paper, on_small = _questions(config, names, paper, small, ("map", "early"))
    here, costs = small[config.sigma], late[config.sigma]
    cheapest = ratio(costs[:, int(np.argmin(config.curve_lams))], costs[:, int(np.argmin(costs.mean(axis=0)))])
    reach = {lam: [sigma for sigma, most in up_to.items() if most == lam] for lam in ascending}
    return Claim(
        id="settles",
        statement="Once the design is of full rank, 1/λ disappears and ridge's regret is much less sensitive to λ.",
        rule=Rule(
            "Largest over smallest mean across λ, of the summed squared errors: supported if, over the "
            f"{config.curve_name} at σ = {config.sigma:g}, the interval for the second half of the rounds lies below "
            f"{config.alike:g} and that for rounds d + 1 to 2d is surely at least {LARGER:g} times as large; partly if "
            f"so at some σ tried, over these λ or over λ ≤ {config.small_lam:g}. {doubts}",
            on_paper[config.sigma],
            Some([*on_paper.values(), *on_small.values()]),
        ),
        numbers={
            f"smallest λ over the cheapest, late, {config.curve_name}": cheapest,
            **_numbers(config, ("early spread", *names), paper, small),
        },
        findings=[
            Finding(
                f"spread over the {config.curve_name} in rounds {d + 1}–{2 * d}",
                paper[config.sigma].wide,
                headline=True,
            ),
            Finding("in the second half of the rounds", paper[config.sigma].other, headline=True),
            *_at_equal_noise(config, paper, (f"in rounds {d + 1}–{2 * d}", "in the second half")),
            Finding("cost of the smallest λ there, over that of the cheapest", cheapest),
            Finding(f"spread over small λ (≤ {config.small_lam:g}) in rounds {d + 1}–{2 * d}", here.wide),
            Finding("in the second half", here.other, note=name_left_out(few, usable[config.sigma])),
        ],
        regimes=[
            Regime.of(on_paper, "σ", f"over the {config.curve_name}"),
            Regime.of(on_small, "σ", f"over λ ≤ {config.small_lam:g}"),
            *(
                Regime(sigmas, config.all_sigmas, "σ", f"λ does not matter in the second half up to {lam:g}")
                for lam, sigmas in reach.items()
                if sigmas
            ),
        ],
        comments=[
            *_other_norms(config, on_paper),
            *([SHRINKING] if _largest_costs_most(config, costs) else []),
            *(["Small λ no longer hurts there."] if cheapest.below(config.alike) else []),
        ],
    )


def decide_robust(config: Figure2Config, cells: Cells, doubts: str) -> Claim:
    """Forward hardly depends on λ, and ridge does."""
    names, last = ("forward's spread", "ridge's over forward's spread"), config.all_sigmas[-1]
    paper, small, usable = {}, {}, {}
    for sigma in config.all_sigmas:
        paper[sigma] = Spreads.compare(
            *(cells.columns("regret", learner, sigma, config.curve_lams, 0) for learner in LEARNERS)
        )
        both = [cells.columns("regret", learner, sigma, config.small_lams, 0) for learner in LEARNERS]
        usable[sigma] = find_usable(*both)
        small[sigma] = Spreads.compare(*(each[:, usable[sigma]] for each in both))
    on_paper, on_small = _questions(config, names, paper, small, ("map",))
    here, notes = small[config.sigma], {s: name_left_out(config.small_lams, usable[s]) for s in (config.sigma, last)}
    final = cells.columns("regret", "forward", config.sigma, config.curve_lams, 0)
    return Claim(
        id="robust-to-lambda",
        statement="The forward algorithm is robust to λ, contrarily to ridge.",
        rule=Rule(
            "Largest over smallest mean across λ, of the regret to θ* after T rounds: supported if, over the "
            f"{config.curve_name} at σ = {config.sigma:g}, forward's interval lies below {config.alike:g} and ridge's "
            f"is surely at least {LARGER:g} times forward's; partly if so at some σ tried, over these λ or over λ ≤ "
            f"{config.small_lam:g}. {doubts}",
            on_paper[config.sigma],
            Some([*on_paper.values(), *on_small.values()]),
        ),
        numbers=_numbers(config, ("ridge's spread", *names), paper, small),
        findings=[
            Finding(
                f"spread of forward's final regret over the {config.curve_name}",
                paper[config.sigma].other,
                headline=True,
            ),
            Finding("of ridge's", paper[config.sigma].wide, headline=True),
            *_at_equal_noise(config, paper, ("of ridge's", "of forward's")),
            Finding(f"of forward's over small λ (≤ {config.small_lam:g})", here.other),
            Finding(f"of ridge's at σ = {config.sigma:g}", here.wide, note=notes[config.sigma]),
            Finding(f"at σ = {last:g}", small[last].wide, note=notes[last]),
        ],
        regimes=[
            Regime.of(on_paper, "σ", f"over the {config.curve_name}"),
            Regime.of(on_small, "σ", f"over λ ≤ {config.small_lam:g}"),
        ],
        comments=[*_other_norms(config, on_paper), *([SHRINKING] if _largest_costs_most(config, final) else [])],
    )


def _questions(
    config: Figure2Config,
    names: tuple[str, str],
    paper: dict[float, Spreads],
    small: dict[float, Spreads],
    groups: tuple[str, ...],
) -> tuple[dict[float, Every], dict[float, Every]]:
    """Over the paper's λ, which the map has, and over small ones, of all groups; each at every σ."""
    return (
        {
            sigma: each.narrow(names, f"{config.curve_name}, σ={sigma:g}", config.alike, ("map",))
            for sigma, each in paper.items()
        },
        {sigma: each.narrow(names, f"small λ, σ={sigma:g}", config.alike, groups) for sigma, each in small.items()},
    )


def _numbers(
    config: Figure2Config, names: tuple[str, str, str], paper: dict[float, Spreads], small: dict[float, Spreads]
) -> dict[str, Estimate]:
    return {
        f"{name}, {where}, σ={sigma:g}": each[i]
        for where, spreads in ((config.curve_name, paper), ("small λ", small))
        for i, name in enumerate(names)
        for sigma, each in spreads.items()
    }


def _at_equal_noise(config: Figure2Config, paper: dict[float, Spreads], words: tuple[str, str]) -> list[Finding]:
    """The same where noise and θ* are of one size, if that was tried."""
    sigma = config.theta_norm
    if sigma == config.sigma or sigma not in paper:
        return []
    return [Finding(f"{words[0]} at σ = ‖θ*‖", paper[sigma].wide), Finding(words[1], paper[sigma].other)]


def _other_norms(config: Figure2Config, on_paper: dict[float, Every]) -> list[str]:
    """At which norms of θ* it holds with the paper's σ, in a sentence: only σ over the norm counts."""
    held = [sigma for sigma in split_by_answer(on_paper)[0] if sigma != config.sigma]
    if not held:
        return []
    norms = [config.sigma * config.theta_norm / sigma for sigma in reversed(held)]
    return [
        f"Over the {config.curve_name} it holds at σ = {list_values(held)} with ‖θ*‖ = {config.theta_norm:g}, which is "
        f"σ = {config.sigma:g} with ‖θ*‖ = {list_values(norms)}."
    ]


def _largest_costs_most(config: Figure2Config, columns: Matrix) -> bool:
    """Whether the largest λ costs most, and by far."""
    costs = columns.mean(axis=0)[np.argsort(config.curve_lams)]
    return bool(costs[-1] > config.alike * costs[:-1].max(initial=0))
