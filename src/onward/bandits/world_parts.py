"""What the parts of a world share: checked settings, and saying what they are."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onward.core.read_only import read_only
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.tables.number_arrays import as_numbers

_WRITTEN_OUT = 16  # arrays of up to so many numbers are described by their numbers


class Part:
    """Something with settings, which it can describe."""

    def _settings(self) -> dict[str, Any]:
        """The arguments that would make it again."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Class and settings as plain values for JSON; a long array as its shape and a digest."""
        return {"class": type(self).__name__, **{name: _plain(value) for name, value in self._settings().items()}}

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={_short(value)}" for name, value in self._settings().items())
        return f"{type(self).__name__}({settings})"


def finite_vector(name: str, value: ArrayLike) -> Vector:
    """A copy of a vector of finite numbers, which nobody can change."""
    return _finite(name, value, 1, "(d,)")


def finite_matrix(name: str, value: ArrayLike, shape: str) -> Matrix:
    """A copy of a matrix of finite numbers, which nobody can change. `shape` is how an error calls it."""
    return _finite(name, value, 2, shape)


def _finite(name: str, value: ArrayLike, ndim: int, shape: str) -> Matrix:
    try:
        array = np.array(as_numbers(value, name, "numbers"), order="C")
    except ValueError as error:
        raise ValueError(f"{name} must be an array of numbers of shape {shape}, got {brief(value)}") from error
    if array.ndim != ndim or not array.size:
        raise ValueError(f"{name} must be an array of shape {shape}, none of it 0, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]} in it")
    return read_only(array)


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.describe()
    if isinstance(value, np.ndarray):
        if value.size <= _WRITTEN_OUT:
            return value.tolist()
        digest = hashlib.sha256(np.ascontiguousarray(value, dtype="<f8").tobytes()).hexdigest()
        return {"shape": list(value.shape), "sha256": digest[:16]}
    return list(value) if isinstance(value, tuple) else value


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return str(value.tolist()) if value.size <= _WRITTEN_OUT else f"<array of shape {value.shape}>"
    return repr(value)
