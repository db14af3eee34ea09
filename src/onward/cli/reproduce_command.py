"""`onward reproduce`: the paper's figures, claims and verdicts."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli import options as o

if TYPE_CHECKING:
    from onward.experiments.reproduction_report import Section

EXAMPLES = """Examples:

onward reproduce

onward reproduce figure4a figure4b --repeats 20 --out changing

onward reproduce figure2 --set figure2.theta_norm=0.1

onward reproduce figure4b --set figure4b.beta=paper --set figure4b.width=determinant

onward reproduce figure3 --set figure3.horizon=20000 --set figure3.lam=0.001

onward reproduce extensions --out extensions

onward reproduce --quick"""


def command(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FIGURE",
            help="figure1, figure2, figure3, figure4a, figure4b, sharp; all of them without any. Or extensions, which "
            "are graphs and tasks.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for report, figures and results.")] = Path("reproduction"),
    repeats: Annotated[
        int | None, typer.Option(help="Repeats of each experiment. Without it: the paper's 100.")
    ] = None,
    undecided_times: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Up to N times the repeats where a verdict is undecided; 1 adds none. Without it: each figure's own "
            "limit, 2 to 8.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of all that is random; the same seed gives the same bits.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes at a time; -1 for as many as there are processors.")] = -1,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIGURE.SETTING=VALUE", help="Change a setting; may be given several times."),
    ] = None,
    backend: o.BackendOf = None,
    address: o.Address = None,
    quick: Annotated[bool, typer.Option("--quick", help="A reduced run in a minute; every page says so.")] = False,
) -> None:
    """Run the paper's experiments, test its claims on them, and write a report.

    Where the interval of an estimate straddles the line of a claim's rule, repeats are added, up to a limit, before the
    claim is called undecided.

    Stopped at any moment and started again with the same settings, it goes on where it was and gives the same result.
    """
    from onward.cli.display import chunks_done
    from onward.experiments.reproduction import configure, reproduce

    given = dict(_split(text) for text in changes or [])
    if jobs == 0:
        raise typer.BadParameter("expected a number other than 0", param_hint="--jobs")
    try:
        configs = configure(figures or [], repeats, seed, quick, given, undecided_times)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    engine = o.engine(jobs, backend, address)
    with chunks_done(False, "pieces") as advance:
        sections = reproduce(configs, out, engine, quick, shlex.join(["onward", *sys.argv[1:]]), advance)
    show(sections, out, quick)


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"expected FIGURE.SETTING=VALUE, got {text!r}", param_hint="--set")
    return key.strip(), value.strip()


def show(sections: "list[Section]", out: Path, quick: bool) -> None:
    """The verdicts, as a table."""
    from rich.table import Table
    from rich.text import Text

    from onward.cli.terminal import console

    signs = {
        "supported": "[green]✔ supported[/]",
        "partly": "[yellow]◐ partly[/]",
        "not supported": "[red]✘ not supported[/]",
        "undecided": "[cyan]? undecided[/]",
    }
    table = Table(title="Verdicts" + (" of a reduced run" if quick else ""), title_justify="left", title_style="bold")
    table.add_column("figure")
    table.add_column("the claim")
    table.add_column("our runs", no_wrap=True)
    for section in sections:
        for claim in section.claims:
            table.add_row(section.name, claim.statement, Text.from_markup(signs[claim.verdict]))
    shown = console()
    shown.print(table)
    shown.print(f"Report: {out / 'report.html'}", soft_wrap=True)
