"""What a loop knows of itself: counts, rewards over time, shares of actions, how good its estimates are.

Part of the state, made of the log alone, and of a size that does not grow with it.
"""

import math
from typing import Any

import msgspec
import numpy as np

from onward import storage
from onward.bandits.logs import LEAST_PROPENSITY
from onward.confidence.change_alarm import KIND, ChangeAlarm
from onward.core.types import Vector
from onward.service.waiting import Waiting

_MOST_BINS = 240  # of time
FIRST_BIN = 1.0  # seconds
_APART = 16.0  # bins, by which clocks that are right do not differ
_MOST_ACTIONS = 200  # that are counted one by one
OTHERS = "(others)"
_RECENT = 1000  # rewards that calibration is judged by
_FORGETTING = 0.998  # of the online error, at each reward
DELTA = 0.05  # of bands
_ENOUGH = 40.0  # rewards that differ as much as any does, before there is a band
_BEST_AT = 500.0  # rewards at which a band is narrowest for its length


class Bin(msgspec.Struct, array_like=True):
    """What happened in a stretch of time."""

    start: float
    decided: int = 0
    rewards: int = 0
    total: float = 0.0
    squares: float = 0.0


class ActionCount(msgspec.Struct, array_like=True):
    """What is counted of an action."""

    decided: int = 0
    rewards: int = 0
    total: float = 0.0
    last: float = 0.0  # when it was taken last


class Judged(msgspec.Struct, array_like=True):
    """Sums of rewards that are weighted, for the value of a policy that did not decide."""

    count: int = 0
    weights: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def add(self, weight: float, reward: float) -> None:
        """Count a reward."""
        self.count += 1
        self.weights += weight
        self.total += weight * reward
        self.squares += (weight * reward) ** 2


class Sums(msgspec.Struct, array_like=True):
    """All that is counted."""

    counts: dict[str, int] = {}
    bins: list[Bin] = []
    bin_width: float = FIRST_BIN
    actions: dict[str, ActionCount] = {}
    recent: list[tuple[float, float]] = []  # estimates and rewards
    place: int = 0  # of the next one
    rewards: int = 0
    mean: float = 0.0
    spread: float = 0.0  # Σ (r − mean)²
    least: float = 0.0
    most: float = 0.0
    error: float = 0.0  # of estimates, squared, the latest counting most, ...
    error_of_mean: float = 0.0  # ... and of the mean of rewards as an estimate
    weight: float = 0.0
    leverage: float = 0.0
    agreement: float = 0.0  # Σ of the chance with which the policy takes what the application took
    gain: float = 0.0  # Σ of what the policy expects to earn more
    matched: Judged = msgspec.field(default_factory=Judged)
    shadow: Judged = msgspec.field(default_factory=Judged)
    changes: list[tuple[int, float]] = []  # the rewards and times at which a change was noticed
    watched: int = 0  # decisions of the application, since it decides
    told: float = 0.0  # Σ of the rewards of those whose probability is known


