"""A game round by round, in Python: with late rewards, batches, actions that are not available, and traces."""

import hashlib
import math
import numbers
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from onward.bandits.delays import Delay, as_delay
from onward.bandits.disjoint import Disjoint
from onward.bandits.environments import EnvironmentRun
from onward.bandits.policy import Policy
from onward.core.checks import whole
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

READERS = {"index": "index", "estimate": "estimate", "probability": "probabilities"}  # methods of policies
TRACES = ("reward", *READERS)

Decision = tuple[Any, int, float]  # what was seen, the action chosen, its reward


@dataclass(frozen=True)
class Terms:
    """On what terms a game is played, other than that each reward is learned at once."""

    delay: Delay | None = None
    update_every: int = 1
    available: float | NDArray[np.bool_] | None = None
    trace: tuple[str, ...] = ()
    record_failures: bool = False

    @classmethod
    def from_arguments(
        cls, delay: Any, update_every: int, available: Any, trace: bool | Sequence[str], on_error: str, horizon: int
    ) -> "Terms":
        """The terms that `play` was told, checked."""
        if on_error not in ("raise", "record"):
            raise ValueError(f"on_error must be 'raise' or 'record', got {brief(on_error)}")
        wanted = TRACES[:1] if trace is True else () if trace is False else tuple(trace)
        if isinstance(trace, str) or not set(wanted) <= set(TRACES):
            raise ValueError(f"trace must be True or some of {', '.join(map(repr, TRACES))}, got {brief(trace)}")
        return cls(
            as_delay(delay),
            whole("update_every", update_every, 1),
            _available(available, horizon),
            tuple(name for name in TRACES if name in wanted),
            on_error == "record",
        )

    @property
    def plain(self) -> bool:
        """Whether these are the usual terms."""
        return self == Terms()

    def describe(self) -> dict[str, Any]:
        """What of it changes the game, as plain values."""
        terms: dict[str, Any] = {} if self.delay is None else {"delay": self.delay.describe()}
        if self.update_every > 1:
            terms["update_every"] = self.update_every
        if self.available is not None:
            given = self.available
            terms["available"] = given if isinstance(given, float) else _mask_digest(given)
        return terms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Terms) and (self.describe(), self.trace, self.record_failures) == (
            other.describe(),
            other.trace,
            other.record_failures,
        )


def _mask_digest(masks: NDArray[np.bool_]) -> dict[str, Any]:
    """What tells masks apart that are not the same."""
    digest = hashlib.sha256(np.ascontiguousarray(masks).tobytes()).hexdigest()
    return {"shape": list(masks.shape), "share": float(masks.mean()), "sha256": digest[:16]}


def _available(given: ArrayLike | None, horizon: int) -> float | NDArray[np.bool_] | None:
    if given is None:
        return None
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        if not 0 < float(given) <= 1:
            raise ValueError(f"available must be a share above 0 and at most 1, got {brief(given)}")
        return float(given)
    masks = np.array(given)
    if masks.dtype != bool or masks.ndim != 2 or len(masks) < horizon:
        raise ValueError(
            f"available must be a share, or True or False for each of {horizon} rounds and each action, "
            f"got an array of {masks.dtype} of shape {masks.shape}"
        )
    if not masks[:horizon].any(axis=1).all():
        none = int(np.argmin(masks[:horizon].any(axis=1))) + 1
        raise ValueError(f"available must have an action in each round, got none in round {none}")
    return masks[:horizon]


# Who is asked


class _ByActions:
    """A policy that is offered actions, of this library or one's own."""

    def __init__(self, player: Any) -> None:
        self._player = player
        self._knows_masks = isinstance(player, Policy)

    def look(self, run: Any) -> Matrix:
        return np.array(run.offer(), dtype=np.float64)

    def count(self, seen: Matrix) -> int:
        return len(seen)

    def choose(self, seen: Matrix, mask: NDArray[np.bool_] | None) -> Any:
        if mask is None:
            return self._player.choose(seen)
        if self._knows_masks:
            return self._player.choose(seen, available=mask)
        places = np.flatnonzero(mask)
        best = self._player.choose(seen[places])
        good = isinstance(best, numbers.Integral) and 0 <= int(best) < len(places)
        return int(places[int(best)]) if good else best

    def learn(self, seen: Matrix, best: int, reward: float) -> None:
        self._player.learn(seen[best], reward)


class _ByContext:
    """A policy with a model for each arm, which is shown the context."""

    def __init__(self, player: Disjoint) -> None:
        self._player = player

    def look(self, run: Any) -> Vector:
        context = getattr(run, "context", None)
        if not callable(context):
            raise ValueError(
                "a Disjoint policy chooses by contexts: expected a world with contexts, such as ContextWorld or "
                "TableWorld, got one that offers actions alone"
            )
        return np.array(context(), dtype=np.float64)

    def count(self, seen: Vector) -> int:
        return len(self._player.arms)

    def choose(self, seen: Vector, mask: NDArray[np.bool_] | None) -> Any:
        return self._player.arms.index(self._player.choose(seen, available=mask))

    def learn(self, seen: Vector, best: int, reward: float) -> None:
        self._player.learn(self._player.arms[best], seen, reward)


