"""What the probabilities of Thompson sampling cost, and how far they are off, beside plain samples.

    python benchmarks/bandit_probabilities.py    # a minute

`choose` is one choice, `probabilities` the default of that method, `logged` a choice with its probability: of a policy
with one scale; "both, tuned" says how many times its own choice they take where scales are tuned. The error is the root
of the mean square over actions and policies, against a million samples; what so many plain samples are off by is known.
The best time of short runs counts, for other work on the machine only adds to it.
"""

import time
from collections.abc import Callable
from itertools import count

import numpy as np

from onward.bandits import LinTS
from onward.bandits.sampling_chances import spread_of
from onward.core.types import Matrix, Vector

SHAPES = ((3, 4), (5, 10), (20, 10), (20, 50), (50, 20), (100, 100))  # features, actions
POLICIES, SAMPLES, BLOCK = 12, 1_000_000, 20_000
EVERYTHING = np.empty(0, dtype=np.bool_)


def best_time(call: Callable[[int], object], calls: int = 15, runs: int = 300) -> float:
    """Microseconds of a call, which is given another number each time."""
    number, times = count(), []
    for _ in range(runs):
        began = time.perf_counter()
        for _ in range(calls):
            call(next(number))
        times.append(time.perf_counter() - began)
    return min(times) / calls * 1e6


def taught(d: int, k: int, rng: np.random.Generator) -> LinTS:
    """A policy that has played three rounds for each feature."""
    policy = LinTS(sigma=1.0, scale=1.0, seed=0)
    for _ in range(3 * d):
        actions = offer(d, k, rng)
        chosen = actions[policy.choose(actions)]
        policy.learn(chosen, float(0.5 * chosen.sum() + rng.standard_normal()))
    return policy


def offer(d: int, k: int, rng: np.random.Generator) -> Matrix:
    """Actions of a length of about 1."""
    return np.asarray(rng.standard_normal((k, d)) / np.sqrt(d))


def sampled(policy: LinTS, actions: Matrix, rng: np.random.Generator) -> Vector:
    """The share of samples in which each action is the best."""
    estimates, rows = spread_of(policy.buffer_for(actions.shape[1]), actions)
    counts = np.zeros(len(actions))
    for _ in range(SAMPLES // BLOCK):
        index = estimates + rng.standard_normal((BLOCK, rows.shape[1])) @ rows.T
        counts += np.bincount(index.argmax(axis=1), minlength=len(actions))
    return counts / SAMPLES


def line(d: int, k: int, rng: np.random.Generator) -> str:
    """A row of the table."""
    squares, claimed, variance = [], [], []
    for _ in range(POLICIES):
        policy, actions = taught(d, k, rng), offer(d, k, rng)
        probabilities, errors = policy.probabilities(actions, with_error=True)
        exact = sampled(policy, actions, rng)
        squares.append(np.mean((probabilities - exact) ** 2))
        claimed.append(np.mean(errors**2))
        variance.append(np.mean(exact * (1 - exact)))
    offers = [offer(d, k, rng) for _ in range(64)]
    choose = best_time(lambda i: policy.choose(offers[i % 64]))
    asked = best_time(lambda i: policy.probabilities(offers[i % 64]))
    logged = best_time(lambda i: policy.draw_with_probability(offers[i % 64], EVERYTHING))
    tuned = LinTS(seed=0)
    for actions in offers:
        tuned.learn(actions[tuned.choose(actions)], float(rng.standard_normal()))
    tuned_choose = best_time(lambda i: tuned.choose(offers[i % 64]))
    tuned_asked = best_time(lambda i: tuned.probabilities(offers[i % 64])) / tuned_choose
    tuned_logged = best_time(lambda i: tuned.draw_with_probability(offers[i % 64], EVERYTHING)) / tuned_choose
    batch = np.array(offers)
    many = best_time(lambda i: policy.choose_many(batch), 1) / len(batch)
    cells = [f"{d}", f"{k}", f"{choose:.1f}", f"{asked:.0f} ({asked / choose:.1f})"]
    cells += [f"{logged:.0f} ({logged / choose:.1f})", f"{tuned_asked:.1f}, {tuned_logged:.1f}"]
    cells += [f"{many:.2f}", f"{np.sqrt(np.mean(squares)):.4f}"]
    cells += [f"{np.sqrt(np.mean(claimed)):.4f}", f"{np.mean(variance) / np.mean(squares):,.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    heads = ["features", "actions", "choose, µs", "probabilities (times that)", "logged (times that)", "both, tuned"]
    heads += ["each of choose_many, µs", "error", "standard error", "plain samples of that error"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for d, k in SHAPES:
        print(line(d, k, np.random.default_rng(d * k)), flush=True)


if __name__ == "__main__":
    main()
