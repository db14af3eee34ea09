"""How the columns of a table become rows of numbers: one value, checked where it is made.

The command line makes its options from the fields of `Table`, with what their metadata says: a new option of reading is
a new field here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from onward.core.checks import is_iterable
from onward.core.shown import brief, shortened
from onward.core.shown_html import html_values
from onward.tables.notation import Notation, check_encoding
from onward.tables.recipe import KINDS, Kind, Missing
from onward.tables.terms import parse_term, split_terms

Format = Literal["csv", "tsv", "jsonl", "parquet", "ipc"]
FORMATS: tuple[str, ...] = get_args(Format)
BadRows = Literal["error", "skip"]
WRITTEN = ("row", "target", "prediction", "lower", "upper", "leverage")  # the columns of predictions


def _option(
    flags: str, help: str, *, of: Literal["columns", "learning", "files"] = "columns", **more: Any
) -> Mapping[str, Any]:
    """What the command line says of a field: flags, help, and perhaps choices, a metavar and how a list is split.

    `of` tells what it is about: the columns, which a model keeps in its recipe; learning alone; or how files are
    written.
    """
    return {"flags": flags.split(), "help": help, "of": of, **more}


@dataclass(frozen=True, repr=False)
class Table:
    """Which columns are the target and the features, and how the files that hold them are written.

    Names of columns may be patterns such as "x*" in `features`, `exclude`, `categorical` and `keep`.

    Args:
        target: the column to predict; None where only features are read, by a model's recipe.
        features: the columns to use; None for all but the target, the weight and the time.
        exclude: columns not to use.
        categorical: columns that stand for categories: a feature for each level, born when it is first seen.
        max_levels: the most levels that a category may have.
        drop_first: whether the first level of each category makes no feature, nor what it is multiplied with.
        terms: features that are made of columns, as text: see `onward.tables.terms`.
        weight: the column with the rows' weights.
        time: the column with the rows' times, numbers or dates, for learners with a half-life in time; they must not
            fall. It is no feature.
        missing: what to do with a missing value: "error", "skip" the row, or count it as "zero".
        na: texts that stand for a missing value, beside the usual ones (empty, NA, NaN, null, …).
        schema: what columns hold, by name: "number", "boolean", "time", "duration" or "category"; without it, or for
            columns that it does not name, the first rows tell.
        bad_rows: what to do with a row that cannot be read: "error", or "skip" it.
        decimal: the mark before a number's decimals in text files, "." or ",".
        thousands: the mark between a number's thousands in text files; None for none.
        date_format: how dates are written in text files, as strptime takes it; None for ISO 8601.
        format: "csv", "tsv", "jsonl", "parquet" or "ipc"; None to go by the names of the files.
        separator: between the fields of a CSV file; None to go by its header.
        header: whether a CSV file begins with the names of its columns; else they are called c1, c2, …
        encoding: of text files, such as "latin-1" or "utf-16"; None for UTF-8.
        keep: columns that are carried to the predictions as they are, and are no features unless named as such.

    Raises:
        ValueError: if a choice is none of those that there are, or contradicts another.

    Example:
        >>> from onward import Table
        >>> table = Table("fare", categorical=["city"], terms=["log(km)"], missing="skip")
        >>> table  # what is not said is as by default
        Table(target='fare', categorical=('city',), terms=('log(km)',), missing='skip')
    """

    target: str | None = field(
        default=None,
        metadata=_option("--target -t", "The column to predict.", of="learning", metavar="COLUMN", required=True),
    )
    features: Sequence[str] | None = field(
        default=None,
        metadata=_option(
            "--features",
            "The columns to use; patterns such as 'x*' are fine. Without it: all but the target, the weight and the "
            "time.",
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
            "Columns that hold categories: a feature for each level, from the row on that has it first.",
            metavar="COLUMN,...",
        ),
    )
    max_levels: int = field(
        default=1000,
        metadata=_option("--max-levels", "The most levels that a category may have.", metavar="N", of="learning"),
    )
    drop_first: bool = field(
        default=False,
        metadata=_option("--drop-first", "The first level of each category makes no feature, nor do products with it."),
    )
    terms: Sequence[str] = field(
        default=(),
        metadata=_option(
            "--add",
            "More features, made of columns: log(x), x^2, lag(x, 1), a:b, hour(t), spline(x, lo, hi, k), "
            "random(n, gamma, a, b); see docs/own_data.md.",
            metavar="TERM",
            split=split_terms,
        ),
    )
    weight: str | None = field(
        default=None, metadata=_option("--weight", "The column of the rows' weights.", metavar="COLUMN")
    )
    time: str | None = field(
        default=None,
        metadata=_option(
            "--time",
            "The column of the rows' times, numbers or dates, which must not fall: for --half-life. It is no feature.",
            metavar="COLUMN",
        ),
    )
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
    decimal: str = field(
        default=".",
        metadata=_option("--decimal", "The mark before a number's decimals in text files.", choices=(".", ",")),
    )
    thousands: str | None = field(
        default=None,
        metadata=_option(
            "--thousands", "The mark between thousands in text files, such as the comma in 1,234.", metavar="MARK"
        ),
    )
    date_format: str | None = field(
        default=None,
        metadata=_option(
            "--date-format",
            "How dates are written in text files, such as %d.%m.%Y. Without it: 2026-01-31, with or without a time.",
            metavar="FORMAT",
        ),
    )
    format: Format | None = field(
        default=None,
        metadata=_option(
            "--format",
            "csv, tsv, jsonl, parquet or ipc (Arrow). Without it: by the names of the files.",
            metavar="FORMAT",
            choices=FORMATS,
            of="files",
        ),
    )
    separator: str | None = field(
        default=None,
        metadata=_option(
            "--separator",
            "The character between the fields of a CSV file. Without it: by its header.",
            metavar="CHARACTER",
            of="files",
        ),
    )
    header: bool = field(
        default=True,
        metadata=_option("--no-header", "CSV files have no line of names; columns are called c1, c2, …", of="files"),
    )
    encoding: str | None = field(
        default=None,
        metadata=_option(
            "--encoding",
            "The encoding of text files, such as latin-1 or utf-16. Without it: UTF-8.",
            metavar="NAME",
            of="files",
        ),
    )
    keep: Sequence[str] = field(
        default=(),
        metadata=_option(
            "--keep",
            "Columns to carry to the predictions as they are; not features unless named as such.",
            metavar="COLUMN,...",
            of="files",
        ),
    )

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Mapping):
            raise ValueError(f"schema must be a dict of columns and what they hold, got {brief(self.schema)}")
        object.__setattr__(self, "schema", dict(self.schema))
        for each in fields(self):
            value, choices = getattr(self, each.name), each.metadata.get("choices")
            if choices and value is not None and not (isinstance(value, str) and value in choices):
                raise ValueError(f"{each.name} must be one of {', '.join(choices)}, got {brief(value)}")
            if isinstance(each.default, tuple) or each.name == "features":
                object.__setattr__(
                    self, each.name, _names(each.name, value, () if isinstance(each.default, tuple) else None)
                )
        for name in ("target", "weight", "time", "separator"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ValueError(f"{name} must be text, got {brief(value)}")
        if isinstance(self.max_levels, bool) or not isinstance(self.max_levels, int) or self.max_levels < 1:
            raise ValueError(f"max_levels must be a whole number >= 1, got {brief(self.max_levels)}")
        if self.separator is not None and (len(self.separator.encode()) != 1 or self.separator in '"\r\n'):
            raise ValueError(f"separator must be one plain character, got {brief(self.separator)}")
        for column, kind in self.schema.items():
            if not isinstance(column, str):
                raise ValueError(f"schema: the names of columns must be text, got {brief(column)}")
            if not isinstance(kind, str) or kind not in KINDS:
                raise ValueError(
                    f"schema: a column is one of {', '.join(KINDS)}, got {shortened(column)}={_kind_text(kind)}"
                )
        for one, other in (("target", "weight"), ("target", "time"), ("weight", "time")):
            if getattr(self, one) is not None and getattr(self, one) == getattr(self, other):
                raise ValueError(f"column {getattr(self, one)!r} cannot be both the {one} and the {other}")
        for name in ("drop_first", "header"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, got {brief(getattr(self, name))}")
        for name in self.keep:
            if name in WRITTEN:
                raise ValueError(f"column {brief(name)} cannot be kept: predictions have a column of that name")
        object.__setattr__(self, "terms", tuple(dict.fromkeys(parse_term(each).text for each in self.terms)))
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        _ = self.notation  # which checks it

    def __repr__(self) -> str:
        return f"Table({', '.join(f'{name}={value!r}' for name, value in self._said().items())})"

    def _repr_html_(self) -> str:
        said = {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in self._said().items()}
        return html_values("Table", said, ["All else is as by default."])

    def _said(self) -> dict[str, Any]:
        """What is not as by default."""
        usual = Table()
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(usual, name)}

    @property
    def notation(self) -> Notation:
        """How values are written as text."""
        return Notation(tuple(self.na), self.decimal, self.thousands, self.date_format)


def _names(name: str, value: Any, default: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Names as a tuple, the default for None; ValueError for one text, which would be taken for its letters."""
    if value is None:
        return default
    listed = is_iterable(value) and not isinstance(value, str | Mapping) and getattr(value, "ndim", 1) == 1
    names = tuple(value) if listed else None
    if names is None or not all(isinstance(each, str) for each in names):
        raise ValueError(f"{name} must be a list of texts, got {brief(value)}")
    return names


def _kind_text(kind: object) -> str:
    return shortened(kind) if isinstance(kind, str) else brief(kind)


def as_table(table: Table | str | None) -> Table:
    """The table that is meant by a value, or by the name of its target."""
    if hasattr(table, "__array__") or isinstance(table, list):
        raise ValueError(
            f"table must be a Table or the name of the target, got {brief(table)}; "
            "arrays of features and targets are for the fit(X, y) of a learner"
        )
    return table if isinstance(table, Table) else Table(table)
