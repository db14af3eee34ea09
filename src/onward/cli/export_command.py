"""`onward export`: a model's coefficients for use elsewhere."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli import options as o
from onward.cli.terminal import data_output, say

if TYPE_CHECKING:
    from onward.regression import OnlineRegressor

EXAMPLES = """Examples:

onward export model.onward --format csv --out coefficients.csv

onward export model.onward --format sql --table trips | sqlite3 trips.db"""


class Format(StrEnum):
    """How coefficients are written."""

    json = "json"
    csv = "csv"
    sql = "sql"


def command(
    model: o.Model,
    format: Annotated[
        Format, typer.Option("--format", "-f", help="Values, or a SELECT.", rich_help_panel=o.OUTPUT)
    ] = Format.json,
    table: Annotated[
        str | None,
        typer.Option(
            "--table", help="The table in the SELECT.", rich_help_panel=o.OUTPUT, metavar="NAME", show_default="data"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file instead of standard output.",
            rich_help_panel=o.OUTPUT,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a model's coefficients: JSON, CSV, or SQL that computes the prediction of ridge from the columns.

    Forward's own prediction is that one, shrunk by its leverage: it takes the whole model, and is not exported. Nor are
    those of auto: its coefficients are the average of its learners', whose predictions may be shrunk, and are kept near
    the targets that were seen. `onward predict` has them exactly. In the SQL, times are read by SQLite's julianday and
    spans are numbers of days; all else is standard.
    """
    from onward.atomic_files import write_atomically
    from onward.cli.model_files import load_learner
    from onward.progressive.exporting import export_note
    from onward.progressive.frame_writers import check_target

    if table is not None and format != Format.sql:
        raise typer.BadParameter("a table is named in SQL only: expected --format sql", param_hint="--table")
    if out is not None:
        check_target(out)
    learner = load_learner(model)
    text, note = _export_text(learner, format, table), export_note(learner)
    if out is None:
        stream = data_output()
        stream.write(text.encode())
        stream.flush()
    else:
        write_atomically(out, text.encode())
    if note is not None and format == Format.csv:  # which has no place for it
        say(f"onward: {note}", err=True)


def _export_text(model: "OnlineRegressor", format: Format, table: str | None) -> str:
    import json

    from onward.progressive import exporting

    if format == Format.sql:
        return exporting.sql_select(model) if table is None else exporting.sql_select(model, table)
    if format == Format.json:
        return json.dumps(exporting.export_record(model), ensure_ascii=False, allow_nan=False) + "\n"
    import polars as pl

    from onward.progressive.spreadsheet_text import quote_formulas

    texts = dict.fromkeys(("feature", "column", "kind", "level"), pl.String)
    terms = pl.DataFrame(exporting.export_terms(model), schema={**texts, "coefficient": pl.Float64})
    return quote_formulas(terms).write_csv()
