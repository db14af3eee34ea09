"""Fitted transformers in model files: their settings and the arrays they have learned, never pickle."""

import numbers
import warnings
from importlib import import_module
from typing import Any

import numpy as np

from onward import storage
from onward.core.shown import brief

_MOST_COLUMNS = 1_000_000
# By name, where each is: nothing else is made from a file.
_HOMES = {
    "RandomFeatures": "onward.regression.random_features",
    "RBFSampler": "sklearn.kernel_approximation",
    "Nystroem": "sklearn.kernel_approximation",
    "StandardScaler": "sklearn.preprocessing",
    "Pipeline": "sklearn.pipeline",
}


def transformer_to_record(transformer: Any) -> tuple[storage.Settings, storage.Arrays]:
    """Settings and arrays for a model file; ValueError for a transformer that cannot be saved."""
    name = type(transformer).__name__
    if not (name in _HOMES and type(transformer) is getattr(import_module(_HOMES[name]), name)):
        raise ValueError(f"cannot save a {type(transformer).__name__}: expected one of {', '.join(_HOMES)}")
    if name == "Pipeline":
        steps = [(step, *transformer_to_record(each)) for step, each in transformer.steps]
        arrays = {f"{i} {key}": value for i, (_, _, own) in enumerate(steps) for key, value in own.items()}
        return {"class": name, "steps": [[step, settings] for step, settings, _ in steps]}, arrays
    learned = {key: value for key, value in vars(transformer).items() if key.endswith("_") and not key.startswith("_")}
    names = learned.pop("feature_names_in_", None)
    arrays = {key: value for key, value in learned.items() if isinstance(value, np.ndarray) and value.ndim}
    numbers_ = {key: float(value) for key, value in learned.items() if isinstance(value, numbers.Real)}
    parameters = {key: _plain(name, key, value) for key, value in transformer.get_params(deep=False).items()}
    settings = {"class": name, "parameters": parameters, "numbers": numbers_}
    return settings | {"names": None if names is None else list(names)}, arrays


def transformer_from_record(settings: storage.Settings, arrays: storage.Arrays) -> Any:
    """What `transformer_to_record` described."""
    name = settings["class"]
    made_by = getattr(import_module(_HOMES[name]), name)
    if name == "Pipeline":
        return made_by(
            [
                (step, transformer_from_record(each, _with_prefix(arrays, f"{i} ")))
                for i, (step, each) in enumerate(settings["steps"])
            ]
        )
    transformer = made_by(**{key: _plain(name, key, value) for key, value in settings["parameters"].items()})
    for key, value in (settings["numbers"] | arrays).items():
        if not key.endswith("_") or key.startswith("_") or not np.isfinite(value).all() or hasattr(made_by, key):
            raise ValueError(f"{key!r} is nothing finite that a {name} has learned")
        whole = isinstance(value, float) and value.is_integer() and key.startswith("n_")
        setattr(transformer, key, int(value) if whole else value)
    if settings["names"] is not None:
        transformer.feature_names_in_ = names_from_record(settings["names"])
    return transformer


def names_from_record(names: Any) -> Any:
    """Different names of columns, as scikit-learn keeps them."""
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names) and len({*names}) == len(names)):
        raise ValueError(f"expected different names of columns in a list, got {brief(names)}")
    return np.array(names, dtype=object)


def check_transformer(transformer: Any, n_columns: int | None, n_features: int) -> None:
    """ValueError unless a row of so many columns becomes one of so many features."""
    if hasattr(transformer, "n") and transformer.n != n_features:  # before rows of that size are made
        raise ValueError(f"a transformer to {transformer.n!r} features, expected {n_features}")
    names = getattr(transformer, "feature_names_in_", None)
    told = getattr(transformer, "n_features_in_", n_columns)
    if told is None:
        return
    if n_columns is None and names is None:  # only rows with names come without a number of columns
        raise ValueError(f"a transformer of {told!r} columns without names, in a pipeline that has none")
    if type(told) is not int or not 1 <= told <= _MOST_COLUMNS or n_columns not in (None, told):
        raise ValueError(f"a transformer of {told!r} columns, expected {n_columns}")
    if names is not None and len(names) != told:
        raise ValueError(f"{len(names)} names for {told} columns")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of names that the row has not
        made = np.asarray(transformer.transform(np.full((1, told), 0.5)))
    if made.shape != (1, n_features) or not np.isfinite(made).all():
        raise ValueError(f"a row becomes {made.shape} numbers, expected {n_features} that are finite")


def _with_prefix(arrays: storage.Arrays, prefix: str) -> storage.Arrays:
    return {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}


def _plain(name: str, key: str, value: Any) -> Any:
    if key == "random_state" and not isinstance(value, int):
        return None  # what it drew is among the arrays
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict) and all(isinstance(each, str | bool | int | float) for each in value.values()):
        return value
    raise ValueError(f"cannot save a {name} with {key}={value!r}: expected a number or text")
