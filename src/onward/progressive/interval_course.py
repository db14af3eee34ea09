"""How the intervals of a pass did over its rows, and those of its latest rows: small, whatever the number of rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onward import storage
from onward.core.checks import whole
from onward.core.counts import check_counts
from onward.core.types import Matrix, Vector
from onward.progressive.value_checks import check_values

MOST_SPANS = 256  # of equally many rows: twice as many rows each, as more come
LATEST = 150  # rows whose intervals are kept


@dataclass(frozen=True)
class IntervalCourse:
    """What came of the intervals of the rows, at L levels δ.

    Attributes:
        rows: (s,) of each span, in order; all spans but the last have equally many.
        misses: (s, L) rows of a span whose target lay outside of its interval.
        open: (s, L) rows of a span whose interval was infinite.
        width: (s, L) the mean width of a span's finite intervals; NaN where there are none.
        row, target, prediction: (m,) of the latest rows, at most 150.
        lower, upper: (m, L) their intervals.
    """

    rows: NDArray[np.int64]
    misses: NDArray[np.int64]
    open: NDArray[np.int64]
    width: Matrix
    row: Vector
    target: Vector
    prediction: Vector
    lower: Matrix
    upper: Matrix


class CourseRecorder:
    """Counts misses and adds up widths in spans of rows, and keeps the latest rows; in any batching the same."""

    def __init__(self, levels: int) -> None:
        self._levels = levels
        self._spans = np.zeros((MOST_SPANS, 3 * levels))  # misses, open intervals and the widths of the others
        self._size, self._seen = 1, 0  # rows of a span, rows in all
        self._latest = np.empty((0, 3 + 2 * levels))

    def add(self, rows: NDArray[np.int64], y: Vector, predictions: Vector, ends: Matrix) -> None:
        """Rows in order, with their intervals (δ, n, 2)."""
        lower, upper = ends[:, :, 0].T, ends[:, :, 1].T
        infinite = np.isinf(lower) | np.isinf(upper)
        with np.errstate(over="ignore", invalid="ignore"):
            width = np.where(infinite, 0.0, upper - lower)
        counts = np.hstack([(y[:, None] < lower) | (y[:, None] > upper), infinite, width])
        start = 0
        while start < len(y):
            if self._seen == MOST_SPANS * self._size:  # only here, so that sums do not depend on how rows came
                self._spans[: MOST_SPANS // 2] = self._spans[::2] + self._spans[1::2]
                self._spans[MOST_SPANS // 2 :] = 0.0
                self._size *= 2
            stop = min(len(y), start + MOST_SPANS * self._size - self._seen)
            place = (self._seen + np.arange(stop - start)) // self._size
            with np.errstate(over="ignore"):
                np.add.at(self._spans, place, counts[start:stop])  # one after the other
            self._seen, start = self._seen + stop - start, stop
        kept = np.column_stack([each[-LATEST:] for each in (rows, y, predictions, lower, upper)])
        self._latest = np.concatenate([self._latest, kept])[-LATEST:]

    def course(self) -> IntervalCourse:
        """All that was recorded."""
        count, L = -(-self._seen // self._size), self._levels
        rows = np.full(count, self._size)
        if count:
            rows[-1] = self._seen - (count - 1) * self._size
        misses, infinite, widths = np.split(self._spans[:count], [L, 2 * L], axis=1)
        with np.errstate(invalid="ignore"):
            width = widths / np.where(infinite < rows[:, None], rows[:, None] - infinite, np.nan)
        row, target, prediction = self._latest[:, :3].T
        lower, upper = np.split(self._latest[:, 3:], 2, axis=1)
        counts = misses.astype(np.int64), infinite.astype(np.int64)
        return IntervalCourse(rows, *counts, width, row, target, prediction, lower, upper)

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """For a checkpoint."""
        return {"size": self._size, "seen": self._seen}, {"spans": self._spans, "latest": self._latest}

    def restore(self, settings: storage.Settings, arrays: storage.Arrays) -> None:
        """Go on from what `to_record` gave."""
        self._size, self._seen = whole("size", settings["size"], 1), whole("seen", settings["seen"], 0)
        spans, latest = arrays["spans"].shape, arrays["latest"].shape
        if spans != self._spans.shape or len(latest) != 2 or latest[1] != self._latest.shape[1]:
            raise ValueError(f"intervals must be kept in {self._spans.shape} numbers, got {spans} and {latest}")
        if self._seen > MOST_SPANS * self._size:
            raise ValueError(f"{MOST_SPANS} spans of {self._size} rows cannot hold {self._seen}")
        check_counts("misses of spans", arrays["spans"][:, : 2 * self._levels])
        lower, upper = np.split(arrays["latest"][:, 3:], 2, axis=1)
        check_values("the latest rows", arrays["latest"][:, :3], lower, upper)
        self._spans, self._latest = arrays["spans"].copy(), arrays["latest"]
