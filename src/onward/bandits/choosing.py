"""The choice: every action read, or only those that can be the best (pruning.py). Compiled."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.bandits.chances import add_floor, chances_of, drawn, needs_steepness, steepness_of, weigh
from onward.bandits.indices import checked_square
from onward.bandits.pruning import Mask, read_best
from onward.bandits.quick_normals import draw_normals, source_of
from onward.bandits.reading import longest_of, new_rows, read_actions, sample_actions, samples_in_one_pass, view_read
from onward.bandits.settings import (
    EPSILON_GREEDY,
    INVERSE_GAP,
    N_LOG,
    N_SETTINGS,
    NO_INDEX,
    NONE_AVAILABLE,
    OPTIMISTIC,
    SAMPLING,
    SEVERAL,
    SOFTMAX,
    TOO_MANY,
    UNIFORM_AT_RANDOM,
    WRONG_SHAPE,
    Head,
    view_head,
)
from onward.bandits.tuning import (
    MOST,
    Tuning,
    chance_of,
    chances_of_all,
    credit,
    draws_to_explore,
    mark_of,
    note_choice,
    scaled,
    shares,
    split,
    take_scale,
    tuning_in,
)
from onward.core.compile import compiled, inlined, spliced
from onward.core.factor import square_of
from onward.core.fast_path import close
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW

COMPILED_FROM = "51721af19309fbd6"  # other files whose code is compiled into this one: see tools/digests.py

MANY = 16  # of fewer actions than this, all are read


@inlined
def draws_needed(head: Head) -> int:
    """How many random numbers a choice takes: uniform ones, or standard normal ones for a sampling rule."""
    rule, tuned = head.settings[0].rule, head.settings[0].scales > 0.0
    if rule == SAMPLING:
        return int(head.lam.shape[0]) + int(tuned)
    if rule in (UNIFORM_AT_RANDOM, INVERSE_GAP, SOFTMAX) or tuned:
        return 1
    return 2 if rule == EPSILON_GREEDY else 0


@inlined
def draw_into(head: Head, rng: np.random.Generator, draws: Vector) -> None:
    """The random numbers of a choice, as the policy in Python draws them. Overwrites draws."""
    own = draws.shape[0] - draws_to_explore(head)
    samples = head.settings[0].rule == SAMPLING
    for j in range(draws.shape[0]):
        draws[j] = rng.standard_normal() if samples and j < own else rng.random()


@compiled
def check(buffer: Vector, actions: Matrix) -> int:
    """Whether actions can be chosen from and learned: a negative status if not."""
    d = view_head(buffer).lam.shape[0]
    if actions.shape[0] == 0 or 0 < d != actions.shape[1]:
        return WRONG_SHAPE
    longest = longest_of(actions, view_read(new_rows(actions.shape[0], actions.shape[1])))
    status = checked_square(view_head(buffer).settings, longest)
    return int(status) if status < 0.0 else 0


@compiled
def read_all(buffer: Vector, draws: Vector, actions: Matrix) -> Matrix:
    """The index and the estimate of each action, in two rows. Changes nothing but what is kept to be quick."""
    rows = new_rows(actions.shape[0], actions.shape[1])
    longest_of(actions, view_read(rows))
    read_actions(buffer, draws, actions, rows)
    head, read = view_head(buffer), view_read(rows)
    if head.settings[0].scales > 0.0:
        split(read.estimate, read.indices, read.reach)
        scale = take_scale(head, shares(tuning_in(buffer), int(head.settings[0].scales)), draws)[0]
        scaled(read.estimate, read.reach, scale, read.indices)
    return rows[:2]


@compiled
def read_chances(buffer: Vector, actions: Matrix, available: Mask, chooses: bool) -> Vector:
    """The chance of each action, where the rule does not sample; if it `chooses`, the actions count as offered."""
    rows, log = new_rows(actions.shape[0], actions.shape[1]), view_head(buffer).log[0]
    longest = longest_of(actions, view_read(rows))
    if chooses:
        log.offered = max(log.offered, longest)
    read_actions(buffer, buffer[:0], actions, rows)
    return chances_of(buffer, steepness_of(buffer, available, view_read(rows).leverage), available, rows[0])


@spliced
def choose_into(
    buffer: Vector, draws: Vector, actions: Matrix, available: Mask, rows: Matrix, many: bool, lots: bool
) -> tuple[int, int]:
    """The action to play, and how many are as good. Overwrites the rows, and notes how long the actions are.

    An empty mask means that all are available. The choice is the first of those that tie: `nth_best` gives another.
    A negative choice is a status; then nothing was changed. `many` and `lots` are constants: without `many` nothing is
    compiled that reads few of many actions, and such a choice is refused; without `lots` nothing that draws any.
    """
    head = view_head(buffer)
    log = head.log[0]
    tuned = head.settings[0].scales > 0.0
    lazy = head.settings[0].rule == OPTIMISTIC and actions.shape[0] >= MANY and actions.shape[1] > FEW and not tuned
    if lazy and not many:
        return TOO_MANY, 0
    sampled = samples_in_one_pass(head)
    longest = sample_actions(buffer, draws, actions, rows) if sampled else longest_of(actions, view_read(rows))
    offered, longest = log.offered, checked_square(head.settings, longest)
    best, ties = int(longest), 0
    if longest >= 0.0:
        log.offered = max(offered, longest)
        read_already = sampled
        if many:
            read_already = read_already or (lazy and read_best(buffer, actions, available, rows))
        if not read_already:
            read_actions(buffer, draws, actions, rows)
        if lots:
            read = view_read(rows)
            if tuned:
                best, ties = pick_tuned(head, tuning_in(buffer), draws, available, actions, rows)
            else:
                steepness = steepness_of(buffer, available, read.leverage) if needs_steepness(head) else 0.0
                best, ties = pick(head, draws, available, rows[0], steepness, read.reach)
        else:
            best, ties = pick_best(head, available, rows[0])
        if best < 0:
            log.offered = offered
    return best, ties


@compiled
def choose_of_few(buffer: Vector, draws: Vector, actions: Matrix, available: Mask) -> tuple[int, int, Vector]:
    """`choose_into` without `many`, and the index of each action."""
    rows = new_rows(actions.shape[0], actions.shape[1])
    best, ties = choose_into(buffer, draws, actions, available, rows, False, True)
    return best, ties, rows[0]


@compiled
def choose_of_many(buffer: Vector, draws: Vector, actions: Matrix, available: Mask) -> tuple[int, int, Vector]:
    """`choose_into`, and the index of each action: −inf if it was not read because it cannot be the best."""
    rows = new_rows(actions.shape[0], actions.shape[1])
    best, ties = choose_into(buffer, draws, actions, available, rows, True, True)
    return best, ties, rows[0]


def choose(buffer: Vector, draws: Vector, actions: Matrix, available: Mask) -> tuple[int, int, Vector]:
    """`choose_of_many`, which is compiled only where there are many."""
    chosen = choose_of_few(buffer, draws, actions, available)
    return choose_of_many(buffer, draws, actions, available) if chosen[0] == TOO_MANY else chosen


@spliced
def _choose_fast(buffer: Vector, draws: Vector, actions: Matrix, many: bool) -> int:
    """`choose` where all are available and no lots are drawn; a negative status, and no trace, if several tie.

    From Python a call costs more the more it is given.
    """
    if actions.shape[0] == 0 or actions.shape[1] != view_head(buffer).lam.shape[0]:
        return WRONG_SHAPE
    offered = view_head(buffer).log[0].offered
    rows = new_rows(actions.shape[0], actions.shape[1])
    best, ties = choose_into(buffer, draws, actions, np.empty(0, dtype=np.bool_), rows, many, False)
    if ties > 1:
        view_head(buffer).log[0].offered = offered
        best = SEVERAL
    return best


@compiled
def choose_fast(buffer: Vector, actions: Matrix) -> int:
    """`_choose_fast` of few actions."""
    return _choose_fast(buffer, buffer[:0], actions, False)


@compiled
def choose_fast_of_many(buffer: Vector, actions: Matrix) -> int:
    """`_choose_fast` of few actions or many."""
    return _choose_fast(buffer, buffer[:0], actions, True)


@compiled
def choose_by_sample(buffer: Vector, words: NDArray[np.uint64], bits: int, fill: int, actions: Matrix) -> int:
    """`_choose_fast` of a rule that samples, from a `quick_normals.Source`. A negative status leaves it as it was."""
    first, second = words[0], words[1]
    draws = np.empty(view_head(buffer).lam.shape[0])
    draw_normals(bits, fill, draws)
    best = _choose_fast(buffer, draws, actions, False)
    if best < 0:
        words[0], words[1] = first, second
    return best


@cache
def fast_loop(many: bool) -> Callable[[Vector, Any], int]:
    """`choose_fast`, or the one of many, closed."""
    loop = choose_fast_of_many if many else choose_fast
    close(loop, np.zeros(N_SETTINGS + N_LOG), np.zeros((1, 1)))  # of no coordinates: it refuses every action
    return loop


@cache
def sampling_loop() -> Callable[[Vector, NDArray[np.uint64], int, int, Any], int]:
    """`choose_by_sample`, closed."""
    source = source_of(np.random.default_rng(0))
    if source is None:
        raise NotImplementedError("NumPy's normal numbers are not where they were looked for")
    close(choose_by_sample, np.zeros(N_SETTINGS + N_LOG), source.words, source.bits, source.fill, np.zeros((1, 1)))
    return choose_by_sample


# Which is the best


@inlined
def pick(head: Head, draws: Vector, available: Mask, index: Vector, steepness: float, room: Vector) -> tuple[int, int]:
    """The action that the rule takes, given the index of each, and how many are as good; a negative status if none.

    Overwrites `room`, a number for each action.
    """
    rule, free = head.settings[0].rule, count_available(available, index.shape[0])
    if free == 0:
        return NONE_AVAILABLE, 0
    explore = head.settings[0].explore
    if explore > 0.0 and draws[draws.shape[0] - 2] < explore:
        return _nth_available(available, int(draws[draws.shape[0] - 1] * free)), 1
    if rule == UNIFORM_AT_RANDOM:
        return _nth_available(available, int(draws[0] * free)), 1
    if rule == EPSILON_GREEDY and draws[0] < head.settings[0].epsilon:
        return _nth_available(available, int(draws[1] * free)), 1
    if needs_steepness(head):
        weigh(head, steepness, available, index, room)
        return drawn(room, draws[0]), 1
    return pick_best(head, available, index)


@inlined
def count_available(available: Mask, n: int) -> int:
    """How many of n actions are available."""
    free = n
    if available.shape[0] > 0:
        free = 0
        for i in range(n):
            free += available[i]
    return free


@inlined
def pick_best(head: Head, available: Mask, index: Vector) -> tuple[int, int]:
    """The first available action with the largest index, and how many are as good; a negative status if none."""
    n, settings = index.shape[0], head.settings[0]
    free = count_available(available, n)
    if free == 0:
        return NONE_AVAILABLE, 0
    if settings.index_function != 0.0 or settings.width_function != 0.0:
        for i in range(n):
            if np.isnan(index[i]) and (free == n or available[i]):
                return NO_INDEX, 0
    if free == n:
        return best_of(index)
    best, ties = -1, 0
    for i in range(n):
        if available[i] and (ties == 0 or index[i] >= index[best]):
            best, ties = (best, ties + 1) if ties > 0 and index[i] == index[best] else (i, 1)
    return best, ties


@compiled
def pick_tuned(
    head: Head, tuning: Tuning, draws: Vector, available: Mask, actions: Matrix, rows: Matrix
) -> tuple[int, int]:
    """`pick` at one of several scales, noted for its reward. The draw that takes the scale breaks ties as well."""
    read, taken = view_read(rows), shares(tuning, int(head.settings[0].scales))
    scale, left = take_scale(head, taken, draws)
    split(read.estimate, read.indices, read.reach)
    scaled(read.estimate, read.reach, scale, read.indices)
    best, ties = pick(head, draws, available, read.indices, 0.0, read.limit)
    if best < 0:
        return best, ties
    best = nth_best(read.indices, available, best, int(left * ties))
    each = np.empty(MOST)
    chance_of(taken, read.estimate, read.reach, available, best, each)
    floor = head.settings[0].explore / count_available(available, read.indices.shape[0])
    note_choice(tuning, taken, each, head.settings[0].explore, floor, read.squares[best], mark_of(actions[best]))
    return best, 1


@compiled
def tuned_chances(buffer: Vector, actions: Matrix, available: Mask) -> Vector:
    """The chance of each action where scales are tuned and the rule does not sample, the floor included."""
    rows, head = new_rows(actions.shape[0], actions.shape[1]), view_head(buffer)
    longest_of(actions, view_read(rows))
    read_actions(buffer, buffer[:0], actions, rows)
    out = chances_of_all(tuning_in(buffer), int(head.settings[0].scales), rows[1], rows[0], available)
    add_floor(head, available, out)
    return out


@compiled
def credit_row(buffer: Vector, x: Vector, reward: float) -> None:
    """Let scales gain from a reward whose row is learned as another one, because of its weight."""
    credit(tuning_in(buffer), square_of(x), mark_of(x), reward)


@compiled
def note_drawn(buffer: Vector, x: Vector, taken: Vector, each: Vector) -> None:
    """Note an action that was drawn, given how often each scale was taken, and its chance at each, floor included."""
    note_choice(tuning_in(buffer), taken, each, 0.0, 0.0, square_of(x), mark_of(x))


@inlined
def best_of(index: Vector) -> tuple[int, int]:
    """The first of the largest, and how many there are of them."""
    best, ties, most = 0, 1, index[0]
    for i in range(1, index.shape[0]):
        if index[i] >= most:
            best, ties = (best, ties + 1) if index[i] == most else (i, 1)
            most = index[i]
    return best, ties


@inlined
def _nth_available(available: Mask, n: int) -> int:
    if available.shape[0] == 0:
        return n
    for i in range(available.shape[0]):
        if available[i]:
            if n == 0:
                return i
            n -= 1
    return -1


@compiled
def nth_best(index: Vector, available: Mask, best: int, n: int) -> int:
    """The n-th (from 0) of the available actions whose index is that of `best`."""
    for i in range(best, index.shape[0]):
        if index[i] == index[best] and (available.shape[0] == 0 or available[i]):
            if n == 0:
                return i
            n -= 1
    return best
