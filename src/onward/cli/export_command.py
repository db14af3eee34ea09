"""`onward export`: a model's coefficients for use elsewhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from onward.cli import options as o

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

    Forward's own prediction is that one, shrunk by its leverage: it takes the whole model, and is not exported. In the
    SQL, times are read by SQLite's julianday and spans are numbers of days; all else is standard.
    """
    from onward.progressive.frame_writers import check_target
    from onward.storage import write_atomically

    if table is not None and format != Format.sql:
        raise typer.BadParameter("a table is named in SQL only: expected --format sql", param_hint="--table")
    if out is not None:
        check_target(out)
    text = _written(model, format, table)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(out, text.encode())


def _written(path: Path, format: Format, table: str | None) -> str:
    import json

    from onward.cli.model_files import load_learner
    from onward.progressive import exporting

    model = load_learner(path)
    if format == Format.sql:
        return exporting.sql_select(model) if table is None else exporting.sql_select(model, table)
    if format == Format.json:
        return json.dumps(exporting.export_record(model), ensure_ascii=False, allow_nan=False) + "\n"
    import polars as pl

    texts = dict.fromkeys(("feature", "column", "kind", "level"), pl.String)
    return pl.DataFrame(exporting.export_terms(model), schema={**texts, "coefficient": pl.Float64}).write_csv()
