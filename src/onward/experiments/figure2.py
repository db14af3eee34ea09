"""Figure 2: how the regret of ridge (2a) and of forward (2b) depends on the regularisation λ.

The paper shows curves for one noise level and four λ; they are kept at some sixty rounds. A map over noise × λ says
where what it says of them holds.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onward.core.types import Matrix, Vector
from onward.experiments import figure2_claims, figure2_drawings, regression_problems, repeat_frame
from onward.experiments.claims import Claim
from onward.experiments.figure import Figure, Piece
from onward.experiments.figure2_settings import Figure2Config
from onward.experiments.regression_problems import LEARNERS, Problem
from onward.experiments.repeat_frame import make_frame, split_repeats
from onward.pages.drawing import Drawing


class Figure2(Figure[Figure2Config]):
    """Curves for some λ, and a map over noise and λ."""

    name = "figure2"
    title = "How the regret depends on λ"
    Config = Figure2Config
    quick_settings: ClassVar[Mapping[str, Any]] = {"repeats": 10, "undecided_times": 1}
    computing_modules = (regression_problems, repeat_frame)
    repeats_a_piece: ClassVar[Mapping[str, int]] = {"lines": 50, "map": 50, "early": 500, "made": 250}

    def groups(self, config: Figure2Config) -> Mapping[str, int]:
        """The parts."""
        many = config.map_times * config.repeats
        return {"lines": config.repeats, "map": many, "early": config.early_times * config.repeats, "made": many}

    def cut(self, config: Figure2Config, group: str, start: int, stop: int) -> Sequence[Piece]:
        """Repeats of a part, some at a time."""
        return split_repeats(group, start, stop, self.repeats_a_piece[group])

    def compute(self, config: Figure2Config, piece: Piece) -> pl.DataFrame:
        """One part for some repeats.

        - lines: for each λ of the curves, squared errors of the predictions (`instant`), their sums (`error`) and the
          regret to θ* so far (`regret`).
        - map: for each σ of the map and each λ of it or of the curves, sums of squared errors at a few rounds, and the
          regret at the last.
        - early: the same sums of ridge for small λ and those of the curves, at the first of these rounds, of many more
          repeats.
        - made: the sum of both squared errors on two rows, √λe₁ and e₁, made for ridge to lose as 1/λ.
        """
        part, start, stop = piece.about["part"], piece.about["start"], piece.about["stop"]
        lams = {"lines": config.curve_lams, "early": config.early_lams, "made": config.map_lams}.get(
            part, config.all_lams
        )
        sigmas = config.all_sigmas if part in ("map", "early") else (config.sigma,)
        learners = LEARNERS[:1] if part == "early" else LEARNERS
        rounds = config.marks[1] if part == "early" else config.rounds
        found: dict[tuple[str, str, float, float], list[Vector]] = {}
        for repeat in range(start, stop):
            problem = Problem.draw(config.seed, repeat, "ball", config.d, rounds, config.theta_law, config.theta_norm)
            for lam in lams:
                learned = (_made_problem(problem, lam) if part == "made" else problem).learn(lam)
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
            make_frame(
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

    def claims(self, config: Figure2Config, frame: pl.DataFrame) -> Sequence[Claim]:
        """What the paper says of λ, and what came out."""
        return figure2_claims.decide_claims(config, frame)

    def draw(self, config: Figure2Config, frame: pl.DataFrame) -> Sequence[Drawing]:
        """2a, 2b and the map."""
        return figure2_drawings.draw_all(config, frame)


def _rounds(config: Figure2Config, part: str, quantity: str) -> Sequence[int]:
    if part == "lines":
        return config.kept
    if part == "made":
        return [2]
    if part == "early":
        return config.marks[:2]
    return [config.rounds] if quantity == "regret" else list(config.marks)


def _made_problem(problem: Problem, lam: float) -> Problem:
    """Two rows in one direction, of lengths √λ and 1: the leverage of the second is 1/(2λ).  [erratum 16]"""
    X: Matrix = np.zeros((2, len(problem.theta)))
    X[:, 0] = math.sqrt(lam), 1.0
    return Problem.from_rows(X, problem.theta, problem.noise[:2])


FIGURE_2 = Figure2()
