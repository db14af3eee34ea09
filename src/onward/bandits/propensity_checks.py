"""Are the propensities in a log right? Whatever the policy that is judged, some sums must come out.

For any other policy π' that was fixed before an event, π'(taken) / propensity is 1 in the mean, and for each action j
so is the part of it where j was taken in relation to π'(j). Two such policies are asked:

- the uniform one: sensitive to small propensities that are wrong, such as an ε that is not the one that was used;
- a guess at the log's own policy: a conditional logit of what was taken, fitted to the events before (at 1/8, 1/4 and
  1/2 of the log). Its weights are near to 1, so that an error of the propensities stands out, of each action, too.

A log that holds the chances of all actions is asked, besides, whether actions were taken as often as these say.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from onward.bandits.choice_model import MOST_NUMBERS, ChoiceModel
from onward.bandits.logs import LoggedData
from onward.core.types import Vector

FALSE_ALARMS = 0.01
"""With this probability at most any check of a log is flagged if all is right, as far as means are normal."""
TOLERANCE = 0.05
"""A mean weight that is no farther from 1 than this is let pass: in a large log smaller errors show, and do no harm."""
GUESS_TOLERANCE = 0.2
"""A guess at the log's policy may give so much of its probability to actions that had no chance."""
MOST_EVENTS, ENOUGH_EVENTS = 20_000, 2_000
"""So many events, at equal distances, are enough; and so many if actions have many features."""
MOST_ACTIONS = 50
"""With more actions than this, these are not looked at one by one."""
LEAST_EXPECTED = 20.0
"""An action that should have been taken less often than this is not looked at by itself."""
UNLIKELY = 0.25
"""The guess leaves out actions that it takes to be less likely than the likeliest by this factor."""


@dataclass(frozen=True)
class Check:
    """A sum that should come out as 1, or as nothing, if the propensities in the log are right."""

    name: str
    value: float
    standard_error: float
    expected: float
    events: int
    flagged: bool
    sentence: str
    """What it says, if it is flagged."""


@dataclass(frozen=True)
class _Sum:
    """A check that was counted, and what may be made of it."""

    name: str
    about: str
    value: float
    error: float
    lower: float = 1.0 - TOLERANCE
    upper: float = 1.0 + TOLERANCE
    expected: float = 1.0


def checked_propensities(log: LoggedData) -> tuple[Check, ...]:
    """The checks of a log's propensities. They are made once for each log."""
    if log not in _MADE:
        _MADE[log] = _checks(log)
    return _MADE[log]


_MADE: "WeakKeyDictionary[LoggedData, tuple[Check, ...]]" = WeakKeyDictionary()