# The game


@dataclass(eq=False)
class Played:
    """What came of one policy in one repeat: NaN and −1 from the round on in which it failed."""

    regret: Vector
    chosen: NDArray[np.int32]
    trace: dict[str, Vector] = field(default_factory=dict)
    failed: tuple[int, str] | None = None


class SteppedGame:
    """A policy's rounds of one repeat. All policies of a repeat meet the same delays and masks."""

    def __init__(self, name: str, player: Any, terms: Terms, seeds: tuple[SeedSequence, SeedSequence]) -> None:
        self._name, self._player, self._terms, self._seeds = name, player, terms, seeds
        self._seat: Any = _ByContext(player) if isinstance(player, Disjoint) else _ByActions(player)

    def play(self, run: EnvironmentRun, horizon: int) -> Played:
        """Play so many rounds of a run."""
        played = Played(np.full(horizon, math.nan), np.full(horizon, -1, dtype=np.int32))
        played.trace = {name: np.full(horizon, math.nan) for name in self._terms.trace}
        delays, masks = self._delays(horizon), np.random.default_rng(self._seeds[1])
        due: defaultdict[int, list[Decision]] = defaultdict(list)
        arrived: list[Decision] = []
        lost = 0.0
        for t in range(horizon):
            means = np.asarray(run.means(), dtype=np.float64)
            try:
                seen, count = self._seen(run, means)
            except ValueError as error:
                if not isinstance(self._player, Disjoint):  # the world is wrong, whoever plays
                    raise
                played.failed = self._failed(error, t)
                break
            mask = self._mask(masks, t, count)
            try:
                read = self._read(seen, mask)
                best = self._checked(self._seat.choose(seen, mask), count, t + 1)
            except Exception as error:
                played.failed = self._failed(error, t)
                break
            lost += float((means if mask is None else means[mask]).max() - means[best])
            if not math.isfinite(lost):
                raise ValueError(f"the world's means must be finite numbers, got {means} in round {t + 1}")
            played.regret[t], played.chosen[t] = lost, best
            reward = float(run.reward(best))
            for name, values in played.trace.items():
                values[t] = reward if name == "reward" else read[name][best]
            due[t + int(delays[t])].append((seen, best, reward))
            arrived += due.pop(t, [])
            if (t + 1) % self._terms.update_every:
                continue
            try:
                for decision in arrived:
                    self._seat.learn(*decision)
            except Exception as error:
                played.failed = self._failed(error, t)
                break
            arrived = []
        return played

    def _seen(self, run: EnvironmentRun, means: Vector) -> tuple[Any, int]:
        """What the policy is shown in this round, and how many actions it may choose among."""
        seen = self._seat.look(run)
        count = self._seat.count(seen)
        if means.shape != (count,):
            whose = (
                f"the policy has {count} arms" if isinstance(self._player, Disjoint) else f"there are {count} actions"
            )
            raise ValueError(f"{whose}, but the world has means of shape {means.shape}")
        return seen, count

    def _delays(self, horizon: int) -> NDArray[np.int64]:
        if self._terms.delay is None:
            return np.zeros(horizon, dtype=np.int64)
        delays = np.asarray(self._terms.delay.draw(np.random.default_rng(self._seeds[0]), horizon))
        if delays.shape != (horizon,) or delays.dtype.kind not in "iu" or (delays < 0).any():
            raise ValueError(f"delay must draw {horizon} whole numbers >= 0, got {brief(delays)}")
        return delays

    def _mask(self, rng: Generator, t: int, count: int) -> NDArray[np.bool_] | None:
        given = self._terms.available
        if given is None:
            return None
        if isinstance(given, float):
            chances = rng.random(count)
            mask: NDArray[np.bool_] = chances < given
            mask[np.argmin(chances)] = True  # never none
            return mask
        if given.shape[1] != count:
            raise ValueError(f"available has {given.shape[1]} columns, but round {t + 1} offers {count} actions")
        row: NDArray[np.bool_] = given[t]
        return row

    def _read(self, seen: Any, mask: NDArray[np.bool_] | None) -> dict[str, Any]:
        """What is traced of each action; NaN where the policy does not say it."""
        read: dict[str, Any] = {}
        for name, method in READERS.items():
            if name in self._terms.trace:
                reader = getattr(self._player, method, None)
                given = {"available": mask} if name == "probability" else {}
                read[name] = np.asarray(reader(seen, **given)) if callable(reader) else _Unsaid()
        return read

    def _checked(self, best: Any, count: int, round: int) -> int:
        if not isinstance(best, numbers.Integral) or not 0 <= int(best) < count:
            raise ValueError(
                f"policy {self._name!r} must choose a whole number from 0 to {count - 1} in round {round}, got {best!r}"
            )
        return int(best)

    def _failed(self, error: Exception, t: int) -> tuple[int, str]:
        if not self._terms.record_failures:
            raise error
        return t + 1, f"{type(error).__name__}: {error}"


class _Unsaid:
    """NaN for every action."""

    def __getitem__(self, at: int) -> float:
        return math.nan
