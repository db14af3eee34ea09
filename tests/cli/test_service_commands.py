"""`onward service`, from a log that a service has left."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from onward.service.entries import Reward
from onward.service.packed_content import pack
from onward.service.store import open_store
from tests.cli.conftest import Run


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with a loop of 41 entries, and a decision about Ann that waits."""
    from onward.service.request_types import DecideRequest
    from onward.service.service_engine import Service
    from tests.service.test_service_engine import ACTIONS, CONFIG, play

    url = f"sqlite:///{tmp_path / 'log.db'}"

    async def work() -> None:
        service = await Service.start(open_store(url), snapshot_every=16)
        await service.make("news", CONFIG)
        await play(service, range(15))
        await service.decide("news", [DecideRequest(ACTIONS, f"ann{i}", subject="Ann-Secret") for i in range(10)])
        await service.stop()

    asyncio.run(work())
    return url


def test_replay_says_whether_the_bits_are_the_same(run: Run, url: str, tmp_path: Path) -> None:
    code, out, _ = run("service", "replay", "--database", url)
    assert (code, out.startswith("news: 41 entries, the same bits at 3 places, digest ")) == (0, True)
    with sqlite3.connect(tmp_path / "log.db") as connection:  # one reward is another one
        update = (
            "UPDATE entries SET body = ? WHERE seq = (SELECT max(seq) FROM entries WHERE kind = 'reward' AND seq < 30)"
        )
        connection.execute(update, (pack(Reward(0.5)),))
    connection.close()
    code, out, _ = run("service", "replay", "news", "--database", url, "--json")
    assert code == 1
    assert [each["is_same"] for each in json.loads(out)["news"]][1:] != [True, True]


def test_backup_and_restore(run: Run, url: str, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy.db", f"sqlite:///{tmp_path / 'other.db'}"
    assert run("service", "backup", copy, "--database", url)[0] == 0
    assert run("service", "restore", copy, "--database", other)[1] == "Restored 1 loop with 41 entries\n"
    assert run("service", "replay", "--database", other)[0] == 0
    code, _, err = run("service", "restore", copy, "--database", other)
    assert (code, "has loops already: expected an empty one" in err) == (1, True)


def test_pruning_needs_no_snapshot_of_a_server(run: Run, url: str) -> None:
    with open_store(url) as store:
        store.database.run(lambda connection: connection.execute(sa.text("DELETE FROM snapshots")), write=True)
    assert "no snapshot to compare with" in run("service", "replay", "--database", url)[1]
    out = run("service", "prune", "--older-than", "0s", "--database", url)[1]
    assert out == "news: 40 entries and 0 snapshots removed; it is folded from the snapshot at entry 41\n"
    assert run("service", "replay", "--database", url)[0] == 0


def test_pruning_and_deleting_leave_what_can_be_folded(run: Run, url: str, tmp_path: Path) -> None:
    code, out, _ = run("service", "delete-subject", "Ann-Secret", "--database", url)
    assert (code, out) == (0, "news: 10 entries removed\n")
    for path in tmp_path.glob("log.db*"):
        assert b"Ann-Secret" not in path.read_bytes()
    assert run("service", "replay", "--database", url)[0] == 0
    with open_store(url) as store:
        from onward.service.rebuilding import rebuild

        assert rebuild(store, "news").state()["pending"] == 0
        assert [each.is_base for each in store.snapshots("news")] == [True]
    assert (
        "removed; it is folded from the snapshot at entry 42"
        in run("service", "prune", "--older-than", "0s", "--database", url)[1]
    )
    assert run("service", "replay", "--database", url)[1].startswith("news: 42 entries, the same bits")
    code, _, err = run("service", "prune", "--older-than", "soon", "--database", url)
    assert (code, "--older-than must be" in err) == (2, True)


def test_tokens(run: Run, url: str) -> None:
    token = run("service", "tokens", "add", "shop", "--role", "decide", "--database", url)[1].strip()
    out = run("service", "tokens", "list", "--database", url)[1]
    assert out.startswith("shop  decide  ")
    assert token not in out
    assert run("service", "tokens", "remove", "shop", "--database", url)[0] == 0
    assert run("service", "tokens", "list", "--database", url)[1] == ""


def test_a_database_that_is_not_there_is_not_made(run: Run, tmp_path: Path) -> None:
    code, _, err = run("service", "replay", "--database", f"sqlite:///{tmp_path / 'none.db'}")
    assert (code, "there is no such database" in err) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_a_served_file_is_not_changed(run: Run, url: str) -> None:
    with open_store(url) as store:
        store.claim()
        code, _, err = run("service", "delete-subject", "Ann-Secret", "--database", url)
        assert (code, "is served already" in err) == (1, True)


def test_commands_go_on_with_the_other_loops(run: Run, tmp_path: Path) -> None:
    from tests.service.test_policy_change import spoilt

    url = f"sqlite:///{tmp_path / 'log.db'}"
    spoilt(url)
    code, out, err = run("service", "replay", "--database", url)
    assert (code, [line.split(":")[0] for line in out.splitlines()]) == (1, ["a", "c", "m"])
    assert err.startswith("b: failed: ")
    code, out, err = run("service", "delete-subject", "Ann", "--database", url)
    assert (code, out) == (1, "a: 1 entry removed\nc: 1 entry removed\n")
    assert "events about this subject may still be there" in err
    code, out, err = run("service", "prune", "--older-than", "0s", "--database", url)
    assert (code, [line.split(":")[0] for line in out.splitlines()]) == (1, ["a", "c", "m"])
    assert err.startswith("b: failed: ")
