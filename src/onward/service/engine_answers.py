"""What is answered of entries that were written."""

from collections.abc import Iterator
from itertools import islice

from onward.service.answer_types import Explained, Weighed
from onward.service.entries import Decide, Entry
from onward.service.group_commit import Written
from onward.service.outcomes import Status
from onward.service.store_errors import StoreError

_PAGE = 1000


def stored_entry(written: Written) -> Entry:
    """The entry as it is stored."""
    if written.entry is None:
        raise TypeError("expected an entry that was stored")
    return written.entry


def status_of(written: Written) -> Status:
    """What an entry did."""
    if written.outcome is None:
        raise StoreError("the loop was loaded anew meanwhile: ask again", is_transient=True, is_uncertain=True)
    return written.outcome.status


def next_page(entries: Iterator[Entry]) -> list[Entry]:
    """Some entries at once."""
    return list(islice(entries, _PAGE))


def explained(entry: Entry) -> Explained:
    """A decision with why."""
    content = entry.content
    if not isinstance(content, Decide):
        raise TypeError(f"expected the entry of a decision, got a {type(content).__name__}")
    weighed = zip(content.actions, content.probabilities, content.estimates, content.widths, strict=True)
    return Explained(
        str(entry.event_id),
        entry.at,
        content.version,
        content.actions[content.chosen].id,
        content.probability,
        content.is_own,
        content.context,
        [Weighed(action.id, *numbers) for action, *numbers in weighed],
    )
