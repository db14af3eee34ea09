"""Every index of every policy, in every round, against 50-digit arithmetic from the definitions."""

import copy
import itertools
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from onward.bandits import (
    OFUL,
    DetectingLinUCB,
    DLinUCB,
    EpsilonGreedy,
    Greedy,
    LinTS,
    OracleRestart,
    SWLinUCB,
)
from onward.bandits.memories import Discounted, Everything, Restarting, Window
from onward.bandits.policy import Policy
from onward.bandits.rules import Optimistic
from onward.core.types import Vector
from tests.bandits.reference import DIGITS, Bias, Estimator, Kind, Part, ReferencePolicy, remember_runs
from tests.bandits.streams import STREAMS, Round, Stream, mixed_norms, norm_200, turning

BAR = 1e-9  # test_reference.py shows that the usual programs miss it

Settings = dict[str, Any]

POLICIES: dict[Kind, Callable[..., Any]] = {
    "OFUL": OFUL,
    "DLinUCB": DLinUCB,
    "SWLinUCB": SWLinUCB,
    "DetectingLinUCB": DetectingLinUCB,
    "OracleRestart": OracleRestart,
    "LinTS": LinTS,
    "Greedy": Greedy,
}
# Far from the defaults, so that a setting that is not handed on shows.
COMMON: Settings = {"sigma": 0.3, "theta_bound": 1.5, "delta": 0.05, "scale": 0.7}
DETECTION: Settings = {"window": 4, "failure_delta": 0.5, "tolerance": 0.1, "delta": 0.3, "theta_bound": 0.5}
KINDS: dict[str, tuple[Kind, Settings]] = {
    "OFUL": ("OFUL", {}),
    "DLinUCB, gamma=0.5": ("DLinUCB", {"gamma": 0.5}),
    "DLinUCB, gamma=0.95": ("DLinUCB", {"gamma": 0.95}),
    "DLinUCB, gamma=1": ("DLinUCB", {"gamma": 1.0}),
    "SWLinUCB, window=1": ("SWLinUCB", {"window": 1}),
    "SWLinUCB, window=2": ("SWLinUCB", {"window": 2}),
    "SWLinUCB, window=5": ("SWLinUCB", {"window": 5}),
    "OracleRestart": ("OracleRestart", {"change_points": (3, 7)}),
    "DetectingLinUCB": ("DetectingLinUCB", DETECTION),
}


WIDTHS = ("determinant", "trace", "uniform")


def every_setting(biases: Sequence[Bias] = ("sharp", "tight", "paper", "none")) -> Iterator[Settings]:
    for estimator, width, bias in itertools.product(("forward", "ridge"), WIDTHS, biases):
        yield {"estimator": estimator, "width": width, "bias": bias}


def every_sharp_setting() -> Iterator[Settings]:
    """What is not the default of sharp indices: the other radius, and cut to ‖x‖S."""
    for estimator in ("forward", "ridge"):
        yield {"estimator": estimator, "width": "determinant", "radius": "sum"}
        yield {"estimator": estimator, "width": "determinant", "clipped": True}


def error(got: Sequence[float] | Vector, parts: Sequence[Part], floor: float = 0.0) -> float:
    """The largest error of an index, by the size of its parts; they count as `floor` of the set's largest at least."""
    with mp.workdps(DIGITS):
        least = mp.mpf(floor) * max(part.size for part in parts)
        worst = mp.mpf(0)
        for value, part in zip(got, parts, strict=True):
            off, size = abs(mp.mpf(float(value)) - part.value), max(part.size, least)
            worst = max(worst, off / size if size else (mp.inf if off else mp.mpf(0)))
        return float(worst)


def worst_error(policy: Any, reference: ReferencePolicy, stream: Stream, floor: float = 0.0) -> float:
    """Play the stream with both. The policy must also choose an action whose index is the largest."""
    worst = 0.0
    for actions, told in stream.rounds:
        parts = reference.parts(actions)
        worst = max(worst, error(policy.index(actions), parts, floor))
        choice = policy.choose(actions)
        assert 0 <= choice < len(actions), f"chose action {choice} of {len(actions)}"
        chosen = parts[choice]
        reference.offered(actions)
        best = max(part.value for part in parts)
        worst = max(worst, float(best - chosen.value) / max(float(chosen.size), 1e-300))
        for x, y in told:
            policy.learn(x, y)
            reference.learn(x, y)
    return worst


