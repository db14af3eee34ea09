"""`onward merge`: one model of several that learned apart."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli import options as o
from onward.cli.terminal import say
from onward.core.words import counted

if TYPE_CHECKING:
    from onward.regression import OnlineRegressor

EXAMPLES = """Examples:

onward merge monday.onward tuesday.onward --save week.onward"""


def command(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL", help="Model files, two or more.", show_default=False)
    ],
    save: Annotated[
        Path, typer.Option("--save", "-s", help="Write the merged model to this file.", show_default=False)
    ],
    json: o.Json = False,
) -> None:
    """Add up models that learned from rows of their own: the same as one model that saw all the rows.

    They must have the same learner (forward or ridge), λ, target and columns; levels of categories may differ. The
    online loss is the sum of theirs: each knew only its own rows when it predicted. Models with a half-life are given
    in the order of their rows; windows cannot be merged, nor models of auto, whose weights follow the order of rows.
    """
    from onward.cli.model_files import show_json
    from onward.core.known import Known
    from onward.progressive.frame_writers import check_target
    from onward.progressive.json_results import model_record

    if len(models) < 2:
        raise typer.BadParameter(f"expected at least two models, got {len(models)}")
    if len({path.resolve() for path in models}) < len(models):
        raise typer.BadParameter("a model is given more than once: its rows would count twice")
    check_target(save)
    merged = _load_mergeable(models[0])
    for path in models[1:]:
        other = _load_mergeable(path)
        try:
            merged.merge(other)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    merged.save(save)
    if json:
        show_json(model_record(merged, Known()))
    else:
        say(f"Merged {len(models)} models of {counted(merged.n_seen_, 'row')} in all: {save}")


def _load_mergeable(path: Path) -> "OnlineRegressor":
    """A learner that can be merged; ValueError if it cannot."""
    from onward.cli.model_files import load_learner
    from onward.regression import learner_name

    model = load_learner(path)
    if learner_name(model) == "auto":
        raise ValueError(
            f"{path}: a model of auto weighs its learners in the order of the rows, so it cannot be merged: expected "
            "models of forward or ridge; to learn more rows, use onward fit --start"
        )
    return model
