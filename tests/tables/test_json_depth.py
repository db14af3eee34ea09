"""Lines of JSON that are nested too deeply are told before polars sees them: before 2.1 it would end the process."""

from pathlib import Path

import pytest

from onward.bandits import LoggedData
from onward.bandits.named_worlds import labelled_file
from onward.tables.json_depth import DEEPEST, is_deep


def _nested(levels: int, opening: str = "[", closing: str = "]") -> bytes:
    return ('{"a": ' + opening * (levels - 1) + closing * (levels - 1) + "}\n").encode()


def test_levels_are_counted_within_a_line() -> None:
    plain = b'{"a": 1}\n'
    assert is_deep(plain + _nested(DEEPEST + 1) + plain)
    assert is_deep(b"\n" * 2 * DEEPEST + _nested(DEEPEST + 1))
    assert not is_deep(plain + _nested(DEEPEST) + plain)
    assert not is_deep(b'{"a": [' + b"[1], " * 2 * DEEPEST + b"[1]]}\n")  # wide, as actions are in logs
    assert not is_deep(plain * 2 * DEEPEST)


def test_brackets_in_texts_count_for_nothing() -> None:
    assert not is_deep(b'{"a": "' + b"[" * 2 * DEEPEST + b'"}\n')
    assert is_deep(_nested(DEEPEST + 1, '["]", "\\"]",'))  # texts that close would hide what opens


@pytest.mark.parametrize("read", [LoggedData.read, lambda path: labelled_file(path, "a")])
def test_logs_and_labelled_files_that_are_too_deep_are_refused(read: object, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_bytes(b'{"a": 1}\n' + _nested(100_000))
    with pytest.raises(ValueError, match=r"deep\.jsonl, line 2: nested too deeply, expected at most 500 levels"):
        read(path)  # type: ignore[operator]
