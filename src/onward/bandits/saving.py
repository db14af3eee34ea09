"""Policies in files."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from onward import storage
from onward.bandits.buffer_checks import check_buffer, check_columns, check_size, check_whole
from onward.bandits.buffers import CAPACITY, PolicySettings, fresh_buffer, grown, note_lam, scales_begun
from onward.bandits.class_names import made_again
from onward.bandits.filed import Filed
from onward.bandits.inputs import Columns
from onward.bandits.legacy import from_first_version, with_room_for_settings
from onward.bandits.locking import Buffered
from onward.bandits.memories import Memory
from onward.bandits.pending import Pending
from onward.bandits.settings import N_SETTINGS, SETTINGS
from onward.core.types import Vector


class SavedPolicy(Filed, Buffered):
    """The part of a policy that goes to and comes from files."""

    kind_of_file = "policy"

    memory: Memory
    _settings: PolicySettings
    _dimension: int
    _pending: Pending
    _rng: np.random.Generator
    _columns: Columns

    def describe(self) -> dict[str, Any]:
        """Its name and settings, as plain values."""
        raise NotImplementedError

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        with self._closed() as buffer:
            waiting, arrays = self._pending.record(self._dimension)
            own = {"generator": self._rng.bit_generator.state, "dimension": self._dimension, "n_settings": N_SETTINGS}
            if self._columns is not None:
                own["columns"] = list(self._columns)
            described = self.describe() | own | waiting
        return described, arrays | ({"buffer": buffer} if self._dimension else {})

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        own = {"generator", "dimension", "pending", "counts", "n_settings", "columns"}
        generator, d = settings["generator"], check_whole("dimension", settings["dimension"])
        policy = cls.described({name: value for name, value in settings.items() if name not in own})
        policy._rng.bit_generator.state = generator
        policy._columns = settings.get("columns")
        if "memory" in arrays:
            buffer = from_first_version(policy._settings, policy.memory, arrays["memory"], d)
            check_buffer(policy._settings, policy.memory, buffer, d)
            policy._buffer, policy._dimension = buffer, d
        elif "buffer" in arrays:
            saved = with_room_for_settings(arrays["buffer"], d, settings)
            policy._buffer, policy._dimension = policy.fitting(saved, d), d
        elif d:
            raise ValueError(f"nothing is known of {d} features, expected a buffer")
        check_columns(policy._columns, d)
        policy._pending = Pending.from_record(settings, arrays, d)
        return policy

    def fitting(self, saved: Vector, d: int) -> Vector:
        """A buffer from a file, with the settings of this policy; ValueError if it is none of its own.

        Args:
            saved: the buffer in the file.
            d: how many features.
        """
        check_size(self._settings, self.memory, saved, d)
        buffer = fresh_buffer(self._settings, self.memory, d, d)
        while len(buffer) < len(saved):
            larger = grown(self.memory, buffer)
            if len(larger) == len(buffer):
                break
            buffer = larger
        if saved.shape != buffer.shape or saved[CAPACITY] != buffer[CAPACITY]:
            raise ValueError(f"buffer of {saved.shape} numbers, expected {buffer.shape}")
        head = buffer[:N_SETTINGS].copy()
        for name, value in scales_begun(self._settings, saved).items():
            head.view(SETTINGS)[name] = value
        buffer[:] = saved
        buffer[:N_SETTINGS] = head  # addresses of functions are this process's own
        note_lam(buffer)
        check_buffer(self._settings, self.memory, buffer, d)
        return buffer

    @classmethod
    def described(cls, description: Mapping[str, Any]) -> Self:
        """The policy that `describe` described, as it was before it learned anything.

        Args:
            description: what `describe` gave.
        """
        policy = made_again(description)
        if not isinstance(policy, cls):
            raise ValueError(f"expected a {cls.__name__}, got a {type(policy).__name__}")
        return policy
