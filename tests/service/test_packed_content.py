"""What an entry says as the store holds it: all of it comes back."""

import struct
from typing import Any

import msgspec
import pytest

from onward.service.configuration import LoopConfig
from onward.service.entries import Action, Activate, Begin, Content, Decide, Forget, Install, Reward, to_json
from onward.service.loop import Loop
from onward.service.packed_content import pack, unpack
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


def test_numbers_of_the_same_names_take_eight_bytes_each() -> None:
    actions = [Action(f"a{i}", {f"x{j}": 1 / (i + j + 1) for j in range(20)}) for i in range(10)]
    body = pack(decided(actions))
    assert struct.pack("<200d", *(value for each in actions for value in each.features.values())) in body
    assert len(body) < 0.5 * len(to_json(decided(actions)))


def test_a_whole_number_that_only_json_holds() -> None:
    content = msgspec.structs.replace(CONTENTS["words"], context={"big": 2**70})
    packed = pack(content)  # type: ignore[arg-type]
    assert packed.startswith(b"{")
    assert unpack(packed) == content
