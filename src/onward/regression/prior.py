"""The prior mean: the vector to start from and to shrink towards."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onward.core.types import Matrix
from onward.tables import as_mapping

Prior = ArrayLike | Mapping[Any, float] | None


def prior_matrix(
    mean: Prior,
    constant: ArrayLike,
    intercept: bool,
    n_features: int,
    n_targets: int | None,
    names: Sequence[Hashable] | None,
) -> Matrix | None:
    """The prior over all coordinates, of shape (d, m), the constant first; None if it is zero everywhere.

    `mean` is an array of the shape of `coef_` or a dict of named features; n_targets is None while no target was seen.
    """
    mean = as_mapping(mean)
    start = _finite("prior_intercept", constant)
    if start.ndim > 1:
        raise ValueError(f"prior_intercept must be a number or one for each target, got {constant!r}")
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
        raise ValueError(f"prior_intercept must be a number or one for each of {m} targets, got {constant!r}")
    parts = [np.broadcast_to(rows.T, (n_features, m))]
    if intercept:
        parts.insert(0, np.broadcast_to(start, (1, m)))
    prior = np.concatenate(parts)
    return prior if prior.any() else None


def prior_of(mean: Prior, name: Hashable) -> float:
    """The prior of a feature that is known by its name alone."""
    mean = as_mapping(mean)
    return float(_finite("prior_mean", mean.get(name, 0.0))) if isinstance(mean, Mapping) else 0.0


def _finite(name: str, value: object) -> Matrix:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, got {value!r}") from error
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {value!r}")
    return array