def misses(kind: Kind, more: Settings, stream: Stream, settings: Iterator[Settings]) -> dict[str, float]:
    """The settings whose indices miss the bar somewhere on the stream, with how far off they are."""
    out = {}
    for setting in settings:
        together = {"lam": stream.lam, **setting, **more}
        worst = worst_error(POLICIES[kind](**together), ReferencePolicy(kind=kind, **together), stream)
        if not worst <= BAR:
            out[", ".join(map(str, setting.values()))] = worst
    return out


def misses_when_asked(kind: Kind, more: Settings, stream: Stream, asked: Container[int]) -> dict[str, float]:
    """`misses` of a stream in which only some rounds are asked about, all others just learned."""
    out = {}
    for setting in (*every_setting(["tight", "sharp"]), *every_sharp_setting()):
        together = {"lam": stream.lam, **setting, **more}
        policy, reference = POLICIES[kind](**together), ReferencePolicy(kind=kind, **together)
        worst = 0.0
        for t, (actions, told) in enumerate(stream.rounds):
            if t in asked:
                worst = max(worst, error(policy.index(actions), reference.parts(actions)))
            for x, y in told:
                policy.learn(x, y)
                reference.learn(x, y)
        if not worst <= BAR:
            out[", ".join(map(str, setting.values()))] = worst
    return out


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("policy", KINDS)
def test_every_index_is_right_to_nine_digits(policy: str, stream: str) -> None:
    kind, more = KINDS[policy]
    assert misses(kind, COMMON | more, STREAMS[stream], every_setting()) == {}
    assert misses(kind, COMMON | more, STREAMS[stream], every_sharp_setting()) == {}


@pytest.mark.parametrize("d", [6, 17])
@pytest.mark.parametrize("policy", ["OFUL", "DLinUCB, gamma=0.95", "SWLinUCB, window=5"])
def test_more_dimensions(policy: str, d: int) -> None:
    """Beyond a few dimensions the loops are others. Only the last rounds are asked about: the reference is slow."""
    kind, more = KINDS[policy]
    assert misses_when_asked(kind, COMMON | more, norm_200(d, d + 4), asked=range(d + 2, d + 4)) == {}


@pytest.mark.parametrize("lam", [1e-5, 1.0])
@pytest.mark.parametrize("d", [3, 7])
def test_what_has_faded_may_come_back(d: int, lam: float) -> None:
    """Directions that are not seen for so long that nothing of them is left, not even λ, before they are seen again."""
    rng = np.random.default_rng(d)
    X = 20.0 * rng.standard_normal((90, d))
    X[5:70, d // 2 :] = 0.0
    rounds = [Round(np.vstack([x, rng.standard_normal((2, d))]), [(x, float(x.sum()))]) for x in X]
    more = {"gamma": 0.7}
    assert misses_when_asked("DLinUCB", COMMON | more, Stream(lam, rounds), asked=(4, 6, 40, 69, 70, 72, 89)) == {}


@pytest.mark.parametrize("policy", KINDS)
def test_the_first_choice_needs_nothing_before_it(policy: str) -> None:
    """`choose` on a policy that nobody has asked, told or shown anything."""
    kind, more = KINDS[policy]
    actions = np.array([[1.0, 0.0], [0.0, 2.0], [0.1, 0.1]])
    for setting in every_setting():
        together = setting | COMMON | more
        values = ReferencePolicy(kind=kind, **together).index(actions)
        assert POLICIES[kind](**together).choose(actions) == values.index(max(values)), setting


@pytest.mark.parametrize("policy", [name for name in KINDS if name not in ("SWLinUCB, window=1", "DLinUCB, gamma=1")])
def test_a_given_action_bound_takes_the_place_of_the_largest_norm(policy: str) -> None:
    kind, more = KINDS[policy]
    stream = STREAMS["delayed, d=2"]
    uniform = {"width": "uniform", "action_bound": 20.0}
    settings = ({"estimator": estimator, **uniform} for estimator in ("forward", "ridge"))
    assert misses(kind, COMMON | more, stream, settings) == {}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("OFUL", {"width": "determinant"}),
        ("DLinUCB", {"width": "uniform", "gamma": 0.99}),  # the width of its authors
        ("SWLinUCB", {"width": "uniform", "window": 100}),  # likewise
        ("OracleRestart", {"width": "determinant", "change_points": ()}),
        ("DetectingLinUCB", {"width": "determinant", "window": 200, "failure_delta": 0.01, "tolerance": 0.002}),
    ],
)
def test_the_defaults(kind: Kind, expected: Settings) -> None:
    """The noise is estimated, nothing is known of θ*, and scales are tuned but for a detector."""
    assert POLICIES[kind]().rule.scale == (1.0 if kind == "DetectingLinUCB" else "auto")
    common: Settings = {"lam": 0.1, "scale": 0.25}
    reference = ReferencePolicy(kind=kind, estimator="ridge", sigma=None, bias="none", delta=0.01, **common, **expected)
    assert worst_error(POLICIES[kind](**common), reference, turning(2, 30)) <= BAR
    told: Settings = {"lam": 0.1, "sigma": 1.0, "theta_bound": 1.0}
    reference = ReferencePolicy(kind=kind, estimator="ridge", **told, **expected)
    assert worst_error(POLICIES[kind](**told), reference, turning(2, 30)) <= BAR


