"""What other policies would have earned on a loop's log, worked out in a process of its own so that nobody waits."""

import asyncio
import heapq
import math
import multiprocessing
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from onward.bandits.logs import LEAST_PROPENSITY, LoggedData
from onward.bandits.policy_value import Value
from onward.bandits.replay import LogWarning
from onward.bandits.replay import evaluate as evaluate_policy
from onward.json_values import to_json_values
from onward.service.answer_types import Estimate, EvaluateAnswer, PolicyValue
from onward.service.configuration import LoopConfig
from onward.service.encoder import Born, Encoder
from onward.service.entries import Activate, Begin, Decide, Entry, Expire, Forget, Install, Reward
from onward.service.http_errors import HttpError
from onward.service.learner import make_policy
from onward.service.loop_checks import seconds_to_wait
from onward.service.request_errors import RequestError
from onward.service.request_types import EvaluateRequest

_MOST_DECISIONS = 100_000
_MOST_ENTRIES = 500_000
_MOST_NUMBERS = 20_000_000  # of all features of all actions: 160 MB
_MOST_AT_ONCE = 4


class Judged(NamedTuple):
    """Decisions of a log with what came of them."""

    decisions: list[Decide]
    rewards: list[float]
    left_out: int
    """Decisions without a reward that counts, or whose probability nobody told."""
    pending: int
    """Decisions that wait, and those after the first of them, where a default counts if no reward comes."""
    is_online: bool
    """Whether the loop's policy made them all, not the application."""


@dataclass(slots=True)
class _Open:
    """A decision that waits for its reward."""

    decision: Decide
    deadline: float
    active: bool
    aggregate: str
    number: int
    count: int = 0
    value: float = 0.0
    seen: set[str] = field(default_factory=set)


def judged_decisions(entries: Iterable[Entry], config: LoopConfig) -> Judged:
    """The decisions with the rewards that the loop counted: by the settings in force then, `config` at first.

    Where a default counts if no reward comes, decisions are judged up to the first that still waits: of later ones
    those are known that got a reward, and nothing follows from them alone.
    """
    wait = seconds_to_wait(config)
    open_ones: dict[str, _Open] = {}
    order: list[tuple[float, int, str]] = []  # by deadline; those that are over already are passed by
    done: list[tuple[_Open, float]] = []
    n, latest = 0, -math.inf

    def end(one: _Open) -> None:
        default = config.reward.default if one.active else None
        value = one.value if one.count else default
        if value is not None:
            count(one, value)

    def count(one: _Open, value: float) -> None:
        if one.decision.is_told:  # of choices whose probability nobody knows, nothing follows for other policies
            done.append((one, value))

    for entry in entries:
        content, event, latest = entry.content, str(entry.event_id), max(latest, entry.at)
        found = open_ones.get(event)
        if isinstance(content, Decide) and found is None:
            n += 1
            open_ones[event] = _Open(content, entry.at + wait, content.active, config.reward.aggregate, n)
            heapq.heappush(order, (entry.at + wait, n, event))
        elif isinstance(content, Activate) and found is not None:
            found.active = True
        elif isinstance(content, Reward) and found is not None:
            if entry.at > found.deadline:
                end(open_ones.pop(event))
            elif found.aggregate == "first":
                count(open_ones.pop(event), content.value)
            elif content.id is None or content.id not in found.seen:
                found.seen.update(() if content.id is None else (content.id,))
                found.active, found.count = True, found.count + 1
                found.value = content.value + (found.value if found.aggregate == "sum" else 0.0)
        elif isinstance(content, Expire):
            ended = 0
            while order and order[0][0] <= entry.at and (content.most is None or ended < content.most):
                deadline, _, over = heapq.heappop(order)
                if over in open_ones and open_ones[over].deadline == deadline:
                    end(open_ones.pop(over))
                    ended += 1
        elif isinstance(content, Forget):
            for each in content.events:
                open_ones.pop(each, None)
        elif isinstance(content, Begin):
            config, wait = content.config, seconds_to_wait(content.config)
    pending = 0
    if config.reward.default is not None:
        for event in [event for event, one in open_ones.items() if one.deadline <= latest]:
            end(open_ones.pop(event))  # what the next entry would have said
        first = min((one.number for one in open_ones.values()), default=n + 1)
        counted = len(done)
        done = [each for each in done if each[0].number < first]
        pending = len(open_ones) + counted - len(done)
    is_online = not any(one.decision.is_own for one, _ in done)
    decisions, rewards = [one.decision for one, _ in done], [value for _, value in done]
    return Judged(decisions, rewards, n - len(done) - pending, pending, is_online)


def logged_data(judged: Judged, config: LoopConfig, features: Sequence[Born]) -> LoggedData:
    """The decisions as evaluation takes them, with the features that the loop knows: of actions that were available."""
    encoder = Encoder(config.features)
    encoder.add(features)
    actions, taken, chances = [], [], []
    for each in judged.decisions:
        out = set(each.excluded)
        places = [place for place in range(len(each.actions)) if place not in out]
        actions.append(encoder.known_table(each.context, [each.actions[place] for place in places]))
        taken.append(places.index(each.chosen))
        chances.append(np.array([each.probabilities[place] for place in places]))
    propensities = [max(each.probability, LEAST_PROPENSITY) for each in judged.decisions]  # earlier logs may tell any
    return LoggedData(actions, taken, propensities, judged.rewards, chances if judged.is_online else None)


