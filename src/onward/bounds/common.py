"""What all bounds share: their parameters and the ranges of these, and the two ways to call one."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, get_args, overload

import numpy as np
from numpy.typing import NDArray

from onward.confidence import noise_width
from onward.confidence.widths import radius_of_both
from onward.core.checks import is_real, not_negative, positive, probability
from onward.core.shown import brief
from onward.core.trace import Trace
from onward.core.types import Matrix, Vector
from onward.tables.number_arrays import refuse_masked

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Radius = Literal["joint", "sum"]
Schedule = Literal["1/T", "log T/T", "1", "0"]


def _count(name: str, value: object) -> None:
    number = positive(name, value) if is_real(value) else 0.0
    if number < 1 or not number.is_integer():
        raise ValueError(f"{name} must be a whole number >= 1, got {brief(value)}")


def _at_least_one(name: str, value: object) -> None:
    if positive(name, value) < 1:
        raise ValueError(f"{name} must be a number >= 1, got {brief(value)}")


def _not_negative_each(name: str, value: object) -> None:
    text = f"{name} must be finite and >= 0, one number or one for each round"
    values = _floats(value, text)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"{text}, got {brief(value)}")


def _finite_each(name: str, value: object) -> None:
    text = f"{name} must be finite, one number or one for each round"
    if not np.isfinite(_floats(value, text)).all():
        raise ValueError(f"{text}, got {brief(value)}")


def _one_of(words: tuple[str, ...]) -> Callable[[str, object], object]:
    def check_word(name: str, value: object) -> None:
        if value not in words:
            *first, last = map(repr, words)
            raise ValueError(f"{name} must be {', '.join(first)} or {last}, got {brief(value)}")

    return check_word


# A name means the same in every bound, so its range stands here once.
CHECKS: dict[str, Callable[[str, object], object]] = {
    "d": _count,
    "lam": positive,
    "sigma": positive,
    "delta": probability,
    "feature_bound": not_negative,
    "target_bound": not_negative,
    "theta_bound": not_negative,
    "mixing": positive,
    "clip": positive,
    "smallest_eigenvalue": _not_negative_each,
    "largest_eigenvalue": positive,
    "squares": _not_negative_each,
    "gamma": probability,
    "drift": not_negative,
    "memory": _count,
    "error_ratio": _at_least_one,
    "experts": _count,
    "growth": _at_least_one,
    "penalized_loss": _not_negative_each,
    "reward_bound": not_negative,
    "radius": _one_of(get_args(Radius)),
    "schedule": _one_of(get_args(Schedule)),
    "mean": _finite_each,
}
OPTIONAL = {"mixing", "clip", "reward_bound"}  # may be None


def check(**parameters: object) -> None:
    """Raise ValueError for the first parameter that is out of its range, with the range and what came."""
    for name, value in parameters.items():
        # A name that is none of these is for the function to refuse: a TypeError, as for any call.
        if name in CHECKS and not (value is None and name in OPTIONAL):
            CHECKS[name](name, value)


def rounds(horizon: object, least: int = 1) -> Vector:
    """The horizon T, or several, as an array; ValueError unless whole and at least `least`."""
    text = f"horizon must be a whole number >= {least}, or an array of such"
    T = _floats(horizon, text)
    if T.ndim > 1 or not (np.isfinite(T).all() and (least <= T).all() and (np.floor(T) == T).all()):
        raise ValueError(f"{text}, got {brief(horizon)}")
    return T


def design(X: object) -> Matrix:
    """The rows of a run as an array (T, d); ValueError unless finite and of two dimensions."""
    rows = _floats(X, "X must be an array of finite numbers of shape (T, d)")
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise ValueError(f"X must be an array of finite numbers of shape (T, d), got one of shape {rows.shape}")
    return np.ascontiguousarray(rows)


def column(name: str, values: object, length: int) -> Vector:
    """An array of `length` finite numbers, or ValueError."""
    text = f"{name} must be an array of {length} finite numbers"
    array = _floats(values, text)
    if array.shape != (length,) or not np.isfinite(array).all():
        raise ValueError(f"{text}, got one of shape {array.shape}: {brief(values)}")
    return np.ascontiguousarray(array)


def _floats(value: object, expected: str) -> Vector:
    refuse_masked(value, expected.split(" must ")[0])
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:  # lists of different lengths
        raise ValueError(f"{expected}, got {brief(value)}") from error
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{expected}, got {brief(value)}")  # written out only now: it takes longer than the bounds do
    return array.astype(np.float64)


def in_numbers(formula: Callable[P, R]) -> Callable[P, R]:
    """Let a formula refuse what double precision cannot hold: one ValueError, in the place of NaN, warnings and others.

    A bound that is infinite holds, and stays; so does one that is no number as the paper prints it: that is an erratum.
    """
    printed = ".as_printed." in formula.__module__

    @functools.wraps(formula)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        why: Exception | None = None
        try:
            with np.errstate(all="ignore"):
                value = formula(*args, **kwargs)
            if printed or not _has_nan(value):
                return value
        except (OverflowError, ZeroDivisionError, np.linalg.LinAlgError) as error:
            why = error
        raise ValueError(
            f"{formula.__name__} overflows double precision: expected numbers whose squares "
            f"and ratios stay between 1e-300 and 1e300, got {brief(kwargs or args)}"
        ) from why

    return called


def _has_nan(value: object) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, float | np.ndarray) and bool(np.isnan(part).any()) for part in parts)


class OverHorizons(Protocol[P]):
    """A bound at horizon T: a number for one T, an array for several."""

    @overload
    def __call__(self, horizon: int, *args: P.args, **kwargs: P.kwargs) -> float: ...
    @overload
    def __call__(self, horizon: Sequence[int] | NDArray[Any], *args: P.args, **kwargs: P.kwargs) -> Vector: ...


def over_horizons(formula: Callable[Concatenate[Vector, P], Vector]) -> OverHorizons[P]:
    """Let a formula in an array T be called with one horizon or several, all parameters checked."""
    return _over_horizons(formula, 1)


def over_horizons_from(least: int) -> Callable[[Callable[Concatenate[Vector, P], Vector]], OverHorizons[P]]:
    """`over_horizons` for a statement about T ≥ least only."""
    return lambda formula: _over_horizons(formula, least)


def _over_horizons(formula: Callable[Concatenate[Vector, P], Vector], least: int) -> OverHorizons[P]:
    @in_numbers
    @functools.wraps(formula)
    def called(horizon: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        T = rounds(horizon, least)
        check(**kwargs)
        _same_length(kwargs, T.shape)
        values = np.broadcast_to(formula(T, *args, **kwargs), np.shape(T))
        return float(values) if np.ndim(values) == 0 else np.array(values)

    return called


class AlongTrace(Protocol[P, R_co]):
    """A statement about every round of a run."""

    def __call__(self, trace: Trace, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The statement about this run."""


