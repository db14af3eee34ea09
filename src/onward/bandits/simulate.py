"""`play`: policies against a world, repeated, the same arms and noise for all of them."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from onward.bandits.delays import Delay
from onward.bandits.disjoint import Disjoint
from onward.bandits.environments import Environment, LinearWorld
from onward.bandits.failures import Failure
from onward.bandits.players import Player, copied, is_compiled, new_player
from onward.bandits.runs import Runs
from onward.bandits.spectral import SpectralBandit
from onward.bandits.stepped_game import SteppedGame, Terms
from onward.bandits.wrapping import Wrapping
from onward.core.checks import whole
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.progress_bar import open_progress_bar

BLOCK_VALUES = 1 << 16  # numbers drawn for a block: enough rounds to be worth a call, few enough for the cache


@dataclass(frozen=True)
class _Repeat:
    """What came out of one repeat: for each policy, the regret in the rounds kept, the choices, the seconds."""

    number: int
    regret: Matrix
    chosen: NDArray[np.int32] | None
    seconds: Vector
    trace: dict[str, Matrix]
    failures: list[Failure]


def play(
    policies: Mapping[str, Player | SpectralBandit | Disjoint],
    environment: Environment,
    horizon: int,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    *,
    keep: int | ArrayLike | None = None,
    chosen: bool = False,
    first_repeat: int = 0,
    delay: int | Delay | None = None,
    update_every: int = 1,
    available: float | ArrayLike | None = None,
    trace: bool | Sequence[str] = False,
    on_error: Literal["raise", "record"] = "raise",
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

    `Disjoint` policies play in worlds with contexts, such as `ContextWorld` or `TableWorld`, where policies with one θ
    play as well. With delays, batches, actions that are not available, traces or recorded errors, and in such worlds,
    the game is played in Python, at some 20 microseconds a round.

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
        delay: how many rounds later a reward comes: a number, or a part of `onward.bandits.delays`. 0: before the next
            round. Rewards that come after the last round are not learned.
        update_every: learn only after every so many rounds, in a batch: what has come by then.
        available: the share of the actions that may be played in a round, drawn for each action alone (at least one
            may); or True or False for each round and action, (horizon, k). The regret is against the best of these.
        trace: what to keep of each choice, in `Runs.trace`: some of "reward", "index", "estimate" and "probability", or
            True for the reward.
        on_error: what happens when a policy raises an error: it ends the game, or with "record" only this policy's part
            of this repeat: see `Runs.failures`.
        progress: a progress bar; None for one if this is a terminal.

    Returns:
        The regrets of all policies in all repeats.

    Raises:
        ValueError: if a policy cannot play in this world, or a setting is out of its range.

    Example:
        >>> from onward.bandits import OFUL, Random, play
        >>> from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
        >>> world = LinearWorld(SphereArms(5, 3), Stationary([0.6, -0.8, 0.0]), Gaussian(0.1))
        >>> policies = {"oful": OFUL(sigma=0.1, theta_bound=1.0), "random": Random()}
        >>> runs = play(policies, world, horizon=200, repeats=3, seed=0, progress=False)
        >>> runs.difference("oful", "random").upper < 0.0  # it loses less
        True
    """
    horizon, repeats = whole("horizon", horizon, 1), whole("repeats", repeats, 1)
    seed, first_repeat = whole("seed", seed, 0), whole("first_repeat", first_repeat, 0)
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number other than 0, got {brief(n_jobs)}")
    _check_players(policies)
    players = {name: one.policy if isinstance(one, SpectralBandit) else one for name, one in policies.items()}
    if not callable(getattr(environment, "start", None)):
        raise ValueError(f"environment must have a method start, got {type(environment).__name__}")
    kept = _kept_rounds(keep, horizon)
    terms = Terms.from_arguments(delay, update_every, available, trace, on_error, horizon)
    settings = _settings(players, environment, terms)
    stop = _Stop()
    game = _Game(dict(players), environment, horizon, kept, seed, chosen, stop, terms)
    regret = np.empty((len(policies), repeats, len(kept)))
    choices = np.empty((len(policies), repeats, horizon), dtype=np.int32) if chosen else None
    traces = {name: np.empty((len(policies), repeats, horizon)) for name in terms.trace}
    failures: list[Failure] = []
    seconds, done = np.zeros(len(policies)), np.zeros(repeats, dtype=bool)
    with _bar(progress, repeats, len(policies) * horizon) as advance:
        try:
            for result in _results(game, range(first_repeat, first_repeat + repeats), n_jobs):
                at = result.number - first_repeat
                regret[:, at], done[at] = result.regret, True
                seconds += result.seconds
                failures += result.failures
                for name, values in result.trace.items():
                    traces[name][:, at] = values
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
        trace={name: values if complete else values[:, done] for name, values in traces.items()},
        failures=sorted(failures, key=lambda failure: (failure.repeat, list(policies).index(failure.policy))),
    )


