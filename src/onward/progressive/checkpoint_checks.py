"""What a checkpoint holds beside its models, in the form in which a pass has written it, or a ValueError."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from onward import storage
from onward.core.checks import whole
from onward.core.counts import check_counts
from onward.core.shown import brief
from onward.core.types import Vector
from onward.progressive.running_scores import MEAN, ROWS, SQUARED
from onward.progressive.value_checks import check_values

_FILE = {"name": str, "size": int | None, "ends": str | None}


def check_about(settings: storage.Settings) -> None:
    """What a pass is about: its settings by name, and its files with their names, sizes and digests."""
    if not isinstance(settings["settings"], dict):
        raise ValueError("settings of a pass must be values by name")
    files = settings["files"]
    if not isinstance(files, list) or not all(
        isinstance(file, dict) and all(isinstance(file.get(key), kind) for key, kind in _FILE.items()) for file in files
    ):
        raise ValueError(f"files of a pass must have a name, a size and a digest each, got {brief(files)}")


def checked_counts(name: str, counts: Any) -> Mapping[str, int]:
    """How often each of some reasons came."""
    if not isinstance(counts, dict):
        raise ValueError(f"{name} must be counts by reason, got {brief(counts)}")
    return {reason: whole(name, count, 0, 1 << 53) for reason, count in counts.items()}


def check_readings(widths: Any, arrays: storage.Arrays, n_deltas: int) -> None:
    """Readings along a pass: scores, counts of misses, coefficients of so many features each, and weights."""
    if not isinstance(widths, list):
        raise ValueError(f"widths of readings must be a list, got {brief(widths)}")
    features = [whole("widths", width, 0) for width in widths]
    shapes = {
        "misses": (2, n_deltas),
        "totals": (len(features), MEAN + 1),
        "counts": (len(features), 2 * n_deltas),
        "coefficients": (3 * sum(features),),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} of readings must have shape {shape}, got {arrays[name].shape}")
    if "weights" in arrays and (arrays["weights"].ndim != 2 or len(arrays["weights"]) != len(features)):
        raise ValueError(f"weights must have a row for each of {len(features)} readings")
    totals = arrays["totals"]
    if np.isinf(totals).any() or np.isnan(totals[:, :SQUARED]).any() or (totals[:, :MEAN] < 0).any():
        raise ValueError("scores of readings must be finite, and not negative")
    for name, counts in {"misses": arrays["misses"], "counts": arrays["counts"], "rows": totals[:, ROWS]}.items():
        check_counts(f"{name} of readings", counts)
    for number, part in enumerate(np.split(arrays["coefficients"], np.cumsum([3 * width for width in features]))[:-1]):
        estimate, lower, upper = part.reshape(3, -1)
        check_values(f"coefficients of reading {number}", estimate, lower, upper)
    if "weights" in arrays and not (arrays["weights"] >= 0).all():
        raise ValueError("weights of readings must be numbers that are not negative")


def check_totals(totals: Vector) -> None:
    """Totals of losses: rows, a weight and losses that are not negative, and a mean."""
    if totals.shape != (MEAN + 1,) or not np.isfinite(totals).all() or (totals[:MEAN] < 0).any() or totals[ROWS] % 1:
        raise ValueError(f"totals must be {MEAN + 1} finite numbers, not negative but for the mean")


def check_means(means: Vector) -> None:
    """Σw and Σwy."""
    if means.shape != (2,) or not np.isfinite(means).all() or means[0] < 0:
        raise ValueError(f"sums of weights and of targets must be 2 finite numbers, got shape {means.shape}")
