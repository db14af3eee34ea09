"""A policy's buffer with more coordinates: exactly as if they had been there, at 0, in every row so far."""

import numpy as np

from onward.bandits import memories
from onward.bandits.buffers import PolicySettings, acting, fresh_buffer, grown, head_in
from onward.bandits.memories import Detecting, Memory, Restarting, Window, detecting, restarting, window
from onward.bandits.model import Model
from onward.bandits.tuning import N_TUNING
from onward.core.factor import Factor
from onward.core.types import Vector
from onward.core.views import owned


def with_coordinates(settings: PolicySettings, memory: Memory, buffer: Vector, d: int) -> Vector:
    """A buffer of d coordinates that knows what this one does of its own, which come first.

    `settings` has λ and the prior mean of all d: of those that are known, the same as before.
    """
    log, lam = head_in(buffer).log, head_in(buffer).lam
    larger = fresh_buffer(settings, memory, d, d, float(lam.min()))  # as one that was 0 in the first rows
    before, capacity = len(head_in(buffer).lam), int(log["capacity"][0])
    while head_in(larger).log["capacity"][0] < capacity:
        larger = grown(memory, larger)
    head_in(larger).log[:] = log
    if settings.numbers["scales"]:
        larger[-N_TUNING:] = buffer[-N_TUNING:]
    if isinstance(memory, Detecting):
        held = owned(buffer, detecting.header_of(buffer, before))
        owned(larger, detecting.header_of(larger, d))[:] = held
        for m in range(int(held["n_models"][0])):
            old = owned(buffer, detecting.memory_in(buffer, before, float(memory.window), m))
            new = owned(larger, detecting.memory_in(larger, d, float(memory.window), m))
            _clear(new.model, head_in(larger).lam)
            _take_model(new.model, old.model)
            new.failures[:] = old.failures
        return larger
    _take_model(acting(larger), acting(buffer))
    if memory.has_second:
        origin, second = (owned(each, memories.second_in(each)) for each in (buffer, larger))
        second.D[before:] *= origin.counts["counted"][0]  # it holds this share of Λ
        _take_factor(second, origin)
    elif isinstance(memory, Window):
        old = owned(buffer, window.memory_in(buffer, before, capacity)).ring
        new = owned(larger, window.memory_in(larger, d, capacity)).ring
        new.header[:] = old.header
        new.rows[:] = 0.0
        new.rows[:, :before], new.rows[:, d] = old.rows[:, :before], old.rows[:, before]
    elif isinstance(memory, Restarting):
        old, new = (restarting.memory_in(each, n, capacity).header for each, n in ((buffer, before), (larger, d)))
        new[:] = old
    return larger


def _clear(model: Model, lam: Vector) -> None:
    """Coordinates that know nothing."""
    factor = model.factor
    factor.U[:], factor.D[:], factor.c[:] = 0.0, lam, 0.0


def _take_model(model: Model, origin: Model) -> None:
    least = float(model.factor.D[len(origin.factor.D) :].min(initial=np.inf))
    _take_factor(model.factor, origin.factor)
    model.about[:] = origin.about
    model.about["floor"] = min(origin.about["floor"][0], least)
    model.about["solved"] = 0.0


def _take_factor(factor: Factor, origin: Factor) -> None:
    d = len(origin.D)
    factor.U[:d, :d], factor.D[:d], factor.c[:d] = origin.U[:, :d], origin.D, origin.c
    factor.loss[:], factor.counts[:] = origin.loss, origin.counts
