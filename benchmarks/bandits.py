"""Linear bandits side by side: a round from Python, a round among very many arms, and figure 4a's game, on one thread.

    python benchmarks/bandits.py [--quick] [--out FILE]

A round is `choose` and `learn`. Arms are new each round, drawn beforehand. Policies with one θ for all arms are
compared with their like, and so are policies with one θ for each arm; see `bandit_methods.py`. Blocks of rounds are
timed in turns with a fresh policy that has already learned a round, or for windows as many as fill them.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from benchmarks import bandit_game, bandit_many, bandit_report, report
from benchmarks.bandit_methods import METHODS, Method
from benchmarks.timing import Call, Task, Timing, interleaved, machine, one_thread, rows_within, thread_pools, versions
from onward.core.types import Matrix

SIZES = ((20, 10), (100, 100))  # features, arms
OUT = Path(__file__).resolve().parent / "results" / "bandits.json"
LIBRARIES = ("onward", "numpy", "scipy", "numba", "mabwiser", "contextualbandits", "river", "threadpoolctl")


@dataclass(frozen=True)
class Settings:
    """How much is measured. The defaults take about two minutes."""

    seed: int = 0
    noise: float = 0.5
    values: int = 4_000_000  # numbers in the arms' features: rounds times arms times features
    most_rounds: int = 5000
    rounds: int = 15  # times that each block is timed
    block_seconds: float = 0.02
    same_rounds: int = 250  # in so many, policies that should choose the same arms are held to it
    replicates: int = 5  # of the game
    game_rounds: int = 5  # times that each game is timed
    horizon: int = bandit_game.HORIZON
    many: bandit_many.Size = field(default_factory=bandit_many.Size)


QUICK = Settings(
    values=1_500_000,
    most_rounds=1000,
    rounds=4,
    block_seconds=0.01,
    replicates=1,
    game_rounds=1,
    many=bandit_many.Size(rounds=100),
)


@dataclass
class Comparison:
    """What was measured at one number of features and arms."""

    d: int
    n_arms: int
    timings: dict[str, Timing] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # method → why it has no time
    different: dict[str, int] = field(default_factory=dict)  # method → rounds in which it chose not as ours

    def ratio(self, method: Method) -> float | None:
        """How many times as long it takes as ours that does the same."""
        if method.beside not in self.timings or method.key not in self.timings:
            return None
        return self.timings[method.key].best / self.timings[method.beside].best

    def record(self, methods: Sequence[Method]) -> dict[str, Any]:
        return asdict(self) | {
            "timings": {key: timing.record() for key, timing in self.timings.items()},
            "ratio_to_ours": {method.key: self.ratio(method) for method in methods if method.beside},
        }


@dataclass(frozen=True)
class Rounds:
    """Rounds drawn beforehand: what is seen in each, and what each arm would pay."""

    seen: Matrix  # (rounds, arms, d) for shared policies, (rounds, d) for disjoint ones
    rewards: list[list[float]]


def shared_rounds(count: int, d: int, n_arms: int, settings: Settings) -> Rounds:
    """Arms of every direction with norms from 0 to 1, so that no two tie before anything is learned."""
    rng = np.random.default_rng([settings.seed, d, n_arms])
    actions = rng.standard_normal((count, n_arms, d))
    actions *= rng.random((count, n_arms, 1)) / np.linalg.norm(actions, axis=2, keepdims=True)
    theta = rng.standard_normal(d)
    means = actions @ (theta / np.linalg.norm(theta))
    return Rounds(actions, (means + settings.noise * rng.standard_normal((count, 1))).tolist())


def disjoint_rounds(count: int, d: int, n_arms: int, settings: Settings) -> Rounds:
    """One context a round, on the sphere, and a θ for each arm."""
    rng = np.random.default_rng([settings.seed, d, n_arms])
    contexts = rng.standard_normal((count, d))
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
    thetas = rng.standard_normal((n_arms, d))
    means = contexts @ (thetas / np.linalg.norm(thetas, axis=1, keepdims=True)).T
    return Rounds(contexts, (means + settings.noise * rng.standard_normal((count, 1))).tolist())


def compare(d: int, n_arms: int, methods: Sequence[Method], settings: Settings) -> Comparison:
    count = min(settings.most_rounds, settings.values // (d * n_arms))
    worlds = {True: shared_rounds(count, d, n_arms, settings), False: disjoint_rounds(count, d, n_arms, settings)}
    result = Comparison(d, n_arms)
    result.missing = {method.key: "not installed" for method in methods if not method.available}
    there = [method for method in methods if method.available]
    with one_thread():
        time_all(result, there, worlds, settings)
        hold_to_ours(result, there, worlds, settings)
    return result


def time_all(result: Comparison, methods: Sequence[Method], worlds: dict[bool, Rounds], settings: Settings) -> None:
    """Find how many rounds of each method fill a block, then time the blocks in turns. Overwrites the timings."""
    tasks: dict[str, Task] = {}
    counts: dict[str, int] = {}
    for method in methods:
        world = worlds[method.shared]

        def task_of(n: int, method: Method = method, world: Rounds = world) -> Task:
            return block_task(method, world, n, result.d, result.n_arms)

        most = len(world.rewards) - method.learned
        counts[method.key], _ = rows_within(settings.block_seconds, task_of, most)
        tasks[method.key] = task_of(counts[method.key])
    seconds = interleaved(tasks, settings.rounds)
    result.timings = {key: Timing(counts[key], seconds[key]) for key in tasks}


def block_task(method: Method, world: Rounds, n: int, d: int, n_arms: int) -> Task:
    """n rounds, after the method's first ones, which go by outside the clock."""
    first, last = method.learned, method.learned + n
    seen = method.prepare(world.seen[:last])

    def ready() -> Call:
        run = method.start(d, n_arms)
        run(seen[:first], world.rewards[:first])
        later, rewards = seen[first:last], world.rewards[first:last]
        return lambda: run(later, rewards)

    return ready


