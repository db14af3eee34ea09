"""Names and texts in Arrow's memory: those that are no UTF-8, and those that are long and come often."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.types as kind_of

from onward.core.shown import brief
from onward.tables.errors import DataError


def names_of(file: str, schema: pa.Schema) -> list[str]:
    """The names of the columns; DataError if one is not UTF-8."""
    try:
        return list(schema.names)
    except UnicodeDecodeError as error:
        raise unreadable_name(file, error) from error


def unreadable_name(file: str, error: UnicodeDecodeError) -> DataError:
    """What is said of the name of a column that is not UTF-8."""
    return DataError(f"{file}: column {brief(error.object)}: its name is not UTF-8 text ({error.reason})")


def with_texts(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """A batch with the values of its dictionaries written out, in slices of at most so many bytes, or of one row."""
    coded = {place: array for place, array in enumerate(batch.columns) if isinstance(array, pa.DictionaryArray)}
    if not coded:
        yield batch
        return
    import pyarrow.compute as pc  # here: what holds no such texts does without its 8 MB

    lengths = np.zeros(batch.num_rows, dtype=np.int64)
    for array in coded.values():
        if len(array.dictionary) and _is_text(array.dictionary.type):
            of_each = pc.fill_null(pc.binary_length(array.dictionary), 0).to_numpy(zero_copy_only=False)
            lengths += of_each[pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)]
    ends, first = np.cumsum(lengths), 0
    while first < batch.num_rows:
        before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        part = batch.slice(first, stop - first)
        for place, array in coded.items():
            decoded = array.slice(first, stop - first).dictionary_decode()
            part = part.set_column(place, batch.schema.field(place).with_type(decoded.type), decoded)
        yield part
        first = stop


def _is_text(dtype: pa.DataType) -> bool:
    return bool(kind_of.is_string(dtype) or kind_of.is_large_string(dtype))
