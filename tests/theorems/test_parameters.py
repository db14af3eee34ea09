"""Bad parameters are errors that name the parameter, its range and what came; good ones give what was asked for."""

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onward import bounds
from onward.bounds import as_printed
from onward.core.ensemble_state import EnsembleState
from onward.core.trace import Trace

GOOD: dict[str, Any] = {
    "horizon": 20,
    "d": 2,
    "lam": 0.5,
    "sigma": 0.3,
    "delta": 0.1,
    "feature_bound": 2.0,
    "target_bound": 3.0,
    "theta_bound": 1.0,
    "mixing": 2.0,
    "clip": 9.0,
    "smallest_eigenvalue": 0.25,
    "squares": 4.0,
    "gamma": 0.9,
    "drift": 1.0,
    "memory": 5,
    "experts": 44,
    "growth": 1e6,
    "ensemble": EnsembleState(2, 1, [1.0], [None], [None]),
    "target": 0,
    "largest_eigenvalue": 3.0,
    "error_ratio": 10.0,
    "X": np.arange(1.0, 41.0).reshape(20, 2) % 7,
    "y": np.linspace(-1.0, 1.0, 20),
    "theta": np.ones(2),
    "leverage": np.append(np.inf, np.linspace(1.0, 0.0, 19)),
    "hints": np.zeros(20),
    "path": np.ones((20, 2)),
    "fading": True,
    "penalized_loss": 5.0,
    "reward_bound": 1.0,
    "radius": "sum",
    "schedule": "log T/T",
    "horizons": [8, 1000],
    "mean": np.linspace(-1.0, 1.0, 20),
    "sample_weight": np.arange(20.0) % 3,
}
NAN, INF = math.nan, math.inf
BAD: dict[str, tuple[Any, ...]] = {
    "horizon": (0, -3, 2.5, NAN, INF, "20", True, np.ones((2, 2)), np.array([5, 0])),
    "d": (0, -1, 1.5, NAN, "2", None),
    "lam": (0.0, -1.0, NAN, INF, "1", None, True, np.ones(2)),
    "sigma": (0.0, -1.0, NAN, INF, None),
    "delta": (0.0, 1.0, -0.1, 1.5, NAN, None),
    "feature_bound": (-1.0, NAN, INF, None),
    "target_bound": (-1.0, NAN, INF),
    "theta_bound": (-1e-9, NAN, INF),
    "mixing": (0.0, -1.0, NAN),
    "clip": (0.0, -1.0, NAN),
    "smallest_eigenvalue": (-1.0, NAN, np.ones(7), np.full(20, NAN), "no"),
    "squares": (-1.0, NAN, "no"),
    "gamma": (0.0, 1.0, NAN),
    "drift": (-1.0, NAN),
    "memory": (0, 1.5, NAN),
    "experts": (0, 1.5, NAN, "3"),
    "growth": (0.5, -1.0, NAN, INF),
    "ensemble": (None, np.ones(3)),
    "target": (-1, 1, 0.5, None),
    "largest_eigenvalue": (0.0, NAN),
    "error_ratio": (0.5, NAN, INF),
    "X": (np.ones(3), np.full((2, 2), NAN), "no", np.ones((0, 2))),
    "y": (np.ones(3), np.full(20, NAN), 1.0),
    "theta": (np.ones(3), np.full(2, INF)),
    "leverage": (np.ones(3), np.full(20, NAN), np.full(20, -1.0), "no", None),
    "hints": (np.ones(3), np.full(20, INF), "no"),
    "penalized_loss": (-1.0, NAN, "no"),
    "reward_bound": (-1.0, NAN, INF),
    "radius": ("both", None, 1.0),
    "schedule": ("T", None, 1.0),
    "mean": (NAN, np.full(20, INF), "no", None),
    "path": (np.ones(3), np.full((20, 2), NAN), "no", np.ones((19, 2))),
    "sample_weight": (np.ones(3), np.full(20, NAN), np.full(20, -1.0), "no"),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{module.__name__}.{name}": value
    for module in (bounds, as_printed)
    for name, value in vars(module).items()
    if inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith("onward.bounds")
    if value.__module__ not in ("onward.bounds.common",)
    if module is bounds or value.__module__.startswith(module.__name__)
}


def trace() -> Trace:
    return Trace.of(GOOD["X"], GOOD["y"], GOOD["lam"])


def arguments(function: Callable[..., Any]) -> dict[str, Any]:
    names = inspect.signature(function).parameters
    return {name: trace() if name == "trace" else GOOD[name] for name in names}


def call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    first, *rest = given
    return function(given[first], **{name: given[name] for name in rest})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_checked(name: str) -> None:
    function = FUNCTIONS[name]
    good = arguments(function)
    result = call(function, good)
    if "horizon" in good:
        assert type(result) is float
    for parameter in good:
        for bad in BAD.get(parameter, ()):
            with pytest.raises(ValueError, match=rf"\b{parameter} must ") as error:
                call(function, {**good, parameter: bad})
            assert "got" in str(error.value)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.endswith("_along")])
def test_trace_is_checked(name: str) -> None:
    function = FUNCTIONS[name]
    good = arguments(function)
    if "trace" not in good:
        return
    run = trace()
    whole = call(function, good)
    assert whole.shape == run.y.shape
    for bad in (
        None,
        Trace(run.y, run.p[:-1], run.q, run.norms, run.d, run.lam),
        Trace(run.y, run.p, np.full_like(run.q, NAN), run.norms, run.d, run.lam),
        Trace(run.y, run.p, -run.q, run.norms, run.d, run.lam),
        Trace(run.y, run.p, run.q, run.norms, run.d, 0.0),
        Trace(run.y, run.p, run.q, run.norms, 0, run.lam),
    ):
        with pytest.raises(ValueError, match="must be"):
            call(function, {**good, "trace": bad})


