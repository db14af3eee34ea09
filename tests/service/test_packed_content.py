"""What an entry says as the store holds it: all of it comes back, and what version 1 of the tables wrote is read."""

import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from onward.service import store_schema
from onward.service.configuration import LoopConfig
from onward.service.entries import Action, Activate, Begin, Content, Decide, Entry, Forget, Install, Reward, to_json
from onward.service.folding import fold_all
from onward.service.loop import Loop
from onward.service.packed_content import pack, unpack
from onward.service.rebuilding import rebuild
from onward.service.store import Store, open_store
from onward.service.store_backup import backup, restore
from tests.service.logs import decide


def types_of(value: Any) -> Any:
    """A value with the types of all its parts, as 1, 1.0 and true are equal."""
    if isinstance(value, dict):
        return {name: types_of(each) for name, each in value.items()}
    return [types_of(each) for each in value] if isinstance(value, list) else (type(value), repr(value))


def decided(actions: list[Action], loop: Loop | None = None) -> Decide:
    content = (loop or Loop("news")).propose("e1", {"hour": 0.4}, actions, at=1.0).content
    assert isinstance(content, Decide)
    return content


CONTENTS: dict[str, Content] = {
    "numbers": decided([Action(f"a{i}", {"x": 0.1 * i, "y": -1e-300, "zero": 0.0}) for i in range(5)]),
    "the row of an action": decided(
        [Action(f"a{i}", {"x": 0.1 + i, "y": -0.0}) for i in range(3)],
        Loop("plain", msgspec.convert({"features": {"intercept": False, "interactions": False}}, LoopConfig)),
    ),
    "whole numbers": decided([Action("a", {"x": 1}), Action("b", {"x": 2.0})]),
    "true": decided([Action("a", {"x": True}), Action("b", {"x": False})]),
    "a large whole number": decided([Action("a", {"x": 2**60}), Action("b", {"x": 1.0})]),
    "other names": decided([Action("a", {"x": 1.5}), Action("b", {"y": 1.5})]),
    "another order": decided([Action("a", {"x": 1.5, "y": 2.5}), Action("b", {"y": 1.5, "x": 2.5})]),
    "one has none": decided([Action("a", {"x": 1.5}), Action("b")]),
    "no features": decided([Action("a"), Action("b")]),
    "words": decide("e1").content,
    "reward": Reward(0.1 + 0.2, "r1"),
    "activate": Activate(),
    "forget": Forget(["e1", "e2"]),
    "install": Install("shadow", {"name": "LinUCB"}, bytes(range(256)), "here"),
    "begin": Begin(LoopConfig()),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_content_comes_back_as_it_was(name: str) -> None:
    content = CONTENTS[name]
    again = unpack(pack(content))  # type: ignore[arg-type]
    assert again == content
    assert types_of(msgspec.to_builtins(again)) == types_of(msgspec.to_builtins(content))
    if isinstance(content, Decide) and isinstance(again, Decide):
        assert [list(each.features) for each in again.actions] == [list(each.features) for each in content.actions]


@pytest.mark.parametrize("name", CONTENTS)
def test_json_of_earlier_versions_is_read(name: str) -> None:
    text = to_json(CONTENTS[name])
    assert unpack(text) == unpack(text.decode()) == CONTENTS[name]


def test_numbers_of_the_same_names_take_eight_bytes_each() -> None:
    actions = [Action(f"a{i}", {f"x{j}": 1 / (i + j + 1) for j in range(20)}) for i in range(10)]
    body = pack(decided(actions))
    assert struct.pack("<200d", *(value for each in actions for value in each.features.values())) in body
    assert len(body) < 0.5 * len(to_json(decided(actions)))


def test_a_whole_number_that_only_json_holds() -> None:
    content = msgspec.structs.replace(CONTENTS["words"], context={"big": 2**70})
    assert pack(content).startswith(b"{")  # type: ignore[arg-type]


def make_version_1(store: Store) -> None:
    """The database as version 1 of the tables had it: JSON as text, and no counters."""
    postgres = store.is_shared

    def work(connection: sa.Connection) -> None:
        rows = connection.execute(sa.select(store_schema.entries)).all()
        connection.execute(sa.text("DELETE FROM entries"))
        if postgres:
            connection.execute(sa.text("ALTER TABLE entries ALTER body TYPE text USING ''"))
        else:
            [(ddl,)] = connection.execute(sa.text("SELECT sql FROM sqlite_master WHERE name = 'entries'")).all()
            of_table = "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'entries' AND sql IS NOT NULL"
            indexes = connection.execute(sa.text(of_table)).all()
            made = [ddl.replace("body BLOB", "body TEXT"), *(text for (text,) in indexes)]
            assert made[0] != ddl
            connection.execute(sa.text("DROP TABLE entries"))
            for statement in made:
                connection.execute(sa.text(statement))
        insert = "INSERT INTO entries VALUES (:loop, :seq, :at, :kind, :event_id, :subject, :body)"
        texts = [dict(row._mapping) | {"body": to_json(unpack(row.body)).decode()} for row in rows]
        connection.execute(sa.text(insert), texts)
        store_schema.counters.drop(connection)
        connection.execute(store_schema.meta.update().values(value="1"))

    store.database.run(work, write=True)


def played(store: Store) -> Loop:
    """A loop that has decided and learned, as it is in memory."""
    entries = [Entry("news", Begin(LoopConfig()), at=0.0, seq=1)]
    loop = fold_all(entries)
    assert isinstance(loop, Loop)
    for i in range(12):
        actions = [Action(f"a{j}", {"x": 0.1 * i * j, "y": 1.0 / (1 + j)}) for j in range(4)]
        for entry in (
            loop.propose(f"e{i}", {"hour": 0.3}, actions, at=float(i)),
            loop.propose_reward(f"e{i}", 0.1 * i, at=float(i)),
        ):
            loop.fold(entry)
            entries.append(msgspec.structs.replace(entry, seq=loop.seq))
    store.append(entries, {})
    return loop


def test_a_database_of_version_1_is_read_and_written_on(url: str, tmp_path: Path) -> None:
    with open_store(url) as store:
        loop = played(store)
        make_version_1(store)
    with open_store(url) as store:
        assert store.database.run(store_schema.schema_version) == store_schema.current_version()
        assert rebuild(store, "news").digest() == loop.digest()
        assert store.events("news", ["e3"])["e3"][0].event_id == "e3"
        entry = loop.propose("more", {}, [Action("a0", {"x": 1.5, "y": 0.5})], at=20.0)
        loop.fold(entry)
        stored = store.loop("news")
        assert stored is not None
        store.append([entry], {})
        assert rebuild(store, "news").digest() == loop.digest()
        backup(store, tmp_path / "copy.db")
    with open_store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        restore(other, tmp_path / "copy.db")
        assert rebuild(other, "news").digest() == loop.digest()


def test_a_backup_of_version_1_goes_into_postgresql(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with open_store(f"sqlite:///{tmp_path / 'log.db'}") as store:
        loop = played(store)
        make_version_1(store)
    with open_store(request.getfixturevalue("postgres_server").url) as other:
        restore(other, tmp_path / "log.db")
        assert rebuild(other, "news").digest() == loop.digest()
