"""Fitted transformers in model files: their settings and the arrays they have learned, never pickle."""

import numbers
from importlib import import_module
from typing import Any

import numpy as np

from onward import storage

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
    transformer = made_by(**settings["parameters"])
    for key, value in (settings["numbers"] | arrays).items():
        whole = isinstance(value, float) and value.is_integer() and key.startswith("n_")
        setattr(transformer, key, int(value) if whole else value)
    if settings["names"] is not None:
        transformer.feature_names_in_ = np.array(settings["names"], dtype=object)
    return transformer


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
