"""Values of every wrong type, and what the words of an error about one must be like."""

import copy
import datetime
import decimal
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

LONGEST = 300
# Words of numba, scikit-learn, NumPy and Python about their own affairs. What scikit-learn's own checks want to read
# ("Reshape your data", "Complex data not supported") is ours where we say it.
FOREIGN = re.compile(
    r"TypingError|Cannot cast|dtype\(|dtype=|numba|sklearn|check_array|broadcast|setting an array|could not convert|"
    r"unhashable|invalid literal|has no attribute|unsupported operand|not supported between|not iterable|"
    r"not subscriptable|cannot be interpreted|inhomogeneous|positional|ambiguous|ufunc|must be real number|only 0-dim|"
    r"can't convert|Expected 2D|estimator|not enough values|to unpack|object of type|A sparse|narwhals|out of bounds|"
    r"int too large|boolean value"
)


class Huge:
    """What takes a page to write down."""

    def __repr__(self) -> str:
        return "x" * 58_925


def _matrix() -> Any:
    return np.eye(3).view(np.matrix)


def _bad_values() -> dict[str, Any]:
    long_names = [f"n{i}" * 50 for i in range(200)]
    frames = {
        "a frame with names of text and numbers": pd.DataFrame({"a": [1.0, 2.0, 3.0], 1: [1.0] * 3, "c": [1.0] * 3}),
        "a frame with NA": pd.DataFrame({"a": [pd.NA, 1, 2], "b": [1, 2, 3], "c": [1, 2, 3]}),
        "a frame with dates": pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 3), "b": [1] * 3, "c": [1] * 3}),
        "a frame with long names": pd.DataFrame(np.zeros((3, 200)), columns=long_names),
    }
    arrays = {
        "0-d": np.array(3.0 + 1j),
        "sparse": sp.csr_array(np.eye(3) * 1j),
        "a sparse row": sp.csr_array(np.eye(3)[:1]),
        "np.matrix": _matrix(),
        "NaT": np.array([pd.NaT] * 3, dtype=object),
        "NA": np.array([pd.NA, 1.0, 2.0], dtype=object),
        "None": np.array([None, 1.0, 2.0], dtype=object),
        "dates": np.array(["2020-01-01"] * 3, dtype="datetime64[D]"),
        "date objects": np.array([datetime.date(2020, 1, 1)] * 3, dtype=object),
        "complex": np.array([1j, 2.0, 3.0]),
        "bytes": np.array([b"a", b"b", b"c"]),
        "texts": np.array(["a", "b", "c"]),
        "a table of NaT": np.array([[pd.NaT] * 3] * 3, dtype=object),
        "a table of complex numbers": np.ones((3, 3)) * 1j,
        "a table of texts": [["a", "b", "c"]] * 3,
        "a table of dates": np.full((3, 3), "2020-01-01", dtype="datetime64[D]"),
        "three axes of texts": np.full((2, 3, 3), "a"),
        "records": np.zeros(3, dtype=[("a", "f8")]),
    }
    others = {
        "text": "hello",
        "bytes of text": b"abc",
        "a long text": "y" * 100_000,
        "a whole number beyond floats": 10**400,
        "such numbers": [10**400, 1, 2],
        "a table of such numbers": [[10**400, 1, 2]] * 3,
        "a huge repr": Huge(),
        "huge reprs": [Huge()] * 3,
        "a table of huge reprs": [[Huge()] * 3] * 3,
        "ragged lists": [[1], [2, 3]],
        "a dict of lists": {"a": [1, 2]},
        "a dict of a huge repr": {"zz": Huge(), "b": 2},
        "a set": {1, 2, 3},
        "NaN": float("nan"),
        "an object": object(),
        "a function": len,
        "a complex number": 3j,
        "a duration": np.timedelta64(1, "D"),
        "a decimal NaN": decimal.Decimal("NaN"),
    }
    return frames | arrays | others


BAD = _bad_values()
Calls = Mapping[str, Callable[[Any], Any]]
Taker = Callable[[], tuple[Any, Calls]]
"""A new thing, whose `to_bytes` is its state, with what it does with one argument each."""


def walk(taker: Taker, about: str, more: Mapping[str, Any] | None = None) -> set[tuple[str, str]]:
    """Hand every bad value to every call, each of which must refuse it in one short error of ours and change nothing.

    `more` is for calls with "key" in their names. Returns which calls took which values.
    """
    accepted: set[tuple[str, str]] = set()
    for name in taker()[1]:
        thing, calls = taker()
        before = thing.to_bytes()
        for what, value in (BAD | (dict(more or {}) if "key" in name else {})).items():
            place = f"{about}.{name} of {what}"
            try:
                calls[name](copy.copy(value))
            except (TypeError, ValueError) as error:
                words = str(error)
                assert len(words) <= LONGEST, f"{place}: {len(words):,} characters: {words[:200]}"
                assert not FOREIGN.search(words), f"{place}: {words}"
                assert thing.to_bytes() == before, f"{place}: the state has changed"
            else:
                accepted.add((name, what))
                thing, calls = taker()
    return accepted