class LogSource(Protocol):
    """Where a log is read from: what another process is sent instead of the log itself."""

    def opened(self) -> AbstractContextManager[tuple[LoopConfig, Iterable[Entry]]]:
        """The settings in force before the first entry, and the entries; read while the context is open."""


def within_limits(entries: Iterable[Entry], d: int) -> Iterator[Entry]:
    """The entries that evaluation needs, of a loop of d features; RequestError as soon as they are too many."""
    count = decisions = numbers = 0
    for entry in entries:
        if isinstance(entry.content, Install):
            continue
        count += 1
        if isinstance(entry.content, Decide):
            decisions += 1
            numbers += d * (len(entry.content.actions) - len(entry.content.excluded))
        if decisions > _MOST_DECISIONS or numbers > _MOST_NUMBERS or count > _MOST_ENTRIES:
            raise RequestError(
                "too_much",
                f"expected at most {_MOST_DECISIONS:,} decisions, {_MOST_ENTRIES:,} entries of the log and "
                f"{_MOST_NUMBERS:,} numbers (features of all their actions) to judge on, got more: take less time by "
                "since and until",
                "since",
            )
        yield entry


def evaluate_source(source: LogSource, features: Sequence[Born], asked: EvaluateRequest) -> EvaluateAnswer:
    """The answer on a log that is read here, as far as limits allow; RequestError if nothing can be said."""
    with source.opened() as (config, entries):
        return evaluate_entries(within_limits(entries, len(features)), config, features, asked)


def evaluate_entries(
    entries: Iterable[Entry], config: LoopConfig, features: Sequence[Born], asked: EvaluateRequest
) -> EvaluateAnswer:
    """The answer on entries, `config` being in force before the first; RequestError if nothing can be said."""
    judged = judged_decisions(entries, config)
    if not judged.decisions:
        wanted = "decisions with rewards in the log whose probability is known"
        told = f", and {judged.pending:,} that wait, or come after one that does" if judged.pending else ""
        raise RequestError("empty_log", f"expected {wanted}, got none of that time{told}", "since")
    log = logged_data(judged, config, features)
    values = []
    for number, settings in enumerate(asked.policies):
        try:
            policy = make_policy({"seed": 0} | settings)
        except RequestError as error:
            place = f"policies[{number}]" + (error.field or "").removeprefix("policy")
            raise RequestError(error.code, error.message, place) from error
        values.append(PolicyValue(settings, [_estimate(policy, log, method, asked) for method in asked.methods]))
    return EvaluateAnswer(len(log), judged.left_out, judged.pending, float(log.reward.mean()), values)


def _estimate(policy: Any, log: LoggedData, method: Any, asked: EvaluateRequest) -> Estimate:
    interval = "normal" if method == "snips" else asked.interval
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)  # they are in the value, too
        try:
            value: Value = evaluate_policy(
                policy,
                log,
                method=method,
                learn=asked.learn,
                delta=asked.delta,
                clip=asked.clip,
                interval=interval,
                reward_range=asked.reward_range,
            )
        except ValueError as error:
            raise RequestError("not_evaluated", str(error)) from error
    numbers = [value.value_inside, value.lower, value.upper, value.value, value.effective_sample_size]
    inside, low, high, uncut, size = to_json_values(numbers)
    is_off = value.diagnostics is not None and value.diagnostics.is_mean_weight_off
    return Estimate(method, inside, low, high, uncut, size, value.reliable and not is_off, list(value.all_warnings))


def _end_with_parent() -> None:
    """Let this process end when the server is killed: it holds both ends of its queue, and would wait for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Evaluator:
    """A process that evaluates, one log after the other.

    Not a thread: reading a log makes Python objects of every entry and evaluation runs Python for every decision, which
    holds the interpreter's lock, so that nobody would be answered. Nor is the log sent to it, which would do the same
    here: it reads the database itself.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._waiting = 0

    async def evaluate(self, source: LogSource, features: Sequence[Born], asked: EvaluateRequest) -> EvaluateAnswer:
        """The answer of `evaluate_source`; 422 if nothing can be said, 503 if too many ask."""
        if self._waiting >= _MOST_AT_ONCE:
            retry = [(b"retry-after", b"10")]
            told = f"expected at most {_MOST_AT_ONCE} evaluations at once; try again"
            raise HttpError(503, "overloaded", told, headers=retry)
        self._waiting += 1
        try:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _end_with_parent)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, evaluate_source, source, features, asked)
        except BrokenProcessPool:
            self._pool = None
            raise HttpError(503, "unavailable", "the process that evaluates was ended; try again") from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()  # what it is at is asked by nobody any more
            self._pool.shutdown(wait=False, cancel_futures=True)
