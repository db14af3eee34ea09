"""Which model `onward fit` learns with: a new one, or one to go on with."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from onward.cli import options as o

if TYPE_CHECKING:
    from onward.regression import OnlineRegressor
    from onward.tables.table import Table

_OWN = ("learner", "lam", "units", "no_intercept", "half_life", "window")
"""Beside the columns: what a model that is gone on with has of its own."""


def new_model(
    learner: o.Learner,
    lam: float | None,
    units: o.Units | None,
    no_intercept: bool,
    half_life: str | None,
    window: int | None,
    time: str | None,
) -> "OnlineRegressor":
    """A model that has learned nothing, as the options say; a usage error if they contradict each other."""
    from onward.regression import AutoRegressor, ForwardRegressor, RidgeRegressor

    if learner == o.Learner.auto:
        given = {
            "--lam": lam is not None,
            "--units": units is not None,
            "--no-intercept": no_intercept,
            "--half-life": half_life is not None,
            "--window": window is not None,
            "--time": time is not None,
        }
        for flag, was_given in given.items():
            if was_given:
                raise typer.BadParameter(f"auto chooses by itself: expected --learner forward or ridge beside {flag}")
        return AutoRegressor()
    if time is not None and half_life is None:
        raise typer.BadParameter("--time is for a half-life in time: expected --half-life beside it")
    kind = ForwardRegressor if learner == o.Learner.forward else RidgeRegressor
    model = kind(
        1.0 if lam is None else lam,
        fit_intercept=not no_intercept,
        units="raw" if units is None else units.value,
        half_life=_half_life(half_life),
        window=window,
    )
    model._check_settings()
    return model


def check_workers_can_share(model: "OnlineRegressor", *, started: bool) -> None:
    """A usage error if workers cannot share a pass of the model."""
    from onward.regression import learner_name

    if learner_name(model) == "auto":
        expected = "no --jobs and no --backend beside such a --start" if started else "--learner forward or ridge"
        raise typer.BadParameter(
            "auto weighs its learners row by row, so workers (--jobs, --backend) cannot share the pass: expected "
            f"{expected}"
        )


def _half_life(text: str | None) -> float | str | None:
    """A number of rows, or of the unit of times, as a number; a duration as it is."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def started_model(path: Path, given: set[str], table: "Table") -> "OnlineRegressor":
    """The model to go on with; a usage error if settings are given that it has of its own."""
    from dataclasses import fields, replace

    from onward.cli.model_files import load_learner

    own = {name: f"--{name.replace('_', '-')}" for name in _OWN}
    own |= {
        field.name: field.metadata["flags"][0]
        for field in fields(table)
        if field.metadata["of"] == "columns" and field.name != "missing"
    }
    for name, flag in own.items():
        if name in given:
            raise typer.BadParameter(f"{flag} is the model's own: expected none beside --start")
    model = load_learner(path)
    if model.recipe_ is None:
        raise ValueError(
            f"{path}: does not know how its features are made from columns; expected a model of onward fit"
        )
    if "missing" in given:
        model.recipe_ = replace(model.recipe_, missing=table.missing)
    return model
