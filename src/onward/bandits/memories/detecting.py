"""The memory of several models, each with a record of failures, that are dropped when they fail too often."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from onward.bandits.indices import noise_level, read_single
from onward.bandits.memories.memory import Memory
from onward.bandits.model import Model, clear_model, learn_row, model_size, view_model
from onward.bandits.settings import Head, memory_at, view_head
from onward.core.checks import not_negative, probability, whole
from onward.core.compile import compiled, inlined
from onward.core.factor import ALIGNED, aligned, new_scratch
from onward.core.ring import FIRST_CAPACITY
from onward.core.types import Records, Vector
from onward.core.views import part, records_of

COMPILED_FROM = "eb214024004615f0"  # other files whose code is compiled into this one: see tools/digests.py

MOST_FAILURES = 1_000_000  # of each model: 64 MB for those that there is room for at first

HEADER = np.dtype([("n_models", "f8")])
N_HEADER = 1
_as_header = records_of(HEADER)


@dataclass(frozen=True)
class Detecting(Memory):
    """Several models; those whose rewards surprise them too often are dropped (Wu et al. 2018).

    Args:
        window: τ, over how many rewards failures are counted: at most 1,000,000, as each model has room for them.
        failure_delta: δ₂ of the margin `√(log(1/δ₂)/(2m))` for chance.
        tolerance: δ̃, a model is good while its badness is below the margin plus this. It is dropped at the margin
            plus `delta`; when none is good, a new one begins.

    Example:
        >>> from onward.bandits import Detecting, Known, Policy
        >>> policy = Policy(Detecting(window=20), lam=0.01, known=Known(sigma=0.1, theta_bound=1.0), seed=0)
        >>> policy.learn_many([[1.0]] * 40, [0.0] * 20 + [1.0] * 20)
        >>> policy.estimate([[1.0]]).round(1)
        array([1.])
    """

    window: int = 200
    failure_delta: float = 0.01
    tolerance: float = 0.002

    kind: ClassVar[int] = 4
    checks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", whole("window", self.window, 1, MOST_FAILURES))
        object.__setattr__(self, "failure_delta", probability("failure_delta", self.failure_delta))
        object.__setattr__(self, "tolerance", not_negative("tolerance", self.tolerance))

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        return {"window": self.window, "failure_delta": self.failure_delta, "tolerance": self.tolerance}

    def first_capacity(self) -> int:
        """For how many models there is room at first."""
        return FIRST_CAPACITY

    def grown_capacity(self, capacity: int) -> int:
        """Twice as many models.

        Args:
            capacity: for how many there is room.
        """
        return 2 * capacity

    def check(self, buffer: Vector, d: int) -> None:
        """Raise ValueError if the counts cannot be those of a detector.

        Args:
            buffer: the policy's buffer.
            d: how many features.
        """
        capacity = int(view_head(buffer).log["capacity"][0])
        models = header_of(buffer, d)["n_models"][0]
        if not (1 <= models <= capacity and models == int(models)):
            raise ValueError(f"n_models of a detector must be from 1 to {capacity}, got {models}")
        for m in range(int(models)):
            age = memory_in(buffer, d, float(self.window), m).model.factor.counts["seen"][0]
            if not (0 <= age < 2**53 and age == int(age)):
                raise ValueError(f"the age of a detector's model must be a count, got {age}")

    def size(self, d: int, capacity: int) -> int:
        """Numbers in the memory.

        Args:
            d: how many features.
            capacity: for how many there is room.
        """
        return ALIGNED + capacity * slot_size(d, self.window)


class Watched(NamedTuple):
    """A model, and whether each of its last rewards was a surprise."""

    model: Model
    failures: Vector


@inlined
def slot_size(d: int, window: float) -> int:
    """Numbers in a model with its failures."""
    return model_size(d) + aligned(int(window))


@inlined
def header_of(buffer: Vector, d: int) -> Records:
    """How many models there are."""
    return _as_header(part(buffer, memory_at(d), memory_at(d) + N_HEADER))


@inlined
def model_at(d: int, window: float, m: int) -> int:
    """Where the m-th model begins."""
    return memory_at(d) + ALIGNED + m * slot_size(d, window)


@inlined
def memory_in(buffer: Vector, d: int, window: float, m: int) -> Watched:
    """The m-th model."""
    at = model_at(d, window, m)
    failures = at + model_size(d)
    return Watched(view_model(buffer, at, d), part(buffer, failures, failures + int(window)))


@inlined
def begin(head: Head, buffer: Vector) -> None:
    """One model that knows nothing."""
    d, window = head.lam.shape[0], head.settings[0].window
    header_of(buffer, d)[0].n_models = 1.0
    _begin_model(head, memory_in(buffer, d, window, 0))


@inlined
def _begin_model(head: Head, watched: Watched) -> None:
    clear_model(head, watched.model)
    watched.failures[:] = 0.0


@inlined
def is_full(head: Head, buffer: Vector) -> bool:
    """Whether there must be more room before the next reward can be learned."""
    return bool(header_of(buffer, head.lam.shape[0])[0].n_models == head.log[0].capacity)


@compiled
def acting(head: Head, buffer: Vector) -> int:
    """Which model chooses now: the least bad one, the older if they tie."""
    d, window = head.lam.shape[0], head.settings[0].window
    boldness = math.sqrt(math.log(window))
    best, least = 0, np.inf
    for m in range(int(header_of(buffer, d)[0].n_models)):
        badness, margin = _badness(head, memory_in(buffer, d, window, m).model)
        if badness - boldness * margin < least:
            best, least = m, badness - boldness * margin
    return best


@inlined
def _badness(head: Head, model: Model) -> tuple[float, float]:
    """The share of failures among a model's last rewards, and how far chance can take it."""
    age = model.factor.counts[0].seen
    if age == 0.0:
        return 0.0, 0.5
    rewards = min(head.settings[0].window, age)
    margin = math.sqrt(-math.log(head.settings[0].failure_delta) / (2.0 * rewards))
    return model.about[0].failed / rewards, margin


