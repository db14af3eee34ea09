"""Rows from whatever people keep them in: arrays, sparse matrices, data frames; and streams of rows from files.

Each name is imported when it is first asked for: reading files needs polars and pyarrow, arrays need neither.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onward.tables.encode import Block as Block
    from onward.tables.encode_values import encode_frame as encode_frame
    from onward.tables.encode_values import encode_row as encode_row
    from onward.tables.errors import DataError as DataError
    from onward.tables.recipe import Column as Column
    from onward.tables.recipe import Recipe as Recipe
    from onward.tables.rows import ArrayRows as ArrayRows
    from onward.tables.rows import CheckedRows as CheckedRows
    from onward.tables.rows import Rows as Rows
    from onward.tables.rows import as_mapping as as_mapping
    from onward.tables.rows import as_row as as_row
    from onward.tables.rows import as_rows as as_rows
    from onward.tables.rows import as_target as as_target
    from onward.tables.rows import as_targets as as_targets
    from onward.tables.rows import as_weights as as_weights
    from onward.tables.rows import blocks as blocks
    from onward.tables.rows import frame_columns as frame_columns
    from onward.tables.rows import in_one_block as in_one_block
    from onward.tables.rows import placed as placed
    from onward.tables.sources import find_files as find_files
    from onward.tables.streams import Position as Position
    from onward.tables.streams import Stream as Stream
    from onward.tables.streams import stream as stream
    from onward.tables.table import Table as Table

_HOMES = {
    "encode": ["Block"],
    "encode_values": ["encode_frame", "encode_row"],
    "errors": ["DataError"],
    "recipe": ["Column", "Recipe"],
    "rows": [
        *(
            "ArrayRows",
            "CheckedRows",
            "Rows",
            "as_mapping",
            "as_row",
            "as_rows",
            "as_target",
            "as_targets",
            "as_weights",
        ),
        *("blocks", "frame_columns", "in_one_block", "placed"),
    ],
    "sources": ["find_files"],
    "streams": ["Position", "Stream", "stream"],
    "table": ["Table"],
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

# What users ask for; the rest is for the other rooms.
__all__ = ["Block", "Column", "DataError", "Position", "Recipe", "Stream", "Table", "find_files", "stream"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"onward.tables.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
