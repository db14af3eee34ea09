"""Learners on simulated streams, beside the best that could have been chosen in hindsight.

    python benchmarks/stream_scores.py                              forward and ridge at their defaults
    python benchmarks/stream_scores.py --learner onward:RidgeRegressor --seeds 20 --families jumps drift

    from benchmarks.stream_scores import score, summary
    print(summary(score(lambda: RidgeRegressor(lam=0.1))))

A learner is anything with `predict_then_learn(X, y)`. Its online RMSE, all rows counted, is set beside three others:
`mean`, the running mean; `pairs`, the best of 22 (learner, λ) pairs on the features as they are, which remember
everything; and `memories`, the best of {ridge, forward} × λ × half-lives, on features and targets that were centred and
scaled by the whole stream, with 0 for the first row as everybody else. Both are best in hindsight, and the last knows
means and scales that nobody knows: ratios to it tell how much is left at most.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from benchmarks.streams import FAMILIES, Matrix, Vector
from onward import ForwardRegressor, RidgeRegressor
from onward.core.compile import compiled

LAMS = tuple(10.0**k for k in range(-6, 5))
HALF_LIVES = (math.inf, 1000.0, 300.0, 100.0, 30.0, 10.0)
NEAR, FAR = 1.02, 1.12  # the ratios that the project wants to stay below: mostly, and always


class Learner(Protocol):
    """What can be scored."""

    def predict_then_learn(self, X: Matrix, y: Vector, /) -> Any:
        """Predictions of the rows, each made before its target was learned."""


def rmse(predictions: Vector, y: Vector) -> float:
    return float(np.sqrt(np.mean((predictions - y) ** 2)))


# References


def running_mean(y: Vector) -> Vector:
    """Before each row, the mean of the targets so far; 0 before the first."""
    before = np.cumsum(y) - y
    return np.asarray(before / np.maximum(np.arange(len(y)), 1))


def pair_errors(X: Matrix, y: Vector) -> dict[str, float]:
    """The RMSE of each (learner, λ) pair, on the features as they are and a constant with the same λ."""
    return {
        f"{kind.__name__.removesuffix('Regressor').lower()} λ={lam:g}": rmse(
            kind(lam=lam, intercept_lam=None).predict_then_learn(X, y), y
        )
        for kind in (ForwardRegressor, RidgeRegressor)
        for lam in LAMS
    }


@compiled
def _discounted_losses(X: Matrix, y: Vector, lams: Vector, gamma: float) -> Matrix:
    """Squared errors of forward and of ridge for each λ, from Σ γ^age x xᵀ + λI, solved anew for each row."""
    n, d = X.shape
    losses, A, b = np.zeros((2, len(lams))), np.zeros((d, d)), np.zeros(d)
    L, z, v = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    for t in range(n):
        x = X[t]
        for k in range(len(lams)):
            for i in range(d):  # Cholesky, and L z = b, L v = x: then xᵀθ = vᵀz and the leverage is vᵀv
                for j in range(i + 1):
                    total = A[i, j] + (lams[k] if i == j else 0.0)
                    for m in range(j):
                        total -= L[i, m] * L[j, m]
                    L[i, j] = math.sqrt(total) if i == j else total / L[j, j]
                z[i], v[i] = b[i], x[i]
                for m in range(i):
                    z[i] -= L[i, m] * z[m]
                    v[i] -= L[i, m] * v[m]
                z[i] /= L[i, i]
                v[i] /= L[i, i]
            ridge, leverage = 0.0, 0.0
            for i in range(d):
                ridge += v[i] * z[i]
                leverage += v[i] * v[i]
            losses[0, k] += (ridge / (1.0 + leverage) - y[t]) ** 2
            losses[1, k] += (ridge - y[t]) ** 2
        for i in range(d):
            b[i] = gamma * b[i] + y[t] * x[i]
            for j in range(d):
                A[i, j] = gamma * A[i, j] + x[i] * x[j]
    return losses


def memory_errors(X: Matrix, y: Vector, half_lives: Sequence[float] = HALF_LIVES) -> dict[str, float]:
    """The RMSE of each (learner, λ, half-life), on features and targets that the whole stream has scaled.

    Nobody knows the mean before the first row, which may be all of the error where targets lie far from 0: there the
    prediction is 0 before scaling.
    """
    spread = np.std(X, axis=0)
    Z = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)])
    size = float(np.std(y)) or 1.0
    v = (y - y.mean()) / size
    first = (float(y[0]) / size) ** 2 - float(v[0]) ** 2
    found = {}
    for half_life in half_lives:
        losses = _discounted_losses(Z, v, np.array(LAMS), 0.5 ** (1.0 / half_life)) + first
        for learner, line in zip(("forward", "ridge"), losses, strict=True):
            for lam, loss in zip(LAMS, line, strict=True):
                found[f"{learner} λ={lam:g} half-life={half_life:g}"] = size * math.sqrt(loss / len(y))
    return found


@lru_cache(maxsize=4096)
def references(name: str, seed: int) -> dict[str, Any]:
    """What a stream's errors are measured by."""
    X, y = FAMILIES[name](seed)
    pairs, memories = pair_errors(X, y), memory_errors(X, y)
    best, longest = min(pairs, key=pairs.__getitem__), min(memories, key=memories.__getitem__)
    return {
        "rows": len(y),
        "features": X.shape[1],
        "mean": rmse(running_mean(y), y),
        "pairs": pairs[best],
        "best_pair": best,
        "memories": memories[longest],
        "best_memory": longest,
    }


