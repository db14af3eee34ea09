"""Policies in files, and in other processes."""

from collections.abc import Mapping
from typing import Any, Self

from onward import storage
from onward.bandits.buffer_checks import check_buffer, check_columns, check_size, check_whole
from onward.bandits.buffers import (
    CAPACITY,
    fresh_buffer,
    grown,
    note_lam,
    policy_settings,
    scales_begun,
    with_settings,
)
from onward.bandits.class_names import make_policy
from onward.bandits.deciding import Deciding
from onward.bandits.legacy import from_first_version, with_room_for_settings
from onward.bandits.pending import Pending
from onward.bandits.settings import N_SETTINGS, SETTINGS
from onward.core.types import Vector


class SavedPolicy(Deciding):
    """The part of a policy that goes to and comes from files, and other processes."""

    kind_of_file = "policy"

    def describe(self) -> dict[str, Any]:
        """Its name and settings, as plain values."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        own = ("_choose_loop", "_learn_loop", "_sample_loop", "_source", "_lock", "_journal", "_buffer", "_pending")
        with self._closed() as buffer:
            state = {name: value for name, value in self.__dict__.items() if name not in own}
            return state | {"_buffer": buffer, "_pending": self._pending.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()
        self._forget_loops()
        # In another process functions have other addresses.
        self._settings = self._settings._replace(numbers=policy_settings(self.design, self._of_arms).numbers)
        self._buffer = with_settings(self._settings, self._buffer)

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
        policy = make_policy(description)
        if not isinstance(policy, cls):
            raise ValueError(f"expected a {cls.__name__}, got a {type(policy).__name__}")
        return policy
