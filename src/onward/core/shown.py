"""Values and names as they are shown in messages and on terminals: of bounded length, and nothing in them is obeyed."""

import re
import reprlib
from unicodedata import category

LONGEST = 80
"""Characters that a value takes in a message."""

_LARGE = 10**60  # longer numbers are told by their length
_KINDS = {"O": "objects", "U": "text", "S": "bytes", "M": "dates", "m": "durations", "c": "complex numbers"}
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str, keep: str = "") -> str:
    """The text, with characters that a terminal obeys, or that cannot be seen, as escapes such as \\x1b.

    `keep` has characters that stay, such as a line break.
    """
    if text.isprintable():
        return text
    return "".join(each if each in keep or _is_seen(each) else _escape(each) for each in text)


def printable_lines(text: str) -> str:
    """`printable` for a text of several lines, which stay lines."""
    return printable(text, "\n")


def printable_json(text: str) -> str:
    """JSON with what a terminal would obey as JSON escapes, outside of the one line that it is: it means the same."""
    return text if text.isprintable() else re.sub(r"[^ -~]", _json_escape, text)


def brief(value: object, most: int = LONGEST) -> str:
    """A value as an expression, in one line of at most so many characters; of what has none, its type."""
    if isinstance(value, int) and abs(value) >= _LARGE:
        return f"a whole number of {value.bit_length():,} bits"
    if isinstance(value, bytes | bytearray):
        value = bytes(value[:most])
    if isinstance(shape := getattr(value, "shape", None), tuple) and (shape or hasattr(value, "__array__")):
        return shortened(_described(value, shape), most)
    try:
        words = _repr.repr(value)
    except Exception:
        words = f"a {type(value).__name__}"
    return shortened(" ".join(words.split()), most)


def shortened(words: str, most: int = LONGEST) -> str:
    """Words in at most so many characters, with the middle left out; all of them printable."""
    shown = printable(words[:most] if len(words) > 4 * most else words)
    if len(words) <= most and len(shown) <= most:
        return shown
    tail = printable(words[-most // 4 :])[-most // 4 :]
    return f"{printable(words[:most])[: most - len(tail) - 3]} … {tail}"


def several(names: object, most: int = LONGEST) -> str:
    """Names in brackets, as many as fit into so many characters, and how many more there are."""
    every = list(names)  # type: ignore[call-overload]
    told: list[str] = []
    for name in every:
        words = brief(name, most // 2)
        if told and sum(map(len, told)) + 2 * len(told) + len(words) > most:
            break
        told.append(words)
    more = len(every) - len(told)
    return f"[{', '.join(told)}{f' and {more:,} more' if more else ''}]"


def came(value: object) -> str:
    """What came, in words: an array or a table by type and shape, anything else as it is written, with its type."""
    shape = getattr(value, "shape", None)
    if isinstance(value, str | bytes | int | float | complex | bool | None) or (isinstance(shape, tuple) and shape):
        return brief(value)
    return f"{brief(type(value).__name__)[1:-1]} {brief(value)}"


def _described(value: object, shape: tuple[object, ...]) -> str:
    """An array or a table: its type, its shape, and what it holds if that is no numbers."""
    kind, dtype = type(value).__name__, getattr(value, "dtype", None)
    if not shape:
        return f"{value}" if getattr(dtype, "kind", "O") in "fiubmMc" else kind
    held = "" if dtype is None or getattr(dtype, "kind", "f") in "fiub" else f" of {_type_of(dtype)}"
    return f"{kind} of shape {shape}{held}"


def _type_of(dtype: object) -> str:
    return _KINDS.get(getattr(dtype, "kind", ""), str(dtype))


def _is_seen(character: str) -> bool:
    return character.isprintable() or category(character) == "Zs"


def _escape(character: str) -> str:
    return _ESCAPED.get(character) or character.encode("unicode_escape", "backslashreplace").decode("ascii")


def _json_escape(found: "re.Match[str]") -> str:
    character = found.group()
    if _is_seen(character):
        return character
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


class _Repr(reprlib.Repr):
    """Expressions in which arrays and tables are told as they are by themselves, wherever they stand."""

    def repr1(self, x: object, level: int) -> str:
        """One value inside another."""
        shape = getattr(x, "shape", None)
        return _described(x, shape) if isinstance(shape, tuple) and shape else super().repr1(x, level)


_repr = _Repr()
_repr.maxstring = _repr.maxother = 4 * LONGEST
