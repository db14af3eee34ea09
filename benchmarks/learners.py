"""Online learners side by side: time a row, online loss, memory and start-up, on one thread.

    python benchmarks/learners.py [--quick] [--dims 5 100] [--out FILE]

A stream of Gaussian rows with a linear target and noise, one for each number of features d, is given to every method in
`methods.py`. Loops are timed on the first rows of the stream, as many as fit into a block of fixed length, with a fresh
learner that has already learned one row; `onward batch` and `X.T @ X` are timed on the whole stream. Losses are over
the same first rows for all. A method that cannot do it in the time it is given shows "—", and the reason below.
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

from benchmarks import process, report
from benchmarks.methods import (
    AUTO,
    AUTO_DICT,
    AUTO_DIMS,
    AUTO_ROW,
    AUTOS,
    BATCH,
    CONSTANT,
    DICT,
    LAM,
    METHODS,
    NUMPY,
    ONE_ROW,
    PADASIP,
    PRIOR,
    RIVER,
    TWO,
    VARIANTS,
    Matrix,
    Method,
    Vector,
    auto,
    forward,
    forward_with_prior,
)
from benchmarks.timing import (
    Task,
    Timing,
    interleaved,
    machine,
    one_thread,
    rows_within,
    thread_pools,
    versions,
)
from onward import RidgeRegressor

DIMS = (2, 5, 20, 100, 300, 1000)
OUT = Path(__file__).resolve().parent / "results" / "learners.json"
VARIANT_ROWS = 200  # in which the variants are held to predict as the batch
LIBRARIES = ("onward", "numpy", "scipy", "numba", "scikit-learn", "river", "padasip", "threadpoolctl")


@dataclass(frozen=True)
class Settings:
    """How much is measured. The defaults take about two minutes."""

    seed: int = 0
    noise: float = 0.5  # its standard deviation; the signal's is 1
    stream_values: int = 2_000_000  # values in a stream: rows times features
    stream_rows: int = 1_000_000  # and at most so many rows
    rounds: int = 25  # many short blocks: some will be left alone by the rest of the machine
    block_seconds: float = 0.02
    row_limit: float = 2.0  # a method that needs more seconds for one row is left out
    loss_rows: int = 1000  # the losses are over so many rows,
    loss_rows_per_feature: int = 2  # or so many for each feature if that is more
    loss_limit: float = 15.0  # a method that needs more seconds for them is left out of the losses
    memory_chunks: int = 100  # of 100,000 rows
    start_repeats: int = 5  # processes that import it; 0 leaves start-up out


QUICK = Settings(
    stream_values=400_000,
    stream_rows=200_000,
    rounds=7,
    block_seconds=0.01,
    row_limit=0.25,
    loss_rows=500,
    loss_rows_per_feature=0,
    loss_limit=2.0,
    memory_chunks=20,
    start_repeats=0,
)


@dataclass
class Comparison:
    """What was measured at one number of features."""

    d: int
    rows: int
    loss_rows: int
    timings: dict[str, Timing] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # method → why it has no time
    no_loss: dict[str, str] = field(default_factory=dict)  # method → why it has no loss
    differences: dict[str, float] = field(default_factory=dict)  # largest gap of predictions, beside the targets' size
    variants: dict[str, Timing] = field(default_factory=dict)  # our one row in other circumstances
    autos: dict[str, Timing] = field(default_factory=dict)  # the learner with nothing to tune, and what it is beside

    @property
    def times(self) -> dict[str, Timing]:
        """Of all that were measured."""
        return self.timings | self.variants | self.autos

    def ratio(self, method: str, to: str) -> float | None:
        """How many times as long `method` takes as `to`."""
        times = self.times
        if method not in times or to not in times:
            return None
        return times[method].best / times[to].best

    def record(self) -> dict[str, Any]:
        return asdict(self) | {
            "timings": {key: timing.record() for key, timing in self.timings.items()},
            "ratio_to_onward_batch": {key: self.ratio(key, BATCH) for key in self.timings},
            "ratio_to_onward_one_row": {key: self.ratio(key, ONE_ROW) for key in self.timings | self.variants},
            "variants": {key: timing.record() for key, timing in self.variants.items()},
            "autos": {key: timing.record() for key, timing in self.autos.items()},
            "ratio_to_single_batch": {key: self.ratio(key, CONSTANT) for key in self.autos},
        }


def make_stream(d: int, settings: Settings) -> tuple[Matrix, Vector]:
    """Standard Gaussian rows, a target of variance 1 + noise²."""
    n = max(min(settings.stream_values // d, settings.stream_rows), 2 * d)
    rng = np.random.default_rng([settings.seed, d])
    theta = rng.standard_normal(d)
    X = rng.standard_normal((n, d))
    return X, X @ (theta / np.linalg.norm(theta)) + settings.noise * rng.standard_normal(n)


def compare(
    d: int,
    methods: Sequence[Method],
    settings: Settings,
    variants: Sequence[Method] = VARIANTS,
    autos: Sequence[Method] = AUTOS,
) -> Comparison:
    X, y = make_stream(d, settings)
    autos = autos if d <= AUTO_DIMS else ()
    result = Comparison(d, len(X), min(len(X), max(settings.loss_rows, settings.loss_rows_per_feature * d)))
    result.missing |= {method.key: "not installed" for method in [*methods, *autos] if not method.available}
    with one_thread():
        time_all(result, [method for method in [*methods, *variants, *autos] if method.available], X, y, settings)
        times = result.timings
        groups = [{method.key for method in group} & set(times) for group in (methods, variants, autos)]
        kept = [{key: times[key] for key in times if key in group} for group in groups]
        result.timings, result.variants, result.autos = kept
        lose_all(result, [method for method in methods if method.key in result.timings], X, y, settings)
        if BATCH in result.losses:
            own = [*variants, *(method for method in autos if method.key in (AUTO, AUTO_ROW, AUTO_DICT))]
            result.differences |= variant_differences(own, X[: result.loss_rows], y[: result.loss_rows])
    return result


# Times


def time_all(result: Comparison, methods: Sequence[Method], X: Matrix, y: Vector, settings: Settings) -> None:
    """Find how many rows of each method fill a block, then time the blocks in turns. Overwrites timings and missing."""
    tasks: dict[str, Task] = {}
    rows: dict[str, int] = {}
    for method in methods:
        if method.whole:
            rows[method.key] = len(X)
            tasks[method.key] = task = block_task(method, X, y)
            task()()  # the compiler's turn
            continue
        fitting, seconds_a_row = rows_that_fit(method, X, y, settings)
        if seconds_a_row > settings.row_limit:
            result.missing[method.key] = f"a row takes {seconds_a_row:.2g} s, more than {settings.row_limit:g} s"
            continue
        rows[method.key] = fitting
        tasks[method.key] = block_task(method, X[: fitting + 1], y[: fitting + 1])
    seconds = interleaved(tasks, settings.rounds)
    result.timings = {key: Timing(rows[key], seconds[key]) for key in tasks}


def rows_that_fit(method: Method, X: Matrix, y: Vector, settings: Settings) -> tuple[int, float]:
    def task_of(n: int) -> Task:
        return block_task(method, X[: n + 1], y[: n + 1])

    return rows_within(settings.block_seconds, task_of, most=len(X) - 1)


def block_task(method: Method, X: Matrix, y: Vector) -> Task:
    """The whole block at once or, for a loop, every row but the first, which is learned outside the clock."""
    rows, targets = method.prepare(X, y)

    def ready() -> Any:
        run = method.start(X.shape[1])
        if method.whole:
            return lambda: run(rows, targets)
        run(rows[:1], targets[:1])
        later = rows[1:], targets[1:]
        return lambda: run(*later)

    return ready


# Losses


def lose_all(result: Comparison, methods: Sequence[Method], X: Matrix, y: Vector, settings: Settings) -> None:
    """The online loss of each method over the same first rows. Overwrites losses, no_loss and differences."""
    X, y = X[: result.loss_rows], y[: result.loss_rows]
    predictions: dict[str, Vector] = {}
    for method in methods:
        if not method.predicts:
            continue
        seconds = 1e-6 * result.timings[method.key].best * len(X)
        if seconds > settings.loss_limit:
            result.no_loss[method.key] = f"{len(X)} rows take {seconds:.2g} s, more than {settings.loss_limit:g} s"
            continue
        try:
            predictions[method.key] = predict_online(method, X, y)
        except ValueError as error:  # scikit-learn's SGD, when its steps are too long for so many features
            result.no_loss[method.key] = f"it fails: {error}"
    result.losses = {key: float(np.mean((p - y) ** 2)) for key, p in predictions.items()}
    result.differences = differences(predictions, X, y)


def predict_online(method: Method, X: Matrix, y: Vector) -> Vector:
    """A fresh learner's predictions of all rows, made ready a few at a time: rows as dicts are large."""
    run = method.start(X.shape[1])
    size = len(X) if method.whole else 256
    blocks = [slice(first, first + size) for first in range(0, len(X), size)]
    return np.concatenate([np.asarray(run(*method.prepare(X[rows], y[rows]))) for rows in blocks])


