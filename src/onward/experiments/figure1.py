"""Figure 1: the terms that the two learners' regrets are made of, round by round.

Against the penalised minimum, ridge's regret is Σ (p − y)² h, its *first term*; forward's is Σ y² h − Σ q ŷ², a *first*
less a *second term* [Eq 4] [Eq 5]. The paper looks at one noise level; what it says of the terms depends on the noise,
so the sums are kept for a range of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onward import bounds
from onward.core.types import Vector
from onward.experiments import figure1_claims, figure1_drawings, regression_problems, repeat_frame
from onward.experiments.claims import Claim
from onward.experiments.figure import Figure, Piece
from onward.experiments.figure1_settings import TERMS, Figure1Config
from onward.experiments.regression_problems import Problem
from onward.experiments.repeat_frame import make_frame, split_repeats
from onward.pages.drawing import Drawing


class Figure1(Figure[Figure1Config]):
    """The terms of the regret, in each round and summed up, and how they depend on the noise."""

    name = "figure1"
    title = "The terms of the regret"
    Config = Figure1Config
    quick_settings: ClassVar[Mapping[str, Any]] = {"repeats": 10, "undecided_times": 1}
    computing_modules = (regression_problems, repeat_frame)
    repeats_a_piece = 25

    def groups(self, config: Figure1Config) -> Mapping[str, int]:
        """One: every repeat is run at all σ."""
        return {"repeats": config.sums_times * config.repeats}

    def cut(self, config: Figure1Config, group: str, start: int, stop: int) -> Sequence[Piece]:
        """Repeats, some at a time."""
        return split_repeats(group, start, stop, self.repeats_a_piece)

    def compute(self, config: Figure1Config, piece: Piece) -> pl.DataFrame:
        """Terms at every round for the picture's σ; for each σ, their sums, losses, regrets and bounds at a few rounds.

        The first `repeats` have both, the others only the latter.
        """
        start, stop = piece.about["start"], piece.about["stop"]
        every = np.arange(1, config.rounds + 1)
        kept = np.array(config.marks) - 1
        found: dict[tuple[str, str, str, float], list[Vector]] = {}

        def keep(part: str, quantity: str, learner: str, sigma: float, values: Vector) -> None:
            found.setdefault((part, quantity, learner, sigma), []).append(values)

        for repeat in range(start, stop):
            problem = Problem.draw(
                config.seed, repeat, "cube", config.d, config.rounds, config.theta_law, config.theta_norm
            )
            learned = problem.learn(config.lam)
            for sigma in config.all_sigmas:
                trace = learned.trace(sigma)
                ridge, forward = bounds.ridge_identity(trace), bounds.forward_identity(trace)
                for (learner, quantity), term in zip(TERMS, (ridge.first, forward.first, forward.second), strict=True):
                    keep("sums", quantity, learner, sigma, np.cumsum(term)[kept])
                    if sigma == config.sigma and repeat < config.repeats:
                        keep("terms", quantity, learner, sigma, term)
                for learner, prediction in (("ridge", trace.p), ("forward", trace.forward)):
                    keep("sums", "loss", learner, sigma, np.cumsum((prediction - trace.y) ** 2)[kept])
                    keep("sums", "regret", learner, sigma, learned.regret(learner, sigma)[kept])
                keep("sums", "bound", "ridge", sigma, bounds.ridge_regret_to_penalized_along(trace)[kept])
                keep("sums", "bound", "forward", sigma, bounds.forward_regret_to_penalized_along(trace)[kept])
        return pl.concat(
            make_frame(
                np.array(values),
                part=part,
                quantity=quantity,
                learner=learner,
                lam=config.lam,
                sigma=sigma,
                first_repeat=start,
                rounds=every if part == "terms" else config.marks,
            )
            for (part, quantity, learner, sigma), values in found.items()
        )

    def claims(self, config: Figure1Config, frame: pl.DataFrame) -> Sequence[Claim]:
        """What the paper says of the terms, and what came out."""
        return figure1_claims.decide_claims(config, frame)

    def draw(self, config: Figure1Config, frame: pl.DataFrame) -> Sequence[Drawing]:
        """The paper's figure with the sums beside it, and how what it shows depends on the noise."""
        return [figure1_drawings.draw_terms(config, frame), figure1_drawings.draw_noise(config, frame)]


FIGURE_1 = Figure1()
