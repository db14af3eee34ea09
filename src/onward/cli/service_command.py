"""`onward service`: what is done to the log of a service: backups, checks, removal, tokens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli import options as o
from onward.cli.terminal import say
from onward.core.words import counted

if TYPE_CHECKING:
    from onward.service.store import Store

HELP = "The log of a service: backups, checks, what is removed, and tokens."

Database = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="ONWARD_DATABASE",
        help="sqlite:///path or postgresql://user@host/name.",
        show_default="sqlite:///onward.db",
    ),
]
_DATABASE = "sqlite:///onward.db"


class Role(StrEnum):
    """What a token allows."""

    decide = "decide"
    reward = "reward"
    admin = "admin"


def backup(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.", show_default=False)],
    database: Database = _DATABASE,
) -> None:
    """Copy everything to one file, while servers go on.

    The file is a database of SQLite, whatever database it comes from: a server can go on from it, and `restore` brings
    it into another one.
    """
    from onward.service.store_backup import backup

    with _open_existing(database) as store:
        backup(store, path)
    say(f"Backup: {path} ({counted(path.stat().st_size, 'byte')})")


def restore(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` wrote.", show_default=False)],
    database: Database = _DATABASE,
) -> None:
    """Bring a backup into an empty database of either kind: wholly, or not at all."""
    from onward.service.store import open_store
    from onward.service.store_backup import restore

    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    with open_store(database) as store:
        store.claim()
        restore(store, path)
        entries = sum(each.last_seq for each in store.loops().values())
        say(f"Restored {counted(len(store.loops()), 'loop')} with {_entries(entries)}")


def replay(
    loops: Annotated[
        list[str] | None,
        typer.Argument(metavar="LOOP", help="Loops and models; all of them if none is named.", show_default=False),
    ] = None,
    database: Database = _DATABASE,
    json: o.Json = False,
) -> None:
    """Fold each log anew, and say whether it gives the same bits.

    It is folded from its beginning (an empty state, or the base that pruning left), and from every snapshot to the
    next; the states are compared at each snapshot and at the end. The exit code is 1 if any differ, or cannot be
    folded.
    """
    from onward.cli.model_files import show_json
    from onward.service.rebuilding import verify

    results, failures = {}, _Failures()
    with _open_existing(database) as store:
        for name in loops or sorted(store.loops()):
            with failures.told(name):
                results[name] = list(verify(store, name))
            checked = results.get(name, [])
            if not checked:
                continue
            if not json:
                last, places = checked[-1], counted(len(checked), "place")
                wrong = [each.seq for each in checked if not each.is_same]
                said = f"DIFFERENT at entry {wrong[0]}" if wrong else f"the same bits at {places}"
                is_compared = any(each.stored is not None for each in checked)
                if not wrong and not is_compared and not any(each.is_base for each in store.snapshots(name)):
                    said = "folded twice alike; there is no snapshot to compare with"
                say(f"{name}: {_entries(last.seq)}, {said}, digest {last.from_start[:16]}")
    if json:
        show_json(
            {
                name: [{**each._asdict(), "is_same": each.is_same} for each in checked]
                for name, checked in results.items()
            }
        )
    if failures.any or any(not each.is_same for checked in results.values() for each in checked):
        raise typer.Exit(1)


def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Such as 90d, 12h or 30m.", show_default=False)
    ],
    database: Database = _DATABASE,
) -> None:
    """Remove entries older than an age; a snapshot makes up for them, and is made where there is none.

    The snapshot becomes the base from which a log is folded; the last settings stay in the log. A server may go on
    meanwhile. Events whose entries are gone are unknown from then on, unless they still wait for their reward. With
    `retain`, as a setting of a loop or of the server, this is done by the server itself.
    """
    import time

    from onward.service.rebuilding import save_latest
    from onward.service.store_removal import prune_loop

    before, failures = time.time() - _seconds(older_than), _Failures()
    with _open_existing(database) as store:
        for name in sorted(store.loops()):
            with failures.told(name):
                save_latest(store, name)
                pruned = prune_loop(store, name, before)
                removed, snapshots = _entries(pruned.entries), counted(pruned.snapshots, "snapshot")
                base = f"from the snapshot at entry {pruned.base_seq}" if pruned.base_seq else "from its beginning"
                say(f"{name}: {removed} and {snapshots} removed; it is folded {base}")
    if failures.any:
        raise typer.Exit(1)


def delete_subject(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="As decisions name it.", show_default=False)],
    database: Database = _DATABASE,
) -> None:
    """Delete all events about a person.

    Decisions that wait are dropped, and the person's entries and all older snapshots removed. What stays are sums over
    everybody: what policies have learned, and statistics; and the names of features and actions, so keep names of
    persons out of them (`features.exclude` of a loop). Backups from before still have the events. On SQLite the
    server must be stopped; on PostgreSQL servers may go on.
    """
    from onward.service.subject_removal import NotDeletedError, delete_subject

    failed = None
    with _open_existing(database) as store:
        store.claim()
        try:
            removed = delete_subject(store, subject)
        except NotDeletedError as error:
            removed, failed = error.removed, error
    for name, count in removed.items():
        say(f"{name}: {_entries(count)} removed")
    if failed is not None:
        raise failed
    if not removed:
        say("There are no events about this subject.")


def add_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is.", show_default=False)],
    role: Annotated[
        list[Role],
        typer.Option(
            "--role",
            help="decide: decisions and predictions; reward: rewards and rows to learn; admin: everything. "
            "May be given several times.",
            show_default=False,
        ),
    ],
    database: Database = _DATABASE,
) -> None:
    """Make a token and print it, once: only its hash is stored."""
    from onward.service.store import open_store
    from onward.service.tokens import add_token

    with open_store(database) as store:
        say(add_token(store, name, *(each.value for each in role)))


def list_tokens(database: Database = _DATABASE) -> None:
    """The names and roles of all tokens."""
    from datetime import UTC, datetime

    from onward.service.tokens import list_tokens

    with _open_existing(database) as store:
        for token in list_tokens(store):
            say(f"{token.name}  {token.role}  {datetime.fromtimestamp(token.created, UTC):%Y-%m-%d %H:%M} UTC")


def remove_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is.", show_default=False)],
    database: Database = _DATABASE,
) -> None:
    """Remove a token: servers refuse it within seconds."""
    from onward.service.tokens import remove_token

    with _open_existing(database) as store:
        remove_token(store, name)


class _Failures:
    """What went wrong with single loops, told at once, so that the others are gone on with."""

    def __init__(self) -> None:
        self.any = False

    @contextmanager
    def told(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.any = True
            say(f"{name}: failed: {error or type(error).__name__}", err=True)


def _open_existing(url: str) -> "Store":
    """A store that there is: a typing error in a path must not make a new one."""
    from onward.service.database import Database as Connected
    from onward.service.store import open_store

    path = Connected(url).path
    if path is not None and not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such database")
    return open_store(url)


def _seconds(age: str) -> float:
    from onward.bandits.late_rewards import as_seconds

    try:
        return as_seconds("--older-than", age)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _entries(count: int) -> str:
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


Commands = dict[str, tuple[Callable[..., None], str]]
"""Functions by name, each with an example."""

COMMANDS: Commands = {
    "backup": (backup, "onward service backup monday.db --database postgresql://onward@db/onward"),
    "restore": (restore, "onward service restore monday.db --database sqlite:///log.db"),
    "replay": (replay, "onward service replay --database sqlite:///log.db"),
    "prune": (prune, "onward service prune --older-than 90d --database sqlite:///log.db"),
    "delete-subject": (delete_subject, "onward service delete-subject user-17 --database sqlite:///log.db"),
}
TOKEN_COMMANDS: Commands = {
    "add": (add_token, "onward service tokens add shop --role decide --database sqlite:///log.db"),
    "list": (list_tokens, "onward service tokens list --database sqlite:///log.db"),
    "remove": (remove_token, "onward service tokens remove shop --database sqlite:///log.db"),
}