def along_trace(formula: Callable[Concatenate[Trace, P], R_co]) -> AlongTrace[P, R_co]:
    """Check the trace and the parameters of a formula that has a value for every round of a run."""

    @in_numbers
    @functools.wraps(formula)
    def called(trace: Trace, *args: P.args, **kwargs: P.kwargs) -> R_co:
        check_trace(trace)
        check(**kwargs)
        _same_length(kwargs, trace.y.shape)
        return formula(trace, *args, **kwargs)

    return called


def check_trace(trace: Trace) -> None:
    """Raise ValueError unless the trace is one of a regularised run, with a value for every round."""
    if not isinstance(trace, Trace):
        raise ValueError(f"trace must be an onward.core.Trace, got {brief(trace)}")
    check(d=trace.d, lam=trace.lam)
    for name in ("y", "p", "q", "norms"):
        column(f"trace.{name}", getattr(trace, name), len(trace.y))
    if not ((trace.q >= 0).all() and (trace.norms >= 0).all()):
        raise ValueError("trace.q and trace.norms must be >= 0, got a negative value")


def _same_length(parameters: dict[str, Any], shape: tuple[int, ...]) -> None:
    for name, value in parameters.items():
        if np.ndim(value) and np.shape(value) != shape:
            raise ValueError(f"{name} must have a value for each round, shape {shape}, got shape {np.shape(value)}")


# The quantities that the formulas are made of


def u(T: Vector, d: int, lam: float, X: float | Vector) -> Vector:
    """u_T = d log(1 + T X²/(λ d)), which bounds the information gain I_T."""
    return d * np.log1p(T * np.square(X / math.sqrt(lam)) / d)


def kappa(lam: float, X: float | Vector) -> Vector:
    """κ = (X²/λ) / log(1 + X²/λ), 1 in the limit X = 0."""
    r = np.square(np.asarray(X, dtype=np.float64) / math.sqrt(lam))
    return np.divide(r, np.log1p(r), out=np.ones_like(r), where=r > 0)


def tail(squares: Vector, sigma: float, delta: float, mixing: float | None) -> Vector:
    """σ √(2 (A + 1/σ'²) log(√(1 + σ'²A)/δ)), the martingale's bound, with σ' = 1/σ unless given."""
    slack = sigma * sigma if mixing is None else 1.0 / (mixing * mixing)
    return sigma * np.sqrt(2.0 * (squares + slack) * (0.5 * np.log1p(squares / slack) + math.log(1.0 / delta)))


def so_far(values: Vector) -> Vector:
    """The largest value up to each round."""
    return np.maximum.accumulate(values)


def before_each(total: Vector) -> Vector:
    """What a running total was before each round: 0, and then all but the last."""
    return np.concatenate(([0.0], total[:-1]))


def ridge_radius(
    gain: Vector, lam: float, theta_bound: float, sigma: float, delta: float, radius: Radius = "joint"
) -> Vector:
    """W: θ* is not further from ridge's estimate, in the norm of G, at any round, with probability 1 − δ.

    `sum` is the paper's σ √(2 log(1/δ) + I) + √λ S. `joint`, √(σ² (2 log(1/δ) + I) + λS²), is smaller (Flynn et al.
    2023): for each ν, exp((L(θ*) − L(ν))/2σ²) is a supermartingale, as the noise is σ-sub-Gaussian. Mixed over
    ν ~ N(0, σ²/λ I) it is exp((L(θ*) − min_θ (L(θ) + λ‖θ‖²))/2σ² − I/2), which ever exceeds 1/δ with probability δ at
    most. And L(θ*) + λ‖θ*‖² is the minimum and ‖θ_t − θ*‖² in the norm of G.
    """
    noise, bias = noise_width(sigma, delta, gain), math.sqrt(lam) * theta_bound
    return radius_of_both(noise, bias, radius == "joint")


def with_noise(squares: Vector, sigma: float, delta: float, mixing: float | None) -> Vector:
    """B + 2·tail(B), where B bounds the squared errors with probability 1 − δ/2: the regret is Σ a² + 2 Σ ε a."""
    return squares + 2.0 * tail(squares, sigma, delta / 2.0, mixing)
