"""Rows of numbers from arrays, sparse matrices and data frames.

Everything becomes a stream of float64 blocks, a block at a time, so a large table is never copied whole.
"""

import numbers
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from onward.core.shown import brief, came, several
from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.tables.number_arrays import as_array, is_number, is_sparse, numbers_in
from onward.tables.sources import TO_FRAME

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

BLOCK = 1 << 16  # values in a block (512 KB): long enough to forget the overhead, short enough to stay in the cache


class Rows(Protocol):
    """A table of numbers that can be taken in slices."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""

    @property
    def names(self) -> list[Hashable] | None:
        """Of the features, if they have any."""

    def block(self, start: int, stop: int) -> Matrix:
        """Rows start … stop−1 as a writeable, C-contiguous float64 array."""


@dataclass(frozen=True)
class CheckedRows:
    """Rows with names that were checked when they were read, such as a stream's blocks: they are taken as they are.

    Attributes:
        X: features (n, k), float64, C-contiguous, finite.
        names: of the features, each another.
    """

    X: Matrix
    names: list[Hashable]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape[0], self.X.shape[1]

    def block(self, start: int, stop: int) -> Matrix:
        """As in `Rows`.

        Args:
            start: the first row.
            stop: the row after the last.
        """
        return self.X[start:stop]


class ArrayRows:
    """The rows of an array or a sparse matrix that is known to hold numbers."""

    def __init__(self, array: Any) -> None:
        self.shape = array.shape
        self.names: list[Hashable] | None = None
        self._array = array

    def block(self, start: int, stop: int) -> Matrix:
        """As in `Rows`.

        Args:
            start: the first row.
            stop: the row after the last.
        """
        part = self._array[start:stop]
        if not isinstance(part, np.ndarray):  # of a sparse matrix
            part = part.toarray()
        # A read-only array would be compiled for anew; copying the block is cheaper.
        return np.require(part, dtype=np.float64, requirements=["C", "A", "W"])


class _FrameRows:
    def __init__(self, frame: "nw.DataFrame[Any]", name: str) -> None:
        import narwhals.stable.v2 as nw

        self.shape = frame.shape
        self.names: list[Hashable] = list(frame.columns)
        if len({isinstance(name, str) for name in self.names}) > 1:
            raise ValueError(f"the columns of a table must have names that are all text, got {several(self.names)}")
        self._frame = frame
        self._mixed = self.shape[1] == 0
        for j, label in enumerate(frame.columns):
            column = frame[:, j]
            if _holds_objects(column):
                _check_objects(label, column.to_list())
                self._mixed = True
            elif not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
                more = "; text and dates are made numbers by onward.fit, as a Table says" if name == "X" else ""
                raise ValueError(f"column {brief(label)} holds {column.dtype}, expected numbers{more}")

    def block(self, start: int, stop: int) -> Matrix:
        """As in `Rows`."""
        part = self._frame[start:stop]
        if not self._mixed:
            array = part.to_numpy()
            if array.dtype.kind in "fiub":
                return np.require(array, dtype=np.float64, requirements=["C", "A", "W"])
        import narwhals.stable.v2 as nw

        out = np.empty((stop - start, self.shape[1]))
        for j in range(self.shape[1]):
            column = part[:, j]  # by position: names may be numbers
            if _holds_objects(column):
                out[:, j] = np.array(column.to_list(), dtype=np.float64)
            else:
                out[:, j] = column.cast(nw.Float64).to_numpy()
        return out


def _holds_objects(column: "nw.Series[Any]") -> bool:
    import narwhals.stable.v2 as nw

    return column.dtype in (nw.Object, nw.Unknown)


def _check_objects(name: Hashable, values: list[Any]) -> None:
    for row, value in enumerate(values):
        if value is not None and not is_number(value):
            raise ValueError(f"column {brief(name)} holds {brief(value)} in row {row}, expected numbers")


def as_rows(X: Any, min_columns: int = 1, name: str = "X") -> Rows:
    """X as rows of numbers; a clear error if it is no table of numbers. Values that are not finite pass."""
    if isinstance(X, CheckedRows):
        return X
    if _holds_numbers(X) and X.ndim == 2 and X.size:
        return ArrayRows(X)
    import narwhals.stable.v2 as nw  # here: plain arrays do without

    frame = wrapped(X, name)
    if isinstance(frame, nw.DataFrame):
        if frame.shape[0] == 0 or frame.shape[1] < min_columns:
            raise _empty(frame.shape)
        return _FrameRows(frame, name)
    first = X[0] if isinstance(X, list | tuple) and X else X
    if isinstance(first, Mapping) and not is_sparse(X):  # a sparse matrix of one kind is a dict
        raise ValueError(f"{name} must be a table of numbers, with a row for each sample, got {came(X)}{TO_FRAME}")
    array = X.tocsr() if is_sparse(X) else as_array(X, name, "a table of numbers, with a row for each sample")
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be a table of numbers, with a row for each sample, got {came(X)}. Reshape your data: one row "
            "has shape (1, features), one feature (rows, 1)"
        )
    array = numbers_in(array, name)
    if 0 in array.shape:
        raise _empty(array.shape)
    return ArrayRows(array)


def wrapped(values: Any, name: str) -> Any:
    """A data frame or a series as narwhals has it, whatever else unchanged; ValueError if two columns have one name."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(values, pass_through=True, eager_only=True, allow_series=True)
    except nw.exceptions.NarwhalsError as error:
        columns = list(getattr(values, "columns", ()))
        twice = [column for place, column in enumerate(columns) if column in columns[:place]][:1]
        what = f"{brief(twice[0])} twice" if twice else came(values)
        raise ValueError(f"{name} must have different column names, got {what}") from error


