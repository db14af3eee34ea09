"""How wide the intervals of each confidence set are, beside the paper's: what the choices of `SetChoices` are worth.

    python tools/set_widths.py       # prints the table of docs/guarantees.md; 10 s

Runs of 300 rows, rows uniform on a sphere, ‖θ*‖ = S = 1, δ = 0.05: the mean width at 50 new rows over that of the
paper's set (`radius="sum"`; for forward `bias="paper"`), after 30 and after 300 rows.
"""

from typing import Any

import numpy as np

from onward import ForwardRegressor, RidgeRegressor
from onward.regression import OnlineRegressor

SEEDS, ROWS = 10, (30, 300)
WORLDS = {  # (features, λ, σ, σ as it is told)
    "d = 5, λ = 1, σ = 0.1": (5, 1.0, 0.1, 0.1),
    "d = 5, λ = 1, σ = 1": (5, 1.0, 1.0, 1.0),
    "d = 20, λ = 1, σ = 0.1": (20, 1.0, 0.1, 0.1),
    "d = 5, λ = 0.01, σ = 0.1": (5, 0.01, 0.1, 0.1),
    "d = 5, λ = 1, σ = 1, told 3": (5, 1.0, 1.0, 3.0),
}
SETS: dict[str, tuple[type[OnlineRegressor], dict[str, Any], dict[str, Any]]] = {
    "ridge, joint": (RidgeRegressor, {"radius": "joint"}, {"radius": "sum"}),
    "ridge, regret": (RidgeRegressor, {"radius": "regret"}, {"radius": "sum"}),
    "ridge, convex": (RidgeRegressor, {"radius": "convex"}, {"radius": "sum"}),
    "ridge, told σ alone": (RidgeRegressor, {"theta_bound": None}, {"radius": "sum"}),
    "forward, tight": (ForwardRegressor, {"bias": "tight"}, {"bias": "paper"}),
    "forward, sharp": (ForwardRegressor, {}, {"bias": "paper"}),
    "forward, sharp, regret": (ForwardRegressor, {"radius": "regret"}, {"bias": "paper"}),
}


def ratios(d: int, lam: float, sigma: float, told: float, seed: int) -> dict[str, list[float]]:
    """The mean width of each set over that of the paper's, after each number of rows."""
    rng = np.random.default_rng([seed, d])
    draw = rng.standard_normal((max(ROWS) + 51, d))
    draw /= np.linalg.norm(draw, axis=1, keepdims=True)
    X, theta, new = draw[: max(ROWS)], draw[-1], draw[max(ROWS) : -1]
    y = X @ theta + sigma * rng.standard_normal(len(X))
    out: dict[str, list[float]] = {}
    for name, (learner, chosen, paper) in SETS.items():
        for n in ROWS:
            model = learner(lam, fit_intercept=False).fit(X[:n], y[:n])
            ends, printed = (
                model.interval(new, 0.05, told, **({"theta_bound": 1.0} | each)) for each in (chosen, paper)
            )
            out.setdefault(name, []).append(float(np.ptp(ends, axis=1).mean() / np.ptp(printed, axis=1).mean()))
    return out


def table() -> str:
    """The table in Markdown."""
    lines = ["| set | " + " | ".join(WORLDS) + " |", "|---" * (len(WORLDS) + 1) + "|"]
    cells = {world: [ratios(*settings, seed=seed) for seed in range(SEEDS)] for world, settings in WORLDS.items()}
    for name in SETS:
        means = {world: np.mean([run[name] for run in runs], axis=0) for world, runs in cells.items()}
        lines.append(f"| {name} | " + " | ".join(f"{mean[0]:.2f}, {mean[1]:.2f}" for mean in means.values()) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
