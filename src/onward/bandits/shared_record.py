"""What the arms of `Disjoint` share: the estimate of σ, from the rewards of all of them, and the tuning of scales.

An arm that has met few rewards, all alike, would take them for free of noise and never be played again; and one scale
is for all arms. Their buffers hold widths for σ = 1 then, and a factor makes of them what they are. Compiled.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from onward.bandits.memories import learn_any
from onward.bandits.settings import DONE, N_LOG, N_SETTINGS, Head, view_head
from onward.bandits.tuning import (
    N_TUNING,
    TUNING,
    WAITING,
    credit,
    mark_of,
    multiple,
    note_choice,
    shares,
    take_scale,
    view_tuning,
)
from onward.core.compile import compiled, inlined, spliced
from onward.core.factor import square_of
from onward.core.fast_path import close
from onward.core.types import Matrix, Vector

COMPILED_FROM = "49c908db36e886d5"  # other files whose code is compiled into this one: see tools/digests.py

NOTHING_SHARED = np.empty(0)
ARM_MARK = 2.399963229728653  # what tells the choices of arms apart that met one context
_N_ABOUT = len(TUNING.names or ())


def new_record(estimated: bool, scales: int, least: float) -> Vector:
    """A record; an empty one if σ is told and no scale is tuned."""
    if not estimated and not scales:
        return NOTHING_SHARED
    record = np.zeros(N_TUNING)
    about = about_of(record)
    about["pools"], about["scales"], about["least"] = float(estimated), scales, least
    return record


def about_of(record: Vector) -> Any:
    """Its named numbers."""
    return record[:_N_ABOUT].view(TUNING)


@compiled
def factor_in(head: Head, record: Vector, level: float, draws: Vector) -> float:
    """What a choice with these draws takes widths times, at this level of the noise; 1 where nothing is shared."""
    if record.shape[0] == 0 or view_tuning(record).about[0].scales == 0.0:
        return level
    tuning = view_tuning(record)
    taken = shares(tuning, int(tuning.about[0].scales))
    least: float = tuning.about[0].least
    return level * least * multiple(take_scale(head, taken, draws)[0])


@compiled
def mark_choice(record: Vector, serial: float) -> None:
    """Let the last choice be known as one of the arm with this number."""
    tuning = view_tuning(record)
    tuning.choices[(int(tuning.about[0].next) - 1) % WAITING, 1] += ARM_MARK * serial


@compiled
def note_arm(record: Vector, each: Vector, x: Vector, serial: float) -> None:
    """Note the choice of an arm for a context, given its chance at each scale, the floor included."""
    tuning = view_tuning(record)
    taken = shares(tuning, int(tuning.about[0].scales))
    note_choice(tuning, taken, each, 0.0, 0.0, square_of(x), mark_of(x) + ARM_MARK * serial)


@compiled
def credit_arm(record: Vector, x: Vector, reward: float, serial: float) -> None:
    """Let scales gain from an arm's reward whose context is learned as another one, because of its weight."""
    credit(view_tuning(record), square_of(x), mark_of(x) + ARM_MARK * serial, reward)


@compiled
def scales_in(record: Vector, level: float) -> Matrix:
    """How often each scale is taken, and what widths are taken times then: two rows; of one scale if none are tuned."""
    tuning = view_tuning(record)
    n = int(tuning.about[0].scales) if record.shape[0] > 0 else 0
    if n == 0:
        return np.array([[1.0], [level]])
    taken = shares(tuning, n)
    out = np.empty((2, n))
    for j in range(n):
        out[0, j], out[1, j] = taken[j], level * tuning.about[0].least * multiple(j)
    return out


@inlined
def stretched(estimate: float, index: float, factor: float) -> float:
    """The index, if what it adds to the estimate is taken so many times."""
    return index if factor == 1.0 else estimate + factor * (index - estimate)


@spliced
def _learn_arm(kind: int, buffer: Vector, record: Vector, x: Vector, y: float, serial: float) -> int:
    """Learn an arm's reward; what is shared learns of it, too."""
    if record.shape[0] == 0 or x.shape[0] != view_head(buffer).lam.shape[0]:
        return learn_any(kind, buffer, x, y)
    status = learn_any(kind, buffer, x, y)
    if status == DONE and view_tuning(record).about[0].scales > 0.0:
        credit(view_tuning(record), square_of(x), mark_of(x) + ARM_MARK * serial, y)
    return status


@cache
def learn_arm_loop(kind: int) -> Callable[[Vector, Vector, Any, Any, Any], int]:
    """(buffer, record, x, y, serial) → status, of one kind of memory, closed."""

    @compiled
    def learn_arm_as(buffer: Vector, record: Vector, x: Vector, y: float, serial: float) -> int:
        return _learn_arm(kind, buffer, record, x, y, serial)

    close(learn_arm_as, np.zeros(N_SETTINGS + N_LOG), NOTHING_SHARED, np.zeros(1), 0.0, 0.0)
    return learn_arm_as
