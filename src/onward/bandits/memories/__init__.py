"""Memories: which rewards count, and how much. Each is a file with its view of the buffer, how it begins and learns.

This is the only place where a memory is a number.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from onward.bandits.indices import checked_square, prior_part
from onward.bandits.memories import detecting, discounted, everything, restarting, window
from onward.bandits.memories.detecting import Detecting
from onward.bandits.memories.discounted import Discounted
from onward.bandits.memories.everything import Everything
from onward.bandits.memories.memory import Memory
from onward.bandits.memories.restarting import Restarting
from onward.bandits.memories.window import Window
from onward.bandits.model import Model, factor_at, view_model
from onward.bandits.settings import (
    DONE,
    FULL,
    N_LOG,
    N_SETTINGS,
    NOT_FINITE,
    SETTINGS,
    UNIFORM_AT_RANDOM,
    WRONG_SHAPE,
    Head,
    memory_at,
    view_head,
)
from onward.bandits.tuning import N_TUNING, credit, mark_of, tuning_in
from onward.core.compile import compiled, inlined, spliced
from onward.core.factor import ALIGNED, ORDINARY, Factor, square_of, view_factor
from onward.core.fast_path import close
from onward.core.types import Matrix, Vector

COMPILED_FROM = "7f44148cf31759a5"  # other files whose code is compiled into this one: see tools/digests.py

KINDS: tuple[type[Memory], ...] = (Everything, Discounted, Window, Restarting, Detecting)
EVERYTHING, DISCOUNTED, WINDOW, RESTARTING, DETECTING = (memory.kind for memory in KINDS)
_KEEPS_FLOOR = tuple(memory.keeps_floor for memory in KINDS)

__all__ = [
    "Detecting",
    "Discounted",
    "Everything",
    "Memory",
    "Restarting",
    "Window",
    "acting_model",
    "begin",
    "is_full",
    "keeps_floor",
    "learn",
    "learn_any",
    "learn_loop",
    "learn_rows",
    "model_in",
    "must_grow",
    "n_models_in",
    "second_in",
]


# What is called with a constant for a kind is compiled for that memory alone


@spliced
def _begin(kind: float, buffer: Vector) -> None:
    """Forget everything but how many rewards came and how long an action can be. Overwrites the memory."""
    head = view_head(buffer)
    if kind == EVERYTHING:
        everything.begin(head, buffer)
    elif kind == DISCOUNTED:
        discounted.begin(head, buffer)
    elif kind == WINDOW:
        window.begin(head, buffer)
    elif kind == RESTARTING:
        restarting.begin(head, buffer)
    else:
        detecting.begin(head, buffer)


@spliced
def _must_grow(kind: float, head: Head, buffer: Vector) -> bool:
    """Whether the memory must grow before the next reward can be learned."""
    full = False
    if kind == WINDOW:
        full = window.is_full(head, buffer)
    elif kind == DETECTING:
        full = detecting.is_full(head, buffer)
    return full


@inlined
def must_grow(head: Head, buffer: Vector) -> bool:
    """`_must_grow` of whatever memory it is."""
    return _must_grow(head.settings[0].memory, head, buffer)


@compiled
def is_full(buffer: Vector) -> bool:
    """`must_grow`, for Python."""
    return must_grow(view_head(buffer), buffer)


@spliced
def learn_any(kind: float, buffer: Vector, x: Vector, y: float) -> int:
    """Learn the reward y of action x. Overwrites the buffer, unless the status that it returns is negative."""
    head = view_head(buffer)
    if x.shape[0] != head.lam.shape[0]:
        return WRONG_SHAPE
    square = square_of(x)
    status = checked_square(head.settings, square)
    if status < 0.0:
        return int(status)
    if not abs(y) < ORDINARY:
        return NOT_FINITE
    if _must_grow(kind, head, buffer):
        return FULL
    settings, log = head.settings[0], head.log[0]
    log.offered = max(log.offered, square)
    log.learned += 1.0
    log.counted += 1.0
    if settings.rule == UNIFORM_AT_RANDOM:
        return DONE
    if settings.scales > 0.0:
        credit(tuning_in(buffer), square, mark_of(x), y)
    if settings.has_prior != 0.0:
        y = y - prior_part(head, x)
    if kind == EVERYTHING:
        everything.learn(buffer, x, y, square)
    elif kind == DISCOUNTED:
        discounted.learn(buffer, x, y, square)
    elif kind == WINDOW:
        window.learn(buffer, x, y, square)
    elif kind == RESTARTING:
        restarting.learn(buffer, x, y, square)
    else:
        detecting.learn(buffer, x, y, square)
    return DONE


@compiled
def learn(buffer: Vector, x: Vector, y: float) -> int:
    """`learn_any` of whatever memory it is, for loops over rewards."""
    return learn_any(view_head(buffer).settings[0].memory, buffer, x, y)


@cache
def learn_loop(kind: int) -> Callable[[Vector, Any, Any], int]:
    """(buffer, x, y) → status: `learn_any` of one kind of memory, closed."""

    @compiled
    def learn_as(buffer: Vector, x: Vector, y: float) -> int:
        return learn_any(kind, buffer, x, y)

    close(learn_as, np.zeros(N_SETTINGS + N_LOG), np.zeros(1), 0.0)  # of no coordinates: it refuses every action
    return learn_as


@cache
def _begin_loop(kind: int) -> Callable[[Vector], None]:
    @compiled
    def begin_as(buffer: Vector) -> None:
        _begin(kind, buffer)

    return begin_as


def begin(buffer: Vector) -> None:
    """Forget everything but how many rewards came and how long an action can be. Overwrites the memory."""
    settings = buffer[:N_SETTINGS].view(SETTINGS)
    _begin_loop(int(settings["memory"][0]))(buffer)
    if settings["scales"][0]:
        buffer[-N_TUNING:] = 0.0


@compiled
def learn_rows(buffer: Vector, X: Matrix, y: Vector, first: int, past: bool) -> int:
    """Learn the rows of X with rewards y from `first` on. Overwrites the buffer; returns the row that did not fit.

    Rows of the `past`, before change points are counted, do not count towards them.
    """
    log = view_head(buffer).log[0]
    for i in range(first, X.shape[0]):
        if past:
            log.counted -= 1.0
        if learn(buffer, X[i], y[i]) < 0:
            if past:
                log.counted += 1.0
            return i
    return int(X.shape[0])


@inlined
def keeps_floor(head: Head) -> bool:
    """Whether G only grows, so that a bound on its eigenvalues stays one."""
    return _KEEPS_FLOOR[int(head.settings[0].memory)]


@inlined
def acting_model(head: Head, buffer: Vector) -> tuple[Model, Factor, bool, float]:
    """The model that chooses now; Ṽ and whether it is another factor than V; the length of a window, or 0."""
    d, kind, length = head.lam.shape[0], head.settings[0].memory, head.settings[0].window
    at = memory_at(d)
    if kind in (WINDOW, RESTARTING):
        at += ALIGNED
    elif kind == DETECTING:
        at = detecting.model_at(d, length, detecting.acting(head, buffer))
    double = kind == DISCOUNTED
    second = view_factor(buffer, discounted.second_at(d) if double else factor_at(at, d), d, 1)
    return view_model(buffer, at, d), second, double, length if kind == WINDOW else 0.0


@compiled
def model_in(buffer: Vector) -> Model:
    """The model that chooses now, for Python."""
    return acting_model(view_head(buffer), buffer)[0]


@compiled
def second_in(buffer: Vector) -> Factor:
    """Ṽ of a discounted memory, for Python."""
    return discounted.memory_in(buffer, view_head(buffer).lam.shape[0]).second


@compiled
def n_models_in(buffer: Vector) -> int:
    """How many models a detecting memory holds, for Python."""
    return int(detecting.header_of(buffer, view_head(buffer).lam.shape[0])[0].n_models)
