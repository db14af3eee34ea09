"""A loop's log as another process finds it: where its database is, and which entries are meant."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from onward.service.configuration import LoopConfig
from onward.service.database import Database, FileIdentity
from onward.service.entries import Begin, Entry
from onward.service.store import Store


class StoredLog(NamedTuple):
    """The entries of a loop from a time since ≤ at < until, in a database that has its tables."""

    url: str
    file: FileIdentity | None  # of SQLite: no other file in its place is read, nor made
    loop: str
    since: float | None
    until: float | None
    config: LoopConfig  # what counts if no entry before says otherwise

    @contextmanager
    def opened(self) -> Iterator[tuple[LoopConfig, Iterable[Entry]]]:
        """The settings in force before the first entry, and the entries, read page by page."""
        with Store(Database(self.url, self.file)) as store:
            config = settings_before(store, self.loop, self.since, self.config)
            yield config, store.iterate(self.loop, since=self.since, until=self.until)


def settings_before(store: Store, loop: str, at: float | None, otherwise: LoopConfig) -> LoopConfig:
    """A loop's settings before a time, as the log says.

    `otherwise`: where it says nothing, its first entry of that time holds settings, so that these do not matter.
    """
    found = None if at is None else store.last_settings(loop, at)
    return found.content.config if found is not None and isinstance(found.content, Begin) else otherwise
