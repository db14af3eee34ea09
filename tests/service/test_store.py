"""The laws of the store, on SQLite and on PostgreSQL."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from onward.service import store_schema
from onward.service.entries import Entry
from onward.service.loop_facts import add_counts, read_facts
from onward.service.store import Store, open_store
from onward.service.store_errors import StoreError
from onward.service.store_values import Position
from tests.service.logs import begin, begun, decide, position, reward, snapshot


def test_entries_come_back_as_they_were_written_with_places_without_gaps(store: Store) -> None:
    batch = [begin(), decide("e1"), reward("e1", 0.1 + 0.2), begin("other"), decide("e1", "other")]
    appended = store.append(batch, {})
    assert [entry.seq for entry in appended.stored if entry] == [1, 2, 3, 1, 2]
    assert [store.read("news"), store.read("other")] == [appended.news["news"], appended.news["other"]]
    assert [entry.content for entry in store.read("news")] == [entry.content for entry in batch[:3]]
    assert store.read("news", after=1, limit=1) == [appended.stored[1]]
    assert store.events("news", ["e1", "e2"]) == {"e1": appended.news["news"][1:]}
    assert [entry.at for entry in store.iterate("news", since=2.0, until=3.0)] == [2.0]
    assert {name: each.last_seq for name, each in store.loops().items()} == {"news": 3, "other": 2}


def test_iterating_reads_page_by_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([begin(), *(decide(f"e{i}", at=float(i)) for i in range(10))], {})
    monkeypatch.setattr("onward.service.store._PAGE", 3)
    assert [entry.seq for entry in store.iterate("news", since=2.0, after=5)] == [6, 7, 8, 9, 10, 11]


def test_an_event_begins_once(store: Store) -> None:
    known = begun(store)
    first = store.append([decide("e1"), decide("e1", chosen=1)], known)
    assert first.repeated == [False, True]
    assert first.stored[0] == first.stored[1] == first.news["news"][0]
    again = store.append([decide("e1", chosen=1), reward("e1"), reward("e1")], first.positions)
    assert again.repeated == [True, False, False]
    assert again.stored[0] == first.stored[0]
    assert [entry.seq for entry in again.news["news"]] == [3, 4]


def test_what_others_wrote_comes_back_in_order(store: Store) -> None:
    known = begun(store)
    store.append([decide("e1"), decide("e2")], known)
    late = store.append([reward("e1")], known)
    assert [(entry.seq, entry.event_id) for entry in late.news["news"]] == [(2, "e1"), (3, "e2"), (4, "e1")]
    assert late.positions["news"].seq == 4


def test_entries_of_a_loop_that_is_gone_or_another_are_not_written(store: Store) -> None:
    from onward.service.store_removal import delete_loop

    known = begun(store)
    begun(store, "other")
    assert delete_loop(store, "news")
    assert not delete_loop(store, "news")
    appended = store.append([decide("e1"), decide("e2", "other")], known)
    assert appended.stored[0] is None
    assert appended.stored[1] is not None
    begun(store)  # again, under the same name
    assert store.append([decide("e1")], known).stored == [None]
    assert [entry.seq for entry in store.read("news")] == [1]


def test_a_log_that_became_shorter_is_noticed(store: Store) -> None:
    known = begun(store)
    ahead = {"news": Position(7, known["news"].birth)}
    with pytest.raises(StoreError, match="ends at entry 1, but entry 7 was read"):
        store.append([decide("e1")], ahead)


def test_two_stores_append_at_once_and_nobody_loses(url: str) -> None:
    rounds, size = 25, 8
    with open_store(url) as one, open_store(url) as two:
        known = {**begun(one, "a"), **begun(one, "b")}
        read: dict[Store, list[Entry]] = {one: [], two: []}
        failed: list[BaseException] = []

        def work(store: Store, mark: str) -> None:
            position = dict(known)
            try:
                for i in range(rounds):
                    batch = [decide(f"{mark}{i}.{j}", "ab"[(i + j) % 2]) for j in range(size)]
                    batch += [decide(f"both{i}", "a", subject=mark)]
                    appended = store.append(batch if mark == "x" else batch[::-1], position)
                    position.update(appended.positions)
                    read[store] += appended.news.get("a", [])
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=each) for each in ((one, "x"), (two, "y"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        logs = {name: list(one.iterate(name)) for name in "ab"}
        assert sum(map(len, logs.values())) == 2 + 2 * rounds * size + rounds
        for log in logs.values():
            assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
        for seen in read.values():  # each saw all, in order, up to its own last
            assert seen == logs["a"][1 : 1 + len(seen)]


def test_snapshots(store: Store) -> None:
    birth = begun(store)["news"].birth
    for seq in (1, 5, 9):
        assert store.save_snapshot(snapshot(seq), birth)
    assert not store.save_snapshot(snapshot(10), "another")
    assert [each.seq for each in store.snapshots("news")] == [1, 5, 9]
    latest, earlier = store.snapshot("news"), store.snapshot("news", at_most=8)
    assert latest is not None
    assert earlier is not None
    assert (latest.state, earlier.state) == (b"state 9", b"state 5")
    assert store.snapshot("news", at_most=0) is None
    assert store.latest_digests() == {"news": (9, "digest 9")}


def test_a_database_of_a_newer_version_is_refused(url: str) -> None:
    with open_store(url) as store:
        store.database.run(lambda c: c.execute(store_schema.meta.update().values(value="99")), write=True)
    with pytest.raises(
        StoreError, match=f"has version 99 of the tables, expected {store_schema.current_version()} or older"
    ):
        open_store(url)


def test_an_older_database_is_upgraded_once_by_those_who_start_at_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(url) as store:
        begun(store)
    remark = sa.text("ALTER TABLE loops ADD COLUMN remark TEXT")
    upgrades = [*store_schema.UPGRADES, lambda c: c.execute(remark)]
    monkeypatch.setattr(store_schema, "UPGRADES", upgrades)
    opened: list[Store] = []
    threads = [threading.Thread(target=lambda: opened.append(open_store(url))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 3
    for store in opened:
        assert store.database.run(store_schema.schema_version) == 1 + len(upgrades)
        store.close()


def test_counters_are_those_of_one_loop(store: Store) -> None:
    begun(store)
    add_counts(store, "news", position(store).birth, {"late": 2})
    add_counts(store, "news", position(store).birth, {"late": 1, "unknown": 1})
    add_counts(store, "news", "another one of this name", {"late": 9})
    facts = read_facts(store, "news", position(store).birth)
    assert facts is not None
    assert facts.counts == {"late": 3, "unknown": 1}
    assert read_facts(store, "news", "another one of this name") is None


def test_those_who_start_at_once_make_one_database(url: str) -> None:
    opened: list[Store] = []
    threads = [threading.Thread(target=lambda: opened.append(open_store(url))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 3
    for store in opened:
        store.close()


def test_one_server_for_a_file_while_others_may_read(tmp_path: Path) -> None:
    url, link = f"sqlite:///{tmp_path / 'log.db'}", tmp_path / "link.db"
    link.symlink_to(tmp_path / "log.db")
    with open_store(url) as one, open_store(f"sqlite:///{link}") as two:
        one.claim()
        begun(one)
        with pytest.raises(StoreError, match="is served already, by process"):
            two.claim()
        assert len(two.read("news")) == 1
        one.close()
        two.claim()


@pytest.mark.parametrize("bad", ["mysql://x/y", "sqlite://", "nonsense", "sqlite:///:memory:"])
def test_urls_that_are_no_store(bad: str) -> None:
    with pytest.raises(ValueError, match="expected sqlite:///path or postgresql://"):
        open_store(bad)


def test_no_folder_and_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no folder"):
        open_store(f"sqlite:///{tmp_path / 'none' / 'log.db'}")
    (tmp_path / "text").write_text("no database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(StoreError, match="not a database") as error:
        open_store(f"sqlite:///{tmp_path / 'text'}")
    assert not error.value.is_transient


def test_the_log_can_be_read_with_sql(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'log.db'}") as store:
        known = begun(store)
        store.append([decide("e1")], known)
    with sqlite3.connect(tmp_path / "log.db") as connection:
        query = "SELECT kind, body FROM entries WHERE event_id = 'e1'"
        [(kind, body)] = connection.execute(query).fetchall()
    connection.close()
    assert kind == "decide"
    assert msgspec.msgpack.decode(body)["actions"][0]["features"]["topic"] == "sport ✓"


@pytest.mark.parametrize("size", [1, 8, 9, 32, 33, 300])
def test_batches_of_any_size_are_written_whole_and_in_order(store: Store, size: int) -> None:
    known = begun(store)
    appended = store.append([decide(f"e{i}", subject=f"s{i}") for i in range(size)], known)
    assert [(entry.seq, entry.event_id) for entry in store.iterate("news", after=1)] == [
        (i + 2, f"e{i}") for i in range(size)
    ]
    assert appended.stored == store.read("news", after=1)
    assert store.loops()["news"].last_seq == appended.positions["news"].seq == size + 1


def test_the_wal_is_copied_and_begins_anew(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'log.db'}") as store:
        known = begun(store)
        assert store.database.checkpoint() == 0
        before = (tmp_path / "log.db").stat().st_size
        with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM entries").fetchall()
            for i in range(40):
                known = store.append([decide(f"e{i}.{j}") for j in range(30)], known).positions
            assert store.database.checkpoint() > 40  # as somebody still reads what was there before
        assert store.database.checkpoint() == 0
        assert (tmp_path / "log.db").stat().st_size > before + 100_000
        size = (tmp_path / "log.db-wal").stat().st_size
        store.append([decide("more")], known)
        assert (tmp_path / "log.db-wal").stat().st_size == size
