"""Where records end is told as Python's csv module tells it, whatever quotes there are."""

import csv
import io

from hypothesis import example, given
from hypothesis import strategies as st

from onward.tables.quotes import first_record, is_tidy, outside, whole_records

TEXT = st.text(alphabet='a",\n', max_size=30)
FIELDS = st.lists(st.lists(st.text(alphabet='a",\n\r ', max_size=5), min_size=2, max_size=3), max_size=6)


def ends(text: str) -> list[int]:
    """The places after which a record ends, by feeding the csv module one line more at a time."""
    found = [0]
    rest, start = "", 0
    for line in io.StringIO(text, newline="\n"):
        rest += line
        if not line.endswith("\n"):
            break
        if _complete(rest):
            start += len(rest)
            found.append(start)
            rest = ""
    return found


def _complete(text: str) -> bool:
    """Whether the text's last line's end is outside of quotes, after the rule of the csv module."""
    records = list(csv.reader(io.StringIO(text + "END\n", newline="\n")))
    return records[-1] == ["END"]


@given(text=TEXT)
@example(text='5"\n6"\n')
@example(text='"a\n"x\n')
@example(text='a,"""\n"\n')
def test_whole_records(text: str) -> None:
    data = text.encode()
    expected = ends(text)
    assert whole_records(data, b",") == expected[-1]
    assert (first_record(data, 0, ",") or 0) == (expected[1] if len(expected) > 1 else 0)


@given(fields=FIELDS)
def test_what_a_writer_quotes_is_tidy(fields: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(fields)
    data = out.getvalue().encode()
    assert is_tidy(data, b",")
    assert whole_records(data, b",") == len(data)
    assert outside(data, b",") == sum(len(record) - 1 for record in fields)


def test_what_is_not_tidy() -> None:
    for text in (b'5" pipe\n6" pipe\n', b'"a"b,c\n', b'a,b"\n', b'"a', b'a, "b"\n', b'a,"b" \n'):
        assert not is_tidy(text, b",")
    for text in (b'"",""\n', b'"a""",b\r\n', b'"a"\r\n', b'""""', b""):
        assert is_tidy(text, b",")
    assert is_tidy(b'"a";b\n', b";")
    assert not is_tidy(b'"a";b\n', b",")
