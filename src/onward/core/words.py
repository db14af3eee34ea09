"""Counts and reasons in words, for messages and summaries."""

from collections.abc import Iterator, Mapping


def counted(number: int, what: str) -> str:
    """So many of something: 1 row, 2 rows."""
    return f"{number:,} {what}" + ("s" if number != 1 else "")


def left_out(skipped: Mapping[str, int], filled: Mapping[str, int]) -> Iterator[str]:
    """What was skipped, or counted as zero, and why."""
    if any(skipped.values()):
        reasons = ", ".join(f"{count:,} where {reason}" for reason, count in skipped.items() if count)
        yield f"Skipped {counted(sum(skipped.values()), 'row')}: {reasons}."
    if any(filled.values()):
        columns = ", ".join(f"{count:,} in {column}" for column, count in filled.items() if count)
        yield f"Counted {counted(sum(filled.values()), 'missing value')} as zero: {columns}."
