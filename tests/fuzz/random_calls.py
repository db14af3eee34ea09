"""Call public methods in random order with good, extreme and wrong arguments, and look at what comes of it.

    python -m tests.fuzz.random_calls --minutes 20
    python -m tests.fuzz.random_calls --cases 500 --seed 7

Sequence i of a run is the same on every machine. A finding is a crash, more than 2 s of work, more than 1 GB, an
exception of a kind that is not documented, one whose message is long or of another library, a result that is NaN, or
another state after an error than before it.
"""

import dataclasses
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onward import storage
from onward.confidence.anytime import Contrast
from tests.fuzz import children
from tests.fuzz.arguments import Arguments
from tests.fuzz.callables import SUBJECTS, Call, Subject
from tests.fuzz.children import Case, Harness, finding, leaks_are_errors
from tests.fuzz.using import FOREIGN

CALLS = 30  # of a sequence
REAL = 2 * len(SUBJECTS)  # sequences of good arguments alone
LONGEST = 2000  # characters of a message
DOCUMENTED = (ValueError, TypeError, KeyError, AttributeError)
SECONDS = 5.0  # for a whole sequence


class Silent(Exception):  # noqa: N818
    """A result that is not a number."""


def _numbers_in(value: Any) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
    """The floats in a result."""
    if isinstance(value, float | np.floating | np.ndarray) and np.asarray(value).dtype.kind == "f":
        yield np.asarray(value)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _numbers_in(each)
    elif isinstance(value, dict):
        yield from _numbers_in(list(value.values()))
    elif isinstance(value, Contrast):  # of what data do not determine, an interval is open on both sides
        yield np.array([value.lower, value.upper])
        if not np.isinf([value.lower, value.upper]).all():
            yield from _numbers_in([getattr(value, each.name) for each in dataclasses.fields(value)])
    elif hasattr(value, "columns") and hasattr(value, "to_dict"):  # a data frame
        for name in value.columns:
            column = np.asarray(value[name])
            if column.dtype.kind == "f":
                yield column


def _state(thing: Any) -> bytes | None:
    """All there is to know of it; None as long as there is nothing to save."""
    try:
        return bytes(thing.to_bytes())
    except (ValueError, AttributeError):
        return None


def _do(thing: Any, call: Call, arguments: Arguments) -> str | None:
    """Make one call: what is wrong with how it ended, or None."""
    given = call.given(arguments)
    before = _state(thing)
    try:
        result = call.method(thing, *given)
        for numbers in _numbers_in(result):
            if np.isnan(numbers).any() and not call.may_be_nan:
                raise Silent(f"{call.name} gave {str(result)[:100]}")
    except DOCUMENTED as error:
        words = str(error)
        if len(words) > LONGEST or FOREIGN.search(words) or type(error).__module__.split(".")[0] not in _HOMES:
            return finding(call.name, error)
        if call.reads_or_refuses and before != _state(thing):
            return f"finding: {call.name}: another state after {type(error).__name__}: {words[:200]}"
        return None
    except BaseException as error:
        return finding(call.name, error)
    return None


_HOMES = ("builtins", "onward", "sklearn")


def outcome_of(name: str, subject: Subject, seed: int, tame: bool) -> str:
    """What becomes of a sequence: "done", or "finding: …"."""
    arguments = Arguments(seed)
    if tame:
        arguments.wild, arguments.extreme, arguments.typed = 0.0, False, False
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        leaks_are_errors()
        try:
            thing = subject.make(arguments, Path(folder))
        except DOCUMENTED as error:
            return f"refused: {error}" if len(str(error)) <= LONGEST else finding("make", error)
        except BaseException as error:
            return finding("make", error)
        for number in range(CALLS):
            call = arguments.rng.choice(subject.calls)
            wrong = _do(thing, call, arguments)
            if wrong is not None:
                return f"{wrong} (call {number})"
        return _saved_again(thing) if subject.saves else "done"


def _saved_again(thing: Any) -> str:
    """What was called so often can be saved, and loaded again to the same bytes."""
    data = _state(thing)
    if data is None:
        return "done"
    try:
        again = storage.from_bytes(data).to_bytes()
    except BaseException as error:
        return finding("load again", error)
    return "done" if again == data else "finding: loaded again it is something else"


def case(seed: int) -> Case:
    """The sequence of that number. Those below 0 have good arguments only."""
    names = sorted(SUBJECTS)
    name = names[seed % len(names)]
    return Case(name, lambda: outcome_of(name, SUBJECTS[name], seed, tame=seed < 0), SECONDS)


def begin() -> None:
    """Compile what frames need, and start its threads."""
    for seed in range(40):
        case(seed).outcome()


def harness() -> Harness:
    """The harness, with everything compiled that good arguments use."""
    for seed in range(-2 * len(SUBJECTS), 0):
        case(seed).outcome()
    return Harness("calls", "tests.fuzz.random_calls", case, begin, real=REAL, steps=CALLS, life=1000)


if __name__ == "__main__":
    sys.exit(children.main(harness()))
