"""What tasks give back, as files: written wholly or not at all, and not read if they are damaged."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from onward import storage
from onward.core.checks import whole
from onward.core.types import Vector
from onward.progressive.checkpoint_checks import check_means, check_totals, checked_counts
from onward.progressive.coefficient_intervals import known_names
from onward.regression import LEARNERS, OnlineRegressor, learner_name
from onward.scale.summary import Summary
from onward.tables import DataError

KIND = "chunk"


@dataclass(frozen=True)
class Predicted:
    """What came of predicting chunks: their number, totals of losses, counts, and the model, Σw and Σwy after them."""

    chunks: int
    totals: Vector
    read: int
    skipped: Counter[str]
    filled: Counter[str]
    model: OnlineRegressor
    means: Vector

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a file."""
        settings: dict[str, Any] = {
            "chunks": self.chunks,
            "read": self.read,
            "skipped": dict(self.skipped),
            "filled": dict(self.filled),
            "learner": learner_name(self.model),
            "model": None,
        }
        arrays = {"totals": self.totals, "means": self.means}
        if self.model.__sklearn_is_fitted__():
            settings["model"], own = self.model.to_record()
        else:
            settings["new"], own = self.model.parameters_to_record()
        arrays |= {f"model: {name}": value for name, value in own.items()}
        return settings, arrays

    @classmethod
    def from_record(cls, settings: Mapping[str, Any], arrays: storage.Arrays) -> Self:
        """What `to_record` gave; KeyError, TypeError or ValueError if it does not fit together."""
        learner = LEARNERS[settings["learner"]]
        model: OnlineRegressor
        own = {n.removeprefix("model: "): value for n, value in arrays.items() if n.startswith("model: ")}
        if settings["model"] is None:
            model = learner.from_parameters(settings["new"], own)
        else:
            model = learner.from_record(settings["model"], own)
        skipped, filled = (Counter(checked_counts(name, settings[name])) for name in ("skipped", "filled"))
        chunks, read = whole("chunks", settings["chunks"], 0, 1 << 53), whole("read", settings["read"], 0, 1 << 53)
        check_totals(arrays["totals"])
        check_means(arrays["means"])
        return cls(chunks, arrays["totals"], read, skipped, filled, model, arrays["means"])


Result = TypeVar("Result", Summary, Predicted)


def write(path: Path, result: Summary | Predicted) -> None:
    """Keep a result."""
    storage.save(path, KIND, *result.to_record())


def read(path: Path, kind: type[Result]) -> Result | None:
    """What was kept, if it was and can be read."""
    try:
        stored, settings, arrays = storage.read(path)
        return kind.from_record(settings, arrays) if stored == KIND else None
    except Exception:
        return None  # not there, or damaged in whatever way: it is done again


def check_levels(model: OnlineRegressor, most: int) -> None:
    """The limit on levels holds for all chunks together."""
    recipe = model.recipe_
    assert recipe is not None
    owners = [owner for owner, _ in recipe.levels(known_names(model))]
    for column in recipe.categories:
        if owners.count(column) > most:
            raise DataError(
                f"column {column!r}: {owners.count(column):,} levels, expected at most {most:,}; is it a category? "
                "Allow more levels, or leave the column out"
            )
