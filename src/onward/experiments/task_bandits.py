"""Tasks in sequence (Cella et al. 2020): a prior mean learned from earlier tasks, beside 0 and beside the true mean."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onward.bandits import MetaOFUL, OracleRestart, players
from onward.experiments import bandit_games, repeat_frame, task_claims, task_drawings
from onward.experiments.bandit_games import play_piece
from onward.experiments.claims import Claim
from onward.experiments.figure import Figure, Piece
from onward.experiments.repeat_frame import split_repeats
from onward.experiments.task_settings import ESTIMATORS, STARTS, TaskConfig
from onward.pages.drawing import Drawing


@dataclass(frozen=True)
class TaskPlayer:
    """A policy with what tells it apart from others."""

    policy: players.Player
    labels: Mapping[str, str | float]


def make_players(config: TaskConfig, sigma: float, spread: float) -> list[TaskPlayer]:
    """Each start with both estimators. All know when tasks begin, and what is true of their own start."""
    found = []
    points = [config.rounds * task for task in range(1, config.n_tasks)]
    for start, estimator in itertools.product(STARTS, ESTIMATORS):
        known: dict[str, Any] = {"lam": config.lam, "sigma": sigma, "delta": config.delta, "estimator": estimator}
        bound = config.mean_norm + spread
        policy: players.Player
        if start == "zero":
            policy = OracleRestart(points, theta_bound=bound, **known)
        elif start == "oracle":
            policy = OracleRestart(points, theta_bound=spread, prior_mean=config.mean, **known)
        else:
            trust: Any = "proven" if start == "proven" else "spread"
            policy = MetaOFUL(config.rounds, spread=spread, trust=trust, theta_bound=bound, **known)
        found.append(TaskPlayer(policy, {"start": start, "estimator": estimator}))
    return found


class TaskBandits(Figure[TaskConfig]):
    """Regrets task by task."""

    name = "tasks"
    title = "Tasks: a start that is learned from earlier ones"
    of_paper = False
    source = "Cella et al. (2020)"
    Config = TaskConfig
    quick_settings: ClassVar[Mapping[str, Any]] = {"repeats": 10, "n_tasks": 10, "undecided_times": 1}
    computing_modules = (bandit_games, repeat_frame)

    def remarks(self, config: TaskConfig) -> list[str]:
        """What is played, and what was changed."""
        said = (
            f"θ of each task is uniform on a sphere around a common mean of norm {config.mean_norm:g}, of radius r. "
            "All policies start over with each task. From 0: OFUL with S = that norm + r. From "
            "the true mean: OFUL that is told it, with S = r. From the learned mean: MetaOFUL, whose prior mean is the "
            "average of the earlier tasks' ridge estimates, with S = r from the second task on (as if that mean were "
            "the true one), or with S as far as it can be proven, and from 0 until that is less than what 0 has."
        )
        return [said, *super().remarks(config)]

    def groups(self, config: TaskConfig) -> Mapping[str, int]:
        """The worlds."""
        return dict.fromkeys(config.worlds, config.repeats)

    def cut(self, config: TaskConfig, group: str, start: int, stop: int) -> Sequence[Piece]:
        """Ten repeats at a time."""
        return split_repeats(group, start, stop, 10)

    def compute(self, config: TaskConfig, piece: Piece) -> pl.DataFrame:
        """All policies in some repeats of one world; of each task, the regret at its end."""
        world = piece.about["part"]
        place = config.make_world(*config.worlds[world])
        ends = np.arange(1, config.n_tasks + 1) * config.rounds
        entrants = make_players(config, *config.worlds[world])
        return play_piece(entrants, place, int(ends[-1]), config.seed, piece, ends, part=world)

    def claims(self, config: TaskConfig, frame: pl.DataFrame) -> Sequence[Claim]:
        """What Cella et al. say, and whether forward helps."""
        return task_claims.decide_claims(config.worlds, config.mean_norm, frame)

    def draw(self, config: TaskConfig, frame: pl.DataFrame) -> Sequence[Drawing]:
        """Regret of each task."""
        what = (
            f"d = {config.d}, {config.n_arms} fresh arms a round, {config.rounds:,} rounds a task, λ = {config.lam:g}, "
            f"δ = {config.delta:g}."
        )
        return [task_drawings.draw_tasks(config.worlds, frame, what)]


TASK_BANDITS = TaskBandits()