def hold_to_ours(result: Comparison, methods: Sequence[Method], worlds: dict[bool, Rounds], settings: Settings) -> None:
    """In how many rounds a method does not choose as ours, where it should in all. Overwrites different."""
    by_key = {method.key: method for method in methods}
    for method in methods:
        if method.same and method.beside is not None:
            world = worlds[method.shared]
            mine = choices(by_key[method.beside], world, settings.same_rounds, result.d, result.n_arms)
            other = choices(method, world, settings.same_rounds, result.d, result.n_arms)
            result.different[method.key] = sum(a != b for a, b in zip(mine, other, strict=True))


def choices(method: Method, world: Rounds, count: int, d: int, n_arms: int) -> list[int]:
    """The arms that a fresh policy chooses in the first rounds."""
    return method.start(d, n_arms)(method.prepare(world.seen[:count]), world.rewards[:count])


# The command


def measure(settings: Settings, console: Console) -> dict[str, Any]:
    """Measure everything, printing as it goes. Returns all of it."""
    start = perf_counter()
    with one_thread():
        pools = thread_pools()
    about = {"machine": machine(), "versions": versions(LIBRARIES), "thread_pools": pools}
    report.print_about(console, about, settings.rounds)
    comparisons = []
    for d, n_arms in SIZES:
        with console.status(f"d = {d}, {n_arms} arms"):
            comparisons.append(compare(d, n_arms, METHODS, settings))
    bandit_report.print_rounds(console, comparisons, METHODS)
    with console.status(f"{settings.many.arms:,} arms"):
        many = bandit_many.compare(settings.many, settings.seed)
    bandit_report.print_many(console, many, settings.many)
    with console.status("figure 4a"):
        game = bandit_game.compare(settings.replicates, settings.game_rounds, settings.seed, settings.horizon)
    bandit_report.print_game(console, game)
    targets = bandit_report.targets(comparisons, METHODS, many, game)
    report.print_targets(console, targets)
    seconds = perf_counter() - start
    console.print(f"\n{seconds:.0f} s in all.")
    return about | {
        "settings": asdict(settings) | {"quoted": "best of the rounds"},
        "titles": {method.key: method.title for method in METHODS},
        "comparisons": [comparison.record(METHODS) for comparison in comparisons],
        "many_arms": [blocks.record() for blocks in many],
        "figure_4a": game.record(),
        "targets": [asdict(target) for target in targets],
        "seconds": seconds,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a rougher picture, in about 30 seconds")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="where to write every number, as JSON")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    console = Console()
    results = measure(replace(QUICK if given.quick else Settings(), seed=given.seed), console)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print(f"Every number: {given.out}")


if __name__ == "__main__":
    main()
