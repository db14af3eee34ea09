"""Where a learner starts: λ and the prior mean of each coordinate, from what was given for features."""

import numbers
from collections.abc import Hashable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from onward.core.checks import is_real, plain_number
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.tables import as_mapping
from onward.tables.number_arrays import numbers_in, refuse_masked

Lam = float | ArrayLike | Mapping[Any, float]
Prior = ArrayLike | Mapping[Any, float] | None
Units = Literal["raw", "own"]


def check_lam(lam: Lam, intercept_lam: float | None, *, positive: bool) -> None:
    """An error if a λ is out of range; 0 is, for features, if they must be `positive`."""
    if intercept_lam is not None:
        _checked_lam("intercept_lam", intercept_lam)
    for value in _values(lam):
        _checked_lam("lam", value)
        if positive and value == 0:
            raise ValueError("lam must be positive for ridge, got 0; ForwardRegressor takes lam=0")


def check_units(units: Units, lam: Lam, intercept: bool, intercept_lam: float | None) -> None:
    """An error if λ cannot be in these units."""
    if not isinstance(units, str) or units not in ("raw", "own"):
        raise ValueError(f"units must be 'raw' or 'own', got {brief(units)}")
    if units == "raw":
        return
    if not intercept or intercept_lam != 0:
        raise ValueError(
            "units='own' is for a constant that is not regularised: expected fit_intercept=True and intercept_lam=0, "
            f"got fit_intercept={intercept} and intercept_lam={intercept_lam!r}"
        )
    if any(value == 0 for value in _values(lam)):
        raise ValueError("lam must be positive with units='own', got 0; without regularisation units do not matter")


def lam_vector(
    lam: Lam, intercept_lam: float | None, intercept: bool, n_features: int, names: Sequence[Hashable] | None
) -> Vector:
    """λ of each coordinate (d,), the constant first."""
    given = as_mapping(lam)
    if isinstance(given, Mapping):
        if names is None and set(given) != {None}:
            raise ValueError("lam is a dict of named features, but the rows have no names; expected an array")
        features = [lam_of(given, name) for name in names] if names is not None else [float(given[None])] * n_features
    elif isinstance(given, numbers.Real):
        features = [float(given)] * n_features
    else:
        features = _values(given)
        if len(features) != n_features:
            raise ValueError(
                f"lam has {counted(len(features), 'value')}, but there are {counted(n_features, 'feature')}"
            )
    return np.array([*([_lam_of_constant(given, intercept_lam)] if intercept else []), *features])


def lam_of(lam: Lam, name: Hashable) -> float:
    """λ of a feature that is known by its name alone."""
    given = as_mapping(lam)
    if isinstance(given, numbers.Real):
        return float(given)
    if not isinstance(given, Mapping):
        raise ValueError(
            f"lam has {counted(len(np.asarray(given)), 'value')}, none of them for the new feature {name!r}; expected "
            "a number, or a dict of named features with a default under None"
        )
    if name not in given and None not in given:
        raise ValueError(f"lam has no value for the feature {name!r}; expected one, or a default under None")
    return float(given[name] if name in given else given[None])


def _lam_of_constant(lam: Any, intercept_lam: float | None) -> float:
    if intercept_lam is not None:
        return float(intercept_lam)
    if isinstance(lam, numbers.Real):
        return float(lam)
    if isinstance(lam, Mapping) and None in lam:
        return float(lam[None])
    raise ValueError(
        "lam says nothing of the constant: expected intercept_lam too, or a default under None in a dict of lam; "
        "or fit_intercept=False"
    )


def constant_lam_of_sets(lam: Lam) -> float:
    """λ that the constant has in confidence sets where the model does not regularise it."""
    given = as_mapping(lam)
    says_nothing = not isinstance(given, numbers.Real) and not (isinstance(given, Mapping) and None in given)
    return 1.0 if says_nothing else _lam_of_constant(given, None)


def _values(lam: Lam) -> list[Any]:
    given = as_mapping(lam)
    if isinstance(given, Mapping):
        return list(given.values())
    refuse_masked(given, "lam")
    try:
        one = np.ndim(given) != 1 or isinstance(given, str | bytes)
    except ValueError:  # lists of different lengths, or that hold themselves
        one = True
    if one:
        return [given]
    values: list[Any] = np.asarray(given).tolist()
    return values


def _checked_lam(name: str, value: Any) -> None:
    value = plain_number(value)
    if not is_real(value) or not (value == 0 or 1e-300 <= value <= 1e300):  # a whole number may be beyond any float
        raise ValueError(f"{name} must be 0 or a number between 1e-300 and 1e300, got {brief(value)}")


def prior_matrix(
    mean: Prior,
    constant: ArrayLike,
    intercept: bool,
    n_features: int,
    n_targets: int | None,
    names: Sequence[Hashable] | None,
) -> Matrix:
    """The prior mean over all coordinates, of shape (d, m), the constant first.

    `mean` is an array of the shape of `coef_` or a dict of named features; n_targets is None while no target was seen:
    then there are as many as the prior has.
    """
    mean = as_mapping(mean)
    start = _finite("prior_intercept", constant)
    if start.ndim > 1:
        raise ValueError(f"prior_intercept must be a number or one for each target, got {brief(constant)}")
    if isinstance(mean, Mapping):
        if names is None:
            raise ValueError("prior_mean is a dict of named features, but the rows have no names; expected an array")
        rows = np.array([[prior_of(mean, name) for name in names]]).reshape(1, n_features)
    else:
        rows = np.zeros((1, n_features)) if mean is None else np.atleast_2d(_finite("prior_mean", mean))
    m = n_targets if n_targets is not None else max(len(rows), start.size)
    if rows.shape not in ((1, n_features), (m, n_features)):
        raise ValueError(
            f"prior_mean must have shape ({n_features},) or ({m}, {n_features}) to fit the data, got {rows.shape}"
        )
    if start.size not in (1, m):
        raise ValueError(f"prior_intercept must be a number or one for each of {m} targets, got {brief(constant)}")
    parts = [np.broadcast_to(rows.T, (n_features, m))]
    if intercept:
        parts.insert(0, np.broadcast_to(start, (1, m)))
    return np.concatenate(parts)


def prior_of(mean: Prior, name: Hashable) -> float:
    """The prior of a feature that is known by its name alone."""
    mean = as_mapping(mean)
    return float(_finite("prior_mean", mean.get(name, 0.0))) if isinstance(mean, Mapping) else 0.0


def _finite(name: str, value: object) -> Matrix:
    refuse_masked(value, name)
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers, got {brief(value)}") from error
    # Asked for floats at once, NumPy reads dates as days, and drops the imaginary part of complex numbers.
    array = np.asarray(numbers_in(given, name), dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {brief(value)}")
    return array


def same_setting(a: Any, b: Any) -> bool:
    """Whether two values of a parameter (a number, an array, a dict, a text, a span of time, None) are the same."""
    if any(isinstance(each, Mapping | str | timedelta | np.timedelta64) or each is None for each in (a, b)):
        return type(a) is type(b) and bool(a == b)
    return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
