"""The options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from onward.cli.value_options import options_for
from onward.core.inference import Inference
from onward.core.known import Known, Method
from onward.tables.table import Table

if TYPE_CHECKING:
    from onward.scale import Engine


class Learner(StrEnum):
    """Which learner."""

    auto = "auto"
    forward = "forward"
    ridge = "ridge"


class Units(StrEnum):
    """What λ is in."""

    raw = "raw"
    own = "own"


class Backend(StrEnum):
    """Which engine does the work."""

    loky = "loky"
    dask = "dask"
    ray = "ray"


class Of(StrEnum):
    """What an interval is for."""

    observation = "observation"
    mean = "mean"


_MODEL, OUTPUT, _WORKERS = "Model", "Output", "Workers"

with_table = options_for(Table, "table", "Data")
"""The command takes a `table`: every option of reading."""
with_reading = options_for(Table, "table", "Data", only=lambda field: field.metadata["of"] == "files")
"""The command takes a `table` that says how files are written; which columns are used, a model knows."""
with_known = options_for(Known, "known", "Intervals")
"""The command takes what is `known` of the noise."""

with_inference = options_for(Inference, "inference", "Coefficients")
"""The command takes an `inference`: what is asked about coefficients."""
with_inference_of_model = options_for(
    Inference, "inference", "Coefficients", only=lambda field: field.metadata["of"] == "model"
)
"""The same of a model that has learned: whether intervals are robust is settled by then."""

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV or TSV (also .gz, .zst), JSON lines, Parquet, Arrow IPC; a pattern or a folder of them, read in the "
        "order of their names; or - for standard input (CSV or JSON lines).",
        show_default=False,
    ),
]
NoIntercept = Annotated[
    bool, typer.Option("--no-intercept", help="Leave out the constant feature.", rich_help_panel=_MODEL)
]
LearnerOf = Annotated[
    Learner,
    typer.Option(
        "--learner",
        help="auto: forward and ridge over many λ and memories, weighed as they do, in the features' own units; "
        "nothing to choose. forward, ridge: one of them, with its λ.",
        rich_help_panel=_MODEL,
    ),
]
Lam = Annotated[
    float | None,
    typer.Option(
        "--lam",
        help="Regularisation λ of forward, which takes 0, too, or ridge.",
        rich_help_panel=_MODEL,
        show_default="1",
    ),
]
UnitsOf = Annotated[
    Units | None,
    typer.Option(
        "--units",
        help="What λ of forward or ridge is in: the units of the data, or the variance that each column has by now, so "
        "that its units do not matter.",
        rich_help_panel=_MODEL,
        show_default="raw",
    ),
]
HalfLifeOf = Annotated[
    str | None,
    typer.Option(
        "--half-life",
        metavar="ROWS|TIME",
        help="Let the past of forward or ridge fade: a row counts half after so many rows; or, with --time, so long: a "
        "number in the unit of that column, or 12h, 30d for dates. Coefficients have no intervals then.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
WindowOf = Annotated[
    int | None,
    typer.Option(
        "--window",
        metavar="ROWS",
        min=1,
        help="Only the last so many rows count, for forward or ridge. Coefficients have no intervals then.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
BackendOf = Annotated[
    Backend | None,
    typer.Option(
        "--backend",
        help="loky: processes of this machine; dask, ray: a cluster, or one that is started here.",
        rich_help_panel=_WORKERS,
        show_default="loky",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="The address of a running cluster, such as tcp://host:8786 (Dask) or ray://host:10001.",
        rich_help_panel=_WORKERS,
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.", rich_help_panel=OUTPUT)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, no summary; errors only.", rich_help_panel=OUTPUT)
]
Save = Annotated[
    Path | None,
    typer.Option("--save", "-s", help="Write the model to this file.", rich_help_panel=OUTPUT, show_default=False),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", help="Write a page (HTML) about it.", rich_help_panel=OUTPUT, show_default=False),
]
Missing = Annotated[
    Literal["error", "skip", "zero"] | None,
    typer.Option(
        "--missing",
        help="A missing value: refuse the data, skip the row, or count it as zero. Without it: as in learning.",
        rich_help_panel="Data",
        show_default=False,
    ),
]
_METHODS = (
    "Intervals for targets: conformal, from past errors, missed by a share of rows that tends to δ whatever comes; t, "
    "for Gaussian noise; uniform, from a set that holds at all rows at once."
)
Intervals = Annotated[Method, typer.Option("--intervals", help=_METHODS, rich_help_panel="Intervals")]
IntervalsOfModel = Annotated[
    Method | None,
    typer.Option(
        "--intervals",
        help=_METHODS,
        rich_help_panel="Intervals",
        show_default="uniform with --sigma or for a mean, else conformal, t for a model that is not calibrated",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]


def engine(jobs: int, backend: Backend | None, address: str | None) -> "Engine":
    """The engine that was asked for; a usage error if there can be none such."""
    from onward.scale import Engine

    try:
        return Engine(jobs, "loky" if backend is None else backend.value, address)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
