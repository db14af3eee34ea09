"""For pipelines: JSON on standard output, and model files from anywhere."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
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
