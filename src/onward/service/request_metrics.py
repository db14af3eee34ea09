"""Numbers for Prometheus: of requests as they come, of loops when they are asked for."""

import itertools
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from onward.service.routes import Route

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_LABELS = (*map(floatToGoString, _BUCKETS), "+Inf")
CONTENT_TYPE = CONTENT_TYPE_LATEST.encode()

# Of each loop or model: a metric, where `state()` has it, and what it is. Names that end in _total only grow, and are
# told by the one server that learns the loop.
LOOP_METRICS = {
    "decisions_total": ("decided", "Decisions made."),
    "learned_total": ("learned", "Rewards or rows learned."),
    "expired_total": ("expired", "Decisions whose wait was over without a reward."),
    "changes_total": ("changes", "Changes that the alarm noticed."),
    "pending": ("pending", "Decisions that wait for their reward."),
    "oldest_pending_seconds": ("oldest_seconds", "For how long the oldest of them has waited."),
    "version": ("version", "Of the model: how often it changed."),
    "features": ("features", "Features of the model."),
    "features_left_out_total": ("left_out", "Features and products of decisions that had no place in the model."),
    "online_error": ("error", "Root mean square of rewards less their estimates from before they were learned."),
    "leverage": ("leverage", "Mean leverage of contexts: how little is known in their direction."),
    "alarm_e_value": ("e_value", "Evidence of a change: above 20, an alarm at level 5 %."),
    "is_learner": ("is_learner", "1 if this server learns the loop, 0 if it follows another one."),
}


class _Times:
    """How often a route took how long."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts, self.total = [0] * len(_LABELS), 0.0


class RequestMetrics:
    """Counts requests and times them by route."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self._requests: dict[tuple[str, str, int], int] = {}  # by route, method and status
        self._seconds: dict[tuple[str, str], _Times] = {}  # by route and method
        self._rewards: dict[tuple[str, str], int] = {}  # by loop and status
        self._commits = Histogram(
            "onward_commit_seconds", "Seconds of a transaction.", buckets=_BUCKETS, registry=self.registry
        )
        self._committed = Counter("onward_committed_entries", "Entries written to the log.", registry=self.registry)

    def observe(self, method: str, route: "Route | None", status: int, seconds: float) -> None:
        """Count a request that was answered."""
        if route is None:  # anybody can make up paths and methods: these are counted together
            method, path = "other", "other"
        else:
            method, path = route.method, route.path
        key = path, method, status
        self._requests[key] = self._requests.get(key, 0) + 1
        times = self._seconds.get((path, method))
        if times is None:
            times = self._seconds[path, method] = _Times()
        times.total += seconds
        times.counts[bisect_left(_BUCKETS, seconds)] += 1

    def count_reward(self, loop: str, status: str) -> None:
        """Count what became of a reward."""
        key = loop, status
        self._rewards[key] = self._rewards.get(key, 0) + 1

    def describe(self) -> Iterable[Metric]:
        """What `collect` would give, as far as it is known before."""
        return []

    def collect(self) -> Iterable[Metric]:
        """Requests and rewards. Counted by hand on the event loop's thread: counters with locks cost ten times that."""
        requests = CounterMetricFamily("onward_requests", "Requests answered.", labels=["route", "method", "status"])
        for (path, method, status), count in self._requests.items():
            requests.add_metric([path, method, str(status)], count)
        seconds = HistogramMetricFamily(
            "onward_request_seconds", "Seconds from a request to its answer.", labels=["route", "method"]
        )
        for labels, times in self._seconds.items():
            sums = itertools.accumulate(times.counts)
            seconds.add_metric(labels, list(zip(_LABELS, sums, strict=True)), times.total)
        rewards = CounterMetricFamily("onward_rewards", "Rewards by what became of them.", labels=["loop", "status"])
        for key, count in self._rewards.items():
            rewards.add_metric(key, count)
        return requests, seconds, rewards

    def commit(self, entries: int, seconds: float) -> None:
        """Count a transaction."""
        self._commits.observe(seconds)
        self._committed.inc(entries)

    def add_loops(self, states: Callable[[], dict[str, dict[str, Any]]]) -> None:
        """Show the numbers of loops, which `states` gives by name when it is asked."""
        self.registry.register(_Loops(states))

    def text(self) -> bytes:
        """What Prometheus reads."""
        return generate_latest(self.registry)


class _Loops:
    def __init__(self, states: Callable[[], dict[str, dict[str, Any]]]) -> None:
        self._states = states

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        states = self._states()
        now = time.time()
        for state in states.values():
            oldest = state.get("oldest")
            state["oldest_seconds"] = 0.0 if oldest is None else max(0.0, now - oldest)
        for name, (key, help_text) in LOOP_METRICS.items():
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            family = kind(f"onward_{name}", help_text, labels=["loop"])
            for loop, numbers in states.items():
                if name.endswith("_total") and not numbers.get("is_learner", True):
                    continue  # they are of the loop, whoever decided: told once, their sum over all servers is right
                value = numbers.get(key)
                if isinstance(value, list):
                    value = len(value)
                if value is not None:
                    family.add_metric([loop], float(value))
            yield family
