"""What a chunk comes to: a state without regularisation, and the counts that a pass keeps. Only this travels."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from onward import storage
from onward.core.checks import whole
from onward.core.shown import brief
from onward.core.types import Vector
from onward.progressive.checkpoint_checks import check_means, checked_counts
from onward.regression import ForwardRegressor
from onward.regression.half_life import HalfLife
from onward.tables import Block


@dataclass
class Summary:
    """The rows of a chunk, or of chunks in a row, added up.

    Attributes:
        model: what was learned with λ = 0; None if there were no rows. Such states add up exactly, in any tree.
        half_life: of the model that they are for.
        means: Σw and Σwy, from which the running mean of what follows starts.
        read: rows, those that were skipped included.

    Args:
        intercept: whether the model has a constant feature.
        skipped, filled: rows that were left out, and missing values that were counted as 0.

    Example:
        >>> import polars as pl
        >>> from onward import stream
        >>> from onward.scale import Summary
        >>> rows = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]})
        >>> first, later = (Summary.of(stream(part, "y"), intercept=True) for part in (rows[:2], rows[2:]))
        >>> whole = first.merge(later)
        >>> whole.read, whole.means.tolist()
        (3, [3.0, 12.0])
    """

    intercept: bool
    model: ForwardRegressor | None = None
    means: Vector = field(default_factory=lambda: np.zeros(2))
    read: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    filled: Counter[str] = field(default_factory=Counter)
    half_life: HalfLife | None = None

    @classmethod
    def of(cls, blocks: Iterable[Block], intercept: bool, half_life: HalfLife | None = None) -> Self:
        """Learn blocks in order, from nothing.

        Args:
            blocks: rows as numbers.
            intercept: whether the model has a constant feature.
            half_life: of the model.

        Returns:
            The summary.
        """
        summary = cls(intercept, half_life=half_life)
        for block in blocks:
            summary.add(block)
        return summary

    def add(self, block: Block) -> None:
        """Learn a block.

        Args:
            block: rows as numbers.
        """
        self.read = block.stop
        if not block.shape[0]:
            return
        assert block.y is not None
        if self.model is None:
            self.model = ForwardRegressor(0.0, fit_intercept=self.intercept, half_life=self.half_life)
        times = None if self.half_life is None else block.times
        self.model.learn_block(block.X, block.y, block.weight, block.names, times)
        self.means += [block.weight.sum(), block.weight @ block.y]

    def merge(self, later: "Summary") -> Self:
        """Add what came later.

        Args:
            later: of rows that came after.

        Returns:
            Itself.
        """
        if later.model is not None:
            if self.model is None:
                self.model = later.model
            else:
                self.model.merge(later.model)
        self.means = self.means + later.means
        self.read += later.read
        self.skipped.update(later.skipped)
        self.filled.update(later.filled)
        return self

    # Checkpoints

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a file."""
        settings: dict[str, Any] = {
            "intercept": self.intercept,
            "read": self.read,
            "skipped": dict(self.skipped),
            "filled": dict(self.filled),
            "model": None,
        }
        arrays = {"means": self.means}
        if self.model is not None:
            settings["model"], own = self.model.to_record()
            arrays |= {f"model: {name}": value for name, value in own.items()}
        return settings, arrays

    @classmethod
    def from_record(cls, settings: Mapping[str, Any], arrays: storage.Arrays) -> Self:
        """What `to_record` gave.

        Args:
            settings, arrays: for a file.

        Returns:
            The summary.
        """
        model = None
        if settings["model"] is not None:
            own = {name.removeprefix("model: "): value for name, value in arrays.items() if name != "means"}
            model = ForwardRegressor.from_record(settings["model"], own)
        intercept, read = settings["intercept"], whole("read", settings["read"], 0, 1 << 53)
        if not isinstance(intercept, bool) or (model is not None and model.fit_intercept is not intercept):
            raise ValueError(f"intercept must be true or false as of the model, got {brief(intercept)}")
        check_means(arrays["means"])
        skipped, filled = (Counter(checked_counts(name, settings[name])) for name in ("skipped", "filled"))
        return cls(intercept, model, arrays["means"], read, skipped, filled)
