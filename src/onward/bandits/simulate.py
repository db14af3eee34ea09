"""`play`: policies against a world, repeated, the same arms and noise for all of them."""

import copy
import json
import math
import numbers
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from onward.bandits.buffers import grown, refusal
from onward.bandits.environments import Block, Environment, EnvironmentRun, LinearWorld
from onward.bandits.game import play_rounds
from onward.bandits.policy import Policy
from onward.bandits.randomness import own_generator
from onward.bandits.runs import Runs
from onward.bandits.settings import Status
from onward.core.checks import whole
from onward.core.types import Matrix, Vector
from onward.progress_bar import open_progress_bar

BLOCK_VALUES = 1 << 16  # numbers drawn for a block: enough rounds to be worth a call, few enough for the cache


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
    are given (a warm start stays one); the ones given are left alone. Their own seeds do not count here: each repeat
    gives all of them the same random numbers, so two copies of a policy play alike.

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
    _check_players(policies)
    if not callable(getattr(environment, "start", None)):
        raise ValueError(f"environment must have a method start, got {type(environment).__name__}")
    kept = _kept_rounds(keep, horizon)
    settings = _settings(policies, environment)
    stop = _Stop()
    game = _Game(dict(policies), environment, horizon, kept, seed, chosen, stop)
    regret = np.empty((len(policies), repeats, len(kept)))
    choices = np.empty((len(policies), repeats, horizon), dtype=np.int32) if chosen else None
    seconds, done = np.zeros(len(policies)), np.zeros(repeats, dtype=bool)
    with _bar(progress, repeats, len(policies) * horizon) as advance:
        try:
            for result in _results(game, range(first_repeat, first_repeat + repeats), n_jobs):
                at = result.number - first_repeat
                regret[:, at], done[at] = result.regret, True
                seconds += result.seconds
                if choices is not None and result.chosen is not None:
                    choices[:, at] = result.chosen
                advance()
        except KeyboardInterrupt:
            stop.wanted = True
            if not done.any():
                raise
    complete = bool(done.all())
    return Runs(
        names=tuple(policies),
        regret=regret if complete else regret[:, done],
        rounds=kept,
        chosen=choices if choices is None or complete else choices[:, done],
        horizon=horizon,
        seed=seed,
        settings=settings,
        seconds=dict(zip(policies, seconds.tolist(), strict=True)),
        complete=complete,
        repeat_numbers=(first_repeat + np.flatnonzero(done)).tolist(),
    )


class _Stop:
    """Says to threads that are still playing that nobody waits for them any more."""

    wanted = False


@dataclass(frozen=True)
class _Game:
    """Everything that a repeat needs."""

    policies: Mapping[str, Player]
    environment: Environment
    horizon: int
    kept: NDArray[np.int64]
    seed: int
    chosen: bool
    stop: _Stop


def _results(game: _Game, numbers: Iterable[int], n_jobs: int) -> Iterator[_Repeat]:
    if n_jobs == 1:
        for number in numbers:
            yield _play_repeat(game, number)
        return
    compiled = isinstance(game.environment, LinearWorld) and all(map(_is_compiled, game.policies.values()))
    hint: Literal["threads", "processes"] = "threads" if compiled else "processes"
    task = delayed(_play_repeat)
    yield from Parallel(n_jobs=n_jobs, prefer=hint, return_as="generator_unordered")(task(game, i) for i in numbers)


def _is_compiled(policy: Player) -> bool:
    """Whether the compiled loop plays as this policy does: one of this library, and nothing of it was changed."""
    return isinstance(policy, Policy) and all(
        getattr(type(policy), name) is getattr(Policy, name) for name in ("choose", "learn", "index")
    )


def _check_players(policies: Mapping[str, Player]) -> None:
    if not isinstance(policies, Mapping) or not policies or not all(isinstance(name, str) for name in policies):
        raise ValueError(f"policies must be at least one policy by its name, {{'name': policy, …}}, got {policies!r}")
    for name, policy in policies.items():
        methods = all(callable(getattr(policy, method, None)) for method in ("choose", "learn"))
        if isinstance(policy, type) or not methods:
            what = f"the class {policy.__name__} itself" if isinstance(policy, type) else type(policy).__name__
            raise ValueError(f"policy {name!r} must be an object with methods choose and learn, got {what}")


def _settings(policies: Mapping[str, Player], environment: Environment) -> dict[str, Any]:
    """What was played, as plain values: seen to before the game, not after it."""
    settings = {
        "policies": {name: _described(policy) for name, policy in policies.items()},
        "environment": _described(environment) | _changes(environment),
    }
    try:
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"describe() must give plain text, finite numbers, lists and dicts: {error}") from error
    return settings


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


