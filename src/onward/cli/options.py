"""The options that several commands share, and how lists are written on a command line."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from onward.scale import Engine


class Learner(StrEnum):
    """Which read-out."""

    forward = "forward"
    ridge = "ridge"


class Missing(StrEnum):
    """What to do with missing values."""

    error = "error"
    skip = "skip"
    zero = "zero"


class Format(StrEnum):
    """How the data are written."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    ipc = "ipc"


class Backend(StrEnum):
    """Which engine does the work."""

    loky = "loky"
    dask = "dask"
    ray = "ray"


class Of(StrEnum):
    """What an interval is for."""

    observation = "observation"
    mean = "mean"


_DATA, _MODEL, _NOISE = "Data", "Model", "Intervals"
OUTPUT = "Output"
_WORKERS = "Workers"

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV or TSV (also .gz, .zst), JSON lines, Parquet, Arrow IPC; a pattern or a folder of them, read in the "
        "order of their names; or - for standard input (CSV or JSON lines).",
        show_default=False,
    ),
]
Target = Annotated[
    str, typer.Option("--target", "-t", help="The column to predict.", rich_help_panel=_DATA, show_default=False)
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        metavar="COLUMN,...",
        help="The columns to use; patterns such as 'x*' are fine. Without it: all but the target and the weight.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="COLUMN,...", help="Columns not to use.", rich_help_panel=_DATA, show_default=False
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN,...",
        help="Columns that stand for categories: a feature for each level, which is born when the level is first seen.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
MaxLevels = Annotated[
    int, typer.Option("--max-levels", min=1, help="The most levels that a category may have.", rich_help_panel=_DATA)
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", metavar="COLUMN", help="The rows' weights.", rich_help_panel=_DATA, show_default=False),
]
MissingRule = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="A missing value: refuse the data, skip the row, or count it as zero (a row without a target is skipped).",
        rich_help_panel=_DATA,
    ),
]
Na = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT,...",
        help="Texts that stand for a missing value, beside empty, NA, NaN, null, None and the like.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
FormatOf = Annotated[
    Format | None,
    typer.Option("--format", help="Without it: by the names of the files.", rich_help_panel=_DATA, show_default=False),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="Between the fields of a CSV file; without it: by its header.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
NoIntercept = Annotated[
    bool, typer.Option("--no-intercept", help="Leave out the constant feature.", rich_help_panel=_MODEL)
]
LearnerOf = Annotated[Learner, typer.Option("--learner", help="Which learner.", rich_help_panel=_MODEL)]
Lam = Annotated[
    float, typer.Option("--lam", help="Regularisation λ; 0 is possible with forward.", rich_help_panel=_MODEL)
]
Delta = Annotated[
    float, typer.Option("--delta", help="The probability with which intervals may fail.", rich_help_panel=_NOISE)
]
Sigma = Annotated[
    float | None,
    typer.Option(
        "--sigma",
        help="The noise is σ-sub-Gaussian. Without it: Gaussian noise of unknown spread.",
        rich_help_panel=_NOISE,
        show_default=False,
    ),
]
ThetaBound = Annotated[
    float | None,
    typer.Option(
        "--theta-bound",
        help="S ≥ ‖θ*‖, the constant included; needs --sigma. Without it: sets that need no bound.",
        rich_help_panel=_NOISE,
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
        help="Of a running cluster, such as tcp://host:8786 (Dask) or ray://host:10001.",
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
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]


def listed(values: list[str] | None) -> list[str]:
    """Names that may come one by one or with commas between them; in double quotes where a comma is part of one."""
    found = []
    for value in values or []:
        found += [each.strip() for each in next(csv.reader([value], skipinitialspace=True)) or [""]]
    return found


@contextmanager
def usage() -> Iterator[None]:
    """What is wrong with the settings is a wrong call; what is wrong with the data is not."""
    from onward.tables import DataError

    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def check_noise(delta: float, sigma: float | None, theta_bound: float | None) -> None:
    """A usage error if there can be no intervals for these."""
    from onward.progressive import intervals

    with usage():
        intervals.check_noise(delta, sigma, theta_bound)


def format_of(value: Format | None) -> Literal["csv", "tsv", "jsonl", "parquet", "ipc"] | None:
    """The name of a format."""
    return None if value is None else value.value


def engine(jobs: int, backend: Backend | None, address: str | None) -> "Engine":
    """The engine that was asked for; a usage error if there can be none such."""
    from onward.scale import Engine

    try:
        return Engine(jobs, "loky" if backend is None else backend.value, address)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
