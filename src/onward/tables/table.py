"""How the columns of a table become rows of numbers: one value, checked where it is made.

The command line makes its options from the fields of `Table`, with what their metadata says: a new option of reading is
a new field here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from onward.tables.recipe import KINDS, Kind, Missing

Format = Literal["csv", "tsv", "jsonl", "parquet", "ipc"]
FORMATS: tuple[str, ...] = get_args(Format)
BadRows = Literal["error", "skip"]


def _option(
    flags: str, help: str, *, of: Literal["columns", "learning", "files"] = "columns", **more: Any
) -> Mapping[str, Any]:
    """What the command line says of a field: flags, help, and perhaps choices and a metavar.

    `of` tells what it is about: the columns, which a model keeps in its recipe; learning alone; or how files are
    written.
    """
    return {"flags": flags.split(), "help": help, "of": of, **more}


@dataclass(frozen=True)
class Table:
    """Which columns are the target and the features, and how the files that hold them are written.

    Names of columns may be patterns such as "x*" in `features`, `exclude` and `categorical`.

    Args:
        target: the column to predict; None where only features are read, by a model's recipe.
        features: the columns to use; None for all but the target and the weight.
        exclude: columns not to use.
        categorical: columns that stand for categories: a feature for each level, born when it is first seen.
        max_levels: the most levels that a category may have.
        weight: the column with the rows' weights.
        missing: what to do with a missing value: "error", "skip" the row, or count it as "zero".
        na: texts that stand for a missing value, beside the usual ones (empty, NA, NaN, null, …).
        schema: what columns hold, by name: "number", "boolean", "time", "duration" or "category"; without it, or for
            columns that it does not name, the first rows tell.
        bad_rows: what to do with a row that cannot be read: "error", or "skip" it.
        format: "csv", "tsv", "jsonl", "parquet" or "ipc"; None to go by the names of the files.
        separator: between the fields of a CSV file; None to go by its header.

    Raises:
        ValueError: if a choice is none of those that there are, or contradicts another.
    """

    target: str | None = field(
        default=None, metadata=_option("--target -t", "The column to predict.", of="learning", required=True)
    )
    features: Sequence[str] | None = field(
        default=None,
        metadata=_option(
            "--features",
            "The columns to use; patterns such as 'x*' are fine. Without it: all but the target and the weight.",
            metavar="COLUMN,...",
        ),
    )
    exclude: Sequence[str] = field(
        default=(), metadata=_option("--exclude", "Columns not to use.", metavar="COLUMN,...")
    )
    categorical: Sequence[str] = field(
        default=(),
        metadata=_option(
            "--categorical",
            "Columns that stand for categories: a feature for each level, which is born when the level is first seen.",
            metavar="COLUMN,...",
        ),
    )
    max_levels: int = field(
        default=1000,
        metadata=_option("--max-levels", "The most levels that a category may have.", metavar="N", of="learning"),
    )
    weight: str | None = field(default=None, metadata=_option("--weight", "The rows' weights.", metavar="COLUMN"))
    missing: Missing = field(
        default="error",
        metadata=_option(
            "--missing",
            "A missing value: refuse the data, skip the row, or count it as zero (a row without a target is skipped).",
            choices=get_args(Missing),
        ),
    )
    na: Sequence[str] = field(
        default=(),
        metadata=_option(
            "--na",
            "Texts that stand for a missing value, beside empty, NA, NaN, null, None and the like.",
            metavar="TEXT,...",
        ),
    )
    schema: Mapping[str, Kind] = field(
        default_factory=dict,
        metadata=_option(
            "--schema",
            "What columns hold: number, boolean, time, duration or category. Without it: by the first rows.",
            metavar="COLUMN=KIND,...",
        ),
    )
    bad_rows: BadRows = field(
        default="error",
        metadata=_option(
            "--bad-rows",
            "A row that cannot be read: stop there, or skip it (the first ten are shown).",
            choices=get_args(BadRows),
            of="files",
        ),
    )
    format: Format | None = field(
        default=None,
        metadata=_option("--format", "Without it: by the names of the files.", choices=FORMATS, of="files"),
    )
    separator: str | None = field(
        default=None,
        metadata=_option("--separator", "Between the fields of a CSV file; without it: by its header.", of="files"),
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value, choices = getattr(self, each.name), each.metadata.get("choices")
            if choices and value is not None and value not in choices:
                raise ValueError(f"{each.name} must be one of {', '.join(choices)}, got {value!r}")
            if isinstance(each.default, tuple) or each.name == "features":
                object.__setattr__(self, each.name, _names(each.name, value))
        for name in ("target", "weight", "separator"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ValueError(f"{name} must be text, got {value!r}")
        if isinstance(self.max_levels, bool) or not isinstance(self.max_levels, int) or self.max_levels < 1:
            raise ValueError(f"max_levels must be a whole number >= 1, got {self.max_levels!r}")
        if self.separator is not None and (len(self.separator.encode()) != 1 or self.separator in '"\r\n'):
            raise ValueError(f"separator must be one plain character, got {self.separator!r}")
        for column, kind in self.schema.items():
            if kind not in KINDS:
                raise ValueError(f"schema: a column is one of {', '.join(KINDS)}, got {column}={kind}")
        if self.weight is not None and self.weight == self.target:
            raise ValueError(f"column {self.target!r} cannot be both the target and the weight")


def _names(name: str, value: Any) -> tuple[str, ...] | None:
    """Names as a tuple; ValueError for one text, which would be taken for its letters."""
    if value is None:
        return None
    if isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} must be a list of texts, got {value!r}")
    return tuple(value)


def as_table(table: Table | str | None) -> Table:
    """The table that is meant by a value, or by the name of its target."""
    return table if isinstance(table, Table) else Table(table)
