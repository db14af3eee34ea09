"""The chance with which each action is taken, where a formula says it from the indices. Compiled."""

import math

import numpy as np

from onward.bandits.indices import noise_level
from onward.bandits.memories import acting_model
from onward.bandits.pruning import Mask
from onward.bandits.settings import (
    EPSILON_GREEDY,
    INVERSE_GAP,
    SOFTMAX,
    UNIFORM_AT_RANDOM,
    Head,
    view_head,
)
from onward.core.compile import compiled, inlined
from onward.core.types import Matrix, Vector

COMPILED_FROM = "369d8cadf7e8977b"  # other files whose code is compiled into this one: see tools/digests.py


@inlined
def needs_steepness(head: Head) -> bool:
    """Whether the rule weighs actions by how far their estimates are from the best."""
    return bool(head.settings[0].rule in (INVERSE_GAP, SOFTMAX))


@inlined
def rewards_and_noise(head: Head, buffer: Vector) -> tuple[float, float]:
    """How many rewards count, and σ² of their noise."""
    model = acting_model(head, buffer)[0]
    counts, gamma = model.factor.counts[0], head.settings[0].gamma
    rows = counts.counted if gamma == 1.0 else (1.0 - gamma**counts.seen) / (1.0 - gamma)
    return rows, noise_level(head, model.factor) ** 2


@inlined
def steepness_from(head: Head, rows: float, variance: float, available: Mask, leverage: Vector) -> float:
    """How steeply chances fall with the distance from the best: as told, or by what is known.

    σ√q is how far the estimate of an action is off, and its mean over those available is the unit; the scale multiplies
    it. Infinite if no noise was seen; 0 where neither σ nor any reward is known.
    """
    settings = head.settings[0]
    if settings.steepness > 0.0:
        told: float = settings.steepness
        return told
    if not rows > 0.0 and settings.sigma == 0.0:
        return 0.0
    total, free = 0.0, 0
    for i in range(leverage.shape[0]):
        if available.shape[0] == 0 or available[i]:
            total += math.sqrt(leverage[i])
            free += 1
    off = settings.scale * math.sqrt(variance) * total / max(free, 1)
    return 1.0 / off if off > 0.0 else np.inf


@compiled
def steepness_of(buffer: Vector, available: Mask, leverage: Vector) -> float:
    """The steepness of a policy's own rule, given the leverage of each action; 0 where the rule has none."""
    head = view_head(buffer)
    if not needs_steepness(head):
        return 0.0
    rows, variance = rewards_and_noise(head, buffer)
    return steepness_from(head, rows, variance, available, leverage)


@compiled
def steepness_of_arms(buffers: Matrix, arms: Matrix, available: Mask, leverage: Vector) -> float:
    """The same of arms that know nothing of each other: all their rewards count, each with the noise of its arm."""
    head = view_head(buffers[0])
    if not needs_steepness(head):
        return 0.0
    rows, squares = 0.0, 0.0
    for a in range(arms.shape[0]):
        if arms[a, 0] == 0.0:  # it has learned nothing
            continue
        buffer = buffers[int(arms[a, 0])]
        own_rows, variance = rewards_and_noise(view_head(buffer), buffer)
        rows += own_rows
        squares += own_rows * variance
    variance = squares / rows if rows > 0.0 else head.settings[0].sigma ** 2
    return steepness_from(head, rows, variance, available, leverage)


@inlined
def weigh(head: Head, steepness: float, available: Mask, index: Vector, out: Vector) -> None:
    """The chance of each action by the rule alone, without the floor of `explore`, where the rule does not sample."""
    n, rule, everything = index.shape[0], head.settings[0].rule, available.shape[0] == 0
    free, best, ties = 0, -np.inf, 0
    for i in range(n):
        if everything or available[i]:
            free += 1
            if ties == 0 or index[i] >= best:
                ties = ties + 1 if ties > 0 and index[i] == best else 1
                best = index[i]
    spread = 1.0 if rule == UNIFORM_AT_RANDOM else (head.settings[0].epsilon if rule == EPSILON_GREEDY else 0.0)
    weights, total = rule in (INVERSE_GAP, SOFTMAX), 0.0
    for i in range(n):
        if not (everything or available[i]):
            out[i] = 0.0
        elif not weights:
            out[i] = spread / free + (1.0 - spread) * ((1.0 / ties) if index[i] == best else 0.0)
        elif index[i] == best:
            out[i] = 1.0  # of Softmax; the rest of InverseGap, below
        elif rule == SOFTMAX:
            out[i] = math.exp(-steepness * (best - index[i]))
        else:  # so steep that √(actions) is in it, as the theory has it, if it is not told
            steep = steepness if head.settings[0].steepness > 0.0 else math.sqrt(free) * steepness
            out[i] = 1.0 / (free + steep * (best - index[i]))
        if not (rule == INVERSE_GAP and index[i] == best):
            total += out[i]
    if weights:
        for i in range(n):
            if rule == SOFTMAX:
                out[i] /= total
            elif index[i] == best and (everything or available[i]):
                out[i] = (1.0 - total) / ties


@inlined
def drawn(chances: Vector, at: float) -> int:
    """The first action at which the chances add up to more than `at`, from [0, 1)."""
    total, last = 0.0, 0
    for i in range(chances.shape[0]):
        if chances[i] > 0.0:
            total += chances[i]
            last = i
            if at < total:
                return i
    return last


@inlined
def add_floor(head: Head, available: Mask, chances: Vector) -> None:
    """What `explore` leaves of chances, and what it gives to every available action."""
    explore, n, free = head.settings[0].explore, chances.shape[0], 0
    if explore == 0.0:
        return
    for i in range(n):
        free += available.shape[0] == 0 or available[i]
    for i in range(n):
        chances[i] *= 1.0 - explore
        if available.shape[0] == 0 or available[i]:
            chances[i] += explore / free


@compiled
def chances_of(buffer: Vector, steepness: float, available: Mask, index: Vector) -> Vector:
    """The chance of each action given all indices, the floor included, where the rule does not sample."""
    out = np.empty(index.shape[0])
    weigh(view_head(buffer), steepness, available, index, out)
    add_floor(view_head(buffer), available, out)
    return out


@compiled
def draw_from(chances: Vector, at: float) -> int:
    """`drawn`, for Python."""
    return drawn(chances, at)
