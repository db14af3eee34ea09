"""The log as a file that is sent while it is read: JSON lines, or Parquet."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from onward.service.configuration import LoopConfig
from onward.service.entries import Begin, Decide, Entry, Install, Learn, Reward
from onward.service.store_values import kind_of

JSON_LINES = b"application/jsonl"
PARQUET = b"application/vnd.apache.parquet"
_encode_lines = msgspec.json.Encoder().encode_lines
_encode = msgspec.json.Encoder().encode
_LINES = 50  # that are written at once: about five milliseconds where decisions have ten actions
_NUMBERS = pa.list_(pa.float64())

_PLACE = [
    ("seq", pa.int64()),
    ("at", pa.timestamp("us", tz="UTC")),
    ("kind", pa.string()),
    ("event_id", pa.string()),
]
LOOP_COLUMNS = pa.schema(
    [
        *_PLACE,
        # Of decisions
        ("subject", pa.string()),
        ("mode", pa.string()),
        ("version", pa.int64()),
        ("after", pa.int64()),
        ("action", pa.string()),
        ("probability", pa.float64()),
        ("is_told", pa.bool_()),
        ("active", pa.bool_()),
        ("context", pa.string()),  # JSON
        ("actions", pa.string()),  # JSON
        ("chosen", pa.int64()),
        ("ranking", pa.list_(pa.int64())),
        ("excluded", pa.list_(pa.int64())),
        ("k", pa.int64()),
        ("probabilities", _NUMBERS),
        ("estimates", _NUMBERS),
        ("widths", _NUMBERS),
        ("leverage", pa.float64()),
        ("shadow", pa.float64()),
        # Of rewards
        ("value", pa.float64()),
        ("reward_id", pa.string()),
        # Of settings, and of policies that were installed
        ("settings", pa.string()),  # JSON
    ]
)
MODEL_COLUMNS = pa.schema(
    [
        *_PLACE,
        ("rows", pa.string()),  # JSON
        ("targets", _NUMBERS),
        ("weights", _NUMBERS),
        ("settings", pa.string()),  # JSON
    ]
)
_PLAIN = [
    *("subject", "version", "after", "probability", "is_told", "active", "chosen", "ranking", "excluded", "k"),
    *("probabilities", "estimates", "widths", "leverage", "shadow"),
]


async def json_lines(entries: AsyncIterator[list[Entry]]) -> AsyncIterator[bytes]:
    """An entry a line, with its place, time and content: all that it takes to fold the log."""
    async for some in entries:
        for start in range(0, len(some), _LINES):
            yield _encode_lines(some[start : start + _LINES])
            await asyncio.sleep(0)  # others are answered in between


async def parquet(
    entries: AsyncIterator[list[Entry]], kind: str, before: LoopConfig | None = None
) -> AsyncIterator[bytes]:
    """An entry a row, with a column for whatever an analysis asks for; what an entry does not have is null.

    `before` holds the settings of a loop before the first entry: they say who decided.
    """
    read = _LoopRows(before) if kind == "loop" else _model_row
    schema = LOOP_COLUMNS if kind == "loop" else MODEL_COLUMNS
    file = io.BytesIO()
    writer = pq.ParquetWriter(_Growing(file), schema, compression="zstd")
    async for some in entries:
        await asyncio.to_thread(lambda page=some: writer.write_table(_table(page, schema, read)))  # type: ignore[misc]
        yield _take_bytes(file)
    writer.close()
    yield _take_bytes(file)


class _Growing(io.RawIOBase):
    """A file that goes on counting where what was sent is taken out of it."""

    def __init__(self, file: io.BytesIO) -> None:
        self._file, self._written = file, 0

    def write(self, data: Any) -> int:
        size = self._file.write(data)
        self._written += size
        return size

    def tell(self) -> int:
        return self._written

    def writable(self) -> bool:
        return True


def _take_bytes(file: io.BytesIO) -> bytes:
    data = file.getvalue()
    file.seek(0)
    file.truncate()
    return data


def _table(entries: list[Entry], schema: pa.Schema, read: Callable[[Entry], dict[str, Any]]) -> pa.Table:
    rows = [
        {"seq": entry.seq, "at": int(1e6 * entry.at), "kind": kind_of(entry), "event_id": entry.event_id} | read(entry)
        for entry in entries
    ]
    columns = {each.name: [row.get(each.name) for row in rows] for each in schema}
    return pa.Table.from_pydict(columns, schema=schema)


class _LoopRows:
    """Columns of a loop's entries, with the mode in which each decision was made."""

    def __init__(self, before: LoopConfig | None) -> None:
        self._mode = None if before is None else before.mode
        self._own_mode: str | None = "apprentice"

    def __call__(self, entry: Entry) -> dict[str, Any]:
        content = entry.content
        if isinstance(content, Decide):
            return {name: getattr(content, name) for name in _PLAIN} | {
                "mode": self._mode_of(content),
                "action": content.actions[content.chosen].id,
                "context": _json(content.context),
                "actions": _json(content.actions),
            }
        if isinstance(content, Reward):
            return {"value": content.value, "reward_id": content.id}
        if isinstance(content, Begin):
            self._mode = content.config.mode
            return {"mode": self._mode, "settings": _json(content.config)}
        if isinstance(content, Install):
            return {"settings": _json({content.place: content.policy, "source": content.source})}
        return {}

    def _mode_of(self, content: Decide) -> str | None:
        """The mode in which a decision was made, which may have been changed before it was written."""
        if self._mode not in (None, "online"):
            self._own_mode = self._mode
        return self._own_mode if content.is_own else "online"


def _model_row(entry: Entry) -> dict[str, Any]:
    content = entry.content
    if isinstance(content, Learn):
        return {"rows": _json(content.rows), "targets": content.targets, "weights": content.weights}
    return {"settings": _json(getattr(content, "config", None))}


def _json(value: object) -> str:
    return _encode(value).decode()
