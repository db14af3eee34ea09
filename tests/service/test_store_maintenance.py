"""Backups, what is removed, and tokens."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from onward.service.loop import Loop
from onward.service.rebuilding import load
from onward.service.store import Store, open_store
from onward.service.store_backup import backup, restore
from onward.service.store_removal import find_events_of, prune, remove_events
from onward.service.store_values import Snapshot
from onward.service.subject_removal import delete_subject
from onward.service.tokens import add_token, hash_token, list_tokens, remove_token
from tests.service.logs import begin, begun, decide, position, reward, snapshot


def filled(store: Store) -> None:
    positions = store.append([begin(), *(decide(f"e{i}", at=float(i), subject="Ann") for i in range(2, 10))], {})
    begun(store, "other")
    for seq in (3, 6):
        store.save_snapshot(snapshot(seq), positions.positions["news"].birth)
    add_token(store, "shop", "decide")


def contents(store: Store) -> object:
    logs = {name: list(store.iterate(name)) for name in store.loops()}
    return store.loops(), logs, store.snapshots("news"), store.snapshot("news"), list_tokens(store)


def test_a_backup_is_restored_into_either_kind(url: str, store: Store, tmp_path: Path) -> None:
    filled(store)
    before = contents(store)
    backup(store, tmp_path / "copy.db")
    with pytest.raises(FileExistsError, match="there is such a file already"):
        backup(store, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.glob("*copy*")) == ["copy.db"]  # alone, with nothing beside it
    store.append([decide("later")], {"news": position(store)})
    with open_store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        restore(other, tmp_path / "copy.db")
        assert contents(other) == before
        with pytest.raises(ValueError, match="has loops already: expected an empty one"):
            restore(other, tmp_path / "copy.db")
        assert contents(other) == before


def test_a_backup_of_a_file_goes_to_postgres(store: Store, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'source.db'}") as source:
        filled(source)
        backup(source, tmp_path / "copy.db")
        at_once: list[int] = []

        @sa.event.listens_for(store.database.engine, "before_cursor_execute")
        def note(*told: Any) -> None:
            _, _, statement, parameters, _, is_many = told
            if statement.startswith("INSERT INTO snapshots"):
                at_once.append(len(parameters) if is_many else 1)

        restore(store, tmp_path / "copy.db")
        assert contents(store) == contents(source)
        assert at_once == [1, 1]  # however large they are, there is room for one of them


def test_what_is_no_backup(store: Store, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text" * 500)
    sqlite3.connect(tmp_path / "empty.db").close()
    for name in ("text", "empty.db"):
        with pytest.raises(ValueError, match=f"{name}: expected a backup of onward"):
            restore(store, tmp_path / name)


def test_pruning_leaves_what_a_rebuild_needs(store: Store) -> None:
    filled(store)  # entries 1 to 9 at times 1 to 9, snapshots at 3 and 6
    assert prune(store, 1.0)["news"].entries == 0
    assert prune(store, 5.0)["news"] == (3, 1, 6)  # entries 1 to 4 have a snapshot after them; the settings stay
    assert [entry.seq for entry in store.read("news")] == [1, 5, 6, 7, 8, 9]
    assert [(each.seq, each.is_base) for each in store.snapshots("news")] == [(6, True)]
    assert prune(store, 100.0)["news"] == (2, 0, 6)  # 7 to 9 have none
    assert prune(store, 100.0)["news"].entries == 0
    assert [entry.seq for entry in store.read("news")] == [1, 7, 8, 9]
    assert prune(store, 100.0)["other"].entries == 0
    birth = position(store).birth
    assert not store.save_snapshot(snapshot(5), birth)  # of before the base
    appended = store.append([reward("e9")], {"news": position(store)})
    assert appended.positions["news"].seq == 10


def test_the_events_of_a_person_are_removed(store: Store, tmp_path: Path) -> None:
    filled(store)
    batch = [reward("e2"), decide("b1", subject="Bob"), decide("secret-event", subject="Eve")]
    store.append(batch, {"news": position(store)})
    assert find_events_of(store, "Ann") == {"news": [f"e{i}" for i in range(2, 10)]}
    birth = position(store).birth
    store.save_snapshot(snapshot(12), birth)
    assert remove_events(store, "news", find_events_of(store, "Ann")["news"], 12) == 9
    assert remove_events(store, "news", ["secret-event"], 12) == 1
    assert [entry.event_id for entry in store.read("news")] == [None, "b1"]
    assert [(each.seq, each.is_base) for each in store.snapshots("news")] == [(12, True)]
    for path in tmp_path.glob("log.db*"):
        assert b"secret-event" not in path.read_bytes()


def test_tokens_are_shown_once(store: Store) -> None:
    token = add_token(store, "shop", "decide")
    with pytest.raises(ValueError, match="there is a token named 'shop' already"):
        add_token(store, "shop", "admin")
    with pytest.raises(ValueError, match="expected some of decide, reward, admin as roles, got boss"):
        add_token(store, "x", "boss")  # type: ignore[arg-type]
    [found] = list_tokens(store)
    assert (found.name, found.role, found.hash) == ("shop", "decide", hash_token(token))
    assert token not in str(found)
    remove_token(store, "shop")
    assert list_tokens(store) == []
    with pytest.raises(ValueError, match="there is no token named 'shop'"):
        remove_token(store, "shop")


def test_a_person_whose_entries_were_pruned_is_removed_from_those_that_wait(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'log.db'}") as store:
        birth = begun(store)["news"].birth
        store.append([decide(f"e{i}", subject="Ann" if i % 2 else "Bob") for i in range(6)], {"news": position(store)})
        current, _ = load(store, "news")
        state, digest = current.to_snapshot()
        store.save_snapshot(Snapshot("news", current.seq, current.version, 3.0, digest, False, state), birth)
        assert prune(store, 100.0)["news"].entries == 6
        assert delete_subject(store, "Ann") == {"news": 0}
        current, _ = load(store, "news")
        assert isinstance(current, Loop)
        assert {each.subject for each in current.waiting.by_event.values()} == {"Bob"}
        assert delete_subject(store, "Ann") == {}
