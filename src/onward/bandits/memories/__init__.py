"""Memories: which rewards count, and how much. Each is a file with its view of the buffer, how it begins and learns.

This is the only place where a memory is a number.
"""

from onward.bandits.indices import checked_square, prior_part
from onward.bandits.memories import detecting, discounted, everything, restarting, window
from onward.bandits.memories.base import Memory
from onward.bandits.memories.detecting import Detecting
from onward.bandits.memories.discounted import Discounted
from onward.bandits.memories.everything import Everything
from onward.bandits.memories.restarting import Restarting
from onward.bandits.memories.window import Window
from onward.bandits.model import Model
from onward.bandits.settings import DONE, FULL, NOT_FINITE, UNIFORM_AT_RANDOM, WRONG_SHAPE, Told, view_told
from onward.core.compile import compiled, inlined
from onward.core.factor import ORDINARY, Factor, square_of
from onward.core.types import Matrix, Vector

COMPILED_FROM = "9de37efb2e5972c5"  # other files whose code is compiled into this one: see tools/digests.py

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
    "learn_rows",
    "model_in",
    "must_grow",
    "n_models_in",
    "second_in",
]


@compiled
def begin(buffer: Vector) -> None:
    """Forget everything but how many rewards came and how long an action can be. Overwrites the memory."""
    told = view_told(buffer)
    kind = told.settings[0].memory
    if kind == EVERYTHING:
        everything.begin(told, buffer)
    elif kind == DISCOUNTED:
        discounted.begin(told, buffer)
    elif kind == WINDOW:
        window.begin(told, buffer)
    elif kind == RESTARTING:
        restarting.begin(told, buffer)
    else:
        detecting.begin(told, buffer)


@inlined
def must_grow(told: Told, buffer: Vector) -> bool:
    """Whether the memory must grow before the next reward can be learned."""
    kind = told.settings[0].memory
    if kind == WINDOW:
        return window.is_full(told, buffer)
    return kind == DETECTING and detecting.is_full(told, buffer)


@compiled
def is_full(buffer: Vector) -> bool:
    """`must_grow`, for Python."""
    return must_grow(view_told(buffer), buffer)


@compiled
def learn(buffer: Vector, x: Vector, y: float) -> int:
    """Learn the reward y of action x. Overwrites the buffer, unless the status that it returns is negative."""
    told = view_told(buffer)
    if x.shape[0] != told.lam.shape[0]:
        return WRONG_SHAPE
    square = square_of(x)
    status = checked_square(told.settings, square)
    if status < 0.0:
        return int(status)
    if not abs(y) < ORDINARY:
        return NOT_FINITE
    if must_grow(told, buffer):
        return FULL
    settings, log = told.settings[0], told.log[0]
    log.offered = max(log.offered, square)
    log.learned += 1.0
    log.counted += 1.0
    if settings.rule == UNIFORM_AT_RANDOM:
        return DONE
    if settings.has_prior != 0.0:
        y = y - prior_part(told, x)
    kind = settings.memory
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
def learn_rows(buffer: Vector, X: Matrix, y: Vector, first: int, past: bool) -> int:
    """Learn the rows of X with rewards y from `first` on. Overwrites the buffer; returns the row that did not fit.

    Rows of the `past`, before change points are counted, do not count towards them.
    """
    log = view_told(buffer).log[0]
    for i in range(first, X.shape[0]):
        if past:
            log.counted -= 1.0
        if learn(buffer, X[i], y[i]) < 0:
            if past:
                log.counted += 1.0
            return i
    return int(X.shape[0])


@inlined
def keeps_floor(told: Told) -> bool:
    """Whether G only grows, so that a bound on its eigenvalues stays one."""
    return _KEEPS_FLOOR[int(told.settings[0].memory)]


@inlined
def acting_model(told: Told, buffer: Vector) -> tuple[Model, Factor, bool, float]:
    """The model that chooses now; Ṽ and whether it is another factor than V; the length of a window, or 0."""
    d, capacity, kind = told.lam.shape[0], int(told.log[0].capacity), told.settings[0].memory
    if kind == DISCOUNTED:
        memory = discounted.memory_in(buffer, d)
        return memory.model, memory.second, True, 0.0
    if kind == WINDOW:
        model = window.memory_in(buffer, d, capacity).model
        return model, model.factor, False, told.settings[0].window
    if kind == RESTARTING:
        model = restarting.memory_in(buffer, d, capacity).model
    elif kind == DETECTING:
        model = detecting.memory_in(buffer, d, told.settings[0].window, detecting.acting(told, buffer)).model
    else:
        model = everything.memory_in(buffer, d)
    return model, model.factor, False, 0.0


@compiled
def model_in(buffer: Vector) -> Model:
    """The model that chooses now, for Python."""
    return acting_model(view_told(buffer), buffer)[0]


@compiled
def second_in(buffer: Vector) -> Factor:
    """Ṽ of a discounted memory, for Python."""
    return discounted.memory_in(buffer, view_told(buffer).lam.shape[0]).second


@compiled
def n_models_in(buffer: Vector) -> int:
    """How many models a detecting memory holds, for Python."""
    return int(detecting.header_of(buffer, view_told(buffer).lam.shape[0])[0].n_models)