@pytest.mark.parametrize("name", [n for n, f in FUNCTIONS.items() if "horizon" in inspect.signature(f).parameters])
def test_horizons_may_be_several(name: str) -> None:
    function = FUNCTIONS[name]
    good = arguments(function)
    T = np.array([8, 20, 1000])
    several = call(function, {**good, "horizon": T})
    assert several.shape == (3,)
    assert_array_equal(several, [call(function, {**good, "horizon": int(t)}) for t in T])


def test_messages_say_what_came() -> None:
    def message(**changes: Any) -> str:
        with pytest.raises(ValueError, match="must") as error:
            call(bounds.forward_regret_to_truth, {**arguments(bounds.forward_regret_to_truth), **changes})
        return str(error.value)

    assert message(delta=1.5) == "delta must be a number strictly between 0 and 1, got 1.5"
    assert message(lam=0.0) == "lam must be a number > 0, got 0.0"
    assert message(theta_bound=-1.0) == "theta_bound must be a number >= 0, got -1.0"
    assert message(horizon=0) == "horizon must be a whole number >= 1, or an array of such, got 0"
    with pytest.raises(ValueError, match="at least the largest"):
        bounds.ridge_regret_to_penalized_along(trace(), clip=0.5)
    with pytest.raises(ValueError, match=">= 8"):
        bounds.minimax_regret(7, d=1, target_bound=1.0)
    with pytest.raises(ValueError, match="no row of zeros"):
        as_printed.unregularized_forward_regret_to_truth(np.zeros((2, 1)), sigma=1.0, delta=0.1)


def test_names_that_are_not_parameters() -> None:
    function: Callable[..., Any] = bounds.information_gain
    with pytest.raises(TypeError, match="lambda_"):
        function(5, d=2, lambda_=1.0, feature_bound=1.0)
    with pytest.raises(TypeError, match="lam"):
        function(5, d=2, feature_bound=1.0)


def test_trace_of_bad_rows() -> None:
    with pytest.raises(ValueError, match="shapes"):
        Trace.of(np.ones((3, 2)), np.ones(4), 1.0)
    with pytest.raises(ValueError, match="finite"):
        Trace.of(np.full((3, 2), NAN), np.ones(3), 1.0)
    with pytest.raises(ValueError, match="lam must be"):
        Trace.of(np.ones((3, 2)), np.ones(3), 0.0)


def test_limits_are_numbers() -> None:
    # Rows of zeros, a parameter of zero, huge rows: no NaN.
    zero: dict[str, Any] = {"d": 2, "lam": 0.5, "theta_bound": 0.0, "sigma": 1.0, "delta": 0.1}
    assert bounds.oful_regret_with_kappa(5, **zero, feature_bound=0.0) == 0.0
    assert bounds.leverage_before_sum(5, d=2, lam=1.0, feature_bound=0.0) == 0.0
    assert bounds.ridge_regret_to_truth(5, **zero, feature_bound=0.0) > 0.0
    assert (
        bounds.truth_regret_to_best(5, d=2, lam=1.0, feature_bound=1.0, sigma=1.0, delta=0.1, smallest_eigenvalue=0.0)
        == INF
    )


def test_printed_forms_are_apart() -> None:
    printed = {getattr(as_printed, name) for name in as_printed.__all__}
    assert len(printed) > 10
    assert not printed & {getattr(bounds, name) for name in bounds.__all__}
    assert not printed & {value for value in vars(bounds).values() if callable(value)}
    for name, function in FUNCTIONS.items():
        if "as_printed" in name:
            # The help says that it is the printed form, and where what is wrong with it is shown.
            assert re.search(r"rrata \d+", function.__doc__ or ""), name


def test_all_names_what_there_is() -> None:
    defined = {
        name.rpartition(".")[2] for name in FUNCTIONS if name.startswith("onward.bounds.") and "as_printed" not in name
    }
    assert defined | {"MinimaxRatios", "Terms", "as_printed"} == set(bounds.__all__)


def test_what_double_precision_cannot_hold_is_one_short_error() -> None:
    usual: dict[str, Any] = {"d": 3, "lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.1}
    for name, value in (("d", 10**400), ("feature_bound", 1e300), ("mixing", 1e-300), ("d", [math.nan] * 3000)):
        with pytest.raises(ValueError, match=r"must be|overflows double precision") as caught:
            bounds.ridge_regret_to_truth(10, **(usual | {name: value}))
        assert len(str(caught.value)) < 300
    wrong: Any
    for wrong in ([math.nan] * 3000, [[1.0], [1.0, 2.0]]):
        with pytest.raises(ValueError, match="horizon must be") as caught:
            bounds.ridge_regret_to_truth(wrong, **usual)
        assert len(str(caught.value)) < 300
    with pytest.raises(ValueError, match="forward_expected_regret_to_truth overflows double precision"):
        bounds.forward_expected_regret_to_truth(1e155 * np.eye(3), np.zeros(3), lam=1.0, sigma=1.0)
    with pytest.raises(ValueError, match="overflows double precision"):
        bounds.ridge_expected_regret_to_truth(np.eye(3), np.zeros(3), lam=1.0, sigma=1e300)
    assert bounds.ridge_regret_to_best(10, d=3, lam=1.0, feature_bound=1e300, target_bound=1.0, smallest_eigenvalue=1.0)
