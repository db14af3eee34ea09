"""The claims of figure 2: ridge depends on λ as 1/λ and then settles, forward is robust; and is forward ahead?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from onward.core.types import Matrix, Vector
from onward.experiments.base import Claim
from onward.experiments.judging import listed, regime, verdict
from onward.experiments.regression_data import LEARNERS
from onward.experiments.statistics import Estimate, excess, exponent, median, ratio, spread
from onward.experiments.tidy import values_of

if TYPE_CHECKING:
    from onward.experiments.figure2 import Config

NEAR = 0.2  # an exponent this near to −1 is one of −1
SLIGHT = 0.1  # an exponent nearer to 0 is no dependence to speak of


def claims(config: "Config", frame: pl.DataFrame) -> Sequence[Claim]:
    """All of them, decided on the frame."""
    return [
        _inverse_lambda(config, frame),
        _settles(config, frame),
        _robust(config, frame),
        _forward_ahead(config, frame),
    ]


class Cells:
    """Values on the map, read off quickly: by quantity, learner, σ and λ."""

    def __init__(self, frame: pl.DataFrame) -> None:
        columns = ["quantity", "learner", "sigma", "lam"]
        parts = frame.filter(pl.col("part") == "map").partition_by(columns, as_dict=True)
        self._values = {key: values_of(part) for key, part in parts.items()}

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
    cells, lams, first = Cells(frame), config.small_lams, 2 * config.d
    errors = {sigma: cells.columns("error", "ridge", sigma, lams, 1) for sigma in config.all_sigmas}
    powers = {sigma: exponent(each, lams) for sigma, each in errors.items()}
    typical = {sigma: median(_own_exponents(each, lams)) for sigma, each in errors.items()}
    curves = exponent(_curves(config, frame, "ridge", "error")[first], config.curve_lams)
    made_frame = frame.filter((pl.col("part") == "made") & (pl.col("learner") == "ridge"))
    made = exponent(np.column_stack([values_of(made_frame, lam=lam)[:, 0] for lam in lams]), lams)
    here = powers[config.sigma]
    grows = [sigma for sigma, power in powers.items() if power.upper < -SLIGHT]
    exact = [sigma for sigma, power in powers.items() if _is_inverse(power)]
    last = config.all_sigmas[-1]
    return Claim(
        name="inverse-lambda",
        says="In the first rounds ridge's regret depends on λ as 1/λ.",
        verdict=verdict(_is_inverse(here), bool(grows)),
        finding=(
            f"As λ goes to 0, ridge's squared errors of the first {first} rounds grow as λ to the power {here} at σ = "
            f"{config.sigma:g} and {powers[last]} at σ = {last:g} (λ = {lams[0]:g} … {lams[-1]:g}); 1/λ would be −1. "
            f"That is of the mean: the median repeat's own power is {typical[config.sigma]} and {typical[last]}. Over "
            f"the paper's λ at σ = {config.sigma:g} the power is {curves}. On rows made for it, √λe₁ and e₁, it is "
            f"{made}."
        ),
        rule=(
            "Slope of log(mean of the summed squared errors over the first 2d rounds) against log λ, λ ≤ "
            f"{config.small_lam:g}: supported if its interval lies within −1 ± {NEAR:g} at σ = {config.sigma:g}; "
            f"partly if at some σ tried it lies below −{SLIGHT:g}."
        ),
        regime=(
            f"as 1/λ: {regime('σ', exact, config.all_sigmas)}; growing as λ falls, but more slowly: "
            f"{regime('σ', [s for s in grows if s not in exact], config.all_sigmas)}"
            + ("; as 1/λ on rows √λe₁, e₁, made for it" if _is_inverse(made) else "")
        ),
        numbers={
            **{f"exponent at σ={sigma:g}": power.record() for sigma, power in powers.items()},
            **{f"median exponent at σ={sigma:g}": power.record() for sigma, power in typical.items()},
            "exponent over the paper's λ": curves.record(),
            "exponent on rows made for it": made.record(),
        },
    )


def _is_inverse(power: Estimate) -> bool:
    return power.lower > -1 - NEAR and power.upper < -1 + NEAR


def _own_exponents(columns: Matrix, lams: Sequence[float]) -> Vector:
    """The slope of each repeat by itself."""
    x = np.log(lams) - np.mean(np.log(lams))
    slopes: Vector = np.sum(np.log(columns) * x, axis=1) / np.sum(x**2)
    return slopes


def _settles(config: "Config", frame: pl.DataFrame) -> Claim:
    cells, d = Cells(frame), config.d
    full_rank, early_end, half, end = config.marks
    curves = _curves(config, frame, "ridge", "error")
    early = curves[early_end] - curves[full_rank]
    late = curves[end] - curves[half]
    paper = (spread(early), spread(late), excess(early, late))

    def holds(spreads: tuple[Estimate, Estimate, Estimate]) -> bool:
        return spreads[1].upper < config.alike and spreads[2].lower > 1

    small = {}
    up_to = {}
    for sigma in config.all_sigmas:
        sums = [cells.columns("error", "ridge", sigma, sorted(config.map_lams), mark) for mark in range(4)]
        first, last = sums[1] - sums[0], sums[3] - sums[2]
        k = len(config.small_lams)
        small[sigma] = (spread(first[:, :k]), spread(last[:, :k]), excess(first[:, :k], last[:, :k]))
        alike = [i for i in range(1, last.shape[1] + 1) if spread(last[:, :i]).upper < config.alike]
        up_to[sigma] = sorted(config.map_lams)[max(alike, default=1) - 1]
    held = [sigma for sigma, spreads in small.items() if holds(spreads)]
    here = small[config.sigma]
    return Claim(
        name="settles",
        says="Once the design is of full rank, 1/λ disappears and ridge's regret is much less sensitive to λ.",
        verdict=verdict(holds(paper), bool(held)),
        finding=(
            f"Over the paper's λ, what rounds {d + 1}–{2 * d} cost differs by a factor of {paper[0]}, and what the "
            f"second half of the rounds costs by {paper[1]}{_why(config, late)}. Among small λ (≤ "
            f"{config.small_lam:g}) it goes from {here[0]} to {here[1]}."
        ),
        rule=(
            "Largest over smallest mean across λ, of the summed squared errors: supported if, over the paper's λ at σ "
            f"= {config.sigma:g}, the interval for the second half of the rounds lies below {config.alike:g} and that "
            f"for rounds d + 1 to 2d is larger; partly if so over λ ≤ {config.small_lam:g} at some σ tried."
        ),
        regime=(
            f"λ ≤ {config.small_lam:g} and {regime('σ', held, config.all_sigmas)}; in the second half λ does not "
            "matter up to "
            + ", ".join(
                f"{lam:g} (σ = {listed([sigma for sigma, most in up_to.items() if most == lam])})"
                for lam in sorted(set(up_to.values()))
            )
        ),
        numbers={
            "early spread, paper's λ": paper[0].record(),
            "late spread, paper's λ": paper[1].record(),
            "early over late, paper's λ": paper[2].record(),
            **{f"early spread, small λ, σ={sigma:g}": each[0].record() for sigma, each in small.items()},
            **{f"late spread, small λ, σ={sigma:g}": each[1].record() for sigma, each in small.items()},
        },
    )


def _why(config: "Config", columns: Matrix) -> str:
    """What to add where the largest λ costs most, and by far."""
    costs = columns.mean(axis=0)[np.argsort(config.curve_lams)]
    return ", for the largest λ goes on shrinking" if costs[-1] > config.alike * costs[:-1].max() else ""


def _robust(config: "Config", frame: pl.DataFrame) -> Claim:
    cells, end = Cells(frame), config.rounds

    def compared(ridge: Matrix, forward: Matrix) -> tuple[Estimate, Estimate, Estimate]:
        return spread(ridge), spread(forward), excess(ridge, forward)

    def holds(spreads: tuple[Estimate, Estimate, Estimate]) -> bool:
        return spreads[1].upper < config.alike and spreads[2].lower > 1

    final = {learner: _curves(config, frame, learner, "regret")[end] for learner in LEARNERS}
    paper = compared(final["ridge"], final["forward"])
    small = {
        sigma: compared(*(cells.columns("regret", learner, sigma, config.small_lams, 0) for learner in LEARNERS))
        for sigma in config.all_sigmas
    }
    held = [sigma for sigma, spreads in small.items() if holds(spreads)]
    here = small[config.sigma]
    return Claim(
        name="robust-to-lambda",
        says="The forward algorithm is robust to λ, contrarily to ridge.",
        verdict=verdict(holds(paper), bool(held)),
        finding=(
            f"Over the paper's λ forward's final regret differs by a factor of {paper[1]} and ridge's by "
            f"{paper[0]}{_why(config, final['forward'])}. Over small λ (≤ {config.small_lam:g}) forward's differs by "
            f"{here[1]}, ridge's by {here[0]} at σ = {config.sigma:g} and by {small[config.all_sigmas[-1]][0]} at "
            f"σ = {config.all_sigmas[-1]:g}."
        ),
        rule=(
            "Largest over smallest mean across λ, of the regret to θ* after T rounds: supported if, over the paper's "
            f"λ at σ = {config.sigma:g}, forward's interval lies below {config.alike:g} and ridge's is larger than "
            f"forward's; partly if so over λ ≤ {config.small_lam:g} at some σ tried."
        ),
        regime=f"λ ≤ {config.small_lam:g} and {regime('σ', held, config.all_sigmas)}",
        numbers={
            "ridge's spread, paper's λ": paper[0].record(),
            "forward's spread, paper's λ": paper[1].record(),
            "ridge's over forward's spread, paper's λ": paper[2].record(),
            **{f"ridge's spread, small λ, σ={sigma:g}": each[0].record() for sigma, each in small.items()},
            **{f"forward's spread, small λ, σ={sigma:g}": each[1].record() for sigma, each in small.items()},
        },
    )


def _forward_ahead(config: "Config", frame: pl.DataFrame) -> Claim:
    cells = Cells(frame)
    ratios = {
        (sigma, lam): map_ratio(cells, sigma, lam) for sigma in config.all_sigmas for lam in sorted(config.map_lams)
    }
    ahead = [cell for cell, each in ratios.items() if each.lower > 1 + config.margin]
    behind = [cell for cell, each in ratios.items() if each.upper < 1 / (1 + config.margin)]
    best, worst = (pick(ratios, key=lambda cell: ratios[cell].value) for pick in (max, min))
    ridge, forward = (_curves(config, frame, learner, "regret")[config.rounds] for learner in LEARNERS)
    here = {lam: ratio(ridge[:, i], forward[:, i]) for i, lam in enumerate(config.curve_lams)}
    where = [
        f"σ = {sigma:g}: λ = {listed([lam for s, lam in ahead if s == sigma])}"
        for sigma in config.all_sigmas
        if any(s == sigma for s, _ in ahead)
    ]
    return Claim(
        name="forward-ahead",
        says="Forward is to replace ridge: with its better bound, its regret is no larger than ridge's.",
        verdict=verdict(not behind and bool(ahead), bool(ahead)),
        finding=(
            f"Of {len(ratios)} pairs of σ and λ, forward's regret is smaller in {len(ahead)}, larger in {len(behind)} "
            f"and on par in {len(ratios) - len(ahead) - len(behind)}. Ridge's over forward's goes from {ratios[worst]} "
            f"(σ = {worst[0]:g}, λ = {worst[1]:g}) to {ratios[best]} (σ = {best[0]:g}, λ = {best[1]:g}). At the "
            f"paper's settings it is {'; '.join(f'{each} at λ = {lam:.3g}' for lam, each in here.items())}."
        ),
        rule=(
            f"Ridge's over forward's regret to θ* after T rounds, for each σ and λ of the map: forward is ahead if the "
            f"interval lies above {1 + config.margin:g}, behind if below 1/{1 + config.margin:g}. Supported if ahead "
            f"somewhere and behind nowhere, partly if ahead somewhere."
        ),
        regime="; ".join(where) if where else "nowhere tried",
        numbers={
            **{f"ratio at σ={sigma:g}, λ={lam:g}": each.record() for (sigma, lam), each in ratios.items()},
            **{f"ratio at the paper's λ={lam:.4g}": each.record() for lam, each in here.items()},
        },
    )