def differences(predictions: dict[str, Vector], X: Matrix, y: Vector) -> dict[str, float]:
    """Whether those that should agree do: forward with the NumPy loop, ridge with river and padasip."""
    ridge = RidgeRegressor(lam=LAM, fit_intercept=False).predict_then_learn(X, y)
    references = {ONE_ROW: predictions[BATCH], NUMPY: predictions[BATCH], RIVER: ridge, PADASIP: ridge}
    return {
        key: float(np.abs(predictions[key] - reference).max() / np.abs(y).max())
        for key, reference in references.items()
        if key in predictions
    }


def variant_differences(variants: Sequence[Method], X: Matrix, y: Vector) -> dict[str, float]:
    """Whether the variants predict as the whole block does in one call, beside the targets' size."""
    X, y = X[:VARIANT_ROWS], y[:VARIANT_ROWS]
    d = X.shape[1]
    plain, with_prior = (model.predict_then_learn(X, y) for model in (forward(d), forward_with_prior(d)))
    references = {DICT: (plain, plain), PRIOR: (with_prior, with_prior), TWO: (plain, -plain / 2)}
    tuned = auto(d).predict_then_learn(X, y) if d <= AUTO_DIMS else plain
    references |= dict.fromkeys((AUTO, AUTO_ROW, AUTO_DICT), (tuned, tuned))
    found = {}
    for method in variants:
        # Before it has learned anything a model knows of one target only, and predicts a number.
        predictions = [np.atleast_1d(each) for each in method.start(d)(*method.prepare(X, y))]
        ends = [np.array([each[end] for each in predictions]) for end in (0, -1)]
        gaps = [np.abs(got - wanted).max() for got, wanted in zip(ends, references[method.key], strict=True)]
        found[method.key] = float(max(gaps) / np.abs(y).max())
    return found


