"""Delimited text whose values are plain numbers and dates, read at once: polars takes three times as long.

Anything else, be it a quote or a word, is left to those who look at it more closely.
"""

import sys
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from onward.core.types import Matrix
from onward.tables.missing_texts import MISSING
from onward.tables.number_kernel import NUMBER, OTHER, TIME, read_numbers
from onward.tables.recipe import Kind

PLAIN: Mapping[Kind, int] = {"number": NUMBER, "time": TIME}
_IN_VALUES = "0123456789+-.:eETZ \r"  # none of these can separate fields
_MARKS = np.array([int.from_bytes(each.encode(), "little") for each in MISSING], dtype=np.uint64)  # 8 bytes at most


def are_plain_lines(data: bytes, separator: str, columns: Sequence[str]) -> bool:
    """Whether whole lines have no quotes and as many fields as there are columns, whatever is in them."""
    return len(columns) > 1 and plain_numbers(data, separator, columns, {}, ()) is not None  # one may be a blank line


def plain_numbers(
    data: bytes, separator: str, columns: Sequence[str], wanted: Mapping[str, Kind], together: Sequence[str]
) -> tuple[Matrix, pl.DataFrame] | None:
    """The wanted columns of whole lines: those wanted together as rows, the others as a frame. NaN for missing values.

    None if one holds anything else than its kind, one in `PLAIN`, if there is a quote or what is no UTF-8 anywhere,
    or if a line has too many fields or too few. What is in the other columns does not matter otherwise.
    """
    if b'"' in data or len(separator.encode()) != 1 or separator in _IN_VALUES or sys.byteorder != "little":
        return None
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
    data = data if data.endswith(b"\n") else data + b"\n"
    alone = [name for name in wanted if name not in together]
    place = {name: number for number, name in enumerate([*together, *alone])}
    places = np.array([place.get(name, -1) for name in columns], dtype=np.int64)
    kinds = np.array([PLAIN[wanted[name]] if name in wanted else NUMBER for name in columns], dtype=np.int64)
    rows = data.count(b"\n")
    if rows * len(columns) > len(
        data
    ):  # a field has a byte, with what ends it: nothing is made for lines that are blank
        return None
    X, others = np.empty((rows, len(together))), np.empty((len(alone), rows))
    text = np.frombuffer(data, np.uint8)
    if read_numbers(text, ord(separator), kinds, places, _MARKS, X, others) == OTHER:
        return None
    return X, pl.DataFrame(dict(zip(alone, others, strict=True)))
