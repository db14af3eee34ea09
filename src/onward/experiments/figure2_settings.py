"""The settings of figure 2."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onward.core.checks import positive, probability
from onward.experiments.regression_problems import RegressionSettings


@dataclass(frozen=True)
class Figure2Config(RegressionSettings):
    """The paper's settings. It gives neither the number of rounds nor θ*, uniform on the unit sphere unless told so."""

    d: int = 5
    rounds: int = 1000
    sigma: float = 0.1  # of the noise, in the curves
    lams: tuple[float, ...] = ()  # in the curves; empty for the paper's: 1/T, 1/log T, 1 and 10
    delta: float = 0.05  # of the bounds that are drawn
    points: int = 60  # rounds at which curves are kept, or a few more
    map_sigmas: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    map_lams: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
    map_times: int = 5  # repeats of the map, for each one of the curves: its means have heavy tails
    early_times: int = 20  # repeats of the first rounds alone, which are nearly free and have the heaviest tails
    small_lam: float = 0.01  # up to here a λ counts as small
    alike: float = 1.25  # λ does not matter if the largest mean over λ is less than this many times the smallest
    margin: float = 0.05  # on par: neither has more than 1 + margin times the other's

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("d", "sigma", "points", "map_times", "early_times", "small_lam", "alike", "margin"):
            positive(name, getattr(self, name))
        probability("delta", self.delta)
        for name in ("lams", "map_lams", "map_sigmas"):
            for value in getattr(self, name):
                positive(name, value)
        if self.rounds < 4 * self.d + 2:
            raise ValueError(f"rounds must be at least 4·d + 2 = {4 * self.d + 2}, got {self.rounds}")
        if len(self.small_lams) < 2:
            raise ValueError(
                f"map_lams must hold at least two λ up to small_lam = {self.small_lam:g}, got {self.map_lams}"
            )

    @property
    def curve_lams(self) -> tuple[float, ...]:
        """The λ of the curves."""
        return self.lams or (1 / self.rounds, 1 / math.log(self.rounds), 1.0, 10.0)

    @property
    def curve_name(self) -> str:
        """The λ of the curves in words."""
        return "λ of the curves" if self.lams else "paper's λ"

    @property
    def small_lams(self) -> tuple[float, ...]:
        """The small ones on the map, ascending."""
        return tuple(sorted(lam for lam in self.map_lams if lam <= self.small_lam))

    @property
    def early_lams(self) -> tuple[float, ...]:
        """The small ones and those of the curves, ascending."""
        return tuple(sorted({*self.small_lams, *self.curve_lams}))

    @property
    def all_lams(self) -> tuple[float, ...]:
        """Every λ on the map or in the curves, ascending."""
        return tuple(sorted({*self.map_lams, *self.curve_lams}))

    @property
    def all_sigmas(self) -> tuple[float, ...]:
        """Every σ on the map, ascending."""
        return tuple(sorted({self.sigma, *self.map_sigmas}))

    @property
    def marks(self) -> tuple[int, int, int, int]:
        """Rounds that the claims ask for: d, when the design can be of full rank; 2d; half of all; the last."""
        return self.d, 2 * self.d, self.rounds // 2, self.rounds

    @property
    def kept(self) -> Sequence[int]:
        """Rounds at which curves are kept, evenly spread on a logarithmic axis, the marks among them."""
        spaced = np.geomspace(1, self.rounds, self.points).round().astype(int)
        return [int(each) for each in np.unique([*spaced, *self.marks])]

    def signal_to_noise(self, sigma: float) -> float:
        """Variance of xᵀθ* over that of the noise: rows uniform in the ball have 1/(d + 2) in each direction."""
        square = self.theta_norm**2 * (self.d / (self.d + 2) if self.theta_law == "ball" else 1.0)
        return square / ((self.d + 2) * sigma**2)