@pytest.mark.parametrize("estimator", ["forward", "ridge"])
@pytest.mark.parametrize("stream", STREAMS)
def test_a_number_of_estimated_deviations(stream: str, estimator: Estimator) -> None:
    """LinUCB, of any memory: α σ̂ √q. Rewards in other units give the same choices."""
    kinds: dict[Kind, Any] = {
        "OFUL": Everything(),
        "DLinUCB": Discounted(0.9),
        "SWLinUCB": Window(4),
        "OracleRestart": Restarting((3, 7)),
    }
    lam = STREAMS[stream].lam
    for kind, memory in kinds.items():
        more: Settings = {"lam": lam, "estimator": estimator}
        told: Settings = {"gamma": 0.9, "window": 4, "change_points": (3, 7) if kind == "OracleRestart" else ()}
        reference = ReferencePolicy(kind=kind, sigma=None, multiple=1.7, **more, **told)
        policy = Policy(memory, Optimistic(1.7, scale=1.0), **more)
        assert worst_error(policy, reference, STREAMS[stream]) <= (1e-6 if "200" in stream else BAR), kind


@pytest.mark.parametrize("estimator", ["forward", "ridge"])
@pytest.mark.parametrize("stream", STREAMS)
def test_the_greedy_index_is_the_estimate(stream: str, estimator: Estimator) -> None:
    """A read-out that crosses zero says nothing by its own size: it counts as a thousandth of its set's largest."""
    for policy in (
        Greedy(lam=STREAMS[stream].lam, estimator=estimator),
        EpsilonGreedy(epsilon=0.0, lam=STREAMS[stream].lam, estimator=estimator),
    ):
        reference = ReferencePolicy(kind="Greedy", lam=STREAMS[stream].lam, estimator=estimator)
        assert worst_error(policy, reference, STREAMS[stream], floor=1e-3) <= BAR


@pytest.mark.parametrize("stream", STREAMS)
def test_thompson_samples_are_the_draw_seen_through_the_factor(stream: str) -> None:
    """The draw is one standard normal η for each dimension, from the policy's own generator."""
    lam, rounds = STREAMS[stream]
    failed = {}
    for setting in every_setting(["tight", "paper", "none"]):
        together = {"lam": lam, **setting, **COMMON}
        policy, reference = LinTS(**together), ReferencePolicy(kind="LinTS", **together)
        worst = 0.0
        for t, (actions, told) in enumerate(rounds):
            policy.reseed(t)
            eta = copy.deepcopy(policy.generator).standard_normal((actions.shape[1],))
            worst = max(worst, error(policy.index(actions), reference.sampled(actions, eta)))
            for x, y in told:
                policy.learn(x, y)
                reference.learn(x, y)
        if not worst <= BAR:
            failed[", ".join(setting.values())] = worst
    assert failed == {}


@pytest.mark.parametrize("d", [1, 2, 3])
def test_detection_finds_the_same_changes(d: int) -> None:
    """Models come and go, and both sides have as many; a model that was dropped would have gone on otherwise."""
    stream = turning(d, 24)
    seen: set[int | str] = set()
    for setting in every_setting(["tight", "paper", "none"]):
        together = {"lam": stream.lam, **setting, **COMMON, **DETECTION}
        policy, reference = DetectingLinUCB(**together), ReferencePolicy(kind="DetectingLinUCB", **together)
        for one in stream.rounds:
            before = list(reference.models)
            assert worst_error(policy, reference, Stream(stream.lam, [one])) <= BAR
            assert policy.n_models == len(reference.models)
            seen.add(len(reference.models))
            if not all(model in reference.models for model in before):
                seen.add("dropped")
            if reference.playing is not reference.models[0]:
                seen.add("a younger model plays")
    assert seen >= {1, 2, "dropped", "a younger model plays"}


