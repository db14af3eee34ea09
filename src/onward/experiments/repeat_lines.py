"""Lines over repeats: their means with bands around them, and what to say where an axis cannot show them."""

from collections.abc import Iterable, Sequence

import numpy as np

from onward.core.types import Vector
from onward.pages.drawing import Line


def mean_line(label: str, x: Sequence[float] | Vector, values: Vector, reach: Vector) -> Line:
    """The mean of repeats (rows) at each x, with a band of this reach on either side."""
    middle = values.mean(axis=0)
    return Line(label, np.asarray(x, dtype=np.float64), middle, middle - reach, middle + reach)


def standard_error(values: Vector) -> Vector:
    """Of the mean of repeats (rows); 0 for a single one."""
    error: Vector = standard_deviation(values) / np.sqrt(len(values))
    return error


def standard_deviation(values: Vector) -> Vector:
    """The standard deviation of repeats (rows); 0 for a single one."""
    reach: Vector = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return reach


def name_counts(counts: Iterable[int]) -> str:
    """How many repeats there are, in words: "40", or "40 to 80" where some have more than others."""
    least, most = min(found := list(counts)), max(found)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def hidden_points_note(lines: Sequence[Line]) -> str:
    """What a caption must add of lines on a logarithmic axis, in a sentence to follow others; empty if nothing."""
    means = sum(int((line.y <= 0).sum()) for line in lines)
    edges = sum(int(((line.lower <= 0) & (line.y > 0)).sum()) for line in lines if line.lower is not None)
    said = [f"what is 0 or less is not drawn ({means} of all points)"] if means else []
    said += [f"no band is drawn where it would reach 0 or less ({edges} of all points)"] if edges else []
    text = "; ".join(said)
    return f" {text[0].upper()}{text[1:]}." if text else ""