class _Stop:
    """Says to threads that are still playing that nobody waits for them any more."""

    wanted = False


@dataclass(frozen=True)
class _Game:
    """Everything that a repeat needs."""

    policies: Mapping[str, Any]
    environment: Environment
    horizon: int
    kept: NDArray[np.int64]
    seed: int
    chosen: bool
    stop: _Stop
    terms: Terms

    @property
    def stepped(self) -> bool:
        """Whether it is played round by round, in Python, one policy after the other."""
        disjoint = any(isinstance(policy, Disjoint) for policy in self.policies.values())
        return disjoint or not self.terms.plain or not isinstance(self.environment, LinearWorld)


def _results(game: _Game, numbers: Iterable[int], n_jobs: int) -> Iterator[_Repeat]:
    if n_jobs == 1:
        for number in numbers:
            yield _play_repeat(game, number)
        return
    compiled = not game.stepped and all(map(is_compiled, game.policies.values()))
    hint: Literal["threads", "processes"] = "threads" if compiled else "processes"
    task = delayed(_play_repeat)
    yield from Parallel(n_jobs=n_jobs, prefer=hint, return_as="generator_unordered")(task(game, i) for i in numbers)


def _check_players(policies: Mapping[str, Any]) -> None:
    if not isinstance(policies, Mapping) or not policies or not all(isinstance(name, str) for name in policies):
        raise ValueError(
            f"policies must be at least one policy by its name, {{'name': policy, …}}, got {brief(policies)}"
        )
    for name, policy in policies.items():
        methods = all(callable(getattr(policy, method, None)) for method in ("choose", "learn"))
        if isinstance(policy, type) or not methods:
            what = f"the class {policy.__name__} itself" if isinstance(policy, type) else type(policy).__name__
            raise ValueError(f"policy {name!r} must be an object with methods choose and learn, got {what}")
        if isinstance(policy, Wrapping):
            raise ValueError(
                f"policy {name!r} is a {type(policy).__name__}, which plays in no world yet: "
                "expected a Policy or a Disjoint, which take arrays of numbers"
            )


def _settings(policies: Mapping[str, Any], environment: Environment, terms: Terms) -> dict[str, Any]:
    """What was played, as plain values: seen to before the game, not after it."""
    settings = {
        "policies": {name: _describe(policy) for name, policy in policies.items()},
        "environment": _describe(environment) | _changes(environment),
    } | ({"terms": terms.describe()} if terms.describe() else {})
    try:
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"describe() must give plain text, finite numbers, lists and dicts: {error}") from error
    return settings


def _describe(thing: Any) -> dict[str, Any]:
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
        raise ValueError(f"keep must hold increasing rounds from 1 to {horizon}, got {brief(keep)}")
    return rounds.astype(np.int64)


# One repeat


def _play_repeat(game: _Game, number: int) -> _Repeat:
    of_world, of_policies, *others = (np.random.SeedSequence(game.seed, spawn_key=(number, j)) for j in range(4))
    regret = np.empty((len(game.policies), len(game.kept)))
    choices = np.empty((len(game.policies), game.horizon), dtype=np.int32) if game.chosen else None
    seconds = np.zeros(len(game.policies))
    trace = {name: np.empty((len(game.policies), game.horizon)) for name in game.terms.trace}
    failures = []
    if isinstance(game.environment, LinearWorld) and not game.stepped:
        players = [new_player(name, policy, of_policies) for name, policy in game.policies.items()]
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
            stepped = SteppedGame(name, copied(policy, of_policies), game.terms, (others[0], others[1]))
            played = stepped.play(game.environment.start(of_world), game.horizon)
            seconds[i] = time.perf_counter() - began
            regret[i] = played.regret[game.kept - 1]
            if choices is not None:
                choices[i] = played.chosen
            for column, values in played.trace.items():
                trace[column][i] = values
            if played.failed is not None:
                failures.append(Failure(name, number, *played.failed))
    return _Repeat(number, regret, choices, seconds, trace, failures)


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
