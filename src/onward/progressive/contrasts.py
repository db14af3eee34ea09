"""Contrasts by what a person calls them: a feature, a combination of features, a category."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onward.confidence.anytime import Contrast
from onward.confidence.assumptions import describe_coefficient_intervals
from onward.core.inference import Inference
from onward.core.known import Known
from onward.regression import OnlineRegressor
from onward.regression.coefficients import CONSTANT
from onward.tables import Recipe, Table
from onward.tables.terms import Product, parse_term

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("contrast", "estimate", "standard_error", "lower", "upper", "e_value", "p_value")
MOST_COLUMNS = 500  # of more coefficients the scale is noted only when they are asked for: it costs their cube
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
    return weights


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
        for name in names:
            is_level = any(name.startswith(f"{group}=") for group in groups)
            if not (name in fixed or is_level or (name in groups and len(names) == 1)):
                raise ValueError(
                    f"the contrast {text!r} is of {name!r}, which is no feature: expected one of "
                    f"{', '.join([*fixed[1:], *(f'{group}=…' for group in groups)])}"
                )


def contrast_weights(model: OnlineRegressor, text: str) -> list[tuple[str, dict[str, float]]]:
    """What a text asks for: contrasts, each with its name and the weights of features that the model knows by now."""
    names = {str(name) for name in model._coordinate_names()}
    groups = [] if model.recipe_ is None else [group.name for group in model.recipe_.level_groups]
    if text in names:
        return [(text, {text: 1.0})]
    if text in groups:
        assert model.recipe_ is not None
        levels = [
            f"{group}={level}" for group, level in model.recipe_.levels(model._fitted().names or []) if group == text
        ]
        first = model.recipe_.memory.first_levels.get(text)
        if text not in model.recipe_.categories:  # a product: each says how an effect differs
            return [(level, {level: 1.0}) for level in levels]
        if first is not None:
            return [(f"{level} - {text}={first}", {level: 1.0}) for level in levels]
        return [(f"{level} - {levels[0]}", {level: 1.0, levels[0]: -1.0}) for level in levels[1:]]
    weights = parse_contrast(text)
    return [(text, weights)] if names.issuperset(weights) else []


def find_contrasts(model: OnlineRegressor, known: Known, inference: Inference) -> list[Contrast]:
    """The contrasts that are asked for, as far as the model knows their features by now."""
    wanted = [each for text in inference.contrasts for each in contrast_weights(model, text)]
    together = len(wanted) if inference.simultaneous else 1
    return [
        replace(
            model.contrast(
                weights,
                known.delta,
                tuned_for=inference.tuned_for,
                robust=model.sandwich_ is not None,
                together=together,
            ),
            name=name,
        )
        for name, weights in wanted
    ]


def note_scales(model: OnlineRegressor, inference: Inference) -> None:
    """Fix the features' scale in intervals for coefficients, as far as they are known by now."""
    if not model._has_contrasts or not model.n_seen_:
        return
    if len(model._coordinate_names()) <= MOST_COLUMNS:
        model.note_scales()
    for text in inference.contrasts:
        for _, weights in contrast_weights(model, text):
            model.contrast(weights)


def describe_contrasts(model: OnlineRegressor, known: Known, inference: Inference) -> str:
    """What holds of them, in a line."""
    return describe_coefficient_intervals(
        "anytime",
        known.delta,
        simultaneous=inference.simultaneous,
        robust=model.sandwich_ is not None,
        binary=model.has_binary_targets(),
    )


def contrast_record(contrast: Contrast) -> dict[str, Any]:
    """A contrast as plain values."""
    return {name: getattr(contrast, "name" if name == "contrast" else name) for name in COLUMNS} | {
        "log_e_value": contrast.log_e_value,
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
