"""What figure 2 is read by: values at each σ and λ, and which of their means can be trusted."""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from onward.core.types import Matrix
from onward.experiments.claims import list_values
from onward.experiments.estimates import TRUSTED, Estimate, median, ratio, share, top_shares
from onward.experiments.regression_problems import LEARNERS
from onward.experiments.repeat_frame import value_matrix


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


def find_usable(*groups: Matrix) -> list[int]:
    """The columns, one for each λ, whose means can be trusted in all groups."""
    shares = np.max([top_shares(each) for each in groups], axis=0)
    return [int(i) for i in np.flatnonzero(shares <= TRUSTED)]


def name_left_out(lams: Sequence[float], usable: Sequence[int]) -> str:
    """Which λ are not usable, in words."""
    out = [lam for i, lam in enumerate(lams) if i not in usable]
    return f"without λ = {list_values(out)}, where a few repeats make up the mean" if out else ""


def list_pairs(pairs: Iterable[tuple[float, float]]) -> list[str]:
    """Pairs of σ and λ in words, one for each σ."""
    by_sigma: dict[float, list[float]] = {}
    for sigma, lam in sorted(pairs):
        by_sigma.setdefault(sigma, []).append(lam)
    return [f"σ = {sigma:g}, λ = {list_values(lams)}" for sigma, lams in by_sigma.items()]
