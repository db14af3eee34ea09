"""What a person sees while a pass runs and when it is over."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from onward.cli.terminal import console, say
from onward.core.shown import printable
from onward.core.words import counted
from onward.progress_bar import open_progress_bar

if TYPE_CHECKING:
    from collections import Counter

    from rich.table import Table

    from onward.confidence.anytime import Contrast
    from onward.progressive import Progress, Scores
    from onward.progressive.coefficient_table import CoefficientTable
    from onward.progressive.learning_pass import Watch
    from onward.scale.parallel_fit import Advance

FEW = 20  # coefficients that a summary shows
_LEVELS = 5  # that a model does not know, told by name
WIDE = 96  # columns of a terminal that take a table of coefficients with all there is


def number(value: float) -> str:
    """Five digits, whatever the size."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.5g}".replace("-", "−")


@contextmanager
def watching(quiet: bool, loss: str = "rmse") -> "Iterator[Watch | None]":
    """Progress on standard error: a bar on a terminal, else a line at every power of two in Vowpal Wabbit's manner."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(loss) as watch:
            yield watch
    else:
        yield _lines(loss)


def _lines(loss: str) -> "Watch":
    rate_of = _rate()
    before: dict[str, Any] = {"scores": None}

    def watch(progress: "Progress") -> None:
        if not progress.mark:
            return
        if before["scores"] is None:
            say(
                f"{loss:>12} {'since last':>12} {'running mean':>13} {'rows':>12} {'target':>12} {'prediction':>12} "
                f"{'rows/s':>12}",
                err=True,
            )
        scores, last = progress.scores, before["scores"]
        since = scores.rmse if last is None else _since(last, scores)
        rate = rate_of(scores.rows)
        say(
            f"{scores.rmse:>12.6g} {since:>12.6g} {scores.mean_rmse:>13.6g} {scores.rows:>12,} "
            f"{progress.target:>12.6g} {_value(progress.prediction):>12} {rate:>12,.0f}",
            err=True,
        )
        before["scores"] = scores

    return watch


def _value(number: float) -> str:
    return "–" if math.isnan(number) else f"{number:.6g}"


def _rate() -> "Callable[[int], float]":
    """Rows a second since the first call: starting up, and compiling for the first time, is not part of it."""
    first: list[tuple[int, float]] = []

    def rate(rows: int) -> float:
        now = time.perf_counter()
        if not first:
            first.append((rows, now))
        return (rows - first[0][0]) / max(1e-9, now - first[0][1])

    return rate


def _since(last: "Scores", now: "Scores") -> float:
    weight = now.weight - last.weight
    return math.sqrt(max(0.0, now.squared - last.squared) / weight) if weight > 0 else math.nan


@contextmanager
def _bar(loss: str) -> "Iterator[Watch]":
    rate_of = _rate()
    details = ("{task.fields[rate]} rows/s", f"{loss} {{task.fields[rmse]}}")
    with open_progress_bar("{task.fields[rows]} rows", *details, percent=True, transient=True) as bar:
        task = bar.add_task("", total=None, rows="0", rate="–", rmse="–")

        def watch(progress: "Progress") -> None:
            rate = rate_of(progress.scores.rows)
            bar.update(
                task,
                total=progress.size,
                completed=progress.done,
                rows=f"{progress.read:,}",
                rate=f"{rate:,.0f}",
                rmse=f"{progress.scores.rmse:.5g}",
            )

        yield watch


def pairs(rows: Mapping[str, str]) -> "Table":
    """Names and values, one below the other."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def coefficients(columns: "CoefficientTable", most: int | None = FEW) -> "Table":
    """Coefficients with their intervals, and what these assume."""
    total = len(columns["feature"])
    shown = total if most is None or total <= most + 5 else most  # to leave out a handful would save nothing
    notes = columns.remarks
    notes += [f"and {total - shown:,} more"] if shown < total else []
    if "upper" in columns and any(math.isinf(float(columns["upper"][row])) for row in range(shown)):
        notes.append(
            "∞: too little is known for an end. More rows help; the levels of a category beside the constant stay "
            "open, but for their differences: --contrast."
            if columns.one_by_one
            else "∞: too little is known for an end. More rows help, or --sigma and --theta-bound if you know them; "
            "the levels of a category beside the constant stay open without."
        )
    heads = columns.heads
    if "coefficient" in heads and console().width < WIDE:
        del heads["standard_error"]
    rows = [
        [str(columns["feature"][row]), *(number(float(columns[name][row])) for name in list(heads)[1:])]
        for row in range(shown)
    ]
    return _make_table("Coefficients", list(heads.values()), rows, notes)


def contrasts(found: Sequence["Contrast"], notes: Sequence[str]) -> "Table":
    """Contrasts with their intervals, and what is to be said below them."""
    rows = [
        [
            each.name,
            *map(number, (each.estimate, each.standard_error, each.lower, each.upper, each.e_value, each.p_value)),
        ]
        for each in found
    ]
    heads = ["contrast", "estimate", "std. error", "lower", "upper", "e-value", "p-value"]
    return _make_table("Contrasts, adjusted for all other columns", heads, rows, notes)


def _make_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> "Table":
    from rich.table import Table

    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption="\n".join(notes) or None,
        caption_justify="left",
    )
    table.add_column(heads[0])
    for head in heads[1:]:
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(row[0], *row[1:])
    return table


def scores(now: "Scores") -> "Table":
    """Online scores beside those of the running mean."""
    from rich.table import Table

    table = Table(
        title="Online, each row predicted before its target was seen", title_justify="left", title_style="bold"
    )
    table.add_column("")
    for name in ("RMSE", "MAE", "R²"):
        table.add_column(name, justify="right")
    table.add_row("this model", number(now.rmse), number(now.mae), number(now.r2))
    table.add_row("running mean", number(now.mean_rmse), number(now.mean_mae), number(0.0))
    return table


def unknown_levels(unknown: "Counter[str]") -> Iterator[str]:
    """How many values were of levels that a model does not know."""
    if unknown:
        some = ", ".join(f"{level} ({count:,})" for level, count in unknown.most_common(_LEVELS))
        more = f" and {len(unknown) - _LEVELS:,} more" if len(unknown) > _LEVELS else ""
        values = counted(sum(unknown.values()), "value")
        yield f"{values} of categories that the model does not know: {some}{more}."


@contextmanager
def chunks_done(quiet: bool, what: str = "chunks") -> "Iterator[Advance]":
    """A bar with the time left for each part of the work; plain lines where this is no terminal."""
    if quiet:
        yield lambda name, done, total: None
        return
    if not sys.stderr.isatty():
        yield _plain_progress(what)
        return
    tasks: dict[str, Any] = {}
    with open_progress_bar("{task.description}") as bar:

        def advance(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(printable(name), total=total)
            bar.update(tasks[name], completed=done, total=total)  # it may grow

        yield advance


def _plain_progress(what: str) -> "Advance":
    said: dict[str, int] = {}

    def advance(name: str, done: int, total: int) -> None:
        tenth = 10 * done // max(1, total)
        if said.get(name) != tenth:
            said[name] = tenth
            say(f"{name}: {done} of {total} {what}", err=True)

    return advance