class Statistics:
    """Counts of a loop, and what follows from them."""

    def __init__(self, sums: Sums | None = None, alarm: ChangeAlarm | None = None) -> None:
        self.sums = Sums(counts={}, bins=[], actions={}, recent=[], changes=[]) if sums is None else sums
        self.alarm = ChangeAlarm() if alarm is None else alarm

    def count(self, what: str, times: int = 1) -> None:
        """Count something that happened."""
        self.sums.counts[what] = self.sums.counts.get(what, 0) + times

    def decided(self, waiting: Waiting, leverage: float) -> None:
        """Count a decision."""
        sums = self.sums
        self.count("decided")
        self._bin(waiting.at).decided += 1
        action = self._action(waiting.action)
        action.decided += 1
        action.last = waiting.at
        sums.leverage += (leverage - sums.leverage) * (0.01 if sums.counts["decided"] > 1 else 1.0)
        if waiting.is_own:
            sums.watched += 1
            sums.agreement += waiting.policy_probability
            sums.gain += waiting.gain

    def rewarded(self, waiting: Waiting, value: float, at: float) -> None:
        """Count a reward in means."""
        sums = self.sums
        action, stretch = self._action(waiting.action), self._bin(at)
        action.rewards += 1
        action.total += value
        stretch.rewards += 1
        stretch.total += value
        stretch.squares += value * value
        sums.least = min(sums.least, value) if sums.rewards else value
        sums.most = max(sums.most, value) if sums.rewards else value
        off, off_mean = value - waiting.estimate, value - sums.mean
        sums.rewards += 1
        sums.mean += off_mean / sums.rewards
        sums.spread += off_mean * (value - sums.mean)
        sums.weight = _FORGETTING * sums.weight + 1.0
        sums.error += (off * off - sums.error) / sums.weight
        sums.error_of_mean += (off_mean * off_mean - sums.error_of_mean) / sums.weight
        if len(sums.recent) < _RECENT:
            sums.recent.append((waiting.estimate, value))
        else:
            sums.recent[sums.place] = waiting.estimate, value
            sums.place = (sums.place + 1) % _RECENT
        if waiting.is_told:  # of choices whose probability nobody knows, nothing follows for other policies
            probability = max(waiting.probability, LEAST_PROPENSITY)  # logs of earlier versions may tell any
            if waiting.is_own:
                sums.matched.add(waiting.policy_probability / probability, value)
                sums.told += value
            if waiting.shadow is not None:
                sums.shadow.add(waiting.shadow / probability, value)

    def alarm_bytes(self) -> bytes:
        """The alarm, for a snapshot."""
        return storage.to_bytes(KIND, *self.alarm.to_record())

    def begin_apprentice(self) -> None:
        """Judge the policy by what the application decides from now on."""
        sums = self.sums
        sums.watched, sums.agreement, sums.gain, sums.told, sums.matched = 0, 0.0, 0.0, 0.0, Judged()

    def begin_shadow(self) -> None:
        """Judge another shadow from now on."""
        self.sums.shadow = Judged()

    def watch(self, row: Vector, value: float, at: float) -> None:
        """Let the alarm see a reward."""
        sums = self.sums
        numbers = np.array([float(sums.rewards)])
        _, change = self.alarm.learn_until_change(row.reshape(1, -1), np.array([value]), np.ones(1), numbers)
        if change is not None:
            sums.changes = [*sums.changes[-19:], (change.row, at)]
            self.count("changes")
            del self.alarm.changes_[:-20]

    def _bin(self, at: float) -> Bin:
        sums = self.sums
        bins, start = sums.bins, math.floor(at / sums.bin_width) * sums.bin_width
        last = bins[-1].start if bins else -math.inf
        if last - start > _APART * sums.bin_width and len(bins) > 1 and start >= bins[-2].start:
            if start > bins[-2].start:  # the last one is of a clock that was ahead: time goes on before it
                bins.insert(-1, Bin(start))
                self._widen()
            return bins[-2]
        if start <= last:
            return bins[-1]  # clocks of several servers differ a little
        bins.append(Bin(start))
        self._widen()
        return bins[-1]

    def _widen(self) -> None:
        """Let bins be as wide as the time from the first to the last but one needs: the last may be a mistake."""
        sums = self.sums
        bins = sums.bins
        while len(bins) > _MOST_BINS or (bins[-2:][0].start - bins[0].start) / sums.bin_width > 4 * _MOST_BINS:
            sums.bin_width *= 2.0
            merged: list[Bin] = []
            for each in bins:
                begin = math.floor(each.start / sums.bin_width) * sums.bin_width
                if merged and merged[-1].start >= begin:
                    last = merged[-1]
                    last.decided += each.decided
                    last.rewards += each.rewards
                    last.total += each.total
                    last.squares += each.squares
                else:
                    each.start = begin
                    merged.append(each)
            bins[:] = merged

    def _action(self, name: str) -> ActionCount:
        """What is counted of an action; of too many, what was taken longest ago is counted with the others."""
        actions = self.sums.actions
        if name not in actions and len(actions) >= _MOST_ACTIONS:
            oldest = min((each for each in actions if each != OTHERS), key=lambda each: actions[each].last)
            gone, others = actions.pop(oldest), actions.setdefault(OTHERS, ActionCount())
            others.decided += gone.decided
            others.rewards += gone.rewards
            others.total += gone.total
        return actions.setdefault(name, ActionCount())

    # What follows

    def counts(self) -> dict[str, Any]:
        """Counts and means, as plain values."""
        sums, told = self.sums, self.sums.counts
        names = ("decided", "learned", "expired", "late", "already", "unknown", "changes", "left_out", "uncounted")
        return {name: told.get(name, 0) for name in names} | {
            "reward": mean_with_band(sums.rewards, sums.mean, sums.spread, sums.least, sums.most),
            "error": math.sqrt(sums.error) if sums.rewards else None,
            "error_of_mean": math.sqrt(sums.error_of_mean) if sums.rewards else None,
            "leverage": sums.leverage if told.get("decided") else None,
            "e_value": self.alarm.e_value_,
        }

    def apprentice(self) -> dict[str, Any]:
        """How often the policy would have done what the application did, and what it would gain.

        All of it is about the application's own decisions since the loop is in the mode it is in; `value` and `reward`
        about those of them whose probability is known and whose reward was learned: the policy's, and what was earned.
        `gain` is the policy's own estimate, made before rewards were learned: it may flatter itself. `value` is the
        mean of rewards weighted by the chance with which the policy does the same: fair where the application's choice
        is random.
        """
        sums, n = self.sums, self.sums.watched
        matched = sums.matched
        return {
            "agreement": sums.agreement / n if n else None,
            "gain": sums.gain / n if n else None,
            "value": matched.total / matched.weights if matched.weights > 0 else None,
            "reward": sums.told / matched.count if matched.count else None,
        }

    def shadow_value(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The value of the shadow policy by inverse propensities, and its standard error."""
        judged, value, error = self.sums.shadow, None, None
        if judged.count:
            value = judged.total / judged.count
            error = math.sqrt(max(judged.squares / judged.count - value * value, 0.0) / judged.count)
        normalized = judged.total / judged.weights if judged.weights > 0 else None
        return {"policy": settings, "rewards": judged.count, "ips": value, "standard_error": error, "snips": normalized}

    def to_page(self) -> dict[str, Any]:
        """Rewards over time with their band, shares of actions, calibration, changes: plain values."""
        sums = self.sums
        over_time, n, mean, spread = [], 0, 0.0, 0.0
        for each in sums.bins:
            if each.rewards:  # two parts as one: Chan et al.
                own = each.total / each.rewards
                inside = max(each.squares - each.total * own, 0.0)
                off, together = own - mean, n + each.rewards
                spread += inside + off * off * n * each.rewards / together
                mean += off * each.rewards / together
                n = together
            told: dict[str, Any] = {"start": each.start, "decided": each.decided, "rewards": each.rewards}
            own_mean = each.total / each.rewards if each.rewards else None
            over_time.append(
                told | {"mean": own_mean, "so_far": mean_with_band(n, mean, spread, sums.least, sums.most)}
            )
        ordered = sorted(sums.actions.items(), key=lambda item: -item[1].decided)
        actions = [
            {"id": name, "decided": c.decided, "rewards": c.rewards, "mean": c.total / c.rewards if c.rewards else None}
            for name, c in ordered
        ]
        return {
            "bin": sums.bin_width,
            "over_time": over_time,
            "actions": actions,
            "calibration": calibration(sums.recent),
            "changes": [{"reward": reward, "noticed": at} for reward, at in sums.changes],
        }


def mean_with_band(n: int, mean: float, spread: float, least: float, most: float) -> dict[str, float | None]:
    """A mean of n rewards and a band that holds at all times at once, in the limit (Waudby-Smith et al. 2021, Thm 2.2).

    The mean is that of rewards' conditional means; one may look, and stop, whenever one likes. There is no band until
    the limit is near: until so many rewards differ that no single one counts for much.
    """
    farthest = max(most - mean, mean - least)
    if n == 0 or not spread > _ENOUGH * farthest * farthest or farthest == 0.0:
        return {"mean": mean if n else None, "low": None, "high": None}
    variance = spread / n
    rho = (-2.0 * math.log(DELTA) + math.log(-2.0 * math.log(DELTA) + 1.0)) / _BEST_AT  # ρ²
    grown = n * rho + 1.0
    reach = math.sqrt(variance) * math.sqrt(2.0 * grown / (n * n * rho) * math.log(math.sqrt(grown) / DELTA))
    return {"mean": mean, "low": mean - reach, "high": mean + reach}


def calibration(recent: list[tuple[float, float]], parts: int = 10) -> list[dict[str, float]]:
    """The mean of rewards where the estimate was low, higher, … : groups of one size."""
    if len(recent) < 2 * parts:
        return []
    pairs = np.array(sorted(recent))
    told = []
    for part in np.array_split(pairs, parts):
        error = float(part[:, 1].std(ddof=1) / math.sqrt(len(part)))
        told.append({"estimate": float(part[:, 0].mean()), "reward": float(part[:, 1].mean()), "standard_error": error})
    return told
