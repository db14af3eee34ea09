"""Rows from whatever people keep them in: arrays, sparse matrices, data frames; and streams of rows from files.

The stream reads with polars and pyarrow, which are imported when one is asked for.
"""

from typing import TYPE_CHECKING, Any

from onward.tables.recipe import Column, Recipe
from onward.tables.rows import (
    BLOCK,
    ArrayRows,
    NamedRows,
    Rows,
    as_mapping,
    as_row,
    as_rows,
    as_target,
    as_targets,
    as_weights,
    blocks,
    in_one_block,
    placed,
)

if TYPE_CHECKING:
    from onward.tables.encode import Block
    from onward.tables.errors import DataError
    from onward.tables.streams import Position, Stream, stream

_HOMES = {
    "Block": "onward.tables.encode",
    "DataError": "onward.tables.errors",
    "Position": "onward.tables.streams",
    "Stream": "onward.tables.streams",
    "stream": "onward.tables.streams",
}

__all__ = [
    "BLOCK",
    "ArrayRows",
    "Block",
    "Column",
    "DataError",
    "NamedRows",
    "Position",
    "Recipe",
    "Rows",
    "Stream",
    "as_mapping",
    "as_row",
    "as_rows",
    "as_target",
    "as_targets",
    "as_weights",
    "blocks",
    "in_one_block",
    "placed",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
