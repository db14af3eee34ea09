"""Policies saved by earlier versions: by 0.1.0, whose memories were numbered slots, and with fewer settings."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from onward.bandits import memories
from onward.bandits.buffer_checks import check_whole
from onward.bandits.buffers import PolicySettings, acting, fresh_buffer, grown, head_in
from onward.bandits.memories import Memory, detecting, window
from onward.bandits.memories.detecting import Detecting
from onward.bandits.memories.window import Window
from onward.bandits.model import Model
from onward.bandits.settings import N_LOG, N_SETTINGS
from onward.core.factor import Factor, aligned
from onward.core.simd import padded
from onward.core.types import Vector
from onward.core.views import owned

_FIRST_SETTINGS = 24  # how many there were before files said how many
_HEADER, _HEAD = 10, 5  # slots of a memory's header, and of a model's head


def from_first_version(settings: PolicySettings, kind: Memory, old: Vector, d: int) -> Vector:
    """The buffer for what an old memory of d coordinates holds; ValueError if it is of another size."""
    if old.ndim != 1 or d < 1 or _HEADER + d * d > len(old):
        raise ValueError(f"memory of {old.shape} numbers does not fit {kind} of {d} features")
    learned, counted, offered, following, held, removed, growth, capacity = old[:8]
    slots, model_size = check_whole("capacity", capacity, len(old)), _HEAD + _factor_size(d)
    extra = {
        memories.DISCOUNTED: model_size + _factor_size(d),
        memories.WINDOW: model_size + slots * (d + 1),
        memories.RESTARTING: model_size + slots,
        memories.DETECTING: slots * (model_size + getattr(kind, "window", 0)),
    }
    if len(old) != _HEADER + extra.get(kind.kind, model_size):
        raise ValueError(f"memory of {old.shape} numbers does not fit {kind} of {d} features")
    buffer = fresh_buffer(settings, kind, d, d)
    while (room := head_in(buffer).log["capacity"][0]) < slots:
        buffer = grown(kind, buffer)
        if head_in(buffer).log["capacity"][0] == room:
            break
    head = head_in(buffer)
    if head.log["capacity"][0] != slots:
        raise ValueError(f"room for {slots} in a memory of {kind}, expected {head.log['capacity'][0]:g}")
    head.log["learned"], head.log["counted"], head.log["offered"] = learned, counted, offered
    if isinstance(kind, Detecting):
        owned(buffer, detecting.header_of(buffer, d))["n_models"] = held
        for m in range(check_whole("n_models of a detector", held, slots)):
            at = _HEADER + m * (model_size + kind.window)
            watched = owned(buffer, detecting.memory_in(buffer, d, float(kind.window), m))
            _take_model(watched.model, old, at, d)
            watched.model.factor.counts["seen"] = old[at + 3]
            watched.model.about["failed"] = old[at + 4]
            watched.failures[:] = old[at + model_size : at + model_size + kind.window]
        return buffer
    _take_model(acting(buffer), old, _HEADER, d)
    after = _HEADER + model_size
    if kind.kind == memories.DISCOUNTED:
        acting(buffer).factor.counts["seen"] = learned
        _take_factor(owned(buffer, memories.second_in(buffer)), old, after, d)
    elif isinstance(kind, Window):
        ring = owned(buffer, window.memory_in(buffer, d, slots)).ring
        ring.header[0] = (following, held, removed, growth)
        ring.rows[:] = old[after:].reshape(slots, d + 1)
    elif kind.kind == memories.RESTARTING:
        owned(buffer, memories.restarting.memory_in(buffer, d, slots)).header["next_point"] = following
    return buffer


def with_room_for_settings(saved: Vector, d: int, settings: Mapping[str, Any]) -> Vector:
    """A buffer from a file with room for the settings that have come since; they are those of before, 0."""
    count = check_whole("n_settings", settings.get("n_settings", _FIRST_SETTINGS), N_SETTINGS)
    kept = N_LOG + 3 * d
    if count == N_SETTINGS:
        return saved
    if saved.ndim != 1 or not count + kept <= len(saved) or count < _FIRST_SETTINGS:
        raise ValueError(f"buffer of {saved.shape} numbers with {count} settings does not fit {d} features")
    head = np.zeros(aligned(N_SETTINGS + kept))
    head[N_SETTINGS : N_SETTINGS + kept] = saved[count : count + kept]
    return np.concatenate([head, saved[aligned(count + kept) :]])


def _factor_size(d: int) -> int:
    return d * padded(d) + 2 * d + 1


def _take_model(model: Model, old: Vector, at: int, d: int) -> None:
    rows, _, peak = old[at : at + 3]
    _take_factor(model.factor, old, at + _HEAD, d)
    model.factor.counts[0] = (rows, rows, peak)
    model.about["solved"] = 0.0


def _take_factor(factor: Factor, old: Vector, at: int, d: int) -> None:
    U, D, c, loss = np.split(old[at : at + _factor_size(d)], np.cumsum([d * padded(d), d, d]))
    factor.U[:], factor.D[:], factor.c[:], factor.loss[:] = U.reshape(d, -1), D, c[:, None], loss
