"""The head of a policy's buffer: its settings and its log, as named numbers before the memory.

A policy's buffer holds its settings, a log of what was offered and learned, λ and the prior mean of each coordinate,
and then its memory. So policies can be copied, saved, stacked (one for each arm) and played in a compiled loop alike.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from onward.core.compile import inlined
from onward.core.factor import aligned
from onward.core.types import Records, Vector
from onward.core.views import part, records_of

COMPILED_FROM = "2e09cbf2f0a85d1d"  # other files whose code is compiled into this one: see tools/digests.py

SETTINGS = np.dtype(
    [
        (name, "f8")
        for name in (
            "estimator",
            "memory",
            "rule",
            "width",
            "bias",
            "lam_least",
            "lam_most",
            "even",  # 1 if λ is the same for all coordinates
            "has_prior",  # 0 while the prior mean is 0 everywhere
            "sigma",  # 0: estimated from the rewards
            "theta_bound",
            "delta",
            "scale",
            "action_bound",  # inf: the largest norm offered so far counts
            "dimension",  # of the actions as given; there are fewer coordinates if they were projected to their span
            "coordinates",
            "gamma",
            "window",
            "epsilon",
            "slack",  # of a detector: how many σ noise alone takes a reward from its mean
            "failure_delta",
            "tolerance",
            "width_function",  # addresses of a user's compiled functions; 0 if there are none
            "index_function",
            "joint",  # 1 if the radius is √(noise² + bias²), 0 if it is their sum
            "clipped",  # 1 if no index is above what ‖x‖S allows
            "multiple",  # of σ, the radius where that is a number
            "scales",  # how many are tuned, each twice the one before, the first of them `scale`; 0: none is
            "explore",  # the probability of any available action, whatever the rule
            "steepness",  # of rules that weigh by distance from the best: 1 by the temperature; 0: by what is known
        )
    ]
)
N_SETTINGS = 30
_as_settings = records_of(SETTINGS)

LOG = np.dtype(
    [
        ("learned", "f8"),  # rewards, over all restarts
        ("counted", "f8"),  # those of them that change points count: not a warm start's
        ("offered", "f8"),  # the largest ‖x‖²
        ("capacity", "f8"),  # room for rows, models or change points
    ]
)
N_LOG = 4
_as_log = records_of(LOG)

RIDGE, FORWARD = range(2)
OPTIMISTIC, SAMPLING, GREEDY, EPSILON_GREEDY, UNIFORM_AT_RANDOM, INVERSE_GAP, SOFTMAX = range(7)
BY_DETERMINANT, BY_TRACE, BY_CONSTANTS, AS_PRINTED, BY_FUNCTION, BY_MULTIPLE = range(6)
TIGHT, AS_IN_PAPER, NO_BIAS, SHARP = range(4)


class Status(IntEnum):
    """What a compiled call says: done, or why it did nothing."""

    DONE = 0
    NOT_FINITE = -1
    TOO_LONG = -2
    NONE_AVAILABLE = -3
    FULL = -4
    SEVERAL = -5
    NO_INDEX = -6
    WRONG_SHAPE = -7
    TOO_MANY = -8

    @property
    def message(self) -> str:
        """The words for it, with places for what came."""
        return {
            Status.DONE: "done",
            Status.NOT_FINITE: "actions and rewards must be finite numbers below {most:g}, got norms up to {norm:g}",
            Status.TOO_LONG: "actions must have norms of at most action_bound={bound:g}, got {norm:g} in row {row}",
            Status.NONE_AVAILABLE: "no action is available",
            Status.FULL: "the memory must grow first",
            Status.SEVERAL: "several actions are as good",
            Status.NO_INDEX: "a width or index of one's own must be a number for every action, got NaN",
            Status.TOO_MANY: "so many actions are for the loop that reads few of them",
            Status.WRONG_SHAPE: "actions must have as many features as the policy knows",
        }[self]


DONE, NOT_FINITE, TOO_LONG, NONE_AVAILABLE, FULL, SEVERAL, NO_INDEX, WRONG_SHAPE, TOO_MANY = map(int, Status)


class Head(NamedTuple):
    """The head of a policy's buffer."""

    settings: Records
    log: Records
    lam: Vector  # (d,): λ of each coordinate
    scales: Vector  # (d,): the largest λ by that of each coordinate
    prior: Vector  # (d,): the prior mean


@inlined
def memory_at(d: int) -> int:
    """Where a memory of d coordinates begins in its policy's buffer."""
    return aligned(N_SETTINGS + N_LOG + 3 * d)


@inlined
def view_head(buffer: Vector) -> Head:
    """The head of a policy's buffer. The only place that knows where things are."""
    settings = _as_settings(part(buffer, 0, N_SETTINGS))
    d, lam = int(settings[0].coordinates), N_SETTINGS + N_LOG
    scales = lam + d
    prior = scales + d
    return Head(
        settings,
        _as_log(part(buffer, N_SETTINGS, lam)),
        part(buffer, lam, scales),
        part(buffer, scales, prior),
        part(buffer, prior, prior + d),
    )
