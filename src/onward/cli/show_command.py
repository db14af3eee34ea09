"""`onward show`: what is in a model file."""

from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli import options as o
from onward.cli.value_options import usage

if TYPE_CHECKING:
    from onward.core.inference import Inference
    from onward.core.known import Known
    from onward.regression import OnlineRegressor

_MOST = 12  # names of a kind that are told

EXAMPLES = """Examples:

onward show model.onward

onward show model.onward --delta 0.01 --sigma 1.5 --all

onward show model.onward --contrast treatment --simultaneous

onward show model.onward --json | jq .coefficients"""


@o.with_known
@o.with_inference_of_model
def command(
    model: o.Model,
    *,
    known: "Known",
    inference: "Inference",
    every: Annotated[
        bool, typer.Option("--all", help="Show every coefficient, however many.", rich_help_panel=o.OUTPUT)
    ] = False,
    json: o.Json = False,
) -> None:
    """Say what a model file holds: learner, features, rows seen, coefficients with intervals, contrasts."""
    from onward.cli.model_files import check_coefficient_options, load_learner, show_json
    from onward.progressive.contrasts import check_contrasts_of
    from onward.progressive.json_results import contrasts_record, model_record
    from onward.storage import read

    if model.is_file():
        kind, settings, _ = read(model)
        if kind not in ("auto", "forward", "ridge", "checkpoint"):
            return _show_other(kind, settings, json)
    learner = load_learner(model)
    check_coefficient_options(learner, known, inference)
    with usage():
        check_contrasts_of(learner, inference)
    if json:
        asked = contrasts_record(learner, known, inference) if inference.contrasts else {}
        return show_json({"kind": "model", **model_record(learner, known, inference), **asked})
    _show_learner(learner, known, inference, every)


def _show_learner(model: "OnlineRegressor", known: "Known", inference: "Inference", every: bool) -> None:
    from onward.cli import display
    from onward.cli.terminal import console
    from onward.core.durations import show_time
    from onward.progressive.coefficient_intervals import coefficient_table
    from onward.progressive.contrasts import contrast_notes, find_contrasts
    from onward.regression import learner_name

    out = console()
    about = {
        "learner": learner_name(model),
        **model.describe(),
        "rows seen": f"{model.n_seen_:,}",
        "features": f"{model.n_features_in_:,}",
    }
    recipe = model.recipe_
    if recipe is not None:
        about["target"] = recipe.target
        if recipe.weight is not None:
            about["weight"] = recipe.weight
        if recipe.time is not None:
            about["time"] = recipe.time.name
        about["missing values"] = recipe.missing
        kinds: dict[str, list[str]] = {}
        for column in recipe.columns:
            kinds.setdefault(column.kind, []).append(column.name)
        plurals = {"category": "categories"}
        about |= {f"columns: {plurals.get(k, k + 's')}": _some(names) for k, names in kinds.items()}
        if recipe.terms:
            about["terms"] = _some([term.text for term in recipe.terms])
        if recipe.memory.first_levels:
            about["first levels"] = _some([f"{column}={level}" for column, level in recipe.memory.first_levels.items()])
    if learner_name(model) != "auto":
        memory = model.information_.memory
        if memory is not None and memory.clock != "rows":
            about["latest time"] = show_time(model.information_.time, memory.clock == "dates")
    if learner_name(model) != "auto" and model.information_.regularized:  # it is infinite without λ
        about["information gain"] = display.number(model.information_gain_)
    if model.n_targets_ > 1:
        about["targets"] = str(model.n_targets_)
        out.print(display.pairs(about), highlight=False)
        return
    about["online loss"] = display.number(model.online_loss_)
    out.print(display.pairs(about), highlight=False)
    if inference.contrasts:
        found = find_contrasts(model, known, inference)
        out.print(display.contrasts(found, contrast_notes(model, known, inference, found)))
    out.print(display.coefficients(coefficient_table(model, known, inference), None if every else display.FEW))


def _some(names: list[str]) -> str:
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST:,} more" if len(names) > _MOST else "")


def _show_other(kind: str, settings: dict[str, object], json: bool) -> None:
    from onward.cli import display
    from onward.cli.model_files import show_json
    from onward.cli.terminal import console

    plain = {name: value for name, value in settings.items() if isinstance(value, str | int | float | bool)}
    if json:
        return show_json({"kind": kind, **plain})
    console().print(display.pairs({"kind": kind} | {name: str(value) for name, value in plain.items()}))