def test_a_new_model_of_detection_does_not_play_at_once() -> None:
    """A hit and three failures: badness 3/4 is no longer good, but with τ large an old model is still the bolder one.

    cb = √(log(1/0.0125)/8) = 0.740, so its score is 0.75 − √(log 10⁵) · 0.740 = −1.76, a new model's −1.70.
    """
    settings: Settings = {"window": 100_000, "failure_delta": 0.0125, "delta": 0.05, "sigma": 0.1, "theta_bound": 1.0}
    settings |= {"lam": 1.0, "estimator": "forward"}
    policy, reference = DetectingLinUCB(**settings), ReferencePolicy(kind="DetectingLinUCB", **settings)
    for y in (0.1, 50.0, 50.0, 50.0):
        policy.learn([1.0], y)
        reference.learn([1.0], y)
    assert policy.n_models == 2
    assert [model.records for model in reference.models] == [[0, 1, 1, 1], []]
    assert reference.playing is reference.models[0]
    assert error(policy.index([[1.0]]), reference.parts([[1.0]])) <= BAR


@pytest.mark.parametrize("policy", KINDS)
def test_after_a_restart_only_the_largest_norm_is_known(policy: str) -> None:
    kind, more = KINDS[policy]
    if kind == "OracleRestart":
        more = {"change_points": (5, 15)}  # counted over all restarts: 12 rewards come before this one
    stream = STREAMS["delayed, d=2"]
    for width in ("determinant", "trace", "uniform"):
        together = {"lam": stream.lam, "width": width, "estimator": "forward", **COMMON, **more}
        ours, reference = POLICIES[kind](**together), ReferencePolicy(kind=kind, **together)
        worst_error(ours, reference, stream)
        ours.restart()
        reference.restart()
        assert worst_error(ours, reference, STREAMS["benign, d=2"]) <= BAR


# Long streams, where errors could pile up


@pytest.mark.parametrize(
    ("far", "lam", "gamma"), [(1.0, 1.0, 0.9), (200.0, 1e-5, 0.9), (200.0, 1e-5, 0.5), (1e-3, 1e-5, 0.99)]
)
@pytest.mark.parametrize("runs", [(3000,), (2000, 50), (500, 500, 500)])
def test_discounting_through_long_runs_of_one_action(
    far: float, lam: float, gamma: float, runs: tuple[int, ...]
) -> None:
    """Directions that are not played decay back to λ, thousands of times over: the digits must stay."""
    d, rng = 3, np.random.default_rng(0)
    played = far * rng.standard_normal((len(runs), d)) / np.sqrt(d)
    told = [(tuple(map(float, x)), rng.standard_normal(n).tolist()) for x, n in zip(played, runs, strict=True)]
    asked = np.vstack([played, far * rng.standard_normal((3, d)), np.eye(d)])
    memory = remember_runs(told, lam, gamma)
    failed = {}
    for setting in every_setting(["tight"]):
        together = {"lam": lam, "gamma": gamma, **setting, **COMMON}
        policy = DLinUCB(**together)
        for x, rewards in told:
            policy.learn_many(np.tile(x, (len(rewards), 1)), rewards)
        reference = ReferencePolicy(kind="DLinUCB", **together)
        worst = error(policy.index(asked), reference.parts_from(memory, asked))
        if not worst <= BAR:
            failed[", ".join(setting.values())] = worst
    assert failed == {}


@pytest.mark.parametrize("window", [1, 2, 7])
@pytest.mark.parametrize("make", [mixed_norms, norm_200])
def test_a_window_that_has_slid_for_long(make: Callable[..., Stream], window: int) -> None:
    """What has left the window has left no trace, though it may have been a million times what is in it."""
    asked = [t for t in range(240) if t % 40 >= 38]
    assert misses_when_asked("SWLinUCB", COMMON | {"window": window}, make(3, 240), asked) == {}


@pytest.mark.parametrize("policy", ["OFUL", "DLinUCB, gamma=0.5", "DLinUCB, gamma=0.95", "DLinUCB, gamma=1"])
@pytest.mark.parametrize("make", [mixed_norms, norm_200])
def test_many_rows(make: Callable[..., Stream], policy: str) -> None:
    kind, more = KINDS[policy]
    assert misses_when_asked(kind, COMMON | more, make(2, 200), asked=(100, 199)) == {}
