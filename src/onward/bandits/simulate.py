"""`play`: policies against a world, repeated, the same arms and noise for all of them."""

import copy
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from onward.bandits.environments import Block, Environment, LinearWorld
from onward.bandits.game import play_rounds
from onward.bandits.policy import Policy, whole
from onward.bandits.runs import Runs
from onward.core.types import Matrix, Vector

BLOCK_VALUES = 1 << 15  # numbers in the arms of a block: enough rounds to be worth a call, few enough for the cache


class Player(Protocol):
    """What a policy of one's own must do to play. It is copied for each repeat, as it is when `play` is called.

    If it has a method `reseed(seed)`, that is called with a `numpy.random.SeedSequence` at the start of each repeat.
    """

    def choose(self, actions: Matrix) -> int:
        """The number of the action to play."""

    def learn(self, action: Vector, reward: float) -> None:
        """Learn from its reward."""


@dataclass(frozen=True)
class _Repeat:
    """What came out of one repeat: for each policy, the regret in the rounds kept, the choices, the seconds."""

    number: int
    regret: Matrix
    chosen: NDArray[np.int32] | None
    seconds: Vector


def play(
    policies: Mapping[str, Player],
    environment: Environment,
    horizon: int,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    *,
    keep: int | ArrayLike | None = None,
    chosen: bool = False,
    first_repeat: int = 0,
    progress: bool | None = None,
) -> Runs:
    """Let policies play in a world, and see what each loses against the best action of every round.

    In each repeat all policies meet the same arms and the same noise, and a repeat is known by its number alone: it
    comes out the same whatever else is played, in whatever order and on however many processes. Policies start as they
    are given (a warm start stays one); the ones given are left alone.

    Policies of this library in a `LinearWorld` play in one compiled loop. A policy or a world of your own, in Python,
    does as well, at Python's speed. Where fixed arms span fewer dimensions than they have features, policies of this
    library that know nothing yet play in that span: the same game up to rounding, and far cheaper.

    Ctrl-C ends the game: what is returned holds the repeats that were finished.

    Args:
        policies: by name.
        environment: a world; see `onward.bandits.environments`.
        horizon: rounds.
        repeats: how often the game is played.
        seed: of everything random. Repeat i draws from `SeedSequence(seed, spawn_key=(i, …))`.
        n_jobs: how many repeats at a time; −1 for as many as there are processors. Results do not depend on it. Threads
            for compiled games, processes otherwise, or whatever `joblib.parallel_config` says.
        keep: which rounds to keep: None for all, a number n for every n-th and the last, or the rounds themselves,
            counted from 1.
        chosen: whether to keep the choices, too.
        first_repeat: the number of the first repeat, to go on where an earlier game ended: see `Runs.merge`.
        progress: a progress bar; None for one if this is a terminal.
    """
    horizon, repeats = whole("horizon", horizon, 1), whole("repeats", repeats, 1)
    seed, first_repeat = whole("seed", seed, 0), whole("first_repeat", first_repeat, 0)
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number other than 0, got {n_jobs!r}")
    if not policies:
        raise ValueError("expected at least one policy by name, got none")
    for name, policy in policies.items():
        if not (callable(getattr(policy, "choose", None)) and callable(getattr(policy, "learn", None))):
            raise ValueError(f"policy {name!r} must have methods choose and learn, got {type(policy).__name__}")
    if not callable(getattr(environment, "start", None)):
        raise ValueError(f"environment must have a method start, got {type(environment).__name__}")
    kept = _kept_rounds(keep, horizon)
    compiled = isinstance(environment, LinearWorld) and all(isinstance(p, Policy) for p in policies.values())
    numbers = range(first_repeat, first_repeat + repeats)
    task = delayed(_play_repeat)
    calls = (task(policies, environment, horizon, kept, seed, number, chosen) for number in numbers)
    done: list[_Repeat] = []
    with _bar(progress, repeats, len(policies) * horizon) as advance:
        try:
            if n_jobs == 1:
                results: Iterable[_Repeat] = (_play_repeat(*call[1]) for call in calls)
            else:
                hint: Literal["threads", "processes"] = "threads" if compiled else "processes"
                results = Parallel(n_jobs=n_jobs, prefer=hint, return_as="generator_unordered")(calls)
            for result in results:
                done.append(result)
                advance()
        except KeyboardInterrupt:
            if not done:
                raise
    return _gathered(policies, environment, horizon, kept, seed, chosen, done, len(done) == repeats)