def _empty(shape: tuple[int, ...]) -> ValueError:
    what = "sample(s)" if shape[0] == 0 else "feature(s)"
    return ValueError(f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required.")


def _holds_numbers(values: Any) -> bool:
    """Whether the values are an array of numbers as NumPy has it, in which there is nothing to look for."""
    return type(values) is np.ndarray and values.dtype.kind in "biuf"


def frame_columns(X: Any) -> list[Hashable] | None:
    """The names of a data frame's columns; None if X is anything else."""
    if isinstance(X, np.ndarray | CheckedRows):
        return None
    import narwhals.stable.v2 as nw

    frame = wrapped(X, "X")
    return list(frame.columns) if isinstance(frame, nw.DataFrame) else None


class _PlacedRows:
    def __init__(self, rows: Rows, places: Sequence[int], width: int) -> None:
        self.shape = (rows.shape[0], width)
        self.names: list[Hashable] | None = None
        self._rows, self._places = rows, list(places)
        if rows.names is not None:
            self.names = [None] * width
            for place, name in zip(places, rows.names, strict=True):
                self.names[place] = name

    def block(self, start: int, stop: int) -> Matrix:
        out = np.zeros((stop - start, self.shape[1]))
        out[:, self._places] = self._rows.block(start, stop)
        return out


def placed(rows: Rows, places: Sequence[int], width: int) -> Rows:
    """The rows with their columns put at the given places among `width`; 0 elsewhere."""
    if len(places) == width and all(place == column for column, place in enumerate(places)):
        return rows
    return _PlacedRows(rows, places, width)


def as_mapping(x: Any) -> Any:
    """A pandas series whose index is text, as a dict; whatever else it is, unchanged."""
    if hasattr(x, "to_dict") and hasattr(x, "index") and all(isinstance(label, str) for label in x.index):
        return x.to_dict()
    return x


def as_row(values: Any, names: Sequence[Hashable] | None = None, name: str = "x") -> Matrix:
    """One row of finite numbers, of shape (1, features); an error that says what came instead."""
    array = as_array(values, name, "one row of numbers")
    if array.ndim != 1 or (array.size == 0 and names is None):
        raise ValueError(f"{name} must be one row of shape (features,), got {came(values)}")
    row = np.array(numbers_in(array, name, names), dtype=np.float64, ndmin=2)
    if not np.isfinite(row).all():
        column = int(np.argmin(np.isfinite(row[0])))
        where = f"position {column}" if names is None else f"feature {brief(names[column])}"
        raise ValueError(f"{name} must hold finite numbers, got {row[0, column]} in {where}")
    return row


def _block_rows(rows: Rows) -> int:
    return max(1, BLOCK // max(1, rows.shape[1]))


def in_one_block(rows: Rows) -> bool:
    """Whether `blocks` gives all rows at once."""
    return rows.shape[0] <= _block_rows(rows)


def blocks(rows: Rows) -> Iterator[tuple[slice, Matrix, float]]:
    """The rows in order, a block at a time: the slice that it stands for, the block, and the sum of its squares.

    Raises ValueError at the first value that is not a finite number, saying where it stands. Each block is looked
    through just before it is used, while it is in the cache.
    """
    size = _block_rows(rows)
    for start in range(0, rows.shape[0], size):
        stop = min(rows.shape[0], start + size)
        block = rows.block(start, stop)
        squares = sum_of_squares(block)
        if not (np.isfinite(squares) or np.isfinite(block).all()):
            row, column = np.argwhere(~np.isfinite(block))[0]
            named = brief(rows.names[column]) if rows.names is not None else str(column)
            raise ValueError(
                f"Input X contains {_kind(block[row, column])} in row {start + row}, column {named}; "
                "expected finite numbers"
            )
        yield slice(start, stop), block, squares


def as_targets(y: Any, n_rows: int) -> tuple[Matrix, bool]:
    """y as an (n, m) array of finite numbers, and whether it came as one target without the second axis."""
    array = _as_numbers(y, "y")
    if array.ndim not in (1, 2):
        raise ValueError(f"y must have shape (n,) or (n, targets), got shape {array.shape}")
    if array.ndim == 2 and array.shape[1] == 0:
        raise ValueError(f"y must have at least one target, got shape {array.shape}")
    if len(array) != n_rows:
        raise ValueError(f"X has {counted(n_rows, 'row')}, but y has inconsistent numbers of samples: {len(array)}")
    targets = np.require(array, dtype=np.float64, requirements=["C", "W"]).reshape(n_rows, -1)
    _check_column(targets, "y")
    return targets, array.ndim == 1


def as_target(y: Any) -> tuple[Matrix, bool]:
    """The target, or targets, of one row as an array (1, m), and whether it came as one number."""
    if isinstance(y, float) and np.isfinite(y):
        return np.array([[y]]), True
    array = as_array(y, "y", "a number, or one for each target")
    if array.ndim > 1:
        raise ValueError(f"y must be a number or of shape (targets,) for one row, got shape {array.shape}")
    targets, _ = as_targets(array.reshape(1, -1), 1)
    return targets, array.ndim == 0


def as_weights(sample_weight: Any, n_rows: int) -> Vector:
    """Weights of shape (n,): finite and not negative. None counts every row once; a number, every row alike."""
    if sample_weight is None:
        sample_weight = 1.0
    if isinstance(sample_weight, numbers.Real):
        weight = _as_float(sample_weight)
        if not 0.0 <= weight < np.inf:
            raise ValueError(f"sample_weight must be finite and must not be negative, got {brief(sample_weight)}")
        return np.broadcast_to(np.array([weight]), n_rows)  # one number, however many rows
    array = _as_numbers(sample_weight, "sample_weight")
    if array.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},) as X has {counted(n_rows, 'row')}, got {array.shape}"
        )
    weights = np.require(array, dtype=np.float64, requirements=["C", "W"])
    _check_column(weights, "sample_weight")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(f"sample_weight must not be negative, got {weights[row]} in row {row}")
    return weights


def _as_numbers(values: Any, name: str) -> NDArray[Any]:
    """An array, series or frame of numbers as an array; an error with the name in it if it is none."""
    if _holds_numbers(values) and values.ndim in (1, 2):
        return cast(NDArray[Any], values)
    import narwhals.stable.v2 as nw

    native = wrapped(values, name)
    array = native.to_numpy() if isinstance(native, nw.Series | nw.DataFrame) else values
    if _holds_numbers(array) and array.ndim in (1, 2):
        return cast(NDArray[Any], array)
    return cast(NDArray[Any], numbers_in(as_array(array, name, "an array of numbers"), name))


def _check_column(values: Matrix, name: str) -> None:
    if not np.isfinite(values).all():
        position = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"Input {name} contains {_kind(values[tuple(position)])} in row {position[0]}; expected finite numbers"
        )


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _kind(value: float) -> str:
    return "NaN" if np.isnan(value) else "infinity"
