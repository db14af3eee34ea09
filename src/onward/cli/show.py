"""`onward show`: what is in a model file."""

from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli import options as o

if TYPE_CHECKING:
    from onward.regression import OnlineRegressor

EXAMPLES = """Examples:

onward show model.onward

onward show model.onward --delta 0.01 --sigma 1.5 --all

onward show model.onward --json | jq .coefficients"""


def command(
    model: o.Model,
    delta: o.Delta = 0.05,
    sigma: o.Sigma = None,
    theta_bound: o.ThetaBound = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every coefficient, however many.", rich_help_panel=o.OUTPUT)
    ] = False,
    json: o.Json = False,
) -> None:
    """Say what a model file holds: learner, features, rows seen, coefficients with time-uniform intervals."""
    from onward.cli.machines import load_learner, show_json
    from onward.progressive.records import of_model
    from onward.storage import read

    o.check_noise(delta, sigma, theta_bound)
    if model.is_file():
        kind, settings, _ = read(model)
        if kind not in ("forward", "ridge"):
            return _show_other(kind, settings, json)
    learner = load_learner(model)
    if json:
        return show_json({"kind": "model", **of_model(learner, delta, sigma, theta_bound)})
    _show_learner(learner, delta, sigma, theta_bound, every)


def _show_learner(
    model: "OnlineRegressor", delta: float, sigma: float | None, theta_bound: float | None, every: bool
) -> None:
    from onward.cli import display
    from onward.core.state import described
    from onward.progressive.records import learner_of
    from onward.progressive.results import coefficients_of

    out = display.console()
    about = {
        "learner": learner_of(model),
        "λ": described(model.information_.lam),
        "constant": "yes" if model.fit_intercept else "no",
        "rows seen": f"{model.n_seen_:,}",
        "features": f"{model.n_features_in_:,}",
    }
    recipe = model.recipe_
    if recipe is not None:
        about["target"] = recipe.target
        if recipe.weight is not None:
            about["weight"] = recipe.weight
        about["missing values"] = recipe.missing
        kinds: dict[str, list[str]] = {}
        for column in recipe.columns:
            kinds.setdefault(column.kind, []).append(column.name)
        plurals = {"category": "categories"}
        about |= {f"columns: {plurals.get(k, k + 's')}": _some(names) for k, names in kinds.items()}
    about["information gain"] = display.number(model.information_gain_)
    if model.information_.n_targets > 1:
        about["targets"] = str(model.information_.n_targets)
        out.print(display.pairs(about), highlight=False)
        return
    about["online loss"] = display.number(model.online_loss_)
    out.print(display.pairs(about), highlight=False)
    table = coefficients_of(model, delta, sigma, theta_bound)
    out.print(display.coefficients(table, delta, None if every else display.FEW))


def _some(names: list[str], most: int = 12) -> str:
    from rich.markup import escape

    return escape(", ".join(names[:most])) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _show_other(kind: str, settings: dict[str, object], json: bool) -> None:
    from onward.cli import display
    from onward.cli.machines import show_json

    plain = {name: value for name, value in settings.items() if isinstance(value, str | int | float | bool)}
    position, files = settings.get("position"), settings.get("files")
    if kind == "checkpoint" and isinstance(position, dict) and isinstance(files, list):
        plain = {"rows read": position["read"], "of": ", ".join(str(file["name"]) for file in files)}
    if json:
        return show_json({"kind": kind, **plain})
    display.console().print(display.pairs({"kind": kind} | {name: str(value) for name, value in plain.items()}))
