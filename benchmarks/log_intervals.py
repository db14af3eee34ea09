"""Do intervals for a policy's value hold on logs of our own policies, and are wrong propensities noticed?

    python benchmarks/log_intervals.py              # the tables of docs/logs.md, most of an hour
    python benchmarks/log_intervals.py --quick      # 100 logs of each kind

A policy of this library plays a world in which the value of every policy is known exactly (eight sets of four actions,
rewards of 0 and 1) and writes a log; two others are judged on it, one that stays as it is and one that learns as it
goes. Then propensities in the log are made wrong by a factor of two, in several ways. Those that decide log what
`decide` gives, an action and its probability; of the others the probabilities of all actions are asked first.
"""

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onward import ForwardRegressor
from onward.bandits import mean_intervals
from onward.bandits.log_walk import walk
from onward.bandits.logs import LoggedData
from onward.bandits.policies import EpsilonGreedy, LinTS
from onward.bandits.policy_value import Learn, Method
from onward.bandits.propensity_checks import checked_propensities
from onward.bandits.value_estimators import terms
from onward.bandits.weight_checks import diagnose
from onward.confidence.binomial import binomial_interval
from onward.core.types import Matrix, Vector

N_SETS, K, D = 8, 4, 5
_rng = np.random.default_rng(2024)
SETS = np.concatenate([_rng.standard_normal((N_SETS, K, D - 1)) / 2, np.ones((N_SETS, K, 1))], axis=2)
THETA = np.array([0.3, -0.2, 0.15, 0.1, 0.5])
MEANS = np.clip(SETS @ THETA, 0.05, 0.95)
FLAG_LOGS, FIRST_FLAGGED = 80, 1000  # logs that the rules of the checks were not made on
METHODS: tuple[Method, ...] = ("ips", "snips", "dr", "switch", "dros")


@dataclass
class Softmax:
    """A policy that stays as it is: π(a) ∝ exp(scale · xᵀβ), in part uniform."""

    beta: Vector
    scale: float
    known: dict[bytes, Vector] = field(default_factory=dict)

    def choose(self, actions: Matrix) -> int:
        raise NotImplementedError

    def learn(self, action: Vector, reward: float) -> None: ...

    def probabilities(self, actions: Matrix) -> Vector:
        key = actions.tobytes()
        if key not in self.known:
            scores = self.scale * (actions @ self.beta)
            powers = np.exp(scores - scores.max())
            self.known[key] = powers / powers.sum()
        return self.known[key]


LOGGERS: dict[str, Callable[[int], Any]] = {
    "ε-greedy, ε = 0.2, learning": lambda seed: EpsilonGreedy(0.2, seed=seed),
    "ε-greedy, ε = 0.05, learning": lambda seed: EpsilonGreedy(0.05, seed=seed),
    "softmax": lambda seed: Softmax(THETA * np.array([1, 1, -1, 1, 1]), 4.0),
    "Thompson, learning": lambda seed: LinTS(seed=seed),
    "Thompson with a tenth uniform, learning": lambda seed: LinTS(seed=seed),
    "Thompson with explore = 0.05, deciding": lambda seed: LinTS(explore=0.05, seed=seed),
}
DECIDES = "deciding"  # ends the names of those that log what `decide` gives
TARGETS: dict[str, tuple[Callable[[], Any], Learn]] = {
    "softmax, fixed": (lambda: Softmax(THETA, 6.0), "none"),
    "greedy, fixed": (lambda: Softmax(THETA, 400.0), "none"),
    "ε-greedy, learning": (lambda: EpsilonGreedy(0.1, seed=1), "all"),
}


def decided(name: str, seed: int, n: int) -> LoggedData:
    """A log of what a policy decided, with the probabilities that it told."""
    rng, policy = np.random.default_rng([31, seed]), LOGGERS[name](seed)
    which = rng.integers(N_SETS, size=n)
    taken, propensity, reward = np.empty(n, dtype=int), np.empty(n), np.empty(n)
    for t in range(n):
        taken[t], propensity[t], key = policy.decide(SETS[which[t]])
        reward[t] = float(rng.random() < MEANS[which[t], taken[t]])
        policy.reward(key, reward[t])
    return LoggedData(SETS[which], taken, propensity, reward)


def written(name: str, seed: int, n: int) -> tuple[LoggedData, Matrix]:
    """A log of a policy that plays, with the chances of all actions."""
    rng, policy = np.random.default_rng([31, seed]), LOGGERS[name](seed)
    which = rng.integers(N_SETS, size=n)
    floor = 0.1 if "uniform" in name else 0.0
    taken, chances, reward = np.empty(n, dtype=int), np.empty((n, K)), np.empty(n)
    for t in range(n):
        actions = SETS[which[t]]
        pi = (1 - floor) * policy.probabilities(actions) + floor / K
        a = int(rng.choice(K, p=pi / pi.sum()))
        taken[t], chances[t], reward[t] = a, pi, float(rng.random() < MEANS[which[t], a])
        policy.learn(actions[a], reward[t])
        if hasattr(policy, "reseed"):  # a policy that samples is asked with new samples each time
            policy.reseed(int(rng.integers(2**31)))
    return LoggedData(SETS[which], taken, chances[np.arange(n), taken], reward), chances


class Watched:
    """A policy that learns, with what it is worth exactly before every tenth event."""

    def __init__(self, policy: Any, every: int) -> None:
        self.policy, self.every, self.asked, self.worth = policy, every, 0, list[float]()

    def choose(self, actions: Matrix) -> int:
        raise NotImplementedError

    def __deepcopy__(self, memo: Any) -> "Watched":
        return self

    def learn(self, action: Vector, reward: float) -> None:
        self.policy.learn(action, reward)

    def probabilities(self, actions: Matrix) -> Vector:
        if self.asked % self.every == 0:
            pi = np.array([self.policy.probabilities(each) for each in SETS])
            self.worth.append(float((pi * MEANS).sum(axis=1).mean()))
        self.asked += 1
        return np.asarray(self.policy.probabilities(actions))