def _checks(log: LoggedData) -> tuple[Check, ...]:
    events = np.flatnonzero(log.actions.sizes > 1)
    width = int(log.actions.sizes.max()) * (log.actions.dimension if log.contexts is None else log.contexts.shape[1])
    most = min(MOST_EVENTS, max(ENOUGH_EVENTS, MOST_NUMBERS // width))
    if len(events) > most:
        events = events[np.linspace(0, len(events) - 1, most).astype(int)]
    if len(events) < 2:
        return ()
    sums = [_uniform_sum(log, events), *_guess_sums(log, events), *_count_sums(log, events)]
    limit = NormalDist().inv_cdf(1 - FALSE_ALARMS / (2 * len(sums)))
    made = []
    for each in sums:
        # Sums of few large weights are like counts, whose variance is their mean: it is that of 1 which is asked about.
        error = each.error / math.sqrt(max(each.value, 1e-12)) if each.expected else each.error
        high = each.value - each.upper > limit * error
        low = each.lower - each.value > limit * error
        sentence = ""
        if high or low:
            sentence = (
                f"The propensities in the log look {'too small' if high else 'too large'}: {each.about} "
                f"{each.value:.3g} ± {each.error:.2g}, and should be {each.expected:g}."
            )
        made.append(Check(each.name, each.value, each.error, each.expected, len(events), high or low, sentence))
    return tuple(made)


def _uniform_sum(log: LoggedData, events: NDArray[np.int64]) -> _Sum:
    propensity = log.propensity[events]
    value, error = _mean(1.0 / (log.actions.sizes[events] * propensity))
    # Where some actions had next to no chance, they are missing from the sum: then too little says nothing.
    lower = 1.0 - TOLERANCE if _has_floor(log, events) else -math.inf
    return _Sum("uniform policy", "the mean weight of the uniform policy is", value, error, lower)


def _has_floor(log: LoggedData, events: NDArray[np.int64]) -> bool:
    """Whether it looks as if every action had at least the least propensity in the log: a share of exploration.

    Either that is not far below the uniform one, or actions with just that propensity were taken about as often as they
    would be if all but one had it in every event.
    """
    propensity, sizes = log.propensity[events], log.actions.sizes[events]
    least = float(propensity.min())
    if least * len(events) >= 50 and least * float(sizes.max()) >= 0.1:
        return True
    seen = int((propensity <= 1.01 * least).sum())
    return seen >= 5 and seen >= 0.25 * least * float((sizes - 1).sum())


def _guess_sums(log: LoggedData, events: NDArray[np.int64]) -> list[_Sum]:
    """The mean weight of a guess at the log's own policy, and the same of each action."""
    n = len(events)
    starts = [n // 8, n // 4, n // 2, n]
    if starts[0] < LEAST_EXPECTED:
        return []
    model = ChoiceModel(log, events)
    guesses = np.concatenate([model.fitted(first).probabilities(first, last) for first, last in pairwise(starts)])
    later = events[starts[0] :]
    taken, propensity, rows = log.taken[later], log.propensity[later], np.arange(len(later))
    likely = np.where(guesses >= UNLIKELY * guesses.max(axis=1, keepdims=True), guesses, 0.0)
    likely /= likely.sum(axis=1, keepdims=True)
    about = "the mean weight of a guess at the log's own policy is"
    sums = [_Sum("log's own policy", about, *_mean(likely[rows, taken] / propensity), 1.0 - GUESS_TOLERANCE)]
    lower = 1.0 - GUESS_TOLERANCE if _has_floor(log, events) else -math.inf
    for j in range(guesses.shape[1] if guesses.shape[1] <= MOST_ACTIONS else 0):
        expected = guesses[:, j]
        if expected.sum() >= LEAST_EXPECTED:
            came = np.where(taken == j, expected / propensity, 0.0)
            ratio = float(came.sum() / expected.sum())
            error = _mean(came - ratio * expected)[1] * len(later) / float(expected.sum())
            sums.append(_Sum(f"action {j}", f"the share of action {j} that they account for is", ratio, error, lower))
    return sums


def _count_sums(log: LoggedData, events: NDArray[np.int64]) -> list[_Sum]:
    """How often each action was taken, in standard deviations more than the chances say, and how likely that was."""
    if log.probabilities is None:
        return []
    chances = [log.probabilities[event] for event in events]
    widest = max(map(len, chances))
    table = np.zeros((len(events), widest))
    for row, each in zip(table, chances, strict=True):
        row[: len(each)] = each
    rows, taken, sums = np.arange(len(events)), log.taken[events], []
    for j in range(widest if widest <= MOST_ACTIONS else 0):
        variance = float((table[:, j] * (1 - table[:, j])).sum())
        if variance * 4 < LEAST_EXPECTED:
            continue
        z = float((taken == j).sum() - table[:, j].sum()) / math.sqrt(variance)
        sums.append(_Sum(f"count of action {j}", _COUNTED.format(j=j), z, 1.0, 0.0, 0.0, expected=0.0))
    logs = np.log(np.where(table > 0, table, 1.0))
    means = (table * logs).sum(axis=1)
    variance = float((table * (logs - means[:, None]) ** 2).sum())
    if variance > LEAST_EXPECTED / 4:
        z = float((logs[rows, taken] - means).sum()) / math.sqrt(variance)
        sums.append(_Sum("likelihood", _LIKELY, z, 1.0, 0.0, 0.0, expected=0.0))
    return sums


_COUNTED = "how often action {j} was taken, less what the chances say, is in standard deviations"
_LIKELY = "the log-likelihood of what was taken, less its mean by the chances, is in standard deviations"


def _mean(values: Vector) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
