"""What confidence costs: intervals beside bare predictions, and a coverage check at every round of many runs.

python benchmarks/guarantees.py [--quick] [--out FILE]
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from benchmarks.timing import Task, Timing, clock, interleaved, machine, one_thread
from onward import ForwardRegressor, RidgeRegressor
from onward.confidence import needed_noise_width, noise_width
from onward.core.trace import Trace

OUT = Path(__file__).resolve().parent / "results" / "guarantees.json"
KNOWN: dict[str, dict[str, Any]] = {
    "interval, σ and S known": {"sigma": 1.0, "theta_bound": 1.0},
    "interval, σ known": {"sigma": 1.0},
    "interval, nothing known": {},
}


def measure_intervals(rows: int, d: int, rounds: int) -> dict[str, dict[str, Timing]]:
    """µs a row of `predict` and of `interval` for each learner and each kind of knowledge."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, d))
    y = X[:, 0] + rng.standard_normal(rows)
    results = {}
    for learner in (RidgeRegressor, ForwardRegressor):
        model = learner().fit(X, y)
        tasks = {"predict": _ready(model.predict, X)}
        tasks |= {name: _ready(model.interval, X, **known) for name, known in KNOWN.items()}
        interleaved(tasks, 1)  # what is compiled at first use
        seconds = interleaved(tasks, rounds)
        results[learner.__name__] = {name: Timing(rows, each) for name, each in seconds.items()}
    return results


def measure_calibration(rows: int, d: int, rounds: int) -> dict[str, Timing]:
    """µs a row of learning many rows, without and with the calibration of conformal intervals."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, d))
    y = X[:, 0] + rng.standard_normal(rows)
    tasks: dict[str, Task] = {
        "fit": lambda: partial(ForwardRegressor().fit, X, y),
        "fit, calibrated at one δ": lambda: partial(ForwardRegressor().calibrate([0.05]).fit, X, y),
        "fit, calibrated at five δ": lambda: partial(ForwardRegressor().calibrate().fit, X, y),
    }
    interleaved(tasks, 1)
    return {name: Timing(rows, each) for name, each in interleaved(tasks, rounds).items()}


def _ready(function: Callable[..., object], *args: object, **settings: object) -> Task:
    return lambda: partial(function, *args, **settings)


def check_coverage(runs: int, rounds: int, d: int = 5, delta: float = 0.05) -> int:
    """In how many runs the set without a bound on θ* fails at any round."""
    misses = 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        X, theta = rng.standard_normal((rounds, d)), rng.standard_normal(d)
        y = X @ theta + rng.standard_normal(rounds)
        needed = needed_noise_width(X, y, theta, 1.0, "free")
        misses += bool((needed > noise_width(1.0, delta, Trace.of(X, y, 1.0).gain)).any())
    return misses


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows and runs, a few seconds")
    parser.add_argument("--out", type=Path, default=OUT, help="where every number goes, as JSON")
    options = parser.parse_args(arguments)
    rows, rounds, runs = (10_000, 3, 50) if options.quick else (100_000, 15, 1000)
    console = Console()
    with one_thread():
        intervals = measure_intervals(rows, 20, rounds)
        calibration = measure_calibration(rows, 20, rounds)
        check_coverage(1, 10)
        missed: list[int] = []
        seconds = clock(lambda: missed.append(check_coverage(runs, 1000)))
    table = Table(title=f"{rows:,} rows at d = 20: µs a row, and beside predict", title_justify="left")
    for heading in ("learner", "what", "µs a row", "beside predict"):
        table.add_column(heading, justify="left" if heading in ("learner", "what") else "right")
    for learner, timings in intervals.items():
        for name, timing in timings.items():
            table.add_row(learner, name, f"{timing.best:.4f}", f"{timing.best / timings['predict'].best:.2f}×")
    console.print(table)
    plain = calibration["fit"].best
    for name, timing in calibration.items():
        console.print(f"ForwardRegressor, {name}: {timing.best:.3f} µs a row, {timing.best - plain:.3f} more")
    console.print(
        f"Coverage checked at every one of 1,000 rounds of {runs:,} runs, d = 5: {seconds:.2f} s; "
        f"{missed[0]} runs left the set at δ = 0.05."
    )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "machine": machine(),
        "intervals": {a: {b: timing.record() for b, timing in t.items()} for a, t in intervals.items()},
        "calibration": {name: timing.record() for name, timing in calibration.items()},
        "coverage": {"runs": runs, "rounds": 1000, "d": 5, "seconds": seconds, "misses": missed[0]},
    }
    options.out.write_text(json.dumps(record, indent=1), encoding="utf-8")
    console.print(f"Every number: {options.out}")


if __name__ == "__main__":
    main()