def _gathered(
    policies: Mapping[str, Player],
    environment: Environment,
    horizon: int,
    kept: NDArray[np.int64],
    seed: int,
    chosen: bool,
    done: list[_Repeat],
    complete: bool,
) -> Runs:
    done.sort(key=lambda repeat: repeat.number)
    names = tuple(policies)
    seconds = np.sum([repeat.seconds for repeat in done], axis=0)
    choices = [repeat.chosen for repeat in done if repeat.chosen is not None]
    return Runs(
        names=names,
        regret=np.stack([repeat.regret for repeat in done], axis=1),
        rounds=kept,
        chosen=np.stack(choices, axis=1) if chosen else None,
        horizon=horizon,
        seed=seed,
        settings={
            "policies": {name: _described(policy) for name, policy in policies.items()},
            "environment": _described(environment) | _changes(environment),
        },
        seconds=dict(zip(names, seconds.tolist(), strict=True)),
        complete=complete,
        repeat_numbers=tuple(repeat.number for repeat in done),
    )


def _described(thing: Any) -> dict[str, Any]:
    """Settings as plain values; for what does not describe itself, its name."""
    describe = getattr(thing, "describe", None)
    return dict(describe()) if callable(describe) else {"class": type(thing).__name__}


def _changes(environment: Environment) -> dict[str, Any]:
    """After which rounds the world changes all at once, if it says so."""
    points = getattr(getattr(environment, "theta", environment), "change_points", ())
    return {"change_points": [int(point) for point in points]} if points else {}


def _kept_rounds(keep: int | ArrayLike | None, horizon: int) -> NDArray[np.int64]:
    if keep is None:
        keep = 1
    if np.ndim(keep) == 0:
        step = whole("keep", keep, 1)
        rounds = np.arange(step, horizon + 1, step)
        return rounds if len(rounds) and rounds[-1] == horizon else np.append(rounds, horizon)
    rounds = np.asarray(keep)
    good = rounds.dtype.kind in "iu" and rounds.ndim == 1 and len(rounds) and rounds[0] >= 1 and rounds[-1] <= horizon
    if not good or (np.diff(rounds) <= 0).any():
        raise ValueError(f"keep must hold increasing rounds from 1 to {horizon}, got {keep!r}")
    return rounds.astype(np.int64)


# One repeat


