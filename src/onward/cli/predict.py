"""`onward predict`: what a model says of new rows."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from onward.cli import options as o

EXAMPLES = """Examples:

onward predict model.onward new.csv

onward predict model.onward new.parquet --out predictions.parquet

cat live.jsonl | onward predict model.onward - --json"""


def command(
    model: o.Model,
    data: o.Data,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file (.csv, .jsonl, .parquet) instead of standard output.",
            rich_help_panel=o.OUTPUT,
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        o.Missing | None,
        typer.Option(
            "--missing",
            help="A missing value: refuse the data, skip the row, or count it as zero. Without it: as in learning.",
            rich_help_panel="Data",
            show_default=False,
        ),
    ] = None,
    format: o.FormatOf = None,
    separator: o.Separator = None,
    of: Annotated[
        o.Of,
        typer.Option("--of", help="Intervals for the target itself, or for its mean.", rich_help_panel="Intervals"),
    ] = o.Of.observation,
    delta: o.Delta = 0.05,
    sigma: o.Sigma = None,
    theta_bound: o.ThetaBound = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each row.", rich_help_panel=o.OUTPUT)
    ] = False,
) -> None:
    """Predict rows, with intervals: row, prediction, lower, upper, leverage, in CSV on standard output.

    Nothing is learned. Columns are found by name; others are ignored. A row that is skipped for a missing value has
    empty fields, so that there is a line for each row.
    """
    from onward.cli.machines import load_learner
    from onward.progressive.outputs import check_outputs
    from onward.progressive.predict import predict
    from onward.progressive.sinks import check_ending, sink
    from onward.tables.streams import check_separator

    o.check_noise(delta, sigma, theta_bound)
    with o.usage():
        check_separator(separator)
        if out is not None:
            check_ending(out)
            check_outputs(data, {"--out": out, "the model": model}, o.format_of(format))
    with sink(out, sys.stdout.buffer if out is None else None, json=json) as write:
        notes = predict(
            load_learner(model),
            data,
            write,
            missing=None if missing is None else missing.value,
            format=o.format_of(format),
            separator=separator,
            of=of.value,
            delta=delta,
            sigma=sigma,
            theta_bound=theta_bound,
        )
    from onward.cli.display import counted, left_out

    for line in left_out(notes.skipped, {}):
        typer.echo(f"onward: {line}", err=True)
    if notes.unknown:
        some = ", ".join(f"{level} ({count:,})" for level, count in notes.unknown.most_common(5))
        more = f" and {len(notes.unknown) - 5:,} more" if len(notes.unknown) > 5 else ""
        rows = counted(sum(notes.unknown.values()), "value")
        typer.echo(f"onward: {rows} of categories that the model does not know: {some}{more}.", err=True)
