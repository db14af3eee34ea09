"""Figure 2: how the regret of ridge (2a) and of forward (2b) depends on the regularisation λ.

The paper shows curves for one noise level and four λ; they are kept at some sixty rounds. A map over noise × λ says
where what it says of them holds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from onward.core.checks import positive, probability
from onward.core.types import Matrix, Vector
from onward.experiments import figure2_claims, figure2_drawings
from onward.experiments.base import Claim, Piece
from onward.experiments.regression_data import LEARNERS, Problem
from onward.experiments.tidy import in_pieces, table
from onward.pages.drawing import Drawing

NAME = "figure2"
TITLE = "How the regret depends on λ"
REPEATS_A_PIECE = {"lines": 50, "map": 50, "early": 500, "made": 250}


@dataclass(frozen=True)
class Config:
    """The paper's settings. It gives neither the number of rounds nor θ*, which is uniform on the unit sphere here."""

    seed: int = 0
    repeats: int = 100
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
        for name in ("repeats", "d", "sigma", "points", "map_times", "early_times", "small_lam", "alike", "margin"):
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
        return 1.0 / ((self.d + 2) * sigma**2)


def pieces(config: Config) -> Sequence[Piece]:
    """Repeats of each part, some at a time."""
    many = config.map_times * config.repeats
    sizes = {"lines": config.repeats, "map": many, "early": config.early_times * config.repeats, "made": many}
    return [piece for part, repeats in sizes.items() for piece in in_pieces(part, repeats, REPEATS_A_PIECE[part])]


def compute(config: Config, piece: Piece) -> pl.DataFrame:
    """One part for some repeats.

    - lines: for each λ of the curves, squared errors of the predictions (`instant`), their sums (`error`) and the
      regret to θ* so far (`regret`).
    - map: for each λ and σ of the map, sums of squared errors at a few rounds, and the regret at the last.
    - early: the same sums of ridge for small λ and those of the curves, at the first of these rounds, of many more
      repeats.
    - made: the sum of both squared errors on two rows, √λe₁ and e₁, made for ridge to lose as 1/λ.
    """
    part, start, stop = piece.about["part"], piece.about["start"], piece.about["stop"]
    lams = {"lines": config.curve_lams, "early": config.early_lams}.get(part, config.map_lams)
    sigmas = config.all_sigmas if part in ("map", "early") else (config.sigma,)
    learners = LEARNERS[:1] if part == "early" else LEARNERS
    rounds = config.marks[1] if part == "early" else config.rounds
    found: dict[tuple[str, str, float, float], list[Vector]] = {}
    for repeat in range(start, stop):
        problem = Problem.draw(config.seed, repeat, "ball", config.d, rounds)
        for lam in lams:
            learned = (_made(problem, lam) if part == "made" else problem).learned(lam)
            for sigma, learner in product(sigmas, learners):
                squares = learned.error(learner, sigma) ** 2
                values = {"error": np.cumsum(squares)}
                if part in ("lines", "map"):
                    values["regret"] = learned.regret(learner, sigma)
                if part == "lines":
                    values["instant"] = squares
                for quantity, each in values.items():
                    at = np.array(_rounds(config, part, quantity)) - 1
                    found.setdefault((quantity, learner, lam, sigma), []).append(each[at])
    return pl.concat(
        table(
            np.array(values),
            part=part,
            quantity=quantity,
            learner=learner,
            lam=lam,
            sigma=sigma,
            first_repeat=start,
            rounds=_rounds(config, part, quantity),
        )
        for (quantity, learner, lam, sigma), values in found.items()
    )


def _rounds(config: Config, part: str, quantity: str) -> Sequence[int]:
    if part == "lines":
        return config.kept
    if part == "made":
        return [2]
    if part == "early":
        return config.marks[:2]
    return [config.rounds] if quantity == "regret" else list(config.marks)


def _made(problem: Problem, lam: float) -> Problem:
    """Two rows in one direction, of lengths √λ and 1: the leverage of the second is 1/(2λ).  [erratum 16]"""
    X: Matrix = np.zeros((2, len(problem.theta)))
    X[:, 0] = math.sqrt(lam), 1.0
    return Problem.of(X, problem.theta, problem.noise[:2])


def claims(config: Config, frame: pl.DataFrame) -> Sequence[Claim]:
    """What the paper says of λ, and what came out."""
    return figure2_claims.claims(config, frame)


def draw(config: Config, frame: pl.DataFrame) -> Sequence[Drawing]:
    """2a, 2b and the map."""
    return figure2_drawings.draw(config, frame)
