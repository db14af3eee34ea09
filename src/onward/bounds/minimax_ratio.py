"""How far the bound of forward is above the minimax lower bound, for the λ that the paper speaks of."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from onward.bounds.common import Schedule, check, in_numbers, over_horizons_from, rounds
from onward.bounds.deterministic import minimax_regret
from onward.bounds.unregularized import unregularized_forward_regret_to_best
from onward.core.checks import positive
from onward.core.types import Vector

SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)


@over_horizons_from(8)
def forward_to_minimax_ratio(
    horizon: Vector, *, d: int, feature_bound: float, smallest_eigenvalue: float | Vector, schedule: Schedule
) -> Vector:
    """Bound of forward on L − min_θ L(θ), with λ as the schedule has it, over the minimax lower bound.  [Sec 2.2]

    Y² cancels. Infinite where the lower bound is not positive yet.

    Args:
        horizon: T, or several; at least 8.
        d: coordinates.
        feature_bound: X, no row has a larger norm; √d for rows in [0, 1]^d, which the lower bound is about.
        smallest_eigenvalue: λ⁺, the smallest positive eigenvalue of Σxxᵀ, after each round that raises the rank.
        schedule: λ: `1/T`, `log T/T`, `1` (Cor 2.3.1), or `0` (Thm E.2).

    Returns:
        The ratio: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range, or a horizon less than 8.

    Example:
        >>> from onward.bounds import forward_to_minimax_ratio
        >>> said = {"d": 1, "feature_bound": 1.0, "smallest_eigenvalue": 1.0}
        >>> none, some = (forward_to_minimax_ratio(10**9, **said, schedule=each) for each in ("0", "1/T"))
        >>> none < some
        True
    """
    if schedule == "0":
        upper = np.asarray(
            unregularized_forward_regret_to_best(
                horizon, d=d, feature_bound=feature_bound, target_bound=1.0, smallest_eigenvalue=smallest_eigenvalue
            )
        )
    else:
        lam = {"1/T": 1.0 / horizon, "log T/T": np.log(horizon) / horizon, "1": np.ones_like(horizon)}[schedule]
        eigenvalue = np.broadcast_to(np.asarray(smallest_eigenvalue, dtype=np.float64), horizon.shape)
        penalty = np.divide(lam * horizon, eigenvalue, out=np.full_like(horizon, math.inf), where=eigenvalue > 0)
        upper = d * np.log1p(horizon * feature_bound * feature_bound / (lam * d)) + penalty
    lower = np.asarray(minimax_regret(horizon, d=d, target_bound=1.0))
    return np.divide(upper, lower, out=np.full_like(horizon, math.inf), where=lower > 0)


@dataclass(frozen=True)
class MinimaxRatios:
    """Bounds of forward over the minimax lower bound.

    Attributes:
        horizons: T of each row.
        ratios: for each λ, as a schedule in T, the ratio at each T.
        limits: for each λ, what the ratio tends to as T grows, λ⁺ staying as it is.

    Example:
        >>> from onward.bounds import forward_to_minimax_ratios
        >>> table = forward_to_minimax_ratios([10**6, 10**9], d=1, feature_bound=1.0, smallest_eigenvalue=1.0)
        >>> table.limits
        {'1/T': 2.0, 'log T/T': 3.0, '1': inf, '0': 1.0}
    """

    horizons: Vector
    ratios: dict[Schedule, Vector]
    limits: dict[Schedule, float]

    def __str__(self) -> str:
        names = [f"λ = {schedule}" for schedule in self.ratios]
        lines = [["T", *names]]
        for i, T in enumerate(self.horizons):
            lines.append([f"{T:.6g}", *(f"{ratio[i]:.4g}" for ratio in self.ratios.values())])
        lines.append(["limit", *(f"{limit:.4g}" for limit in self.limits.values())])
        return "\n".join("".join(f"{cell:>13}" for cell in line) for line in lines)


@in_numbers
def forward_to_minimax_ratios(
    horizons: int | Sequence[int] | NDArray[Any], *, d: int, feature_bound: float, smallest_eigenvalue: float
) -> MinimaxRatios:
    """A table of `forward_to_minimax_ratio` over T for λ = 1/T, log T/T, 1 and 0, and its limits.  [Sec 2.2]

    With λ⁺ fixed these are 2, 2 + 1/(dλ⁺), infinity and 1: neither 1/T nor log T/T reaches the lower bound, and 0 does.
    (Where λ⁺ grows like T, λ = 1 tends to 1 as well. That the rows decide, not the learner.) The way there is long: the
    lower bound has log T − log log T − 3 − log d.

    Args:
        horizons: T, or several; at least 8.
        d: coordinates.
        feature_bound: X > 0, no row has a larger norm; √d for rows in [0, 1]^d, which the lower bound is about.
        smallest_eigenvalue: λ⁺ > 0, the smallest positive eigenvalue of Σxxᵀ, after each round that raises the rank.

    Returns:
        The ratios and their limits, which show themselves as a table.

    Raises:
        ValueError: if a parameter is out of its range, or a horizon less than 8.

    Example:
        >>> from onward.bounds import forward_to_minimax_ratios
        >>> print(forward_to_minimax_ratios([10**6, 10**9], d=1, feature_bound=1.0, smallest_eigenvalue=1.0))
                     T      λ = 1/T  λ = log T/T        λ = 1        λ = 0
        ...
                 limit            2            3          inf            1
    """
    T = np.atleast_1d(rounds(horizons, 8))
    check(d=d)
    positive("feature_bound", feature_bound)
    positive("smallest_eigenvalue", smallest_eigenvalue)
    ratios = {
        schedule: forward_to_minimax_ratio(
            T, d=d, feature_bound=feature_bound, smallest_eigenvalue=smallest_eigenvalue, schedule=schedule
        )
        for schedule in SCHEDULES
    }
    less_rigid = 2.0 + 1.0 / (d * smallest_eigenvalue)
    limits: dict[Schedule, float] = {"1/T": 2.0, "log T/T": less_rigid, "1": math.inf, "0": 1.0}
    return MinimaxRatios(T, ratios, limits)
