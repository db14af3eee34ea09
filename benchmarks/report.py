"""What was measured, as tables for the terminal, and which of the project's targets it meets."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.methods import (
    AUTO,
    AUTO_DICT,
    AUTO_ROW,
    AUTOS,
    BATCH,
    CONSTANT,
    DICT,
    GRAM,
    METHODS,
    NUMPY,
    ONE_ROW,
    PADASIP,
    PRIOR,
    RIVER,
    SCALED,
    TWO,
    VARIANTS,
    Method,
)

if TYPE_CHECKING:
    from benchmarks.learners import Comparison

NOTHING = "—"


def short(value: float | None, suffix: str = "") -> str:
    """Three digits that count; a dash for what was not measured."""
    if value is None:
        return NOTHING
    return (f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}") + suffix


def grid(
    title: str,
    comparisons: Sequence[Comparison],
    methods: Sequence[Method],
    cell: Callable[[Comparison, str], str],
    extra: tuple[str, Callable[[Comparison], str]] | None = None,
) -> Table:
    """A row for each d, a column for each method."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("d", justify="right", style="bold")
    if extra is not None:
        table.add_column(extra[0], justify="right")
    for method in methods:
        table.add_column(method.title, justify="right")
    for comparison in comparisons:
        lead = [str(comparison.d)] + ([] if extra is None else [extra[1](comparison)])
        table.add_row(*lead, *(cell(comparison, method.key) for method in methods))
    return table


def print_about(console: Console, about: dict[str, Any], rounds: int) -> None:
    at = about["machine"]
    console.print(f"{at['processor']}, {at['cores']} cores, load {at['load_average']}; {at['system']}; {at['python']}")
    console.print(", ".join(f"{name} {version or 'not installed'}" for name, version in about["versions"].items()))
    console.print("Held to one thread: " + "; ".join(about["thread_pools"]))
    console.print(f"Times are the best of {rounds} rounds, in which the methods take turns; medians are in the file.\n")


def print_comparisons(console: Console, comparisons: Sequence[Comparison]) -> None:
    learners = [method for method in METHODS if method.predicts]
    peers = [method for method in learners if method.key not in (BATCH, ONE_ROW)]
    checked = [method for method in METHODS if method.key in (ONE_ROW, NUMPY, RIVER, PADASIP)] + list(VARIANTS)
    checked += [method for method in AUTOS if method.key in (AUTO, AUTO_ROW, AUTO_DICT)]
    with_autos = [comparison for comparison in comparisons if comparison.autos]

    def to_batch(comparison: Comparison, key: str) -> str:
        return short(comparison.ratio(key, BATCH), "×")

    def to_one_row(comparison: Comparison, key: str) -> str:
        return short(comparison.ratio(key, ONE_ROW), "×")

    def to_floor(comparison: Comparison) -> str:
        return short(comparison.ratio(BATCH, GRAM), "×")

    tables = [
        grid("µs a row, to predict and to learn", comparisons, METHODS, _time),
        grid(
            "Time as a multiple of onward batch's, and onward batch's of X.T @ X's",
            comparisons,
            learners[1:],
            to_batch,
            ("batch / X.T @ X", to_floor),
        ),
        grid("Time as a multiple of onward one row's", comparisons, peers, to_one_row),
        grid(
            "onward one row in other circumstances: µs a row",
            comparisons,
            VARIANTS,
            _time,
            ("as an array", lambda comparison: _time(comparison, ONE_ROW)),
        ),
        grid("Time of these as a multiple of onward one row's with arrays", comparisons, VARIANTS, to_one_row),
        grid(
            "AutoRegressor, beside one learner with a constant: µs a row",
            with_autos,
            AUTOS,
            _time,
            ("batch / single", lambda comparison: short(comparison.ratio(AUTO, CONSTANT), "×")),
        ),
        grid("Rows in a timed block", comparisons, METHODS, _timed_rows),
        grid("Mean squared online error", comparisons, learners, _loss, ("rows", lambda c: f"{c.loss_rows:,}")),
        grid(
            "Largest difference, over largest target, from onward's batch (river, padasip: ridge)",
            comparisons,
            checked,
            _difference,
        ),
    ]
    for table in tables:
        console.print(table, end="\n\n")
    for line in [*reasons(comparisons), noise(comparisons)]:
        console.print(line)


def noise(comparisons: Sequence[Comparison]) -> str:
    """How far the middle round lies above the best one."""
    above = [timing.median / timing.best - 1 for comparison in comparisons for timing in comparison.times.values()]
    typical, worst = statistics.median(above), max(above)
    return f"Noise: the median round is {typical:.0%} above the best typically, {worst:.0%} at worst."


def _time(comparison: Comparison, key: str) -> str:
    return short(comparison.times[key].best) if key in comparison.times else NOTHING


def _timed_rows(comparison: Comparison, key: str) -> str:
    return str(comparison.timings[key].rows) if key in comparison.timings else NOTHING


