"""Loops and models from their logs: whatever was written down, folded in order."""

from collections.abc import Iterable

from onward.service.entries import BeginModel, Entry
from onward.service.loop import Loop
from onward.service.regression_model import Model


def begin(entry: Entry) -> Loop | Model:
    """What the first entry of a log makes."""
    return Model.begin(entry) if isinstance(entry.content, BeginModel) else Loop.begin(entry)


def from_snapshot(kind: str, data: bytes) -> Loop | Model:
    """The loop or model of a snapshot."""
    return Model.from_bytes(data) if kind == Model.kind else Loop.from_bytes(data)


def fold_entry(current: Loop | Model | None, entry: Entry) -> Loop | Model:
    """What an entry makes of a state, or of nothing."""
    if current is None:
        return begin(entry)
    current.fold(entry)
    return current


def fold_all(entries: Iterable[Entry], start: Loop | Model | None = None) -> Loop | Model:
    """What all entries make, in order: from the first of the log, or from what those before them made."""
    current = start
    for entry in entries:
        current = fold_entry(current, entry)
    if current is None:
        raise ValueError("expected at least the entry that begins a loop, got none")
    return current