def coverage(loggers: list[str], logs: int, n: int, first: int) -> None:
    print(f"\nShare of {logs} logs of {n:,} events in which the 95% interval holds the policy's value, and its width\n")
    print("| log of | policy | " + " | ".join(METHODS) + " | ips, anytime | flagged | dr, not flagged |")
    print("|---|---|" + "---|" * (len(METHODS) + 3))
    for logger in loggers:
        decides = logger.endswith(DECIDES)
        kept = [
            decided(logger, seed, n) if decides else written(logger, seed, n)[0] for seed in range(first, first + logs)
        ]
        for name, (make, learn) in TARGETS.items():
            held: dict[str, list[tuple[bool, float]]] = defaultdict(list)
            flagged = 0
            for log in kept:
                policy = Watched(make(), 10 if learn == "all" else n)
                walked = walk(policy, log, learn, ForwardRegressor(lam=1.0), None, (0.0, 1.0))
                truth, weights = float(np.mean(policy.worth)), walked.chances / log.propensity
                for method in METHODS:
                    made = terms(method, walked, weights, log.reward)
                    value = float(made.values.mean())
                    ends = mean_intervals.normal(value, made.standard_error, 0.05, made.values)
                    held[method].append(_holds(mean_intervals.cut(*ends, 0.0, 1.0), truth))
                ends = mean_intervals.anytime(weights * log.reward, weights * (1 - log.reward), 0.0, 0.0, 1.0, 0.05)
                held["ips anytime"].append(_holds(ends, truth))
                wrong = bool(diagnose(log, weights, None).warnings())
                flagged += wrong
                if not wrong:
                    held["dr, not flagged"].append(held["dr"][-1])
            columns = [*METHODS, "ips anytime"]
            cells = [
                f"{np.mean([each[0] for each in held[c]]):.1%}, {np.mean([each[1] for each in held[c]]):.3f}"
                for c in columns
            ]
            rest = [each[0] for each in held["dr, not flagged"]]
            cells += [f"{flagged / logs:.1%}", f"{np.mean(rest):.1%}" if rest else "–"]
            print(f"| {logger} | {name} | " + " | ".join(cells) + " |", flush=True)
    low, high = (float(each) for each in binomial_interval(round(0.95 * logs), logs, 0.95))
    print(f"\n95% is known to {low:.1%} … {high:.1%} from {logs} logs.")


def _holds(ends: tuple[float, float], truth: float) -> tuple[bool, float]:
    return ends[0] <= truth <= ends[1], ends[1] - ends[0]


def _doubled_first(chances: Matrix) -> Matrix:
    """The first action's chance doubled, the others' scaled to what is left."""
    first = np.minimum(2 * chances[:, :1], 0.999)
    rest = chances[:, 1:] * (1 - first) / np.maximum(1 - chances[:, :1], 1e-12)
    return np.concatenate([first, rest], axis=1)


def _tempered(chances: Matrix, power: float) -> Matrix:
    raised = chances**power
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


WRONG: dict[str, Callable[[Matrix], Matrix]] = {
    "right": lambda p: p,
    "halved": lambda p: p / 2,
    "doubled": lambda p: np.minimum(2 * p, 1.0),
    "those below a half doubled": lambda p: np.where(p < 0.5, 2 * p, p),
    "those below a half halved": lambda p: np.where(p < 0.5, p / 2, p),
    "the first action's doubled": _doubled_first,
    "squared odds": lambda p: _tempered(p, 2.0),
}


def flags(loggers: list[str], logs: int, n: int, first: int) -> None:
    print(f"\nShare of {logs} logs of {n:,} events that are flagged (by propensities of what was taken; of all)\n")
    print("| propensities | " + " | ".join(loggers) + " |")
    print("|---|" + "---|" * len(loggers))
    seeds = range(first, first + logs)
    kept = {logger: [written(logger, seed, n) for seed in seeds] for logger in loggers}
    for wrong, change in WRONG.items():
        cells = []
        for logger in loggers:
            alone, full = 0, 0
            for log, chances in kept[logger]:
                said = np.clip(change(np.maximum(chances, 1e-12)), 1e-12, 1.0)
                sets = [log.actions[i] for i in range(n)]
                propensity = said[np.arange(n), log.taken]
                short = LoggedData(sets, log.taken, propensity, log.reward)
                alone += any(c.flagged for c in checked_propensities(short))
                if np.abs(said.sum(axis=1) - 1).max() < 1e-6:
                    whole = LoggedData(sets, log.taken, propensity, log.reward, said)
                    full += any(c.flagged for c in checked_propensities(whole))
                else:
                    full = -1
            cells.append(f"{alone / logs:.1%}" + (f"; {full / logs:.1%}" if full >= 0 else ""))
        print(f"| {wrong} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 logs of each kind")
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first log")
    parser.add_argument("--only", choices=["coverage", "flags"])
    parser.add_argument("--loggers", nargs="+", choices=LOGGERS, default=list(LOGGERS), help="these only")
    given = parser.parse_args()
    logs = 100 if given.quick else given.logs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if given.only != "flags":
            coverage(given.loggers, logs, given.events, given.first)
        if given.only != "coverage":
            whole = [name for name in given.loggers if not name.endswith(DECIDES)]
            flags(whole, min(logs, FLAG_LOGS), given.events, FIRST_FLAGGED + given.first)


if __name__ == "__main__":
    main()
