"""Figure 4a's game, played by the compiled loop and by plain NumPy on the same arms and noise."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks import bandit_numpy
from benchmarks.timing import Task, Timing, interleaved, one_thread
from onward.bandits import OFUL, DetectingLinUCB, DLinUCB, OracleRestart, SWLinUCB, play
from onward.bandits.environments import Abrupt, BoxArms, Gaussian, LinearWorld
from onward.bandits.runs import Runs
from onward.core.types import Matrix, Vector

CHANGE_POINTS = (1000, 2000, 3000)
VARIATION = 4 + 2**0.5  # B_T
D, HORIZON = 2, 6000
GAMMA = 1 - (VARIATION / (D * HORIZON)) ** (2 / 3)
WINDOW = int((D * HORIZON / VARIATION) ** (2 / 3))
KNOWN: dict[str, Any] = {"lam": 0.1, "sigma": 1.0, "theta_bound": 1.0, "delta": 0.01}
AS_IN_PAPER: dict[str, Any] = {"radius": "sum", "bias": "tight"}
PRINTED: dict[str, Any] = {
    "width": "uniform",
    "action_bound": 1.0,
    "bias": "tight",
}  # β as printed, for norms of at most 1
WORLD_CHUNK = 256  # rounds drawn at a time when only the drawing is timed


@dataclass(frozen=True)
class Contender:
    name: str
    ours: Callable[[], Any]
    numpy: Callable[[], bandit_numpy.Indexed]


def contenders() -> tuple[Contender, ...]:
    return (
        Contender(
            "D-LinUCB",
            lambda: DLinUCB(gamma=GAMMA, estimator="ridge", **KNOWN, **PRINTED),
            lambda: bandit_numpy.DLinUCB(D, GAMMA, **KNOWN),
        ),
        Contender(
            "D-LinUCB^f",
            lambda: DLinUCB(gamma=GAMMA, estimator="forward", **KNOWN, **PRINTED),
            lambda: bandit_numpy.ForwardDLinUCB(D, GAMMA, **KNOWN),
        ),
        Contender(
            "SW-LinUCB",
            lambda: SWLinUCB(window=WINDOW, estimator="ridge", **KNOWN, **PRINTED),
            lambda: bandit_numpy.SWLinUCB(D, WINDOW, **KNOWN),
        ),
        Contender(
            "LinUCB", lambda: OFUL(estimator="ridge", **KNOWN, **AS_IN_PAPER), lambda: bandit_numpy.OFUL(D, **KNOWN)
        ),
        Contender(
            "LinUCB-OR",
            lambda: OracleRestart(change_points=CHANGE_POINTS, estimator="ridge", **KNOWN, **AS_IN_PAPER),
            lambda: bandit_numpy.RestartingOFUL(D, CHANGE_POINTS, **KNOWN),
        ),
        Contender(
            "dLinUCB",
            lambda: DetectingLinUCB(estimator="ridge", **KNOWN),
            lambda: bandit_numpy.DetectingLinUCB(D, **KNOWN),
        ),
    )


def figure_4a() -> LinearWorld:
    return LinearWorld(
        BoxArms(50, D), Abrupt([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)], CHANGE_POINTS), Gaussian(1.0)
    )


@dataclass
class Game:
    """What was measured: a replicate is one row of a timing, so `best` is µs a replicate."""

    horizon: int
    replicates: int
    ours: dict[str, Timing] = field(default_factory=dict)
    numpy: dict[str, Timing] = field(default_factory=dict)  # all arms at once
    by_arm: dict[str, Timing] = field(default_factory=dict)  # NumPy, one arm after the other
    world: Timing | None = None  # drawing arms, means and noise, which our times include and NumPy's do not
    regret: dict[str, float] = field(default_factory=dict)  # mean over replicates at the end
    difference: dict[str, float] = field(default_factory=dict)  # largest gap of cumulative regrets over all rounds
    different_rounds: dict[str, int] = field(default_factory=dict)  # rounds whose regret is not the same, of all
    ties: dict[str, int] = field(default_factory=dict)  # rounds in which NumPy took our choice among equals

    def milliseconds(self, name: str) -> float:
        """A replicate of our game, played alone: drawing its world included."""
        return self.ours[name].best / 1000

    def ratio(self, name: str) -> float:
        """How many times as long NumPy takes, all arms at once."""
        return self.numpy[name].best / self.ours[name].best

    def ratio_by_arm(self, name: str) -> float:
        """How many times as long NumPy takes, arm by arm."""
        return self.by_arm[name].best / self.ours[name].best

    def record(self) -> dict[str, Any]:
        return {
            "horizon": self.horizon,
            "replicates": self.replicates,
            "ours": {name: timing.record() for name, timing in self.ours.items()},
            "numpy": {name: timing.record() for name, timing in self.numpy.items()},
            "world": self.world.record() if self.world else None,
            "by_arm": {name: timing.record() for name, timing in self.by_arm.items()},
            "ratio": {name: self.ratio(name) for name in self.ours},
            "ratio_by_arm": {name: self.ratio_by_arm(name) for name in self.ours},
            "mean_final_regret": self.regret,
            "largest_difference": self.difference,
            "different_rounds": self.different_rounds,
            "ties": self.ties,
        }


def draw(world: LinearWorld, seed: int, repeat: int, horizon: int) -> tuple[Matrix, Matrix, Vector]:
    """Actions, means and noise of one repeat, as `play` draws them."""
    block = world.start(world_seed(seed, repeat)).rounds(horizon)
    return block.actions, block.means, block.noise


def world_seed(seed: int, repeat: int) -> np.random.SeedSequence:
    """`play` gives each repeat a world, 0, and random numbers for its policies, 1."""
    return np.random.SeedSequence(seed, spawn_key=(repeat, 0))


def compare(replicates: int, rounds: int, seed: int = 0, horizon: int = HORIZON) -> Game:
    game = Game(horizon, replicates)
    world = figure_4a()
    drawn = [draw(world, seed, repeat, horizon) for repeat in range(replicates)]
    with one_thread():
        agree(game, world, drawn, seed)
        time_all(game, world, drawn[0], rounds, seed)
    return game


def agree(game: Game, world: LinearWorld, drawn: list[tuple[Matrix, Matrix, Vector]], seed: int) -> None:
    """Play every replicate both ways, with ties broken alike. Overwrites regret, difference, different_rounds, ties."""
    for contender in contenders():
        runs = _play(contender, world, game, seed)
        assert runs.chosen is not None
        ours, name = runs.regret[0], contender.name
        followed = [
            bandit_numpy.follow(contender.numpy(), *rounds, others)
            for rounds, others in zip(drawn, runs.chosen[0], strict=True)
        ]
        gap = ours - np.stack([regret for regret, _ in followed])
        game.regret[name] = float(ours[:, -1].mean())
        game.difference[name] = float(np.abs(gap).max())
        game.different_rounds[name] = int((np.abs(np.diff(gap, prepend=0.0, axis=1)) > 1e-9).sum())
        game.ties[name] = sum(ties for _, ties in followed)


def _play(contender: Contender, world: LinearWorld, game: Game, seed: int) -> Runs:
    return play(
        {contender.name: contender.ours()},
        world,
        horizon=game.horizon,
        repeats=game.replicates,
        seed=seed,
        chosen=True,
        progress=False,
    )


def time_all(game: Game, world: LinearWorld, first: tuple[Matrix, Matrix, Vector], rounds: int, seed: int) -> None:
    """All replicates by ours and one by NumPy, in turns; everything is compiled by now. Overwrites the timings."""
    tasks: dict[str, Task] = {"world": _ready(partial(_draw_all, game, world, seed))}
    for contender in contenders():
        tasks[f"ours {contender.name}"] = _ready(partial(_play, contender, world, game, seed))
        tasks[f"numpy {contender.name}"] = _numpy_task(contender.numpy, first)
        tasks[f"by arm {contender.name}"] = _numpy_task(partial(_by_arm, contender), first)
    seconds = interleaved(tasks, rounds)
    game.world = Timing(game.replicates, seconds["world"])
    for contender in contenders():
        game.ours[contender.name] = Timing(game.replicates, seconds[f"ours {contender.name}"])
        game.numpy[contender.name] = Timing(1, seconds[f"numpy {contender.name}"])
        game.by_arm[contender.name] = Timing(1, seconds[f"by arm {contender.name}"])


def _draw_all(game: Game, world: LinearWorld, seed: int) -> None:
    for repeat in range(game.replicates):
        run = world.start(world_seed(seed, repeat))
        for first in range(0, game.horizon, WORLD_CHUNK):
            run.rounds(min(WORLD_CHUNK, game.horizon - first))


def _numpy_task(policy: Callable[[], bandit_numpy.Policy], rounds: tuple[Matrix, Matrix, Vector]) -> Task:
    return lambda: partial(bandit_numpy.play, policy(), *rounds)


def _by_arm(contender: Contender) -> bandit_numpy.ArmByArm:
    return bandit_numpy.ArmByArm(contender.numpy())


def _ready(call: Callable[[], object]) -> Task:
    return lambda: call
