"""The values of terms, row by row: the same to the last bit for one row and for many."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from onward.core.types import Matrix, Vector
from onward.tables.fourier import cosines, direction, shift
from onward.tables.recipe_memory import Memory
from onward.tables.terms import (
    Cycle,
    CycleName,
    Function,
    FunctionName,
    Lag,
    Name,
    Number,
    Product,
    RandomFeatures,
    Spline,
    Term,
)

Flags = NDArray[np.bool_]

_DAY = 86_400_000  # ms
_YEAR = 365.2425 * _DAY
_SATURDAY = 5  # counted from Monday: 2000-01-01, from which times are counted
_PARTS: Mapping[CycleName, int] = {"hour": 24, "weekday": 7, "month": 12}


class Values(NamedTuple):
    """Numbers (n,), NaN where one is missing, and flags where it is missing for not being known yet; None for none."""

    numbers: Vector
    unknown: Flags | None = None


Read = Callable[[str], Values]
"""Gives the values of a column."""


class LagValues:
    """What lags look back to, from one piece of a stream to the next. Rows are counted as the stream counts them."""

    def __init__(self, lags: Mapping[str, int], memory: Memory, row: int) -> None:
        """`lags` gives how many rows each lag looks back, by its text; `row` is the row that comes next."""
        self._lags = dict(lags)
        self._first = self._row = row
        self._before = {text: _lag_values(memory.lags.get(text, (None,) * rows)) for text, rows in lags.items()}
        self._all = dict(self._before)

    def begin_piece(self, row: int, *, keep: bool) -> None:
        """A piece begins at `row`. With `keep`, the rows before it can still be asked for, as far as they could."""
        if not keep:
            self._all = {text: values[:, row - self._first :] for text, values in self._all.items()}
            self._first = row
        self._row, self._before = row, dict(self._all)

    def reset_piece(self) -> None:
        """Forget the values of the piece that was begun."""
        self._all = dict(self._before)

    def shift(self, text: str, values: Values) -> Values:
        """The values of the piece's rows as a lag sees them: those of so many rows before."""
        n = len(values.numbers)
        now = np.stack([values.numbers, np.zeros(n) if values.unknown is None else values.unknown])
        self._all[text] = np.concatenate([self._before[text], now], axis=1)
        start = self._row - self._first
        numbers, unknown = self._all[text][:, start : start + n]
        return Values(numbers, unknown > 0 if unknown.any() else None)

    def before(self, row: int) -> dict[str, tuple[float | None, ...]]:
        """What the lags need to go on at a row, for a `Memory`."""
        start = row - self._first
        return {
            text: tuple(
                None if unknown else float(value)
                for value, unknown in self._all[text][:, start : start + rows].T.tolist()
            )
            for text, rows in self._lags.items()
        }


def _lag_values(values: tuple[float | None, ...]) -> Matrix:
    return np.array([[math.nan if v is None else v for v in values], [float(v is None) for v in values]])


# Names


def feature_names(term: Term) -> list[str]:
    """Of the features that a term without categories makes."""
    match term:
        case Cycle():
            return [f"sin({term.text})", f"cos({term.text})"]
        case Spline() | RandomFeatures():
            text = term.text
            return [f"{text}[{number}]" for number in range(1, term.count + 1)]
    return [term.text]


def count_features(term: Term) -> int:
    """How many features a term without categories makes, before their names are made."""
    match term:
        case Cycle():
            return 2
        case Spline() | RandomFeatures():
            return term.count
    return 1


# Values


def feature_values(term: Term, read: Read, lags: LagValues) -> tuple[Matrix, Flags | None]:
    """The features of a term without categories, (n, k), and where they are not known yet."""
    match term:
        case Function() | Lag():
            numbers, unknown = number_values(term, read, lags)
            return numbers[:, None], unknown
        case Product():
            numbers, unknown = product_values(term.factors, read, lags)
            return numbers[:, None], unknown
        case Cycle():
            numbers, unknown = number_values(term.inner, read, lags)
            return _cycle(term.name, numbers), unknown
        case Spline():
            numbers, unknown = number_values(term.inner, read, lags)
            return _splines(term, numbers), unknown
        case RandomFeatures():
            found = [number_values(each, read, lags) for each in term.inners]
            made = cosines([each.numbers for each in found], *_directions(term), len(found[0].numbers))
            return made, _either([each.unknown for each in found])
    assert_never(term)


