"""Logs of decisions as people keep them: data frames, Parquet, CSV and JSON lines files."""

import math
import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import NarwhalsError
from numpy.typing import NDArray

from onward.core.checks import is_hashable, is_iterable, whole
from onward.core.shown import brief, several, shortened
from onward.core.types import Matrix, Vector

KINDS: dict[str, Literal["csv", "jsonl", "parquet"]] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


NumberOrNames = int | Sequence[Hashable] | None
"""How many arms there are, or their names; None for a log of actions."""
_MOST_ARMS = 2**31


@dataclass(frozen=True)
class Names:
    """What the columns are called."""

    taken: str
    propensity: str
    reward: str
    event: str


class Table:
    """The columns of a log that came as a table; errors say where it came from, which column and which row."""

    def __init__(
        self, table: Any, source: str, names: Names, features: Sequence[str] | None, n_arms: NumberOrNames
    ) -> None:
        self.n_arms, self.arms = number_and_names(n_arms)
        try:
            frame = nw.from_native(table)
        except TypeError as error:
            raise ValueError(f"a log must be a data frame, got {brief(table)}") from error
        columns = list(frame.collect_schema().names())
        special = [names.taken, names.propensity, names.reward, names.event]
        if not all(isinstance(name, str) for name in special):
            raise ValueError(f"taken, propensity, reward and event must be names of columns, got {several(special)}")
        if len(set(special)) < len(special):
            raise ValueError(f"taken, propensity, reward and event must be different columns, got {several(special)}")
        if features is not None and not (are_names(features) and all(isinstance(name, str) for name in features)):
            raise ValueError(f"features must be different names of columns, at least one, got {brief(features)}")
        if features is None:
            features = [name for name in columns if name not in special]
        needed = special[:3] if self.n_arms is not None else special
        missing = [name for name in [*needed, *features] if name not in columns]
        if missing:
            said = [role for role, name in vars(names).items() if name == missing[0] and name in needed]
            more = f"; {said[0]} says how the column is called (--{said[0]})" if said else ""
            if said == ["event"]:
                more += ", n_arms that each row is an event (--arms)"
            raise ValueError(
                f"{source}there is no column {brief(missing[0])}, expected it among {several(columns)}{more}"
            )
        if not features:
            raise ValueError(f"{source}expected at least one column of features beside {needed}, got none")
        frame = frame.select(*dict.fromkeys([*needed, *features]))
        self._frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        self.columns = tuple(features)
        self.source = source
        if not len(self._frame):
            raise ValueError(f"{source}a log must hold at least one event, got none")

    @classmethod
    def read(cls, file: Path, names: Names, features: Sequence[str] | None, n_arms: NumberOrNames) -> Self:
        """The columns of a Parquet, CSV or JSON lines file."""
        import polars as pl  # here, so that what reads no file does not wait for it

        from onward.tables.json_depth import check_depth

        kind = checked_kind(file)
        try:
            # Types come from the whole file: a column may hold whole numbers for thousands of rows, then 0.5.
            if kind == "csv":
                frame = pl.scan_csv(file, infer_schema_length=None)
            elif kind == "jsonl":
                check_depth(file)
                frame = pl.scan_ndjson(file, infer_schema_length=None)
            else:
                frame = pl.scan_parquet(file)
            return cls(frame, f"{file}: ", names, features, n_arms)
        except (pl.exceptions.PolarsError, NarwhalsError) as error:
            raise ValueError(f"{file}: cannot be read as {kind} ({shortened(str(error), 300)})") from error

    def numbers(self, name: str) -> Vector:
        """A column as numbers, NaN where there is none."""
        column = self._frame[name]
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            return np.array(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        values = column.to_list()
        wrong = [row for row, value in enumerate(values) if value is not None and not isinstance(value, numbers.Real)]
        if wrong:  # a single word makes text of a whole column: find the word
            row = next((row for row in wrong if not _reads_as_number(values[row])), wrong[0])
            raise ValueError(
                f"{self.source}column {brief(name)} holds {brief(values[row])} in row {row}, expected numbers"
            )
        try:
            return np.array([math.nan if value is None else float(value) for value in values])
        except OverflowError:
            raise ValueError(f"{self.source}column {brief(name)} holds a whole number beyond 1e308") from None

    def features(self) -> Matrix:
        """The features, all finite, (rows, c)."""
        out = np.empty((len(self._frame), len(self.columns)))
        for j, name in enumerate(self.columns):
            out[:, j] = self.numbers(name)
            self.check(name, out[:, j], np.isfinite(out[:, j]), "a finite number")
        return out

    def places(self, name: str) -> Vector:
        """The number of the arm in each row: the column holds it, or the arm's name where arms have names."""
        if self.arms is None:
            taken = self.numbers(name)
            most = (self.n_arms or 1) - 1
            self.check(name, taken, (taken >= 0) & (taken <= most) & (taken == np.floor(taken)), f"an arm, 0 … {most}")
            return taken
        known = {arm: float(place) for place, arm in enumerate(self.arms)}
        places = np.empty(len(self._frame))
        for row, value in enumerate(self._frame[name].to_list()):
            place = known.get(value, known.get(str(value))) if is_hashable(value) else None
            if place is None:
                raise ValueError(
                    f"{self.source}column {brief(name)} holds {brief(value)} in row {row}, "
                    f"expected an arm of {several(self.arms)}"
                )
            places[row] = place
        return places

    def check(
        self, name: str, values: Vector, right: NDArray[np.bool_], expected: str, rows: Any = slice(None)
    ) -> None:
        """An error that names the first of the rows in which a value is not right."""
        wrong = np.flatnonzero(~right[rows])
        if len(wrong):
            row = int(np.arange(len(values))[rows][wrong[0]])
            came = "nothing, or NaN," if math.isnan(values[row]) else f"{values[row]:g}"
            raise ValueError(f"{self.source}column {brief(name)} holds {came} in row {row}, expected {expected}")

    def events(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows in the order of events, each event's together, and how many each has."""
        numbered: dict[Hashable, int] = {}
        codes = np.empty(len(self._frame), dtype=np.int64)
        for row, value in enumerate(self._frame[name].to_list()):
            if not is_hashable(value):
                raise ValueError(
                    f"{self.source}column {brief(name)} holds {brief(value)} in row {row}, expected an event's name"
                )
            if value is None or value != value:
                raise ValueError(
                    f"{self.source}column {brief(name)} holds nothing in row {row}, expected an event's name"
                )
            codes[row] = numbered.setdefault(value, len(numbered))
        return np.argsort(codes, kind="stable"), np.bincount(codes)


def checked_kind(file: Path) -> Literal["csv", "jsonl", "parquet"]:
    """How a file is written, by its name; an error if there is none or nobody can tell."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: there is no such file")
    kind = KINDS.get(file.suffix.lower())
    if kind is None:
        raise ValueError(f"{file}: expected a name that ends in {', '.join(KINDS)}, got {file.suffix.lower()!r}")
    return kind


def checked_arms(n_arms: int) -> int:
    """A number of arms, or an error."""
    return whole("n_arms", n_arms, most=_MOST_ARMS)


def number_and_names(n_arms: Any) -> tuple[int | None, tuple[Hashable, ...] | None]:
    """How many arms there are, and their names if these were given; neither of a log of actions."""
    several_given = isinstance(n_arms, Sequence | np.ndarray) and not isinstance(n_arms, str | bytes)
    if not several_given:
        return None if n_arms is None else checked_arms(n_arms), None
    if not are_names(n_arms):
        raise ValueError(f"n_arms must be a number, or different names, got {brief(n_arms)}")
    return len(n_arms), tuple(n_arms)


def are_names(arms: object) -> bool:
    """Whether these are different names, at least one, in an order."""
    if not is_iterable(arms) or isinstance(arms, str | bytes) or getattr(arms, "ndim", 1) != 1:
        return False
    if not isinstance(arms, Sequence | np.ndarray):
        return False
    return len(arms) > 0 and all(map(is_hashable, arms)) and len(set(arms)) == len(arms)


def _reads_as_number(value: object) -> bool:
    try:
        return math.isfinite(float(str(value)))
    except ValueError:
        return False
