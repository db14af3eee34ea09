"""Arms in files, and in other processes."""

import math
from itertools import pairwise
from typing import Any, Self

import numpy as np

from onward import storage
from onward.bandits.arm_buffers import ArmBuffers, saved_arms
from onward.bandits.buffer_checks import check_columns, check_whole, checked_arms, checked_record
from onward.bandits.deciding_arms import DecidingArms
from onward.bandits.pending import Pending
from onward.bandits.policy import Policy
from onward.bandits.settings import N_SETTINGS
from onward.bandits.shared_record import NOTHING_SHARED
from onward.core.checks import whole
from onward.core.shown import brief


class SavedDisjoint(DecidingArms):
    """The part of `Disjoint` that goes to and comes from files."""

    kind_of_file = "disjoint policy"

    def __getstate__(self) -> dict[str, Any]:
        # In another process loops are not closed yet.
        left = ("_learn_loop", "_ready", "_quick", "_plain", "_arms", "_slots", "_lock", "_journal")
        with self._lock:
            state = {name: value for name, value in self.__dict__.items() if name not in left}
            for name in ("_record", "_names", "_serials", "_serial_of", "_pending"):
                state[name] = state[name].copy()
            return state | {"arms": None if self._arms is None else self._arms.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arms = state.pop("arms")
        self.__dict__.update(state)
        self._share()
        self._record = np.require(self._record, requirements=["W"])
        self._ready = self._quick = False
        self._arms, self._slots = None, {}
        if arms is not None:
            self._take(arms)

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        with self._lock:
            waiting, arrays = self._pending.record(self._dimension)
            settings = {
                "of": self._policy.describe(),
                "names": list(self._names),
                "serials": list(self._serials),
                "next": self._next,
                "dimension": self._dimension,
                "generator": self._rng.bit_generator.state,
                "n_settings": N_SETTINGS,
                "columns": self._policy._columns,
                "of_features": list(self._policy._settings[1:]),
            }
            arrays["shared"] = self._record.copy()
            if self._arms is not None:
                arrays["buffers"], arrays["arms"] = self._arms.parts()
            return settings | waiting, arrays

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        make: Any = cls
        policy: Self = make(Policy.described(settings["of"]), checked_arms(settings["names"]))
        policy._serials = [whole("each of serials", number, 0, 1 << 53) for number in settings["serials"]]
        policy._next = whole("next", settings["next"], 0, 1 << 53)
        policy._serial_of = dict(zip(policy._names, policy._serials, strict=True))
        if any(later <= earlier for earlier, later in pairwise([*policy._serials, policy._next])):
            raise ValueError(f"serials {policy._serials} before {policy._next}, expected growing ones")
        policy._rng.bit_generator.state = settings["generator"]
        policy._policy._columns = settings.get("columns")
        d = check_whole("dimension", settings["dimension"])
        check_columns(policy._policy._columns, d)
        if "of_features" in settings:  # λ and the prior mean, where features have names
            lam, mean = (_of_features(each, d) for each in settings["of_features"])
            policy._policy._settings = policy._policy._settings._replace(lam=lam, prior_mean=mean)
        if d:
            rows, table = saved_arms(policy._policy, d, settings, arrays)
            if table.shape != (len(policy._names), 2):
                raise ValueError(f"arms of {table.shape} numbers in the arrays, expected {len(policy._names)} arms")
            policy._dimension = d
            policy._take(ArmBuffers.from_parts(policy._policy, d, rows, table))
        policy._pending = Pending.from_record(settings, arrays, d, policy._serials)
        shared = arrays.get("shared", NOTHING_SHARED)
        if shared.shape == policy._record.shape and len(shared):
            policy._record = checked_record(shared, policy._record)
        return policy


def _of_features(given: Any, d: int) -> Any:
    """λ or the prior mean as settings have it: None, a number, or one for each feature."""
    if isinstance(given, list):
        if len(given) != d or not all(isinstance(each, int | float) and math.isfinite(each) for each in given):
            raise ValueError(f"expected a number for each of {d} features, got {given}")
        return tuple(map(float, given))
    if given is not None and not (isinstance(given, int | float) and math.isfinite(given)):
        raise ValueError(f"expected a number, got {brief(given)}")
    return given