def _loss(comparison: Comparison, key: str) -> str:
    return f"{comparison.losses[key]:.5g}" if key in comparison.losses else NOTHING


def _difference(comparison: Comparison, key: str) -> str:
    return f"{comparison.differences[key]:.0e}" if key in comparison.differences else NOTHING


def reasons(comparisons: Sequence[Comparison]) -> list[str]:
    """Why there are dashes."""
    titles = {method.key: method.title for method in (*METHODS, *VARIANTS, *AUTOS)}
    return [
        f"{NOTHING} {what} of {titles[key]} at d = {comparison.d}: {why}"
        for comparison in comparisons
        for what, missing in (("time", comparison.missing), ("error", comparison.no_loss))
        for key, why in missing.items()
    ]


def print_process(console: Console, memory: dict[str, Any], start_up: dict[str, float]) -> None:
    table = Table(title="Memory and start-up, in processes of their own", title_justify="left", title_style="bold")
    table.add_column("what")
    table.add_column("measured", justify="right")
    where = f"d = {memory['d']}, chunks of {memory['chunk_rows']:,}"
    table.add_row(f"peak memory after {memory['early_rows']:,} rows ({where})", short(memory["early_peak_mb"], " MB"))
    table.add_row(f"peak memory after {memory['rows']:,} rows", short(memory["peak_mb"], " MB"))
    table.add_row("time for these rows, making them up included", short(memory["seconds"], " s"))
    if not start_up:
        table.add_row("start-up", "left out")
    for what, seconds in start_up.items():
        table.add_row(what.replace("_", " "), short(seconds, " s"))
    console.print()
    console.print(table)


# Targets


@dataclass(frozen=True)
class Target:
    says: str
    measured: str
    met: bool | None  # None: not measured in this run


def targets(comparisons: Sequence[Comparison]) -> list[Target]:
    """What the project aims at, for information: machines and days differ."""
    at = {comparison.d: comparison for comparison in comparisons}
    found = [_many_times_numpy(at.get(d), d, times) for d, times in ((5, 250), (20, 40), (100, 12))]
    found += [_close_to_gram(comparison) for comparison in comparisons if comparison.d >= 100]
    small = at.get(5)
    return [
        *found,
        _at_most(small, ONE_ROW, RIVER, 1 / 10, "one row at d = 5 in at most a tenth of river's time"),
        _at_most(small, DICT, RIVER, 1 / 6, "one row from a dict at d = 5 in at most a sixth of river's time"),
        _at_most(small, PRIOR, ONE_ROW, 3, "one row with a prior at d = 5 in at most 3× the plain time"),
        _at_most(small, TWO, ONE_ROW, 3, "one row with two targets at d = 5 in at most 3× the plain time"),
        _at_most(small, AUTO, CONSTANT, 40, "AutoRegressor in batches at d = 5 in at most 40× a single learner's time"),
        _at_most(at.get(20), AUTO, CONSTANT, 25, "AutoRegressor in batches at d = 20 in at most 25×"),
        _within(small, AUTO_ROW, 15.0, "one row of AutoRegressor at d = 5 in at most 15 µs"),
        _at_most(small, AUTO_DICT, SCALED, 1, "one row of it from a dict at d = 5 sooner than river's with its scaler"),
    ]


def _many_times_numpy(comparison: Comparison | None, d: int, times: float) -> Target:
    ratio = comparison.ratio(NUMPY, BATCH) if comparison else None
    says = f"batch at least {times:g}× as fast as the NumPy loop at d = {d}"
    return Target(says, short(ratio, "×"), None if ratio is None else ratio >= times)


def _close_to_gram(comparison: Comparison) -> Target:
    ratio = comparison.ratio(BATCH, GRAM)
    says = f"batch at most 6× the time of X.T @ X at d = {comparison.d}"
    return Target(says, short(ratio, "×"), None if ratio is None else ratio <= 6)


def _at_most(comparison: Comparison | None, key: str, of: str, most: float, says: str) -> Target:
    ratio = comparison.ratio(key, of) if comparison else None
    if comparison is None or ratio is None:
        return Target(says, NOTHING, None)
    time = comparison.times[key].best
    share = f"1/{short(1 / ratio)}" if most <= 1 else short(ratio, "×")
    return Target(says, f"{short(time)} µs, {share}", ratio <= most)


def _within(comparison: Comparison | None, key: str, microseconds: float, says: str) -> Target:
    if comparison is None or key not in comparison.times:
        return Target(says, NOTHING, None)
    time = comparison.times[key].best
    return Target(says, f"{short(time)} µs", time <= microseconds)


def print_targets(console: Console, found: Sequence[Target]) -> None:
    table = Table(title="The project's targets in this run, for information", title_justify="left", title_style="bold")
    table.add_column("target")
    table.add_column("measured", justify="right")
    table.add_column("met", justify="center")
    for target in found:
        table.add_row(target.says, target.measured, {True: "yes", False: "no", None: NOTHING}[target.met])
    console.print()
    console.print(table)
