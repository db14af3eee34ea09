"""How deeply lines of JSON are nested: polars before 2.1 overflows the stack at many levels, and the process ends."""

import re
from itertools import accumulate
from pathlib import Path

import numpy as np

DEEPEST = 500  # levels of lists and objects that polars is given
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', flags=re.S)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def _is_deep_line(line: bytes) -> bool:
    if line.count(b"[") + line.count(b"{") <= DEEPEST:
        return False
    brackets = re.sub(rb"[^][{}]", b"", _STRING.sub(b"", line))  # those of texts are letters
    return max(accumulate(_STEPS[each] for each in brackets), default=0) > DEEPEST


def is_deep(data: bytes) -> bool:
    """Whether a line is nested more deeply than polars is given."""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    starts, ends = np.append(0, ends + 1), np.append(ends, len(data))
    long = np.flatnonzero(ends - starts > DEEPEST)  # few tables have any: others cost no more than this
    return any(_is_deep_line(data[starts[row] : ends[row]]) for row in long)


def check_depth(path: Path) -> None:
    """An error that names the first line of a file that is nested too deeply."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if _is_deep_line(line):
                raise ValueError(f"{path}, line {number}: nested too deeply, expected at most {DEEPEST} levels")
