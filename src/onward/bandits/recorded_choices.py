"""Choices as a log records them: what was known of each action, and what a reward says of the scales. Compiled.

Where a policy itself chooses, a choice that tunes scales waits in its buffer. Where choices are kept in a log, and come
back from there with their rewards, the policy stays as it is until a reward is learned: these functions read it, and
note a choice just before its reward is learned.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.bandits.buffers import OFFERED
from onward.bandits.chances import add_floor, chances_of, rewards_and_noise, steepness_of
from onward.bandits.choosing import count_available
from onward.bandits.directions import chi_law, spread_directions
from onward.bandits.policy import Policy
from onward.bandits.policy_chances import directions_needed
from onward.bandits.pruning import Mask
from onward.bandits.reading import longest_of, new_rows, read_actions, view_read
from onward.bandits.sampling_chances import sampled_chances
from onward.bandits.settings import GREEDY, SAMPLING, UNIFORM_AT_RANDOM, view_head
from onward.bandits.tuning import MOST, chance_at, mark_of, note_choice, shares, split, tuning_in
from onward.core.compile import compiled
from onward.core.factor import square_of
from onward.core.types import Matrix, Vector

COMPILED_FROM = "6f7269b32df2130e"  # other files whose code is compiled into this one: see tools/digests.py

DIRECTIONS = 64  # that the probabilities of a sampling rule are averaged over


class Offered(NamedTuple):
    """What a policy says of actions: nothing is changed by asking."""

    estimates: Vector
    widths: Vector  # a standard deviation of each estimate
    leverages: Vector
    chances: Vector  # with which each is taken
    taken: Vector  # how often each scale is taken; 1 where none are tuned
    by_scale: Matrix  # the chance of each action at each scale
    longest: float  # the largest squared length, ...
    typical: float  # ... and the median of those that are not 0


@compiled
def _read_offered(buffer: Vector, actions: Matrix, available: Mask, explore: float) -> tuple[Matrix, Vector]:
    """Rows of estimates, widths, leverages, squared lengths, chances, chances at each scale; how often each is taken.

    Of a rule that samples, there are no chances.
    """
    n, head = actions.shape[0], view_head(buffer)
    rows = new_rows(n, actions.shape[1])
    longest_of(actions, view_read(rows))
    rule = head.settings[0].rule
    if rule in (SAMPLING, UNIFORM_AT_RANDOM):  # which look at no leverage themselves
        head.settings[0].rule = GREEDY
    read_actions(buffer, buffer[:0], actions, rows)
    head.settings[0].rule = rule
    read, scales = view_read(rows), int(head.settings[0].scales)
    out = np.empty((5 + max(scales, 1), n))
    out[0], out[2], out[3] = read.estimate, read.leverage, read.squares
    out[1] = np.sqrt(rewards_and_noise(head, buffer)[1] * np.maximum(read.leverage, 0.0))
    taken = np.ones(1)
    if rule == SAMPLING:
        return out[:4], taken
    if scales == 0:
        out[5] = chances_of(buffer, steepness_of(buffer, available, read.leverage), available, read.indices)
    else:
        taken = shares(tuning_in(buffer), scales)
        split(read.estimate, read.indices, read.reach)
        for j in range(scales):
            for i in range(n):
                free = available.shape[0] == 0 or available[i]
                out[5 + j, i] = chance_at(read.estimate, read.reach, available, j, i) if free else 0.0
            add_floor(head, available, out[5 + j])
    out[4] = 0.0
    free_ones = count_available(available, n)
    for j in range(taken.shape[0]):
        for i in range(n):
            out[5 + j, i] *= 1.0 - explore
            if available.shape[0] == 0 or available[i]:
                out[5 + j, i] += explore / free_ones
            out[4, i] += taken[j] * out[5 + j, i]
    return out, taken


def offered(
    policy: Policy, buffer: Vector, actions: Matrix, available: NDArray[np.bool_], explore: float = 0.0
) -> Offered:
    """What a policy with that buffer says of actions that were checked; the buffer keeps what makes reading quick.

    With probability `explore`, any available action is taken.
    """
    rows, taken = _read_offered(buffer, actions, available, explore)
    squares = sorted(square for square in rows[3].tolist() if square > 0.0) or [0.0]
    longest, typical = squares[-1], 0.5 * (squares[(len(squares) - 1) // 2] + squares[len(squares) // 2])
    if policy.rule.kind != SAMPLING:
        return Offered(rows[0], rows[1], rows[2], rows[4], taken, rows[5:], longest, typical)
    m = directions_needed(actions, available)
    design, law = spread_directions(m, DIRECTIONS), chi_law(m)
    taken, each = sampled_chances(buffer, actions, available, design.rows, law.table, law.step, design.blocks, False)
    by_scale = each[2:]
    if explore:
        free = available if len(available) else np.ones(len(actions), dtype=np.bool_)
        by_scale = (1.0 - explore) * by_scale + explore * free / free.sum()
    chances = by_scale[0] if len(taken) == 1 else averaged(taken, by_scale)
    return Offered(rows[0], rows[1], rows[2], chances, taken, by_scale, longest, typical)


def averaged(shares: Vector, each: Matrix) -> Vector:
    """Σ share · array, added in order: BLAS adds in an order of its own on each kind of processor."""
    total = np.asarray(shares[0] * each[0])
    for share, one in zip(shares[1:], each[1:], strict=True):
        total = total + share * one
    return total


@compiled
def note_taken(buffer: Vector, x: Vector, taken: Vector, by_scale: Vector) -> None:
    """Let a choice wait for its reward, given how often each scale was taken then, and its chance at each.

    A choice that no scale makes says nothing of them, and is not noted.
    """
    each, chance = np.ones(MOST), 0.0
    each[: by_scale.shape[0]] = by_scale
    for j in range(by_scale.shape[0]):
        chance += taken[j] * by_scale[j]
    if chance > 0.0:
        note_choice(tuning_in(buffer), taken, each, 0.0, 0.0, square_of(x), mark_of(x))


def note_offered(buffer: Vector, longest: float) -> None:
    """Count the longest action that was offered, by its squared length."""
    buffer[OFFERED] = max(buffer[OFFERED], longest)
