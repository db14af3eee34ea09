"""For pipelines: JSON on standard output, and model files from anywhere."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from onward.core.known import Known
    from onward.regression import OnlineRegressor


def show_json(value: Any) -> None:
    """One object, on one line for each command."""
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


def load_learner(path: Path) -> "OnlineRegressor":
    """A model file that holds a learner; an error that says what it holds otherwise."""
    from onward.regression import OnlineRegressor
    from onward.storage import StorageError, load

    if path.is_dir():
        raise IsADirectoryError(f"{path}: a folder, expected a model file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    model = load(path)
    if not isinstance(model, OnlineRegressor):
        raise StorageError(f"{path}: holds a {type(model).__name__}, expected a regression model")
    return model


def check_intervals_of_auto(
    model: "OnlineRegressor", known: "Known", method: str | None = None, of: str = "observation", *, new: bool = False
) -> None:
    """A usage error if a model of auto is asked for intervals that it does not have; a `new` one could be another."""
    from onward.regression import learner_name

    asked = {
        "--sigma": known.sigma is not None,
        "--theta-bound": known.theta_bound is not None,
        f"--intervals {method}": method not in (None, "conformal"),
        f"--of {of}": of != "observation",
    }
    for flag, was_asked in asked.items():
        if was_asked and learner_name(model) == "auto":
            expected = f"--learner forward or ridge beside {flag}" if new else f"no {flag}"
            raise typer.BadParameter(
                f"auto makes its intervals of past errors (conformal), and knows no others: expected {expected}"
            )


def describe_missing_intervals(model: "OnlineRegressor") -> list[str]:
    """Why a model has no intervals at all, in a line; nothing if it has some."""
    if model._has_sets or model.calibration_ is not None:
        return []
    return ["the model has no intervals, since it was not calibrated as it learned; onward fit calibrates"]
