"""`onward reproduce`: the paper's figures, claims and verdicts."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from onward.experiments.report import Section
    from onward.experiments.runner import Advance

EXAMPLES = (
    "Examples:  onward reproduce  ·  onward reproduce figure4a figure4b --repeats 20 --out changing  ·  "
    "onward reproduce figure3 --set figure3.horizon=20000 --set figure3.lam=0.001  ·  onward reproduce --quick"
)


def command(
    figures: Annotated[
        list[str] | None, typer.Argument(help="figure1, figure2, figure3, figure4a, figure4b; all of them without any.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for report, figures and results.")] = Path("reproduction"),
    repeats: Annotated[int | None, typer.Option(help="Repeats of each experiment; without it the paper's 100.")] = None,
    seed: Annotated[int, typer.Option(help="Of everything random; the same seed gives the same bits.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes at a time; -1 for as many as there are processors.")] = -1,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIGURE.SETTING=VALUE", help="Change a setting; may be given several times."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A reduced run in a minute; every page says so.")] = False,
) -> None:
    """Run the paper's experiments, test its claims on them, and write a report.

    Stopped at any moment and started again with the same settings, it goes on where it was and gives the same result.
    """
    from onward.experiments.reproduce import configure, reproduce

    given = dict(_split(text) for text in changes or [])
    if jobs == 0:
        raise typer.BadParameter("expected a number other than 0", param_hint="--jobs")
    try:
        configs = configure(figures or [], repeats, seed, quick, given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    with progress() as advance:
        sections = reproduce(configs, out, jobs, quick, shlex.join(["onward", *sys.argv[1:]]), advance)
    show(sections, out, quick)


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"expected FIGURE.SETTING=VALUE, got {text!r}", param_hint="--set")
    return key.strip(), value.strip()


@contextmanager
def progress() -> "Iterator[Advance]":
    """A bar with the time left for each figure; plain lines where this is no terminal."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[Any] = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True)) as bar:

        def advance(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done)

        yield advance


def _lines() -> "Advance":
    said: dict[str, int] = {}

    def advance(name: str, done: int, total: int) -> None:
        tenth = 10 * done // max(1, total)
        if said.get(name) != tenth:
            said[name] = tenth
            typer.echo(f"{name}: {done} of {total} pieces", err=True)

    return advance


def show(sections: "list[Section]", out: Path, quick: bool) -> None:
    """The verdicts, as a table."""
    from rich.console import Console
    from rich.table import Table

    signs = {
        "supported": "[green]✔ supported[/]",
        "partly": "[yellow]◐ partly[/]",
        "not supported": "[red]✘ not supported[/]",
    }
    table = Table(title="Verdicts" + (" of a reduced run" if quick else ""), title_justify="left", title_style="bold")
    table.add_column("figure")
    table.add_column("the paper says")
    table.add_column("our runs", no_wrap=True)
    for section in sections:
        for claim in section.claims:
            table.add_row(section.name, claim.says, signs[claim.verdict])
    console = Console()
    console.print(table)
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)
