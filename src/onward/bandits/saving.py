"""Policies in files."""

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from onward import storage
from onward.bandits.buffers import PolicySettings, fresh_buffer, grown, head_in, note_lam
from onward.bandits.design import from_plain
from onward.bandits.inputs import Columns
from onward.bandits.legacy import from_first_version, with_room_for_settings
from onward.bandits.memories import Memory
from onward.bandits.pending import Pending
from onward.bandits.settings import N_SETTINGS
from onward.core.types import Vector

_classes: dict[str, type[Any]] = {}


def register(name: str, made_by: type[Any]) -> None:
    """Know the class of that name, for files."""
    _classes[name] = made_by


class SavedPolicy:
    """The part of a policy that goes to and comes from files."""

    memory: Memory
    _settings: PolicySettings
    _buffer: Vector
    _dimension: int
    _pending: Pending
    _rng: np.random.Generator
    _columns: Columns

    def describe(self) -> dict[str, Any]:
        """Its name and settings, as plain values."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, random numbers and waiting decisions included: to go on exactly from here."""
        storage.save(path, "policy", *self.to_record())

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        keys, rows = self._pending.record(self._dimension)
        arrays = {"pending": rows} | ({"buffer": self._buffer} if self._dimension else {})
        own = {"generator": self._rng.bit_generator.state, "dimension": self._dimension, "pending": keys}
        own["n_settings"] = N_SETTINGS
        if self._columns is not None:
            own["columns"] = self._columns
        return self.describe() | own, arrays

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file."""
        own = {"generator", "dimension", "pending", "n_settings", "columns"}
        generator, d, keys = settings["generator"], int(settings["dimension"]), settings["pending"]
        policy = cls.described({name: value for name, value in settings.items() if name not in own})
        policy._rng.bit_generator.state = generator
        policy._columns = settings.get("columns")
        if "memory" in arrays:
            policy._buffer, policy._dimension = (
                from_first_version(policy._settings, policy.memory, arrays["memory"], d),
                d,
            )
        elif "buffer" in arrays:
            policy._buffer, policy._dimension = (
                policy.fitting(with_room_for_settings(arrays["buffer"], d, settings), d),
                d,
            )
        policy._pending = Pending.from_record(keys, arrays["pending"])
        return policy

    def fitting(self, saved: Vector, d: int) -> Vector:
        """A buffer from a file, with the settings of this policy; ValueError if it is none of its own."""
        buffer = fresh_buffer(self._settings, self.memory, d, d)
        while len(buffer) < len(saved):
            larger = grown(self.memory, buffer)
            if len(larger) == len(buffer):
                break
            buffer = larger
        if saved.shape != buffer.shape or head_in(saved).log["capacity"] != head_in(buffer).log["capacity"]:
            raise ValueError(f"buffer of {saved.shape} numbers, expected {buffer.shape}")
        head = buffer[:N_SETTINGS].copy()
        buffer[:] = saved
        buffer[:N_SETTINGS] = head  # addresses of functions are this process's own
        note_lam(buffer)
        self.memory.check(buffer, d)
        return buffer

    @classmethod
    def described(cls, description: Mapping[str, Any]) -> Self:
        """The policy that `describe` described, as it was before it learned anything."""
        parameters = from_plain(description)
        policy = _classes[parameters.pop("policy")](**parameters)
        if not isinstance(policy, cls):
            raise ValueError(f"expected a {cls.__name__}, got a {type(policy).__name__}")
        return policy
