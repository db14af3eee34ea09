"""Policies at their defaults, beside other libraries at theirs, on eight worlds: what each loses, or earns.

    python benchmarks/bandit_peers.py            # the table of docs/bandits.md, about a quarter of an hour
    python benchmarks/bandit_peers.py --quick    # 2 repeats of 500 rounds, a minute: only to see that it runs

Nothing is tuned, here or there, and all meet the same rounds and noise: a star is for what is better than `LinUCB` by
more than two standard errors of the differences. Libraries that are not installed are left out: `pip install mabwiser
river bayesianbandits coba vowpalwabbit`. Where actions have features of their own that change from round to round, only
libraries that take features of actions can play. Labelled data and clicks have a context and an arm for each class.
"""

import argparse
import importlib
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from onward.bandits import OFUL, Disjoint, DLinUCB, EpsilonGreedy, LinTS, LinUCB, Policy
from onward.core.types import Matrix, Vector


class Round(NamedTuple):
    """A context, or the features of each action; the mean of each, and the reward that each would have."""

    context: Vector
    actions: Matrix | None
    means: Vector
    rewards: Vector


# Worlds: what they offer, round by round


def unit_rows(rng: np.random.Generator, k: int, d: int) -> Matrix:
    """Directions."""
    rows = rng.standard_normal((k, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def fresh_sphere(rng: np.random.Generator, n: int, turning: bool = False) -> Iterator[Round]:
    """20 new actions of length 1 each round, d = 10, σ = 0.5; θ* of length 1, which may turn once round in the game."""
    d, plane = 10, np.linalg.qr(rng.standard_normal((10, 2)))[0]
    theta = plane[:, 0]
    for t in range(n):
        if turning:
            angle = 2 * np.pi * t / n
            theta = plane @ np.array([np.cos(angle), np.sin(angle)])
        actions = unit_rows(rng, 20, d)
        means = actions @ theta
        yield Round(np.ones(1), actions, means, means + 0.5 * rng.standard_normal())


def fixed_ball(rng: np.random.Generator, n: int) -> Iterator[Round]:
    """30 actions from the ball, d = 5, σ = 1."""
    actions, theta = unit_rows(rng, 30, 5) * rng.random((30, 1)) ** 0.2, unit_rows(rng, 1, 5)[0]
    means = actions @ theta
    for _ in range(n):
        yield Round(np.ones(1), actions, means, means + rng.standard_normal())


def multi_armed(rng: np.random.Generator, n: int, jumps: bool = False, sigma: float = 0.5) -> Iterator[Round]:
    """10 arms of means in [0, 1]; all means may jump, half way."""
    means = rng.random(10)
    for t in range(n):
        if jumps and t == n // 2:
            means = rng.random(10)
        yield Round(np.ones(1), np.eye(10), means, means + sigma * rng.standard_normal())


def clicks(rng: np.random.Generator, n: int) -> Iterator[Round]:
    """Five arms, a visitor of four features, clicks with a probability of about 5%."""
    theta = rng.normal(0.0, 0.6, (5, 5))
    for _ in range(n):
        visitor = np.concatenate([[1.0], rng.standard_normal(4)])
        means = 1.0 / (1.0 + np.exp(3.2 - theta @ visitor))
        yield Round(visitor, None, means, (rng.random() < means).astype(float))


def labelled(load: Callable[[], tuple[Matrix, Vector]]) -> Callable[[np.random.Generator, int], Iterator[Round]]:
    """Labelled data: columns in units of their deviation and a constant, rows in a random order, a class for an arm."""

    def rounds(rng: np.random.Generator, n: int) -> Iterator[Round]:
        X, y = load()
        spread = X.std(axis=0)
        rows = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)])
        order = np.concatenate([rng.permutation(len(X)) for _ in range(-(-n // len(X)))])[:n]
        for i in order:
            means = np.zeros(int(y.max()) + 1)
            means[int(y[i])] = 1.0
            yield Round(rows[i], None, means, means)

    return rounds


def digits() -> tuple[Matrix, Vector]:
    """The digits of scikit-learn."""
    X, y = importlib.import_module("sklearn.datasets").load_digits(return_X_y=True)
    return np.asarray(X, dtype=float), np.asarray(y)


def segments() -> tuple[Matrix, Vector]:
    """The image segments that come with river."""
    from river.datasets import ImageSegments

    made: Any = ImageSegments
    rows = list(made())
    labels = np.unique([label for _, label in rows], return_inverse=True)[1]
    return np.array([list(x.values()) for x, _ in rows], dtype=float), np.asarray(labels)


WORLDS: dict[str, tuple[Callable[[np.random.Generator, int], Iterator[Round]], bool]] = {
    "fresh sphere": (fresh_sphere, False),
    "fixed ball": (fixed_ball, False),
    "multi-armed": (multi_armed, False),
    "clicks, 5%": (clicks, False),
    "θ* turns": (lambda rng, n: fresh_sphere(rng, n, turning=True), False),
    "means jump": (lambda rng, n: multi_armed(rng, n, jumps=True), False),
    "digits": (labelled(digits), True),
    "segments": (labelled(segments), True),
}
"""Rounds, and whether the mean reward is told rather than the regret."""
EIGHT = list(WORLDS)
WORLDS |= {  # where libraries that take σ for 1 explore by more deviations, or by fewer
    "multi-armed, σ = 0.1": (lambda rng, n: multi_armed(rng, n, sigma=0.1), False),
    "multi-armed, σ = 2": (lambda rng, n: multi_armed(rng, n, sigma=2.0), False),
}
OF_ACTIONS = ("fresh sphere", "θ* turns")  # where only features of actions tell them apart


# Players


class Player(Protocol):
    """Who plays: told how many arms and features there are where it is made."""

    def choose(self, offered: Round) -> int:
        """The number of an action."""

    def learn(self, offered: Round, chosen: int, reward: float) -> None:
        """Its reward."""


@dataclass
class Own:
    """A policy of this library."""

    make: Callable[[int], Policy]
    seed: int
    policy: Any = None

    def choose(self, offered: Round) -> int:
        if self.policy is None:
            made = self.make(self.seed)
            self.policy = made if offered.actions is not None else Disjoint(made, len(offered.means))
        return int(self.policy.choose(offered.context if offered.actions is None else offered.actions))

    def learn(self, offered: Round, chosen: int, reward: float) -> None:
        if offered.actions is None:
            self.policy.learn(chosen, offered.context, reward)
        else:
            self.policy.learn(offered.actions[chosen], reward)


class MabWiser:
    """mabwiser: one pull of each arm first, because it must be fitted before it predicts."""

    def __init__(self, policy: str, seed: int) -> None:
        self.policy, self.seed, self.first = policy, seed, 0
        self.mab: Any = None

    def choose(self, offered: Round) -> int:
        if self.first < len(offered.means):
            return self.first
        return int(self.mab.predict([offered.context]))

    def learn(self, offered: Round, chosen: int, reward: float) -> None:
        if self.mab is None:
            from mabwiser.mab import MAB, LearningPolicy

            self.mab = MAB(list(range(len(offered.means))), getattr(LearningPolicy, self.policy)(), seed=self.seed)
            self.mab.fit([chosen], [reward], [offered.context])
        else:
            self.mab.partial_fit([chosen], [reward], [offered.context])
        self.first += 1


class River:
    """river's LinUCBDisjoint."""

    def __init__(self, seed: int) -> None:
        from river.bandit import LinUCBDisjoint

        self.policy: Any = LinUCBDisjoint(seed=seed)

    def choose(self, offered: Round) -> int:
        return int(self.policy.pull(range(len(offered.means)), dict(enumerate(offered.context.tolist()))))

    def learn(self, offered: Round, chosen: int, reward: float) -> None:
        self.policy.update(chosen, dict(enumerate(offered.context.tolist())), reward)


class BayesianBandits:
    """bayesianbandits: Normal regressions with the parameters of its first example, and Thompson sampling."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.agent: Any = None

    def choose(self, offered: Round) -> int:
        if self.agent is None:
            bayes = importlib.import_module("bayesianbandits")

            arms = [bayes.Arm(k, learner=bayes.NormalRegressor(alpha=1.0, beta=1.0)) for k in range(len(offered.means))]
            self.agent = bayes.ContextualAgent(arms, bayes.ThompsonSampling(), random_seed=self.seed)
        return int(self.agent.pull(offered.context[None])[0])

    def learn(self, offered: Round, chosen: int, reward: float) -> None:
        self.agent.update(offered.context[None], np.array([reward]))


class Coba:
    """coba's learners: features of the action, and their products with the context's."""

    def __init__(self, name: str, seed: int) -> None:
        self.learner = getattr(importlib.import_module("coba.learners"), name)(seed=seed)
        self.rng, self.chance = np.random.default_rng(seed), 1.0

    def choose(self, offered: Round) -> int:
        actions = self._actions(offered)
        action, self.chance = self.learner.predict(self._context(offered), actions)[:2]
        return actions.index(action)

    def learn(self, offered: Round, chosen: int, reward: float) -> None:
        self.learner.learn(self._context(offered), self._actions(offered)[chosen], reward, self.chance)

    @staticmethod
    def _context(offered: Round) -> Any:
        return None if offered.actions is not None else tuple(offered.context.tolist())

    @staticmethod
    def _actions(offered: Round) -> list[Any]:
        rows = np.eye(len(offered.means)) if offered.actions is None else offered.actions
        return [tuple(row) for row in rows.tolist()]


class VowpalWabbit:
    """VW's --cb_explore_adf, with products of the context and the arm where there is a context."""

    def __init__(self, seed: int) -> None:
        from vowpalwabbit import Workspace

        self.vw = Workspace(f"--cb_explore_adf --quiet -q CA --random_seed {seed}")
        self.rng, self.chance = np.random.default_rng(seed), 1.0

    def choose(self, offered: Round) -> int:
        chances = np.array(self.vw.predict(self._lines(offered)))
        chosen = int(self.rng.choice(len(chances), p=chances / chances.sum()))
        self.chance = float(chances[chosen])
        return chosen

    def learn(self, offered: Round, chosen: int, reward: float) -> None:
        lines = self._lines(offered)
        at = chosen + (offered.actions is None)
        lines[at] = f"0:{-reward}:{self.chance} {lines[at]}"
        self.vw.learn(lines)

    @staticmethod
    def _lines(offered: Round) -> list[str]:
        def named(row: Vector) -> str:
            return " ".join(f"{j}:{value:.9g}" for j, value in enumerate(row))

        if offered.actions is not None:
            return [f"|A {named(row)}" for row in offered.actions]
        return [f"shared |C {named(offered.context)}", *(f"|A arm{k}" for k in range(len(offered.means)))]


OWN: dict[str, Callable[[int], Player]] = {
    "LinUCB": lambda seed: Own(lambda s: LinUCB(seed=s), seed),
    "OFUL": lambda seed: Own(lambda s: OFUL(seed=s), seed),
    "LinTS": lambda seed: Own(lambda s: LinTS(seed=s), seed),
    "DLinUCB": lambda seed: Own(lambda s: DLinUCB(seed=s), seed),
    "EpsilonGreedy": lambda seed: Own(lambda s: EpsilonGreedy(seed=s), seed),
}
PEERS: dict[str, tuple[str, bool, Callable[[int], Player]]] = {
    "mabwiser LinUCB": ("mabwiser", False, lambda seed: MabWiser("LinUCB", seed)),
    "mabwiser LinTS": ("mabwiser", False, lambda seed: MabWiser("LinTS", seed)),
    "river LinUCBDisjoint": ("river", False, River),
    "bayesianbandits TS": ("bayesianbandits", False, BayesianBandits),
    "coba LinUCB": ("coba", True, lambda seed: Coba("LinUCBLearner", seed)),
    "coba LinTS": ("coba", True, lambda seed: Coba("LinTSLearner", seed)),
    "VW ε-greedy": ("vowpalwabbit", True, VowpalWabbit),
}
"""The library, whether it takes features of actions, and what makes a player."""


def result(make: Callable[[int], Player], world: str, rounds: int, seed: int) -> float:
    """What a player loses in a run of a world, or the mean of what it earns where that is told."""
    begin, earns = WORLDS[world]
    player, total = make(seed), 0.0
    for offered in begin(np.random.default_rng([seed, 17]), rounds):
        chosen = player.choose(offered)
        player.learn(offered, chosen, float(offered.rewards[chosen]))
        total += float(offered.means[chosen]) if earns else float(offered.means.max() - offered.means[chosen])
    return total / rounds if earns else total


class Played:
    """What every player lost or earned in each run, in a file from which a run that was stopped goes on, or in none."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        lines = file.read_text().splitlines() if file is not None and file.exists() else []
        self.found: dict[tuple[str, str, int, int], float] = {}
        for line in lines:
            player, world, rounds, seed, value = json.loads(line)
            self.found[player, world, rounds, seed] = value

    def value(self, player: str, make: Callable[[int], Player], world: str, rounds: int, seed: int) -> float:
        """The result of a run, which is played if it was not yet."""
        key = (player, world, rounds, seed)
        if key not in self.found:
            self.found[key] = result(make, world, rounds, seed)
            if self.file is not None:
                with self.file.open("a") as to:
                    to.write(json.dumps([*key, self.found[key]]) + "\n")
        return self.found[key]


def cell(values: Vector, beside: Vector, earns: bool) -> str:
    """Mean and standard error over repeats; a star where that is better than what `beside` has in the same runs.

    Better is by more than twice the standard error of the differences.
    """
    more = (values - beside) * (1.0 if earns else -1.0)
    star = " *" if more.mean() > 2.0 * error_of(more) > 0.0 else ""
    digits = 3 if earns else 0
    return f"{values.mean():.{digits}f} ± {error_of(values):.{digits}f}{star}"


def error_of(values: Vector) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 repeats of 500 rounds instead of 8 of 2,000")
    parser.add_argument("--repeats", type=int, help="another number of repeats")
    parser.add_argument("--players", nargs="+", choices=[*OWN, *PEERS], help="these only, beside LinUCB")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=EIGHT, help="these, in place of the eight")
    parser.add_argument("--results", type=Path, help="a file of what was played, to go on from")
    given = parser.parse_args()
    rounds, repeats = 500 if given.quick else 2000, given.repeats or (2 if given.quick else 8)
    warnings.filterwarnings("ignore")
    players = {name: (True, make) for name, make in OWN.items()}
    found = {name: entry for name, entry in PEERS.items() if importlib.util.find_spec(entry[0])}
    players |= {name: (takes, make) for name, (_, takes, make) in found.items()}
    if given.players:
        players = {name: player for name, player in players.items() if name in ("LinUCB", *given.players)}
    played = Played(given.results)
    values: dict[tuple[str, str], list[float]] = {}
    for seed in range(repeats):
        began = time.perf_counter()
        for name, (takes, make) in players.items():
            for world in given.worlds:
                if takes or world not in OF_ACTIONS:
                    values.setdefault((name, world), []).append(played.value(name, make, world, rounds, seed))
        print(f"repeat {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    print("| | " + " | ".join(given.worlds) + " |")
    print("|---" * (len(given.worlds) + 1) + "|")
    for name in players:
        cells = ["–"] * len(given.worlds)
        for place, world in enumerate(given.worlds):
            if (name, world) in values:
                mine, first = np.array(values[name, world]), np.array(values["LinUCB", world])
                cells[place] = cell(mine, first, WORLDS[world][1])
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
