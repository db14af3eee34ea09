"""Values as strict JSON has them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def to_json_values(value: Any) -> Any:
    """The value as text, numbers, lists and mappings that JSON knows; NaN and infinity become None.

    TypeError for what JSON has no form for.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): to_json_values(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_values(each) for each in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"expected plain values (numbers, text, lists, mappings), got {type(value).__name__}: {value!r}")
