"""What a comparison says, in plain words."""

from __future__ import annotations  # results are shown by this, and known here by name only

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onward.progressive.results import Comparison, Scores


ENOUGH = 30  # rows from which it can be said that features do not help
SAME = 0.005  # errors that differ by less than this share are called the same


@dataclass(frozen=True)
class Spread:
    """How one learner did over the grid."""

    best_lam: float
    best: float  # RMSE
    worst_lam: float
    worst: float

    @property
    def spread(self) -> float:
        """Worst RMSE over best."""
        if math.isnan(self.best):
            return math.nan
        return self.worst / self.best if self.best > 0 else (1.0 if self.worst == 0 else math.inf)


@dataclass(frozen=True)
class Conclusion:
    """The spreads of both learners, the running mean beside them, and what that means."""

    learners: Mapping[str, Spread]
    mean_rmse: float
    rows: int
    text: str


def conclude(comparison: Comparison) -> Conclusion:
    """Read a comparison."""
    spreads = {name: _spread(comparison, name) for name in comparison.scores}
    scored = next(each for values in comparison.scores.values() for each in values if each is not None)
    return Conclusion(spreads, scored.mean_rmse, scored.rows, _text(comparison, spreads, scored))


def _spread(comparison: Comparison, name: str) -> Spread:
    rmse = comparison.rmse(name)
    if np.isnan(rmse).all():
        return Spread(math.nan, math.nan, math.nan, math.nan)
    best, worst = int(np.nanargmin(rmse)), int(np.nanargmax(rmse))
    return Spread(comparison.lams[best], float(rmse[best]), comparison.lams[worst], float(rmse[worst]))


def _text(comparison: Comparison, spreads: Mapping[str, Spread], scored: Scores) -> str:
    ridge, forward = spreads["ridge"], spreads["forward"]
    if math.isnan(ridge.best):
        return f"Ridge is not defined without regularisation; forward has an RMSE of {forward.best:.4g}."
    sentences = [_best(ridge, forward, scored), *_auto(comparison, ridge, forward)]
    if len(comparison.lams) > 1:
        sentences += [_cost(ridge, forward), _count(comparison), _advice(ridge, forward)]
    return " ".join(sentences)


def _best(ridge: Spread, forward: Spread, scored: Scores) -> str:
    text = (
        f"At its best λ ({forward.best_lam:g}) forward has an online RMSE of {forward.best:.4g}, "
        f"ridge at its best ({ridge.best_lam:g}) {ridge.best:.4g}; the running mean has {scored.mean_rmse:.4g}."
    )
    if scored.rows >= ENOUGH and min(ridge.best, forward.best) >= scored.mean_rmse > 0:
        text += " Neither beats the running mean: these features do not help a linear model here."
    return text


def _auto(comparison: Comparison, ridge: Spread, forward: Spread) -> list[str]:
    """What the learner without a λ came to, beside the best of the grid in hindsight."""
    if comparison.auto is None:
        return []
    best, error = min(ridge.best, forward.best), comparison.auto.rmse
    if not best > 0:
        return [f"Auto, which needs no λ, has {error:.4g}."]
    beside = f"{error / best:.3g} times the best of them in hindsight"
    return [f"Auto, which needs no λ, has {error:.4g}, {beside}; it leans on {comparison.auto_leaning}."]


def _cost(ridge: Spread, forward: Spread) -> str:
    return (
        f"The worst λ of this grid would have cost {_more(forward.spread)} with forward (λ = {forward.worst_lam:g}) "
        f"and {_more(ridge.spread)} with ridge (λ = {ridge.worst_lam:g})."
    )


def _count(comparison: Comparison) -> str:
    ridge, forward = comparison.rmse("ridge"), comparison.rmse("forward")
    both = ~np.isnan(ridge) & ~np.isnan(forward)
    better = int(np.sum(forward[both] < ridge[both] * (1 - SAME)))
    worse = int(np.sum(ridge[both] < forward[both] * (1 - SAME)))
    total = int(both.sum())
    return (
        f"With the same λ, forward errs less at {better} of {total}, ridge at {worse}, "
        f"and they are within {SAME:.1%} of each other at {total - better - worse}."
    )


def _advice(ridge: Spread, forward: Spread) -> str:
    if _close(ridge.spread, forward.spread) and _close(ridge.best, forward.best):
        return "On these data it hardly matters which of the two is used."
    safer = "forward" if forward.worst < ridge.worst else "ridge"
    better = "forward" if forward.best < ridge.best else "ridge"
    if _close(ridge.best, forward.best):
        return f"Of the two, {safer} is the safer choice here when λ is a guess; with the right λ they are equal."
    if safer == better:
        return f"Of the two, {safer} is the better choice on these data, with the right λ and with a wrong one."
    return f"Of the two, {better} is better with the right λ, and {safer} is safer when λ is a guess."


def _close(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= SAME * max(abs(one), abs(other))


def _more(ratio: float) -> str:
    if not math.isfinite(ratio):
        return "infinitely more error"
    if ratio < 1.0005:
        return "nothing"
    return f"{ratio - 1:.1%} more error" if ratio < 2 else f"{ratio:.3g} times the error"
