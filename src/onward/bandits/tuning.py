"""Scales that are tuned as a policy plays: each choice takes one of a few, those oftener that have earned more.

All scales read the same memory, so a choice is compared with what the other scales would have chosen: a scale's gain is
the reward, above the mean of rewards, times the probability with which this scale makes that choice over the
probability with which it is made at all. Where all agree nobody gains. The gains' exponential weights say how often
each scale is taken (Exp4 of Auer et al. 2002, its rate by the gains' own spread), and none is taken too seldom to be
seen. Compiled.

A reward may come later: the choice waits for it in a ring, known by its action. What was chosen longer ago than the
ring reaches is learned, but changes no gain.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.bandits.settings import SAMPLING, Head
from onward.core.compile import compiled, inlined
from onward.core.types import Matrix, Records, Vector
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "433cfd69ab36a9df"  # other files whose code is compiled into this one: see tools/digests.py

Mask = NDArray[np.bool_]

MOST = 4  # scales
WAITING = 128  # choices that can wait for their rewards
# Chosen on the first worlds of benchmarks/bandit_defaults.py
RATE = 0.3
LEAST_SHARE = 0.02

TUNING = np.dtype(
    [
        (name, "f8")
        for name in (
            "spread",  # Σ of the gains' squares
            "mean",  # of rewards, ...
            "rewards",  # ... and how many there were
            "next",  # the place of the next choice
            # Of arms that share a record: `shared_record.py`
            "scales",  # how many; 0: none are tuned
            "least",  # of them
            "pools",  # 1 if σ is estimated from the rewards of all arms together
        )
    ]
)
_N_ABOUT = 7
_as_about = records_of(TUNING)
_N_CHOICE = 5
_ROW = _N_CHOICE + MOST
N_TUNING = _N_ABOUT + MOST + WAITING * _ROW


def last_choice(record: Vector) -> Vector:
    """The numbers of the last choice that was noted in a record: a view."""
    at = choice_at((int(record[3]) - 1) % WAITING)
    return record[at : at + _ROW]


def choice_at(place: int) -> int:
    """Where a choice that waits begins in its record."""
    return _N_ABOUT + MOST + place * _ROW


class Tuning(NamedTuple):
    """Views of a record."""

    about: Records
    gains: Vector  # (MOST,): of each scale, above what was earned
    # (WAITING, 5 + MOST): length and mark of an action, whether it waits, Σ π(u − 1)², the chance with which it was
    # chosen, and u: the chance with which each scale chooses it, over that
    choices: Matrix


@inlined
def view_tuning(record: Vector) -> Tuning:
    """The record by its parts."""
    start = _N_ABOUT + MOST
    return Tuning(
        _as_about(part(record, 0, _N_ABOUT)),
        part(record, _N_ABOUT, start),
        as_matrix(part(record, start, N_TUNING), WAITING, _ROW),
    )


@inlined
def tuning_in(buffer: Vector) -> Tuning:
    """That of a policy that has one: the last of its buffer."""
    n = buffer.shape[0]
    return view_tuning(part(buffer, n - N_TUNING, n))


@inlined
def shares(tuning: Tuning, n: int) -> Vector:
    """How often each of n scales is taken."""
    out, most, total = np.empty(n), -np.inf, 0.0
    spread = tuning.about[0].spread
    rate = RATE * math.sqrt(math.log(n) / spread) if spread > 0.0 else 0.0
    for j in range(n):
        most = max(most, tuning.gains[j])
    for j in range(n):
        out[j] = math.exp(rate * (tuning.gains[j] - most))
        total += out[j]
    for j in range(n):
        out[j] = LEAST_SHARE + (1.0 - n * LEAST_SHARE) * out[j] / total
    return out


@inlined
def multiple(j: int) -> float:
    """The j-th scale over the least."""
    return float(1 << j)


@inlined
def draws_to_explore(head: Head) -> int:
    """How many uniform random numbers come after those of the rule: whether to explore, and which action then."""
    return 2 if head.settings[0].explore > 0.0 else 0


@inlined
def take_scale(head: Head, taken: Vector, draws: Vector) -> tuple[int, float]:
    """Which scale is taken, drawn from how often each is, and what is left of the draw: uniform in [0, 1)."""
    last = draws[draws.shape[0] - 1 - draws_to_explore(head)]
    left = 0.5 * math.erfc(-last / math.sqrt(2.0)) if head.settings[0].rule == SAMPLING else last
    n = taken.shape[0]
    for j in range(n - 1):
        if left < taken[j]:
            return j, left / taken[j]
        left -= taken[j]
    return n - 1, min(left / taken[n - 1], 1.0 - 1e-16)


@inlined
def split(estimate: Vector, index: Vector, width: Vector) -> None:
    """What an index at the least scale adds to the estimate. Overwrites the width."""
    for i in range(index.shape[0]):
        width[i] = index[i] - estimate[i]


@inlined
def scaled(estimate: Vector, width: Vector, j: int, index: Vector) -> None:
    """The index of each action at the j-th scale. Overwrites the index."""
    factor = multiple(j)
    for i in range(index.shape[0]):
        index[i] = estimate[i] + factor * width[i]


@inlined
def chance_at(estimate: Vector, width: Vector, available: Mask, j: int, chosen: int) -> float:
    """The chance with which the j-th scale chooses this action: those that tie share it."""
    factor, ties = multiple(j), 0
    own = estimate[chosen] + factor * width[chosen]
    for i in range(estimate.shape[0]):
        if available.shape[0] == 0 or available[i]:
            other = estimate[i] + factor * width[i]
            if other > own:
                return 0.0
            ties += other == own
    return 1.0 / ties


@inlined
def chance_of(taken: Vector, estimate: Vector, width: Vector, available: Mask, chosen: int, each: Vector) -> float:
    """The chance with which this action is chosen; overwrites `each` with those of the scales."""
    chance = 1.0  # by what is missing: where all scales agree, nothing is
    for j in range(taken.shape[0]):
        each[j] = chance_at(estimate, width, available, j, chosen)
        chance -= taken[j] * (1.0 - each[j])
    return max(chance, 0.0)


@inlined
def note_choice(
    tuning: Tuning, taken: Vector, each: Vector, explore: float, floor: float, square: float, mark: float
) -> None:
    """Let a choice wait for its reward, given the chance with which each scale makes it.

    A share `explore` of choices is made by none; this one then with the probability `floor`, in all. Overwrites `each`.
    """
    about, chance = tuning.about[0], 1.0
    for j in range(taken.shape[0]):
        if explore > 0.0:
            each[j] = (1.0 - explore) * each[j] + floor
        chance -= taken[j] * (1.0 - each[j])
    at = int(about.next)
    about.next = 0.0 if at + 1 == WAITING else at + 1.0
    row, spread = tuning.choices[at], 0.0
    for j in range(MOST):
        row[_N_CHOICE + j] = each[j] / chance if j < taken.shape[0] else 1.0
        if j < taken.shape[0]:
            above = row[_N_CHOICE + j] - 1.0
            spread += taken[j] * above * above
    row[0], row[1], row[2], row[3], row[4] = square, mark, 1.0, spread, chance


@inlined
def credit(tuning: Tuning, square: float, mark: float, reward: float) -> None:
    """Let the scales gain from the reward of the last choice of this action that waits; if none does, nothing."""
    about = tuning.about[0]
    at = int(about.next)
    for back in range(1, WAITING + 1):
        row = tuning.choices[(at - back) % WAITING]
        if row[2] == 0.0 or row[0] != square or row[1] != mark:
            continue
        row[2] = 0.0
        above = reward - about.mean if about.rewards > 0.0 else 0.0
        about.rewards += 1.0
        about.mean += (reward - about.mean) / about.rewards
        for j in range(MOST):
            tuning.gains[j] += (row[_N_CHOICE + j] - 1.0) * above
        about.spread += row[3] * above * above
        return


@inlined
def mark_of(x: Vector) -> float:
    """A number by which an action is known, beside its length."""
    mark = 0.0
    for j in range(x.shape[0]):
        mark += (1.0 + 0.6180339887498949 * j) * x[j]
    return mark


@compiled
def chances_of_all(tuning: Tuning, scales: int, estimate: Vector, index: Vector, available: Mask) -> Vector:
    """The chance with which each action is chosen, by a rule that takes the largest index; given at the least scale."""
    out, width = np.empty(index.shape[0]), np.empty(index.shape[0])
    taken, each = shares(tuning, scales), np.empty(MOST)
    split(estimate, index, width)
    for i in range(index.shape[0]):
        free = available.shape[0] == 0 or available[i]
        out[i] = chance_of(taken, estimate, width, available, i, each) if free else 0.0
    return out