def _play_repeat(game: _Game, number: int) -> _Repeat:
    of_world, of_policies = (np.random.SeedSequence(game.seed, spawn_key=(number, j)) for j in range(2))
    regret = np.empty((len(game.policies), len(game.kept)))
    choices = np.empty((len(game.policies), game.horizon), dtype=np.int32) if game.chosen else None
    seconds = np.zeros(len(game.policies))
    if isinstance(game.environment, LinearWorld):
        players = [_player(name, policy, of_policies) for name, policy in game.policies.items()]
        run = game.environment.start(of_world)
        arms = game.environment.arms
        size = max(1, BLOCK_VALUES // (arms.n_arms * (arms.dimension if arms.fresh else 1)))
        for start in range(0, game.horizon, size):
            if game.stop.wanted:
                break
            block = run.rounds(min(size, game.horizon - start))
            for i, player in enumerate(players):
                began = time.perf_counter()
                losses, picks = player.play(block)
                seconds[i] += time.perf_counter() - began
                here = slice(*np.searchsorted(game.kept, (start + 1, start + len(losses) + 1)))
                regret[i, here] = losses[game.kept[here] - 1 - start]
                if choices is not None:
                    choices[i, start : start + len(picks)] = picks
    else:
        for i, (name, policy) in enumerate(game.policies.items()):
            began = time.perf_counter()
            stepping = _Steps(name, _copied(policy, of_policies))
            losses, picks = stepping.play_run(game.environment.start(of_world), game.horizon)
            seconds[i] = time.perf_counter() - began
            regret[i] = losses[game.kept - 1]
            if choices is not None:
                choices[i] = picks
    return _Repeat(number, regret, choices, seconds)


def _copied(policy: Player, seed: np.random.SeedSequence) -> Player:
    """A copy for one repeat, with random numbers of its own: the same ones for every policy."""
    player = copy.deepcopy(policy)
    reseed = getattr(player, "reseed", None)
    if callable(reseed):
        reseed(seed)
    return player


class _Steps:
    """A policy that is asked round by round, in Python."""

    def __init__(self, name: str, player: Player) -> None:
        self._name, self._player, self._lost, self._round = name, player, 0.0, 0

    def play(self, block: Block) -> tuple[Vector, NDArray[np.int32]]:
        """Rounds that come in a block."""
        regret, choices = np.empty(len(block.means)), np.empty(len(block.means), dtype=np.int32)
        fixed = len(block.actions) == 1
        for i, (means, noise) in enumerate(zip(block.means, block.noise, strict=True)):
            # A copy: whatever the policy does to it, others see the actions as they are.
            actions = block.actions[0 if fixed else i].copy()
            best = self._choice(actions)
            self._player.learn(actions[best], float(means[best] + noise))
            regret[i], choices[i] = self._loss(means, best), best
        return regret, choices

    def play_run(self, run: EnvironmentRun, horizon: int) -> tuple[Vector, NDArray[np.int32]]:
        """Rounds of a world that is stepped through."""
        regret, choices = np.empty(horizon), np.empty(horizon, dtype=np.int32)
        for t in range(horizon):
            actions, means = np.array(run.offer(), dtype=np.float64), np.asarray(run.means(), dtype=np.float64)
            best = self._choice(actions)
            if means.shape != (len(actions),):
                raise ValueError(f"the world offers {len(actions)} actions, but means of shape {means.shape}")
            self._player.learn(actions[best], float(run.reward(best)))
            regret[t], choices[t] = self._loss(means, best), best
        return regret, choices

    def _choice(self, actions: Matrix) -> int:
        self._round += 1
        best = self._player.choose(actions)
        if not isinstance(best, numbers.Integral) or not 0 <= int(best) < len(actions):
            raise ValueError(
                f"policy {self._name!r} must choose a whole number from 0 to {len(actions) - 1} "
                f"in round {self._round}, got {best!r}"
            )
        return int(best)

    def _loss(self, means: Vector, best: int) -> float:
        self._lost += float(means.max() - means[best])
        if not math.isfinite(self._lost):
            raise ValueError(f"the world's means must be finite numbers, got {means} in round {self._round}")
        return self._lost


class _CompiledGame:
    """A policy of this library, on its own memory; in the span of the arms, if these are fixed and it is smaller."""

    def __init__(self, policy: Policy, seed: np.random.SeedSequence) -> None:
        self._policy, self._rng = policy, own_generator(seed)
        self._buffer: Vector = np.empty(0)
        self._lost = 0.0
        self._arms: NDArray[np.float64] | None = None  # in their span

    def play(self, block: Block) -> tuple[Vector, NDArray[np.int32]]:
        if not len(self._buffer):
            self._begin(block)
        actions = block.actions if self._arms is None else self._arms
        n = len(block.means)
        regret, choices, done = np.empty(n), np.empty(n, dtype=np.int32), 0
        while True:
            lost = regret[done - 1] if done else self._lost
            done, status = play_rounds(
                self._buffer, self._rng, actions, block.means, block.noise, done, lost, regret, choices
            )
            if done == n:
                break
            if status != Status.FULL:
                offered = block.actions[0 if len(block.actions) == 1 else done]
                raise refusal(status, offered, self._policy.known.action_bound)
            self._buffer = grown(self._policy.memory, self._buffer)
        self._lost = float(regret[-1])
        return regret, choices

    def _begin(self, block: Block) -> None:
        policy, d = self._policy, block.actions.shape[2]
        # With a λ or a prior for each feature, features are not all the same: they stay as they are.
        alike = not isinstance(policy.lam, tuple) and policy.prior_mean is None
        if policy.dimension is None and alike and len(block.actions) == 1:
            arms = in_their_span(block.actions[0])
            if arms is not None:
                self._arms = arms[None]
                self._buffer = policy.buffer_for(arms.shape[1], given=d)
                return
        policy.checked_table(block.actions[0])
        self._buffer = policy.buffer_for(d).copy()


def _player(name: str, policy: Player, seed: np.random.SeedSequence) -> _Steps | _CompiledGame:
    if isinstance(policy, Policy) and _is_compiled(policy):
        return _CompiledGame(policy, seed)
    return _Steps(name, _copied(policy, seed))


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
    with open_progress_bar("repeats") as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
