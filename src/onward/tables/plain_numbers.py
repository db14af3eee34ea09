"""Delimited text that holds nothing but numbers, read at once: polars takes three times as long.

Anything else, be it a sign, a quote or a letter, is left to those who look at it more closely.
"""

import sys
from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from onward.core.types import Matrix
from onward.tables.number_kernel import OTHER, read_numbers

_IN_NUMBERS = "0123456789+-.eE\r"  # none of these can separate fields


def plain_numbers(
    data: bytes, separator: str, columns: Sequence[str], wanted: Collection[str], together: Sequence[str]
) -> tuple[Matrix, pl.DataFrame] | None:
    """The wanted columns of whole lines: those wanted together as rows, the others as a frame. NaN for an empty field.

    None if they hold anything but plain numbers, if there is a quote or a letter beyond ASCII anywhere, or if a line
    has too many fields or too few. What is in the columns that are not wanted does not matter otherwise.
    """
    if b'"' in data or len(separator.encode()) != 1 or separator in _IN_NUMBERS or sys.byteorder != "little":
        return None
    data = data if data.endswith(b"\n") else data + b"\n"
    alone = [name for name in wanted if name not in together]
    place = {name: number for number, name in enumerate([*together, *alone])}
    places = np.array([place.get(name, -1) for name in columns], dtype=np.int64)
    rows = data.count(b"\n")
    X, others = np.empty((rows, len(together))), np.empty((len(alone), rows))
    text = np.frombuffer(data, np.uint8)
    if read_numbers(text, ord(separator), places, X, others) == OTHER:
        return None
    return X, pl.DataFrame(dict(zip(alone, others, strict=True)))