# Scores


def score(
    learner: Callable[[], Learner], families: Iterable[str] = tuple(FAMILIES), seeds: Iterable[int] = range(10)
) -> pl.DataFrame:
    """A row for each stream: the RMSE of a fresh learner, and the references beside it."""
    seeds = tuple(seeds)
    rows = []
    for name in families:
        for seed in seeds:
            X, y = FAMILIES[name](seed)
            predictions = np.asarray(learner().predict_then_learn(X, y))
            if predictions.shape != y.shape or not np.isfinite(predictions).all():
                raise ValueError(f"{name}, seed {seed}: expected {len(y)} finite predictions, got {predictions}")
            rows.append({"family": name, "seed": seed, "rmse": rmse(predictions, y)} | references(name, seed))
    return pl.DataFrame(rows)


def summary(scores: pl.DataFrame) -> pl.DataFrame:
    """A row for each family, and one for all: ratios to the references, typical (geometric mean) and worst."""
    ratio = {name: pl.col("rmse") / pl.col(name) for name in ("mean", "pairs", "memories")}
    columns = [
        pl.len().alias("streams"),
        ratio["mean"].log().mean().exp().alias("over_mean"),
        ratio["pairs"].log().mean().exp().alias("over_pairs"),
        ratio["pairs"].max().alias("worst_over_pairs"),
        (ratio["pairs"] <= NEAR).mean().alias("near"),
        (ratio["pairs"] <= FAR).mean().alias("not_far"),
        ratio["memories"].log().mean().exp().alias("over_memories"),
        ratio["memories"].max().alias("worst_over_memories"),
    ]
    by_family = scores.group_by("family", maintain_order=True).agg(columns)
    return pl.concat([by_family, scores.select(pl.lit("all").alias("family"), *columns)])


def as_table(frame: pl.DataFrame, title: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    headings = ("family", "streams", "÷ mean", "÷ pairs", "worst", f"≤ {NEAR}", f"≤ {FAR}", "÷ memories", "worst")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "family" else "right")
    for name, streams, mean, pairs, worst, near, not_far, memories, worst_memories in frame.iter_rows():
        cells = [f"{value:.3f}" for value in (mean, pairs, worst)] + [f"{near:.0%}", f"{not_far:.0%}"]
        table.add_row(name, str(streams), *cells, f"{memories:.3f}", f"{worst_memories:.3f}")
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--learner", nargs="+", default=["onward:ForwardRegressor", "onward:RidgeRegressor"])
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10, help="how many streams of each family")
    given = parser.parse_args(arguments)
    console = Console(width=110)
    for place in given.learner:
        module, _, name = place.partition(":")
        kind = getattr(import_module(module), name)
        console.print(as_table(summary(score(kind, given.families, range(given.seeds))), f"{name}()"))


if __name__ == "__main__":
    main()
