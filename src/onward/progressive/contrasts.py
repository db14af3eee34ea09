"""Contrasts by what a person calls them: a feature, a combination of features, a category."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onward.confidence.anytime import Contrast
from onward.confidence.assumptions import describe_coefficient_intervals
from onward.core.inference import Inference
from onward.core.known import Known
from onward.progressive.changes import describe_restart
from onward.regression import OnlineRegressor
from onward.regression.coefficients import CONSTANT
from onward.tables import Recipe, Table
from onward.tables.terms import Product, parse_term

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("contrast", "estimate", "standard_error", "lower", "upper", "e_value", "p_value")
MOST_COLUMNS = 500  # of more coefficients the scale is noted only when they are asked for: it costs their cube
MOST_NAMES = 12  # that an error lists
_OPEN = (
    "∞: too little is known for an end. More rows help, but not where columns are sums of others, as levels beside a "
    "constant are: there, ask for differences."
)
_SIGN = re.compile(r"\s+([+-])\s+")
_WEIGHT = re.compile(r"(-?)\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*\*\s*)?(.+)")


def parse_contrast(text: str) -> dict[str, float]:
    """The weights of features in a combination: 'b - a', 'treatment + 40*treatment:age'. Blanks stand around signs."""
    pieces = _SIGN.split(text.strip())
    weights: dict[str, float] = {}
    for sign, piece in zip(["+", *pieces[1::2]], pieces[::2], strict=True):
        found = _WEIGHT.fullmatch(piece.strip())
        if found is None:
            raise ValueError(f"the contrast {text!r} cannot be read: expected features with + or - between them")
        minus, number, name = found.groups()
        weight = float(number or 1.0) * (-1.0 if minus else 1.0) * (-1.0 if sign == "-" else 1.0)
        weights[name.strip()] = weights.get(name.strip(), 0.0) + weight
    return {name: weight for name, weight in weights.items() if weight != 0.0}


def with_contrast_terms(table: Table, contrasts: Sequence[str]) -> Table:
    """The table with the products of columns that contrasts are about among its terms."""
    new = []
    for text in contrasts:
        for name in parse_contrast(text):
            try:
                term = parse_term(name.partition("=")[0])
            except ValueError:
                continue
            if isinstance(term, Product) and term.text not in table.terms:
                new.append(term.text)
    return replace(table, terms=(*table.terms, *new)) if new else table


def check_contrasts(recipe: Recipe, contrasts: Sequence[str]) -> None:
    """ValueError if a contrast is of something that the columns do not make."""
    from onward.tables.term_values import feature_names

    fixed = [CONSTANT, *(column.name for column in recipe.plain)]
    fixed += [name for term in recipe.fixed_terms for name in feature_names(term)]
    groups = [group.name for group in recipe.level_groups]
    for text in contrasts:
        names = [text] if text in fixed or text in groups else list(parse_contrast(text))
        if not names:
            raise ValueError(f"the contrast {text!r} is of nothing: expected weights that are not all 0")
        for name in names:
            is_level = any(name.startswith(f"{group}=") for group in groups)
            if not (name in fixed or is_level or (name in groups and len(names) == 1)):
                raise ValueError(
                    f"the contrast {text!r} is of {name!r}, which is no feature: expected one of "
                    f"{', '.join([*fixed[1:], *(f'{group}=…' for group in groups)])}"
                )


def check_contrasts_of(model: OnlineRegressor, inference: Inference) -> None:
    """ValueError if a contrast cannot be told of a model that has learned what it will."""
    if model.recipe_ is not None:
        check_contrasts(model.recipe_, inference.contrasts)
    for text, reason in why_left_out(model, inference).items():
        names = [str(name) for name in model._coordinate_names()]
        some = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
        raise ValueError(f"the contrast {text!r} cannot be told: {reason}; the model's features are {some}")


def contrast_weights(model: OnlineRegressor, text: str) -> list[tuple[str, dict[str, float]]]:
    """What a text asks for: contrasts, each with its name and the weights of features that the model knows by now.

    The first level of a category that makes no feature counts as 0.
    """
    names = {str(name) for name in model._coordinate_names()}
    recipe = model.recipe_
    groups = {} if recipe is None else {group.name: group for group in recipe.level_groups}
    if text in names:
        return [(text, {text: 1.0})]
    if recipe is not None and text in groups:
        levels = [f"{group}={level}" for group, level in recipe.levels(model._fitted().names or []) if group == text]
        if not recipe.drop_first:
            return [(f"{level} - {levels[0]}", {level: 1.0, levels[0]: -1.0}) for level in levels[1:]]
        if len(groups[text].categories) > 1:  # several combinations make no feature
            return [(level, {level: 1.0}) for level in levels]
        return [(f"{level} - {first}", {level: 1.0}) for first in _first_levels(recipe, text) for level in levels]
    firsts = set() if recipe is None else {first for group in groups for first in _first_levels(recipe, group)}
    weights = {name: weight for name, weight in parse_contrast(text).items() if name not in firsts}
    return [(text, weights)] if weights and names.issuperset(weights) else []


def _first_levels(recipe: Recipe, group: str) -> list[str]:
    """The level of a category, or of one times numbers, that makes no feature, if it is known by now."""
    categories = next(each.categories for each in recipe.level_groups if each.name == group)
    firsts = recipe.memory.first_levels if recipe.drop_first and len(categories) == 1 else {}
    return [f"{group}={firsts[categories[0]]}"] if categories[0] in firsts else []


def why_left_out(model: OnlineRegressor, inference: Inference) -> dict[str, str]:
    """The contrasts that were asked for and cannot be told, each with the reason."""
    names = {str(name) for name in model._coordinate_names()}
    groups = [] if model.recipe_ is None else [group.name for group in model.recipe_.level_groups]
    why: dict[str, str] = {}
    for text in inference.contrasts:
        if contrast_weights(model, text):
            continue
        if text in groups:
            why[text] = "no two levels were seen"
        else:
            unknown = [name for name in parse_contrast(text) if name not in names]
            firsts = [] if model.recipe_ is None else [_first_levels(model.recipe_, group) for group in groups]
            missing = [name for name in unknown if [name] not in firsts]
            if missing:
                why[text] = f"{missing[0]} was never seen"
            else:
                why[text] = f"{unknown[0]}, the first level, counts as 0; expected a difference from it"
    return why


def find_contrasts(model: OnlineRegressor, known: Known, inference: Inference) -> list[Contrast]:
    """The contrasts that are asked for, each once, as far as the model knows their features by now.

    One and its opposite, b − a and a − b, are one statement: together they count once.
    """
    wanted: dict[frozenset[tuple[str, float]], tuple[str, dict[str, float]]] = {}
    for text in inference.contrasts:
        for name, weights in contrast_weights(model, text):
            wanted.setdefault(frozenset(weights.items()), (name, weights))
    statements = {frozenset(_oriented(weights)[0].items()) for _, weights in wanted.values()}
    together = len(statements) if inference.simultaneous else 1
    found = []
    for name, weights in wanted.values():
        oriented, is_turned = _oriented(weights)
        one = model.contrast(
            oriented,
            known.delta,
            tuned_for=inference.tuned_for,
            robust=model.sandwich_ is not None,
            together=together,
        )
        if is_turned:
            one = replace(one, estimate=-one.estimate, lower=-one.upper, upper=-one.lower)
        found.append(replace(one, name=name))
    return found


def _oriented(weights: Mapping[str, float]) -> tuple[dict[str, float], bool]:
    """The weights, or their opposite, the same for both, so that both share a scale; and whether they were turned."""
    is_turned = weights[min(weights)] < 0
    return {name: -weight if is_turned else weight for name, weight in weights.items()}, is_turned


def describe_contrasts(
    model: OnlineRegressor, known: Known, inference: Inference, *, is_restarted: bool = False
) -> str:
    """What holds of them, in a line; also before a model has learned anything."""
    if is_restarted:
        return describe_restart(model.n_seen_, known.delta)
    learned = model.__sklearn_is_fitted__()
    robust = model.sandwich_ is not None or (inference.robust and not learned)
    said = describe_coefficient_intervals(
        "anytime",
        known.delta,
        simultaneous=inference.simultaneous,
        robust=robust,
        binary=learned and model.has_binary_targets(),
    )
    given = [name for name in ("sigma", "bounds") if getattr(known, name) is not None]
    instead = "anytime ones" if robust else "anytime ones for Gaussian noise"
    return f"Contrasts do not use {' or '.join(given)}: their intervals are {instead}. {said}" if given else said


def contrast_notes(
    model: OnlineRegressor,
    known: Known,
    inference: Inference,
    found: Sequence[Contrast],
    *,
    is_restarted: bool = False,
) -> list[str]:
    """What is to be said below the contrasts that were found: what holds, where they are open, which are left out."""
    notes = [describe_contrasts(model, known, inference, is_restarted=is_restarted)] if found else []
    if any(math.isinf(each.upper) for each in found):
        notes.append(_OPEN)
    return notes + left_out_lines(model, inference)


def left_out_lines(model: OnlineRegressor, inference: Inference) -> list[str]:
    """The contrasts that cannot be told, a sentence for each."""
    return [f"The contrast {text!r} is left out: {reason}." for text, reason in why_left_out(model, inference).items()]


def contrast_record(contrast: Contrast) -> dict[str, Any]:
    """A contrast as plain values."""
    return {name: getattr(contrast, "name" if name == "contrast" else name) for name in COLUMNS} | {
        "log_e_value": contrast.log_e_value,
        "null": contrast.null,
        "delta": contrast.delta,
        "rows": contrast.rows,
        "robust": contrast.robust,
    }


def contrast_frame(contrasts: Sequence[Contrast], row: int) -> "pl.DataFrame":
    """Contrasts as of a row, one below the other, to be written as rows come."""
    import polars as pl

    records: list[Mapping[str, Any]] = [contrast_record(each) for each in contrasts]
    numbers = {name: pl.Series([each[name] for each in records], dtype=pl.Float64) for name in COLUMNS[1:]}
    names = pl.Series([each["contrast"] for each in records], dtype=pl.String)
    frame = pl.DataFrame({"row": pl.Series([row] * len(records), dtype=pl.Int64), "contrast": names, **numbers})
    return frame.with_columns(pl.col("estimate", "standard_error").fill_nan(None))
