"""What becomes of entries when the database fails."""

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from onward.service.store import Store, open_store
from onward.service.store_append import append_entries, is_written
from onward.service.store_errors import StoreError
from tests.service.logs import begun, decide, reward
from tests.service.postgres import Postgres


def fail_at_commit(store: Store, monkeypatch: pytest.MonkeyPatch, *, commits: bool, times: int = 1) -> None:
    """Let commits fail as if the connection were lost while one was done, which took place or not."""
    dialect = store.database.engine.dialect
    real, left = dialect.do_commit, [times]
    error = sqlite3.OperationalError if dialect.name == "sqlite" else psycopg.OperationalError

    def commit(connection: Any) -> None:
        if left[0] > 0:
            left[0] -= 1
            if commits:
                real(connection)
            else:
                connection.rollback()
            raise error("the connection was lost")
        real(connection)

    monkeypatch.setattr(dialect, "do_commit", commit)


@pytest.mark.parametrize("commits", [True, False])
def test_a_commit_without_an_answer_is_written_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    known = begun(store)
    fail_at_commit(store, monkeypatch, commits=commits)
    appended = store.append([decide("e1"), reward("e1"), reward("e1")], known)
    assert [entry.seq for entry in appended.stored if entry] == [2, 3, 4]
    assert appended.repeated == [False] * 3
    assert store.read("news", after=1) == appended.news["news"]


def test_an_outcome_that_cannot_be_found_out_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    known = begun(store)
    monkeypatch.setattr("onward.service.store._SETTLE_SECONDS", 0.0)
    fail_at_commit(store, monkeypatch, commits=True, times=3)
    with pytest.raises(StoreError, match="failed: the connection was lost") as error:
        store.append([decide("e1")], known)
    assert error.value.is_uncertain
    assert error.value.is_transient
    monkeypatch.undo()
    # It was written, so that it comes with the next ones.
    appended = store.append([reward("e1")], known)
    assert [entry.seq for entry in appended.news["news"]] == [2, 3]


def test_a_full_database_takes_nothing_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'log.db'}") as store:
        known = begun(store)
        many = [decide(f"e{i}") for i in range(500)]

        @sa.event.listens_for(store.database.engine, "checkout")
        def limit(connection: Any, *rest: object) -> None:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count={pages + (0 if full else 10_000)}").fetchall()

        full = True
        with pytest.raises(StoreError, match="database or disk is full") as error:
            store.append(many, known)
        assert error.value.is_transient
        assert [entry.seq for entry in store.read("news")] == [1]
        full = False
        assert store.append(many, known).positions["news"].seq == 501


def test_a_file_that_is_gone_takes_nothing_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    path, away = tmp_path / "log.db", tmp_path / "away.db"
    with open_store(f"sqlite:///{path}") as store:
        known = begun(store)
        os.rename(path, away)
        with pytest.raises(StoreError, match="is gone") as error:
            store.append([decide("e1")], known)
        assert error.value.is_transient
        path.touch()
        with pytest.raises(StoreError, match="is another file than at the start"):
            store.append([decide("e1")], known)
        os.rename(away, path)
        assert store.append([decide("e1")], known).positions["news"].seq == 2


def test_a_locked_file_is_a_passing_error(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'log.db'}") as store:
        known = begun(store)
        sa.event.listen(store.database.engine, "checkout", lambda c, *rest: c.execute("PRAGMA busy_timeout=50"))
        other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked") as error:
            store.append([decide("e1")], known)
        assert error.value.is_transient
        other.close()
        assert store.append([decide("e1")], known).positions["news"].seq == 2


def test_postgres_that_goes_away_and_comes_back(postgres_server: Postgres) -> None:
    with open_store(postgres_server.url) as store:
        known = begun(store)
        postgres_server.stop("immediate")
        try:
            with pytest.raises(StoreError) as error:
                store.append([decide("e1")], known)
            assert error.value.is_transient
            with pytest.raises(StoreError):
                store.read("news")
        finally:
            postgres_server.start()
        assert store.append([decide("e1")], known).positions["news"].seq == 2


def test_connections_that_were_cut_while_idle_are_not_noticed(postgres_server: Postgres) -> None:
    with open_store(postgres_server.url) as store, open_store(postgres_server.url) as other:
        known = begun(store)
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'onward' AND pid <> "
        other.database.run(lambda connection: connection.execute(sa.text(cut + "pg_backend_pid()")))
        assert store.append([decide("e1")], known).positions["news"].seq == 2


def test_settling_waits_for_a_commit_that_is_on_its_way(postgres_server: Postgres) -> None:
    """The connection may be lost before the database has done its commit: to look at once would find nothing there."""
    with open_store(postgres_server.url) as store, open_store(postgres_server.url) as other:
        known = begun(store)
        with other.database.engine.connect() as connection:
            appended = append_entries(connection, [decide("e1")], known, [None], False)
            on_its_way = threading.Timer(0.3, connection.commit)
            on_its_way.start()
            assert store.database.run(lambda another: is_written(another, appended), write=True)
            on_its_way.join()
