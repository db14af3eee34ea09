"""How values are written as text, where there is more than one custom."""

import codecs
import warnings
from dataclasses import dataclass
from datetime import datetime

from onward.core.shown import brief


@dataclass(frozen=True)
class Notation:
    """What stands for a missing value beside the usual texts, the marks inside numbers, and the form of dates.

    Args:
        na: texts that stand for a missing value.
        decimal: the mark before a number's decimals.
        thousands: the mark between a number's thousands; None for none.
        date_format: as strptime takes it; None for ISO 8601.

    Raises:
        ValueError: if a mark or a format cannot be one.
    """

    na: tuple[str, ...] = ()
    decimal: str = "."
    thousands: str | None = None
    date_format: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal must be . or , got {brief(self.decimal)}")
        if self.thousands is not None:
            mark = self.thousands
            if not isinstance(mark, str) or len(mark) != 1 or mark in '0123456789+-eE"\n':
                raise ValueError(
                    f"thousands must be one character that is no part of a number, got {brief(self.thousands)}"
                )
            if self.thousands == self.decimal:
                raise ValueError(f"thousands and decimal must differ, got {brief(self.decimal)} for both")
        if self.date_format is not None:
            _check_date_format(self.date_format)

    @property
    def is_local(self) -> bool:
        """Whether numbers are not written as programs write them."""
        return self.decimal != "." or self.thousands is not None


def _check_date_format(format: object) -> None:
    day = datetime(2026, 12, 31, 23, 59, 58)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a day without a year: it is refused here anyway
            if not isinstance(format, str) or datetime.strptime(day.strftime(format), format).year != day.year:
                raise ValueError
    except ValueError as error:
        raise ValueError(
            f"date_format must be a format of strptime with a year, such as %d.%m.%Y, got {brief(format)}"
        ) from error


def check_encoding(encoding: object) -> str | None:
    """The encoding's usual name; None for UTF-8, which needs no decoding; ValueError if it is none of a text."""
    if encoding is None:
        return None
    try:
        found = codecs.lookup(encoding) if isinstance(encoding, str) else None
        if found is None or not isinstance("".encode(encoding), bytes):  # type: ignore[arg-type]
            raise LookupError
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"encoding must be one such as utf-8, latin-1, cp1252 or utf-16, got {brief(encoding)}"
        ) from error
    return None if found.name == "utf-8" else found.name