# The command


def measure(dims: Sequence[int], settings: Settings, console: Console) -> dict[str, Any]:
    """Measure everything, printing as it goes. Returns all of it."""
    start = perf_counter()
    with one_thread():
        pools = thread_pools()
    about = {"machine": machine(), "versions": versions(LIBRARIES), "thread_pools": pools}
    report.print_about(console, about, settings.rounds)
    comparisons = []
    for d in dims:
        with console.status(f"d = {d}"):
            comparisons.append(compare(d, METHODS, settings))
    report.print_comparisons(console, comparisons)
    with console.status("memory"):
        memory = process.memory(settings.memory_chunks)
    with console.status("start-up"):
        start_up = process.start_up(settings.start_repeats) if settings.start_repeats else {}
    report.print_process(console, memory, start_up)
    targets = report.targets(comparisons)
    report.print_targets(console, targets)
    seconds = perf_counter() - start
    console.print(f"\n{seconds:.0f} s in all.")
    return about | {
        "settings": asdict(settings) | {"lam": LAM, "fit_intercept": False, "quoted": "best of the rounds"},
        "titles": {method.key: method.title for method in (*METHODS, *VARIANTS, *AUTOS)},
        "comparisons": [comparison.record() for comparison in comparisons],
        "memory": memory,
        "start_up_seconds": start_up,
        "targets": [asdict(target) for target in targets],
        "seconds": seconds,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a rougher picture, in about 20 seconds")
    parser.add_argument("--dims", type=int, nargs="+", default=list(DIMS), metavar="D", help="numbers of features")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="where to write every number, as JSON")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    console = Console()
    results = measure(given.dims, replace(QUICK if given.quick else Settings(), seed=given.seed), console)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print(f"Every number: {given.out}")


if __name__ == "__main__":
    main()
