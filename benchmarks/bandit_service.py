"""What a service pays: decisions that wait for their rewards beside plain choices, and choices among many arms.

python benchmarks/bandit_service.py     # half a minute
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from onward.bandits import OFUL, Disjoint, LinTS, LinUCB, Policy

D, K, ARMS = 20, 10, 10_000
POLICIES: dict[str, Callable[[], Policy]] = {
    "OFUL(sigma=1, theta_bound=1)": lambda: OFUL(1.0, sigma=1.0, theta_bound=1.0, seed=0),
    "LinUCB(1.0)": lambda: LinUCB(1.0, seed=0),
    "LinUCB()": lambda: LinUCB(seed=0),
    "LinTS()": lambda: LinTS(seed=0),
}


def least(round_of: Callable[[Any], None], offers: Any, repeats: int = 15) -> float:
    """Microseconds a round, in the quickest of several runs."""
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        for offer in offers:
            round_of(offer)
        best = min(best, (time.perf_counter() - began) / len(offers))
    return 1e6 * best


def rounds(make: Callable[[], Policy]) -> tuple[float, float]:
    """`choose` + `learn`, and `decide` + `reward`."""
    actions = np.random.default_rng(0).standard_normal((200, K, D))
    plain, late = make(), make()

    def at_once(offer: Any) -> None:
        plain.learn(offer[plain.choose(offer)], 0.3)

    def later(offer: Any) -> None:
        late.reward(late.decide(offer).key, 0.3)

    return least(at_once, actions), least(later, actions)


def many_arms(make: Callable[[], Policy]) -> tuple[float, float]:
    """The median `choose`, in milliseconds, and `add_arm`, in microseconds, where most arms have met some rewards."""
    rng = np.random.default_rng(0)
    policy, X = Disjoint(make(), ARMS), rng.standard_normal((3 * ARMS, D))
    policy.learn_many(rng.integers(0, ARMS, len(X)).tolist(), X, X[:, 0])
    times = []
    for context in rng.standard_normal((300, D)):
        began = time.perf_counter()
        arm = policy.choose(context)
        times.append(time.perf_counter() - began)
        policy.learn(arm, context, 0.1)
    began = time.perf_counter()
    for _ in range(200):
        policy.add_arm()
    return 1e3 * float(np.median(times[50:])), 1e6 * (time.perf_counter() - began) / 200


def main() -> None:
    """Print both tables."""
    print(f"| d = {D}, {K} actions | choose + learn, µs | decide + reward, µs | ratio |\n|---|---|---|---|")
    for name, make in POLICIES.items():
        plain, late = rounds(make)
        print(f"| {name} | {plain:.1f} | {late:.1f} | {late / plain:.1f} |", flush=True)
    print(f"\n| d = {D}, {ARMS:,} arms | choose, ms | add_arm, µs |\n|---|---|---|")
    for name, make in POLICIES.items():
        choose, add = many_arms(make)
        print(f"| {name} | {choose:.2f} | {add:.0f} |", flush=True)


if __name__ == "__main__":
    main()
