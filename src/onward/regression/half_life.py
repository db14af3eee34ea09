"""What a learner is told of forgetting, and the times of rows that it goes by."""

import math
import numbers
import sys
from typing import Any

import numpy as np

from onward.core.checks import positive, whole
from onward.core.durations import as_microseconds, duration_text, show_time
from onward.core.ensemble_state import EnsembleState
from onward.core.row_memory import RowMemory
from onward.core.shown import brief
from onward.core.state import Information
from onward.core.types import Vector
from onward.tables.times import Times, as_times, check_order

HalfLife = float | str | Any
"""A number of rows, or of whatever unit the rows' times are in; a duration (30d, a timedelta) if they are dates."""
NO_TIMES: Vector = np.empty(0)
AUTO_BY_ROWS = (
    "auto forgets by rows, over half-lives of its own: expected no times, or a ForwardRegressor or RidgeRegressor with "
    "half_life=…"
)

MOST_ROWS = 2**53  # of a window: counts are floats in the state


def memory_of(half_life: HalfLife | None, window: int | None) -> RowMemory | None:
    """How a state forgets that knows no times yet; ValueError if that cannot be."""
    if half_life is None:
        return None if window is None else RowMemory(window=whole("window", window, most=MOST_ROWS))
    if window is not None:
        raise ValueError(f"expected half_life or window, got both: half_life={half_life!r} and window={window!r}")
    microseconds = as_microseconds(half_life)
    if isinstance(half_life, numbers.Real) and microseconds is None:
        return RowMemory(positive("half_life", half_life))
    if microseconds is None or not 0 < microseconds < np.inf:
        raise ValueError(f"half_life must be a number > 0 or a duration such as '12h' or '30d', got {brief(half_life)}")
    return RowMemory(microseconds, "dates")


def describe_memory(memory: RowMemory) -> str:
    """How a state forgets, in words."""
    if memory.half_life is None:
        return f"the last {memory.window:,} rows"
    if memory.clock == "dates":
        return f"half-life {duration_text(memory.half_life)}"
    return f"half-life {memory.half_life:g}" + (" rows" if memory.clock == "rows" else " in the unit of the times")


def memory_record(memory: RowMemory | None) -> dict[str, Any] | None:
    """How a state forgets, as plain values; None if it does not."""
    if memory is None:
        return None
    if memory.half_life is None:
        return {"window": memory.window}
    length = duration_text(memory.half_life) if memory.clock == "dates" else memory.half_life
    return {"half_life": length, "in": memory.clock}


def times_for(state: Information | EnsembleState, half_life: HalfLife | None, times: Any, n_rows: int) -> Vector:
    """The times of rows that are to be learned, checked; without numbers where the state goes by none.

    The first rows decide whether a half-life that is a number is one of rows or of time. ValueError, with the row, if a
    time is missing, falls, or is of another kind than the state goes by.
    """
    if isinstance(state, EnsembleState):
        return _no_times(times)
    memory = state.memory
    if times is None:
        if memory is not None and memory.clock != "rows":
            expected = "dates" if memory.clock == "dates" else "numbers"
            why = f"half_life={half_life!r} is one of time" if not state.rows else "this model began with times"
            raise ValueError(f"times are missing: {why}; expected {expected}, one for each row (times=…)")
        return NO_TIMES
    checked = times if isinstance(times, Times) else as_times(times, n_rows)
    if memory is None or memory.half_life is None:
        raise ValueError("times are for a half-life: expected half_life=… in the model, or no times")
    _check_clock(memory, half_life, checked.dated, begun=state.rows > 0)
    if memory.clock == "rows":
        RowMemory(memory.half_life, "times").write(state.header)
    check_order(checked, state.time)
    return checked.values


def times_ahead(state: Information | EnsembleState, half_life: HalfLife | None, times: Any, n_rows: int) -> Vector:
    """The times of rows that are to be predicted, checked; without numbers for that of the latest row learned."""
    if times is None or isinstance(state, EnsembleState):
        return _no_times(times)
    checked = times if isinstance(times, Times) else as_times(times, n_rows)
    memory = state.memory
    if memory is None or memory.half_life is None:
        raise ValueError("times are for a half-life: expected half_life=… in the model, or no times")
    _check_clock(memory, half_life, checked.dated, begun=state.rows > 0)
    latest = state.time
    early = np.flatnonzero(checked.values < latest)
    if len(early):
        came, expected = (show_time(t, checked.dated) for t in (float(checked.values[early[0]]), latest))
        raise ValueError(
            f"times must not be before that of the latest row learned, {expected}: row {early[0]} has {came}"
        )
    return checked.values


def _no_times(times: Any) -> Vector:
    if times is not None:
        raise ValueError(AUTO_BY_ROWS)
    return NO_TIMES


def in_a_list(time: Any) -> Any:
    """The time of one row as that of rows; None for none."""
    return time if time is None or isinstance(time, Times) else [time]


def moment_of(state: Information | EnsembleState, time: Any) -> float:
    """The time of one row as the loops for single rows take it, NaN for none; −inf, which they refuse, if it is odd.

    What is odd is looked at closely elsewhere, and explained there.
    """
    if time is None:
        return math.nan
    if isinstance(state, EnsembleState):
        return -math.inf
    memory = state.memory
    if type(time) in (float, int):
        fits = memory is not None and memory.clock == "times" and abs(time) <= sys.float_info.max
        return float(time) if fits else -math.inf
    try:
        (moment,), dated = time if isinstance(time, Times) else as_times([time], 1)
    except ValueError:
        return -math.inf
    return float(moment) if memory is not None and memory.clock == ("dates" if dated else "times") else -math.inf


def _check_clock(memory: RowMemory, half_life: HalfLife | None, dated: bool, *, begun: bool) -> None:
    if memory.clock == "rows" and begun:
        raise ValueError("this model counts its half-life in rows, as it began without times: expected no times")
    if dated and memory.clock != "dates":
        raise ValueError(
            f"times are dates, but half_life is a number, {half_life!r}: expected a duration, such as half_life='30d'"
        )
    if not dated and memory.clock == "dates":
        raise ValueError(f"times are numbers, but half_life is a duration, {half_life!r}: expected dates")
