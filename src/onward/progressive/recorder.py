"""What is read off along a pass, for its report: small whatever the number of rows, and part of checkpoints."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from onward import storage
from onward.core.checks import whole
from onward.core.types import Matrix, Vector
from onward.progressive.checkpoint_checks import check_readings
from onward.progressive.interval_course import CourseRecorder
from onward.progressive.results import History
from onward.progressive.running_scores import scores
from onward.progressive.value_checks import check_values
from onward.regression import AutoRegressor, OnlineRegressor

SAMPLE = 4096  # rows that are kept to be drawn
COLUMNS = ("row", "target", "prediction", "lower", "upper", "leverage")


class Sample:
    """Evenly spaced rows: every one at first, then every second, every fourth, … as more come."""

    def __init__(self) -> None:
        self._kept = np.empty((0, len(COLUMNS)))
        self._every, self._seen = 1, 0

    def add(self, rows: Matrix) -> None:
        """Rows (n, columns), in order."""
        first = -self._seen % self._every
        self._kept = np.concatenate([self._kept, rows[first :: self._every]])
        self._seen += len(rows)
        while len(self._kept) > SAMPLE:
            self._kept, self._every = self._kept[::2].copy(), 2 * self._every

    def columns(self) -> dict[str, Vector]:
        """The rows that were kept, by column."""
        return {name: self._kept[:, j] for j, name in enumerate(COLUMNS)}

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """For a checkpoint."""
        return {"every": self._every, "seen": self._seen}, {"sample": self._kept}

    def restore(self, settings: storage.Settings, arrays: storage.Arrays) -> None:
        """Go on from what `to_record` gave."""
        self._every, self._seen = whole("every", settings["every"], 1), whole("seen", settings["seen"], 0)
        self._kept = arrays["sample"]
        if self._kept.ndim != 2 or self._kept.shape[1] != len(COLUMNS):
            raise ValueError(f"a sample must have {len(COLUMNS)} columns, got shape {self._kept.shape}")
        row, target, prediction, lower, upper, leverage = self._kept.T
        check_values("rows of a sample", np.stack([row, target, prediction]), lower, upper)
        if not (leverage >= 0).all():
            raise ValueError("leverages of a sample must be numbers that are not negative")


class Recorder:
    """Scores, coefficients and misses at rising numbers of rows."""

    def __init__(self, deltas: list[float]) -> None:
        self.sample, self.course = Sample(), CourseRecorder(len(deltas))
        self._deltas = deltas
        self._misses, self._open = np.zeros(len(deltas)), np.zeros(len(deltas))
        self._totals: list[Vector] = []
        self._counts: list[Vector] = []
        self._coefficients: list[Matrix] = []  # (3, d) each: estimate, lower, upper
        self._weights: list[Vector] = []  # of experts, none for a model that has none

    def count_misses(self, y: Vector, ends: Matrix) -> None:
        """Count the targets that lie outside of their intervals (δ, n, 2), and the intervals that are open."""
        self._misses += ((y < ends[:, :, 0]) | (y > ends[:, :, 1])).sum(axis=1)
        self._open += np.isinf(ends).any(axis=2).sum(axis=1)

    def take(self, model: OnlineRegressor, totals: Vector, columns: Mapping[str, Any]) -> None:
        """Read off what is known now; `columns` are those of the model's coefficients, as of `coefficient_columns`."""
        theta = model._theta()[:, 0]
        everywhere = np.full(len(theta), np.inf)
        ends = columns.get("lower", -everywhere), columns.get("upper", everywhere)
        self._totals.append(totals.copy())
        self._counts.append(np.concatenate([self._misses, self._open]))
        self._coefficients.append(np.stack([theta, *ends]))
        self._weights.append(model.weights_ if isinstance(model, AutoRegressor) else np.empty(0))

    @property
    def latest(self) -> int:
        """Rows at the latest reading; 0 before any."""
        return int(self._totals[-1][0]) if self._totals else 0

    def history(self, names: list[str]) -> History:
        """All readings together."""
        counts = np.array(self._counts).astype(np.int64)
        table = _stacked(self._coefficients, len(names))
        L = len(self._deltas)
        return History(
            [scores(totals) for totals in self._totals],
            names,
            table[:, 0],
            table[:, 1],
            table[:, 2],
            np.array(self._deltas),
            counts[:, :L],
            counts[:, L:],
            self.sample.columns(),
            np.array(self._weights),
            self.course.course(),
        )

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """For a checkpoint."""
        settings, arrays = self.sample.to_record()
        course, spans = self.course.to_record()
        widths = [each.shape[1] for each in self._coefficients]
        arrays |= spans | {
            "misses": np.stack([self._misses, self._open]),
            "totals": np.array(self._totals).reshape(len(widths), -1),
            "counts": np.array(self._counts).reshape(len(widths), -1),
            "coefficients": np.concatenate([each.ravel() for each in self._coefficients] or [np.empty(0)]),
            "weights": np.array(self._weights).reshape(len(widths), -1),
        }
        return {"sample": settings, "course": course, "widths": widths}, arrays

    def restore(self, settings: storage.Settings, arrays: storage.Arrays) -> None:
        """Go on from what `to_record` gave."""
        self.sample.restore(settings["sample"], arrays)
        if "course" in settings:  # a checkpoint of an earlier version has none, and it then begins here
            self.course.restore(settings["course"], arrays)
        check_readings(settings["widths"], arrays, len(self._deltas))
        self._misses, self._open = arrays["misses"][0].copy(), arrays["misses"][1].copy()
        self._totals, self._counts = list(arrays["totals"]), list(arrays["counts"])
        ends = np.cumsum([3 * width for width in settings["widths"]])
        parts = np.split(arrays["coefficients"], ends[:-1]) if len(ends) else []
        self._coefficients = [part.reshape(3, -1) for part in parts]
        self._weights = list(arrays["weights"]) if "weights" in arrays else [np.empty(0)] * len(parts)


def _stacked(tables: list[Matrix], width: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Tables (3, d) with rising d as one array (k, 3, width), NaN where a feature was not yet known."""
    out = np.full((len(tables), 3, width), np.nan)
    for place, table in enumerate(tables):
        out[place, :, : table.shape[1]] = table
    return out