def _play_repeat(
    policies: Mapping[str, Player],
    environment: Environment,
    horizon: int,
    kept: NDArray[np.int64],
    seed: int,
    number: int,
    chosen: bool,
) -> _Repeat:
    of_world, of_policies = (np.random.SeedSequence(seed, spawn_key=(number, j)) for j in range(2))
    regret, choices = np.empty((len(policies), len(kept))), np.empty((len(policies), horizon), dtype=np.int32)
    seconds = np.zeros(len(policies))
    if isinstance(environment, LinearWorld):
        games = [_game(policy, of_policies) for policy in policies.values()]
        run = environment.start(of_world)
        size = max(1, BLOCK_VALUES // (environment.n_arms * environment.dimension))
        for start in range(0, horizon, size):
            block = run.rounds(min(size, horizon - start))
            for i, game in enumerate(games):
                began = time.perf_counter()
                losses, picks = game.play(block)
                seconds[i] += time.perf_counter() - began
                here = slice(*np.searchsorted(kept, (start + 1, start + len(losses) + 1)))
                regret[i, here] = losses[kept[here] - 1 - start]
                choices[i, start : start + len(picks)] = picks
    else:
        for i, policy in enumerate(policies.values()):
            player = _copied(policy, of_policies)
            began = time.perf_counter()
            losses, choices[i] = _play_steps(player, environment.start(of_world), horizon)
            seconds[i] = time.perf_counter() - began
            regret[i] = losses[kept - 1]
    return _Repeat(number, regret, choices if chosen else None, seconds)


def _copied(policy: Player, seed: np.random.SeedSequence) -> Player:
    """A copy for one repeat, with random numbers of its own: the same ones for every policy."""
    player = copy.deepcopy(policy)
    reseed = getattr(player, "reseed", None)
    if callable(reseed):
        reseed(seed)
    return player


def _play_steps(player: Player, run: Any, horizon: int) -> tuple[Vector, NDArray[np.int32]]:
    """Step by step, for a world of one's own."""
    regret, choices, lost = np.empty(horizon), np.empty(horizon, dtype=np.int32), 0.0
    for t in range(horizon):
        actions, means = run.offer(), np.asarray(run.means())
        best = player.choose(actions)
        player.learn(actions[best], run.reward(best))
        lost += float(means.max() - means[best])
        regret[t], choices[t] = lost, best
    return regret, choices


class _PythonGame:
    """A policy of one's own in a world whose rounds come in blocks."""

    def __init__(self, player: Player) -> None:
        self._player, self._lost = player, 0.0

    def play(self, block: Block) -> tuple[Vector, NDArray[np.int32]]:
        regret, choices = np.empty(len(block.means)), np.empty(len(block.means), dtype=np.int32)
        fixed = len(block.actions) == 1
        for i, (means, noise) in enumerate(zip(block.means, block.noise, strict=True)):
            actions = block.actions[0 if fixed else i]
            best = self._player.choose(actions)
            self._player.learn(actions[best], float(means[best] + noise))
            self._lost += float(means.max() - means[best])
            regret[i], choices[i] = self._lost, best
        return regret, choices


class _CompiledGame:
    """A policy of this library, on its own memory; in the span of the arms, if these are fixed and it is smaller."""

    def __init__(self, policy: Policy, seed: np.random.SeedSequence) -> None:
        self._policy, self._rng = policy, np.random.default_rng(seed)
        self._settings: Vector = np.empty(0)
        self._memory: Vector = np.empty(0)
        self._lost = 0.0
        self._arms: NDArray[np.float64] | None = None  # in their span

    def play(self, block: Block) -> tuple[Vector, NDArray[np.int32]]:
        if not len(self._settings):
            self._begin(block)
        actions = block.actions if self._arms is None else self._arms
        n = len(block.means)
        regret, choices, done = np.empty(n), np.empty(n, dtype=np.int32), 0
        while True:
            lost = regret[done - 1] if done else self._lost
            done = play_rounds(
                self._settings, self._memory, self._rng, actions, block.means, block.noise, done, lost, regret, choices
            )
            if done == n:
                break
            self._memory = self._policy.grown(self._memory)
        self._lost = float(regret[-1])
        return regret, choices

    def _begin(self, block: Block) -> None:
        d = block.actions.shape[2]
        if self._policy.dimension is None and len(block.actions) == 1:
            arms = in_their_span(block.actions[0])
            if arms is not None:
                self._arms = arms[None]
                self._settings, self._memory = self._policy.memory_for(arms.shape[1], given=d)
                return
        self._settings, self._memory = self._policy.memory_for(d)


def _game(policy: Player, seed: np.random.SeedSequence) -> _PythonGame | _CompiledGame:
    return _CompiledGame(policy, seed) if isinstance(policy, Policy) else _PythonGame(_copied(policy, seed))


def in_their_span(arms: Matrix) -> Matrix | None:
    """The arms in coordinates of an orthonormal basis of their span; None if that is no smaller.

    Everything that a policy computes depends on the arms' inner products only, and on the number of their features,
    which it is told.
    """
    left, sizes, _ = np.linalg.svd(arms, full_matrices=False)
    rank = max(1, int(np.sum(sizes > sizes[0] * max(arms.shape) * np.finfo(float).eps)))
    return np.ascontiguousarray(left[:, :rank] * sizes[:rank]) if rank < arms.shape[1] else None


# Progress


@contextmanager
def _bar(progress: bool | None, total: int, steps: int) -> Iterator[Any]:
    """A progress bar on standard error, if wanted; gives what advances it by one repeat."""
    if not (sys.stderr.isatty() and steps * total > 1e6 if progress is None else progress):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: Sequence[Any] = (
        TextColumn("repeats"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
