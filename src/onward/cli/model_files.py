"""For pipelines: JSON on standard output, and model files from anywhere."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from onward.core.shown import printable_json

if TYPE_CHECKING:
    from onward.core.inference import Inference
    from onward.core.known import Known
    from onward.regression import OnlineRegressor


def show_json(value: Any) -> None:
    """One object, on one line for each command."""
    typer.echo(printable_json(json.dumps(value, ensure_ascii=False, allow_nan=False)))


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


def check_interval_options(
    model: "OnlineRegressor", known: "Known", method: str | None = None, of: str = "observation", *, new: bool = False
) -> None:
    """A usage error if intervals are asked for that a model does not have; a `new` one could be of another learner."""
    from onward.regression import learner_name

    if model._has_sets:
        return
    who = "auto" if learner_name(model) == "auto" else "a model that forgets"
    asked = {
        "--bounds": known.bounds is not None,
        "--sigma": known.sigma is not None,
        "--theta-bound": known.theta_bound is not None,
        f"--intervals {method}": method not in (None, "conformal"),
        f"--of {of}": of != "observation",
    }
    for flag, was_asked in asked.items():
        if was_asked:
            expected = f"--learner forward or ridge beside {flag}" if new and who == "auto" else f"no {flag}"
            raise typer.BadParameter(
                f"{who} makes intervals for targets of past errors (conformal), and has no others: expected {expected}"
            )


def check_coefficient_options(
    model: "OnlineRegressor", known: "Known", inference: "Inference", *, new: bool = False
) -> None:
    """A usage error if something is asked about coefficients that a model cannot say."""
    asked = {
        "--contrast": bool(inference.contrasts),
        "--simultaneous": inference.simultaneous,
        "--robust": inference.robust,
    }
    for flag, was_asked in asked.items():
        if was_asked and not model._has_contrasts:
            raise typer.BadParameter(f"{flag} is not for a model that forgets: expected one that keeps all rows")
    if known.sigma is not None and (inference.simultaneous or inference.robust):
        flag = "--robust" if inference.robust else "--simultaneous"
        raise typer.BadParameter(
            f"with --sigma or --bounds, intervals for coefficients come from one set, and hold all at once: expected "
            f"no {flag}"
        )
    if not new:
        check_interval_options(model, known)
        if inference.robust and model.sandwich_ is None:
            raise typer.BadParameter("--robust must be said when a model begins to learn: expected none beside --start")


def describe_missing_intervals(model: "OnlineRegressor") -> list[str]:
    """Why a model has no intervals at all, in a line; nothing if it has some."""
    if model._has_sets or model.calibration_ is not None:
        return []
    return ["the model has no intervals, since it was not calibrated as it learned; onward fit calibrates"]
