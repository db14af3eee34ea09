"""Names, times and numbers that paths, queries and bodies hold, as values; 422 for what does not fit."""

import datetime
import math
import re
from collections.abc import Sequence

from onward.service.application import Call
from onward.service.closed_values import expected_one_of
from onward.service.http_errors import unfit
from onward.service.request_types import Moment

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_name = re.compile(NAME_PATTERN).fullmatch


def name_in_path(call: Call, parameter: str = "loop") -> str:
    """The loop or model that the path names."""
    name = call.parameters[parameter]
    check_name(name, parameter)
    call.loop = name
    return name


def check_name(name: str, field: str) -> None:
    """A name that can stand in a path, a file's name and a log."""
    if _name(name) is None:
        raise unfit(
            "expected a name of 1 to 64 letters, digits, _, - and ., beginning with a letter or digit; "
            f"got {name[:80]!r}",
            field,
        )


def moment(value: Moment | None, field: str) -> float | None:
    """A time in seconds since 1970, of ISO 8601 (UTC unless it says otherwise) or a number."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            read = datetime.datetime.fromisoformat(str(value))
            seconds = (read if read.tzinfo else read.replace(tzinfo=datetime.UTC)).timestamp()
        except (ValueError, OverflowError):
            seconds = math.nan
    if not math.isfinite(seconds):
        said = str(value)[:40]
        raise unfit(f"expected a time such as 2026-01-31T12:00:00Z, or seconds since 1970; got {said!r}", field)
    return seconds


def one_of(text: str, allowed: Sequence[str], field: str) -> str:
    """One of a closed set of values."""
    if text not in allowed:
        raise unfit(expected_one_of(text, allowed), field)
    return text


def whole_number(text: str, low: int, high: int, field: str) -> int:
    """A whole number of a range."""
    digits = text.removesuffix(".0")  # which is as whole, and what some clients write
    if not (digits.isascii() and digits.isdigit() and len(digits) < 12 and low <= int(digits) <= high):
        raise unfit(f"expected a whole number from {low} to {high}, got {text[:40]!r}", field)
    return int(digits)
