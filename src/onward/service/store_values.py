"""What the store gives: positions in logs, what became of a batch, snapshots, tokens."""

from typing import Any, Literal, NamedTuple

from onward.service.entries import Begin, BeginModel, Decide, Entry, Learn
from onward.service.packed_content import pack, unpack

Role = Literal["decide", "reward", "admin"]
ROLES: tuple[Role, ...] = ("decide", "reward", "admin")


class Position(NamedTuple):
    """How far somebody has read the log of a loop, and of which one that had this name."""

    seq: int
    birth: str


class StoredLoop(NamedTuple):
    """A loop or a model in the store."""

    name: str
    kind: str  # loop or model
    birth: str
    created: float
    last_seq: int
    base_seq: int


class Appended(NamedTuple):
    """What became of a batch of entries."""

    stored: list[Entry | None]  # of each, itself with its seq, or the first one of its event; None: its loop is gone
    repeated: list[bool]  # of each, whether its event was there already, so that it was not written
    news: dict[str, list[Entry]]  # by loop, all after the known position in order: those of others, and these
    positions: dict[str, Position]  # by loop, how far its log goes now; a loop that is gone has none


class Snapshot(NamedTuple):
    """The state of a loop after one of its entries."""

    loop: str
    seq: int
    version: int
    at: float
    digest: str
    is_base: bool
    state: bytes = b""  # empty in a list of snapshots


class Token(NamedTuple):
    """Who may call the service, as far as the store knows: never the token itself."""

    name: str
    role: str  # one of ROLES, or several with commas between them
    created: float
    hash: str


def row_of(entry: Entry) -> dict[str, Any]:
    """An entry as the values of its columns."""
    content = entry.content
    return {
        "loop": entry.loop,
        "seq": entry.seq,
        "at": entry.at,
        "kind": kind_of(entry),
        "event_id": entry.event_id,
        "subject": getattr(content, "subject", None),
        "body": pack(content),
    }


def entry_of(row: Any) -> Entry:
    """The entry that a row (loop, seq, at, event_id, body) holds."""
    loop, seq, at, event_id, body = row
    return Entry(loop, unpack(body), event_id, at, seq)


def kind_of(entry: Entry) -> str:
    """The name that an entry's content has in the log."""
    return str(type(entry.content).__struct_config__.tag)


def begins_loop(entry: Entry) -> bool:
    """Whether a log may start with this entry."""
    return isinstance(entry.content, Begin | BeginModel)


def kind_of_loop(entry: Entry) -> str:
    """Of what the log is if it starts with this entry."""
    return "model" if isinstance(entry.content, BeginModel) else "loop"


def begins_event(entry: Entry) -> bool:
    """Whether there can be only one entry like this of its event."""
    return entry.event_id is not None and isinstance(entry.content, Decide | Learn)