def number_values(number: Number, read: Read, lags: LagValues) -> Values:
    """What has one number in each row."""
    match number:
        case Name(column):
            return read(column)
        case Function(name, inner):
            numbers, unknown = number_values(inner, read, lags)
            return Values(_applied(name, numbers), unknown)
        case Lag(inner):
            return lags.shift(number.text, number_values(inner, read, lags))
    assert_never(number)


def product_values(factors: tuple[Number, ...], read: Read, lags: LagValues) -> Values:
    """The product of some factors."""
    found = [number_values(each, read, lags) for each in factors]
    made = found[0].numbers
    with np.errstate(over="ignore", invalid="ignore"):
        for each in found[1:]:
            made = made * each.numbers
    return Values(made, _either([each.unknown for each in found]))


def _either(flags: list[Flags | None]) -> Flags | None:
    given = [each for each in flags if each is not None]
    return np.logical_or.reduce(given) if given else None


def _applied(name: FunctionName, numbers: Vector) -> Vector:
    numbers = np.ascontiguousarray(numbers)  # elsewhere numpy may take another way, with other last digits
    with np.errstate(all="ignore"):
        match name:
            case "log":
                return np.where(numbers > 0, np.log(numbers), np.nan)
            case "sqrt":
                return np.sqrt(numbers)
            case "square":
                return numbers * numbers
    assert_never(name)


def _cycle(name: CycleName, years: Vector) -> Matrix:
    finite = np.isfinite(years)
    moments = np.rint(np.where(finite, years, 0.0) * _YEAR).astype(np.int64)  # ms since 2000
    made = np.empty((len(years), 2))
    if name == "hour":
        angles = (2 * math.pi / _DAY) * (moments % _DAY)
        made[:, 0], made[:, 1] = np.sin(angles), np.cos(angles)
    else:
        if name == "weekday":
            places = (moments // _DAY + _SATURDAY) % 7
        else:
            places = (np.datetime64("2000-01-01", "ms") + moments).astype("datetime64[M]").astype(np.int64) % 12
        made[:] = _circle(_PARTS[name])[places]
    made[~finite] = years[~finite, None]
    return made


@cache
def _circle(parts: int) -> Matrix:
    angles = [2 * math.pi * place / parts for place in range(parts)]
    return np.array([[math.sin(angle), math.cos(angle)] for angle in angles])


def _splines(term: Spline, numbers: Vector) -> Matrix:
    intervals = term.count - 3
    finite = np.isfinite(numbers)
    inside = np.clip(np.where(finite, numbers, term.low), term.low, term.high)
    place = (inside - term.low) / (term.high - term.low) * intervals
    first = np.minimum(place.astype(np.int64), intervals - 1)
    t = place - first
    s = 1.0 - t
    made = np.zeros((len(numbers), term.count))
    rows = np.arange(len(numbers))
    made[rows, first] = s * s * s / 6
    made[rows, first + 1] = (3 * t * t * t - 6 * t * t + 4) / 6
    made[rows, first + 2] = (3 * s * s * s - 6 * s * s + 4) / 6
    made[rows, first + 3] = t * t * t / 6
    made[~finite] = numbers[~finite, None]
    return made


@cache
def _directions(term: RandomFeatures) -> tuple[list[Vector], Vector]:
    """For each column the directions of all features, and their shifts."""
    text = term.text  # which is long where there are many columns
    directions = [
        np.array([direction(term.gamma, f"{text} {(place, column)}") for place in range(term.count)])
        for column in range(len(term.inners))
    ]
    return directions, np.array([shift(f"{text} {(place, -1)}") for place in range(term.count)])
