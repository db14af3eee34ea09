"""How much memory the batches of an Arrow IPC file take once they are decompressed, without decompressing them.

A message begins with a flatbuffer: tables whose fields are found by their slot in a vtable. Of a record batch it lists
the buffers; a compressed buffer says in its first eight bytes how long it will be. [Arrow Columnar Format, IPC]
"""

import struct
from typing import Any

import pyarrow.ipc as ipc

_HEADER_TYPE, _HEADER = 1, 2  # slots of Message
_DICTIONARY_DATA = 1  # slot of DictionaryBatch
_BUFFERS, _COMPRESSION = 2, 3  # slots of RecordBatch
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # of the union MessageHeader
_MAGIC = b"ARROW1"


def largest_decompressed(source: Any) -> int:
    """Bytes of the largest compressed batch in a file or stream, once decompressed; 0 if none is compressed.

    struct.error, IndexError or an ArrowException if it is no such file.
    """
    source.seek(0)
    source.seek(8 if source.read(len(_MAGIC)) == _MAGIC else 0)
    messages, largest = ipc.MessageReader.open_stream(source), 0
    while True:
        try:
            message = messages.read_next_message()
        except StopIteration:
            return largest
        largest = max(largest, _decompressed(message.metadata.to_pybytes(), message.body))


def _decompressed(metadata: bytes, body: Any) -> int:
    table = _uint32(metadata, 0)
    kind_at, header = _field(metadata, table, _HEADER_TYPE), _table(metadata, table, _HEADER)
    kind = 0 if kind_at is None else metadata[kind_at]
    if kind == _DICTIONARY_BATCH and header is not None:
        header, kind = _table(metadata, header, _DICTIONARY_DATA), _RECORD_BATCH
    if kind != _RECORD_BATCH or header is None or body is None or _field(metadata, header, _COMPRESSION) is None:
        return 0
    buffers = _table(metadata, header, _BUFFERS)
    if buffers is None:
        return 0
    view, total = memoryview(body), 0
    for number in range(_uint32(metadata, buffers)):
        start, length = struct.unpack_from("<qq", metadata, buffers + 4 + 16 * number)
        if length >= 8:
            total += max(length, struct.unpack_from("<q", view, start)[0])  # -1: it is stored as it is
    return total


def _field(data: bytes, table: int, slot: int) -> int | None:
    """Where a field of a table stands; None if it is not there."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    place, size = 4 + 2 * slot, struct.unpack_from("<H", data, vtable)[0]
    offset = struct.unpack_from("<H", data, vtable + place)[0] if place < size else 0
    return table + offset if offset else None


def _table(data: bytes, table: int, slot: int) -> int | None:
    """Where the table or vector is to which a field points."""
    place = _field(data, table, slot)
    return None if place is None else place + _uint32(data, place)


def _uint32(data: bytes, place: int) -> int:
    return int(struct.unpack_from("<I", data, place)[0])