@compiled
def learn(buffer: Vector, x: Vector, y: float, square: float) -> None:
    """Every model checks the reward and learns it unless it is a surprise. Models that fail too often are dropped."""
    head = view_head(buffer)
    d, window = x.shape[0], head.settings[0].window
    scratch = new_scratch(d)
    header = header_of(buffer, d)[0]
    n_left, good = 0, 0
    for m in range(int(header.n_models)):
        watched = memory_in(buffer, d, window, m)
        model, counts = watched.model, watched.model.factor.counts[0]
        sigma = noise_level(head, model.factor)
        index, estimate = read_single(head, model, x, square, scratch)
        failed = not abs(estimate - y) <= index - estimate + head.settings[0].slack * sigma
        if not failed:
            learn_row(model, x, y, square, scratch)
            counts.seen -= 1.0
        elif head.settings[0].sigma == 0.0:
            # σ̂ counts it as noise: or a model whose first rewards were alike would take all others for surprises.
            model.factor.loss[0] += (estimate - y) * (estimate - y)
        record = int(counts.seen) % int(window)
        if counts.seen >= window:
            model.about[0].failed -= watched.failures[record]
        watched.failures[record] = 1.0 if failed else 0.0
        model.about[0].failed += watched.failures[record]
        counts.seen += 1.0
        badness, margin = _badness(head, model)
        if badness >= margin + head.settings[0].delta:
            continue
        good += badness < margin + head.settings[0].tolerance
        if n_left < m:
            to, origin = model_at(d, window, n_left), model_at(d, window, m)
            for i in range(slot_size(d, window)):
                buffer[to + i] = buffer[origin + i]
        n_left += 1
    if good == 0:  # as there is none if none is left
        _begin_model(head, memory_in(buffer, d, window, n_left))
        n_left += 1
    header.n_models = float(n_left)
