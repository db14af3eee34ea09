"""What a person is told of a column that holds text where numbers were expected."""

import re
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from onward.core.shown import brief
from onward.tables.kinds import guess, read_texts
from onward.tables.notation import Notation
from onward.tables.readers import MOST_SHOWN

Texts = Callable[[Sequence[str]], Mapping[str, pl.Series]]
"""Gives the texts that the first rows have in each of the columns, as far as they can be read."""

_SIGNS = r"[%€$£¥₹]|[A-Z]{3}"
_DIGITS = r"\d[\d.,' \u00a0\u202f]*"
_NUMBER = re.compile(rf"[+-]?{_DIGITS}")
_SIGNED = re.compile(rf"[+-]?(?:{_SIGNS})\s*[+-]?{_DIGITS}|[+-]?{_DIGITS}(?:{_SIGNS})")
_DATE = re.compile(r"\d{1,4}([./-])(?:\d{1,2}|[A-Za-z]{3,9})\1\d{1,4}(?:[ T,].*)?")

_AS_DATES = "; --date-format says how dates are written"


def describe_texts(columns: Sequence[str], notation: Notation, texts: Texts) -> tuple[str, str]:
    """An example of what the columns hold, to be put after "text", and what may help; each empty if there is none.

    Of several columns, the first is taken for which there is help; of very many, only the first are looked at.
    """
    found = []
    for column, values in (texts(columns[:MOST_SHOWN]) if columns else {}).items():
        wrong = read_texts(values, "number", notation)[1]
        if wrong is not None:
            text = str(values[wrong])
            found.append((column, text, _advice(column, values, text.strip(), notation)))
    if not found:
        return "", ""
    column, text, advice = next((each for each in found if each[2]), found[0])
    return f" such as {brief(text)}" + (f" in {brief(column)}" if len(columns) > 1 else ""), advice


def _advice(column: str, values: pl.Series, text: str, notation: Notation) -> str:
    kind = guess(values, notation)
    if kind != "text":  # such as dates that are texts in a data frame: no file would have them so
        return f"; to read {brief(column)} as a {kind}, say so in the schema (--schema {column}={kind})"
    return _way_to_read(text)


def advice_on(value: str, kind: str) -> str:
    """What may help where a column of numbers, or of times, has this text; empty if nothing is known to."""
    if kind == "time" and _DATE.fullmatch(value.strip()):
        return _AS_DATES
    if kind != "number":
        return ""
    if not any(letter.isdigit() for letter in value):
        return "; --na names texts that stand for missing values"
    return _way_to_read(value.strip())


def _way_to_read(text: str) -> str:
    if _DATE.fullmatch(text):
        return _AS_DATES
    if _NUMBER.fullmatch(text):
        return "; --decimal and --thousands say how numbers are written"
    if _SIGNED.fullmatch(text):
        return "; a number is read where no sign of a currency and no percent sign stands beside it"
    return ""
