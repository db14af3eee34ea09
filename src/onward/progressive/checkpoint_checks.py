"""What a checkpoint holds beside its models, in the form in which a pass has written it, or a ValueError."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from onward import storage
from onward.core.checks import whole
from onward.core.counts import check_counts
from onward.progressive.running_scores import MEAN, ROWS, SQUARED

_FILE = {"name": str, "size": int | None, "ends": str | None}


def check_about(settings: storage.Settings) -> None:
    """What a pass is about: its settings by name, and its files with their names, sizes and digests."""
    if not isinstance(settings["settings"], dict):
        raise ValueError("settings of a pass must be values by name")
    files = settings["files"]
    if not isinstance(files, list) or not all(
        isinstance(file, dict) and all(isinstance(file.get(key), kind) for key, kind in _FILE.items()) for file in files
    ):
        raise ValueError(f"files of a pass must have a name, a size and a digest each, got {files!r}")


def checked_counts(name: str, counts: Any) -> Mapping[str, int]:
    """How often each of some reasons came."""
    if not isinstance(counts, dict):
        raise ValueError(f"{name} must be counts by reason, got {counts!r}")
    return {reason: whole(name, count, 0, 1 << 53) for reason, count in counts.items()}


def check_readings(widths: Any, arrays: storage.Arrays, n_deltas: int) -> None:
    """Readings along a pass: scores, counts of misses, coefficients of so many features each, and weights."""
    if not isinstance(widths, list):
        raise ValueError(f"widths of readings must be a list, got {widths!r}")
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
