"""`onward compare`: ridge and forward over a grid of λ."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli import options as o
from onward.cli.terminal import console, say
from onward.cli.value_options import usage
from onward.core.shown import brief
from onward.core.words import counted, left_out

if TYPE_CHECKING:
    from onward.progressive import Comparison
    from onward.tables.table import Table

EXAMPLES = """Examples:

onward compare trips.csv --target fare

onward compare 'logs/*.parquet' -t y --lams 1e-6,1e-3,1,1e3 --report comparison.html --plot comparison.png"""

_LAMS = "1e-6,1e-5,1e-4,1e-3,1e-2,0.1,1,10,100,1e3,1e4"
_BAR = 24  # characters of the longest bar


@o.with_table
def command(
    data: o.Data,
    table: "Table",
    lams: Annotated[
        str, typer.Option("--lams", metavar="λ,...", help="The grid; 0 is for forward alone.", rich_help_panel="Model")
    ] = _LAMS,
    units: o.UnitsOf = None,
    no_intercept: o.NoIntercept = False,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            help="Threads that share one read, or workers of a --backend that each read; -1 for all processors.",
            rich_help_panel="Workers",
        ),
    ] = -1,
    backend: Annotated[
        o.Backend | None,
        typer.Option(
            "--backend",
            help="Share the λ out over processes (loky) or a cluster (dask, ray). Without it: threads.",
            rich_help_panel="Workers",
            show_default=False,
        ),
    ] = None,
    address: o.Address = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="Draw loss against λ (.png, .svg, .pdf).", rich_help_panel=o.OUTPUT, show_default=False
        ),
    ] = None,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Run ridge and forward with many λ in one read of the data, and say what a wrong λ would have cost with each."""
    from onward.cli.display import watching
    from onward.progressive import compare
    from onward.progressive.outputs import check_targets

    grid = _numbers(lams)
    if jobs == 0 or jobs < -1:
        raise typer.BadParameter(f"expected -1 or at least 1, got {jobs}", param_hint="--jobs")
    with usage():
        check_targets(data, table.format, {"--plot": plot, "--report": report})
    if backend is None:
        if address is not None:
            raise typer.BadParameter("expected --backend dask or ray beside --address")
        with watching(quiet or json, "best rmse") as watch:
            result = compare(
                data,
                table,
                lams=grid,
                fit_intercept=not no_intercept,
                units="raw" if units is None else units.value,
                jobs=jobs,
                watch=watch,
            )
    else:
        from onward import scale
        from onward.cli.display import chunks_done

        with chunks_done(quiet or json) as advance:
            engine = o.engine(jobs, backend, address)
            result = scale.compare(
                data,
                table,
                engine=engine,
                lams=grid,
                fit_intercept=not no_intercept,
                units="raw" if units is None else units.value,
                advance=advance,
            )
    from onward.progressive.conclusion import conclude

    if report is not None:
        from onward.progressive.comparison_report import write_comparison_report

        write_comparison_report(report, result, conclude(result).text, shlex.join(["onward", *sys.argv[1:]]))
    if plot is not None:
        from onward.progressive.comparison_report import save_comparison_plot

        save_comparison_plot(plot, result)
    if json:
        from onward.cli.model_files import show_json
        from onward.progressive.json_results import comparison_record

        show_json(comparison_record(result))
    elif not quiet:
        show(result)
        for what, path in (("Plot", plot), ("Report", report)):
            if path is not None:
                say(f"{what}: {path}")


def _numbers(text: str) -> list[float]:
    from onward.progressive.comparing import checked_lams

    values = []
    for each in filter(str.strip, text.split(",")):
        try:
            values.append(float(each))
        except ValueError:
            raise typer.BadParameter(
                f"expected numbers with commas between them, got {brief(each.strip())}", param_hint="--lams"
            ) from None
    try:
        return checked_lams(values)
    except ValueError as error:
        raise typer.BadParameter(f"expected numbers with commas between them: {error}", param_hint="--lams") from error


def show(result: "Comparison") -> None:
    """A table of errors against λ with bars, and what it means."""
    from rich.table import Table

    from onward.cli import display
    from onward.progressive.conclusion import conclude

    out, said = console(), conclude(result)
    out.print(
        f"{result.target} of {result.source}: {said.rows:,} of {counted(result.read, 'row')}, "
        f"{counted(result.n_features, 'feature')}, "
        f"{len(result.lams)} λ, {result.seconds:.1f} s.",
        markup=False,
        highlight=False,
    )
    for line in left_out(result.skipped, result.filled):
        out.print(line, markup=False, highlight=False)
    table = Table(title="Online RMSE against λ", title_justify="left", title_style="bold")
    table.add_column("λ", justify="right")
    rmse = {name: result.rmse(name) for name in ("forward", "ridge")}
    every = [value for values in rmse.values() for value in values if value == value]
    for name in rmse:
        table.add_column(name, justify="right")
        table.add_column("", no_wrap=True)
    for row, lam in enumerate(result.lams):
        cells = [f"{lam:g}"]
        for name, values in rmse.items():
            best = " ←" if said.learners[name].best_lam == lam else ""
            cells += [
                display.number(float(values[row])) + (best or "  "),
                _bar(float(values[row]), min(every), max(every)),
            ]
        table.add_row(*cells)
    out.print(table)
    for note in result.notes:
        out.print(note, markup=False, highlight=False)
    spreads = {
        f"{name}: worst λ over best": f"{display.number(each.spread)} times the error"
        for name, each in ((name, said.learners[name]) for name in rmse)
    }
    auto = {} if result.auto is None else {"auto, without a λ": f"RMSE {display.number(result.auto.rmse)}"}
    out.print(display.pairs(spreads | auto | {"running mean": f"RMSE {display.number(said.mean_rmse)}"}))
    out.print(said.text, markup=False, highlight=False, soft_wrap=False)


def _bar(value: float, least: float, most: float) -> str:
    """A bar as long as the error, from the least of all to the largest; by factors if they are far apart."""
    import math

    if value != value or most <= least:
        return ""
    if least > 0 and most > 10 * least:
        share = math.log(value / least) / math.log(most / least)
    else:
        share = (value - least) / (most - least)
    return "█" * max(1, round(_BAR * share)) if share > 0 else "▏"
