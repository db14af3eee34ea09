"""`onward predict`: what a model says of new rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli import options as o
from onward.cli.terminal import data_output, say
from onward.cli.value_options import usage
from onward.core.words import left_out

if TYPE_CHECKING:
    from onward.core.known import Known
    from onward.tables.table import Table

EXAMPLES = """Examples:

onward predict model.onward new.csv

onward predict model.onward new.parquet --out predictions.parquet

cat live.jsonl | onward predict model.onward - --json"""


@o.with_reading
@o.with_known
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
    missing: o.Missing = None,
    *,
    table: "Table",
    of: Annotated[
        o.Of,
        typer.Option("--of", help="Intervals for the target itself, or for its mean.", rich_help_panel="Intervals"),
    ] = o.Of.observation,
    intervals: o.IntervalsOfModel = None,
    known: "Known",
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each row.", rich_help_panel=o.OUTPUT)
    ] = False,
) -> None:
    """Predict rows, with intervals: row, prediction, lower, upper, leverage, in CSV on standard output.

    Nothing is learned. Columns are found by name; others are ignored. A row that is skipped for a missing value has
    empty fields, so that there is a line for each row.
    """
    from onward.cli.model_files import check_interval_options, describe_missing_intervals, load_learner
    from onward.progressive.frame_writers import check_ending, open_writer
    from onward.progressive.outputs import check_targets
    from onward.progressive.predicting import predict

    with usage():
        if out is not None:
            check_ending(out)
            check_targets(data, table.format, {"--out": out, "the model": model})
    learner = load_learner(model)
    check_interval_options(learner, known, intervals, of.value)
    with open_writer(out, data_output(), "jsonl" if json else "csv") as write:
        notes = predict(learner, data, write, table, known=known, of=of.value, intervals=intervals, missing=missing)
    from onward.cli.display import unknown_levels

    for line in (*describe_missing_intervals(learner), *left_out(notes.skipped, {}), *unknown_levels(notes.unknown)):
        say(f"onward: {line}", err=True)
