"""A policy's own random numbers, and chances."""

import hashlib
import os
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.bandits.settings import EPSILON_GREEDY, INVERSE_GAP, SAMPLING, SOFTMAX, UNIFORM_AT_RANDOM
from onward.core.checks import is_whole
from onward.core.shown import brief
from onward.core.types import Vector

Seed = int | np.random.SeedSequence | None

_NONE = np.empty(0)
_UNIFORM = {EPSILON_GREEDY: 2, UNIFORM_AT_RANDOM: 1, INVERSE_GAP: 1, SOFTMAX: 1}  # numbers of a choice, by rule
_OWN_KEY = 0x6F6E  # what a policy's random numbers are spawned by


def own_generator(seed: Seed) -> np.random.Generator:
    """Random numbers of the policy's own: not those that `default_rng(seed)` would give to a world of the same seed."""
    given = _checked_seed(seed)
    own = np.random.SeedSequence(given.entropy, spawn_key=(*given.spawn_key, _OWN_KEY), pool_size=given.pool_size)
    return np.random.default_rng(own)


def _checked_seed(seed: Any) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    # What is no number goes no further: of some objects NumPy takes the parts of parts until the stack is full.
    numbered = seed if isinstance(seed, list | tuple) else [seed]
    if seed is not None and not all(map(_is_seed, numbered)):
        raise ValueError(
            f"seed must be a whole number >= 0, several of them, a SeedSequence or None, got {brief(seed)}"
        )
    return np.random.SeedSequence(seed)


def _is_seed(number: object) -> bool:
    return is_whole(number) and number >= 0


def part_from_parent(rng: np.random.Generator) -> None:
    """In a forked process, begin numbers of its own, made of those it has, the process and the time.

    Otherwise all workers would draw the same. To have a worker's numbers again, `reseed` it there.
    """
    bits = rng.bit_generator
    known = int.from_bytes(hashlib.sha256(repr(bits.state).encode()).digest(), "big")
    bits.state = type(bits)(np.random.SeedSequence([known, os.getpid(), time.time_ns()])).state


def draw(rule: int, rng: np.random.Generator, d: int, explore: float = 0.0, tuned: bool = False) -> Vector:
    """The random numbers of one choice among actions with d features; in the compiled game they are the same."""
    if rule == SAMPLING:
        normal = rng.standard_normal(d + tuned)
        return np.concatenate([normal, rng.random(2)]) if explore else normal
    count = _UNIFORM.get(rule, int(tuned)) + (2 if explore else 0)
    return rng.random(count) if count else _NONE


def share_of_best(index: Vector, free: NDArray[np.bool_]) -> Vector:
    """The largest of the available, each with the same share."""
    best = free & (index == index[free].max())
    return np.asarray(best / best.sum())
