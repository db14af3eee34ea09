"""A model's coefficients for use elsewhere: as values, and as SQL that computes the ridge prediction.

What a learner makes of that prediction takes the whole model, and is not part of what is exported: forward shrinks it
by the leverage, auto lets its learners do so. `export_note` says it to whoever reads the export.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from onward.progressive.predicting import recipe_of
from onward.regression import AutoRegressor, OnlineRegressor
from onward.regression.start import prior_of
from onward.tables import Recipe, as_mapping
from onward.tables.term_values import feature_names

INTERCEPT = "(intercept)"
_TRUE, _FALSE = "('true', 't', 'yes', '1')", "('false', 'f', 'no', '0')"
_YEAR, _ORIGIN = 365.2425, 2451544.5  # days in a year; the Julian day of 2000-01-01
_ALIAS = "t"


def export_record(model: OnlineRegressor) -> dict[str, Any]:
    """The model as plain values: what is predicted, and the terms whose sum the ridge prediction is.

    `prediction` is "ridge", or "average of ridges" for a model of auto; `note` is that of `export_note`.
    """
    recipe = _checked_recipe(model)
    return {
        "target": recipe.target,
        "prediction": "average of ridges" if isinstance(model, AutoRegressor) else "ridge",
        "note": export_note(model),
        "missing": recipe.missing,
        "na": list(recipe.na),
        "terms": export_terms(model),
    }


def export_note(model: OnlineRegressor) -> str | None:
    """How the model's own predictions differ from those of its coefficients, in a sentence; None if they do not."""
    if isinstance(model, AutoRegressor):
        return (
            "These are the coefficients of auto's learners, averaged by their weights. Auto's own predictions differ: "
            "those of forward are shrunk, and all are kept near the targets that were seen."
        )
    if model._read_out.shrinks:
        return "This is the prediction of ridge. Forward's own is shrunk, the more the less is known of a row."
    return None


def export_terms(model: OnlineRegressor) -> list[dict[str, Any]]:
    """Each coefficient with its feature and the column, kind and level that this is made of; the constant first."""
    recipe = _checked_recipe(model)
    theta = model._next_theta()[:, 0].tolist()
    terms: list[dict[str, Any]] = []
    if model._fitted().state.intercept:
        terms.append({"feature": INTERCEPT, "column": None, "kind": None, "level": None, "coefficient": theta.pop(0)})
    names = [str(name) for name in model.feature_names_in_]
    plain, levels = {column.name: column.kind for column in recipe.plain}, iter(recipe.levels(names))
    made = {name for term in recipe.fixed_terms for name in feature_names(term)}
    column: str | None
    kind: str
    level: str | None
    for name, coefficient in zip(names, theta, strict=True):
        if name in plain:
            column, kind, level = name, plain[name], None
        elif name in made:
            column, kind, level = None, "term", None
        else:
            column, level = next(levels)
            kind = "category" if column in recipe.categories else "term"
        terms.append({"feature": name, "column": column, "kind": kind, "level": level, "coefficient": coefficient})
    return terms


def sql_select(model: OnlineRegressor, table: str = "data") -> str:
    """A SELECT of the ridge prediction for each row of a table, NULL where the model refuses or skips a row.

    Standard SQL, but for times, which are read by SQLite's julianday; spans must be numbers of days. Categories are
    compared as texts; a level that the model does not know counts 0.
    """
    notes = [note for note in [export_note(model)] if note is not None]
    notes += [
        f"{' '.join(column.name.split())}: {'a date or time' if column.kind == 'time' else 'a number of days'}"
        for column in recipe_of(model).columns
        if column.kind in ("time", "duration")
    ]
    select = f'SELECT {sql_expression(model)} AS "prediction"\nFROM {_identifier(table)} AS {_ALIAS};\n'
    return "".join(f"-- {note}\n" for note in notes) + select


def sql_expression(model: OnlineRegressor) -> str:
    """The ridge prediction as an expression in the columns of a table that is called t."""
    recipe = _checked_recipe(model)
    if recipe.terms or recipe.notation.is_local:
        what = ", ".join(term.text for term in recipe.terms) or "numbers as people write them"
        raise ValueError(f"SQL is made of columns one by one: expected a model without {what}")
    if model.clip is not None:
        raise ValueError(f"expected a model without clip to be written as SQL, got clip={model.clip!r}")
    parts: list[str] = []
    levels: dict[str, dict[str, float]] = {column: {} for column in recipe.categories}
    for term in export_terms(model):
        if term["column"] is None:
            parts.append(_number(term["coefficient"]))
        elif term["level"] is None:
            column = _with_rule(_plain(term["column"], term["kind"], recipe.na), recipe)
            parts.append(f"{_number(term['coefficient'])} * {column}")
        else:
            levels[term["column"]][term["level"]] = term["coefficient"]
    for (column, level), prior in _unseen_levels(model, recipe).items():
        levels[column].setdefault(level, prior)
    parts += [_category(column, coefficients, recipe) for column, coefficients in levels.items()]
    return _sum(parts)


def _checked_recipe(model: OnlineRegressor) -> Recipe:
    if model.n_targets_ > 1:
        raise ValueError(f"expected a model of one target, got one of {model.n_targets_}")
    return recipe_of(model)


def _unseen_levels(model: OnlineRegressor, recipe: Recipe) -> Mapping[tuple[str, str], float]:
    """Levels that have a prior, but were never seen."""
    given = as_mapping(model.prior_mean)
    if not isinstance(given, Mapping):
        return {}
    known = {str(name) for name in model.feature_names_in_}
    names = [name for name in map(str, given) if name not in known]
    owned = [name for name in names if any(name.startswith(f"{column}=") for column in recipe.categories)]
    return dict(zip(recipe.levels(owned), (prior_of(given, name) for name in owned), strict=True))


# SQL


def _plain(name: str, kind: str, na: Sequence[str]) -> str:
    """A column as the number that it stands for; NULL where it is missing."""
    column = f"{_ALIAS}.{_identifier(name)}"
    if kind == "boolean":
        text = f"LOWER(CAST({column} AS TEXT))"
        return f"CASE WHEN {text} IN {_TRUE} THEN 1.0 WHEN {text} IN {_FALSE} THEN 0.0 END"
    if kind == "time":
        return f"((julianday({column}) - {_ORIGIN}) / {_YEAR})"
    for text in na if kind == "number" else ():
        try:
            column = f"NULLIF({column}, {_number(float(text))})"
        except ValueError:
            continue  # a text that no number is
    return column


def _with_rule(column: str, recipe: Recipe) -> str:
    return f"COALESCE({column}, 0.0)" if recipe.missing == "zero" else column


def _category(name: str, coefficients: Mapping[str, float], recipe: Recipe) -> str:
    text = f"CAST({_ALIAS}.{_identifier(name)} AS TEXT)"
    for each in recipe.na:
        text = f"NULLIF({text}, {_text(each)})"
    missing = "0.0" if recipe.missing == "zero" else "NULL"
    cases = "".join(f"\n    WHEN {_text(level)} THEN {_number(each)}" for level, each in coefficients.items())
    known = f"CASE {text}{cases}\n    ELSE 0.0 END" if cases else "0.0"
    return f"CASE WHEN {text} IS NULL THEN {missing} ELSE {known} END"


def _sum(parts: Sequence[str]) -> str:
    """The sum in pairs, so that it is not deep: databases take only so many brackets inside each other."""
    if len(parts) <= 8:
        return "\n  + ".join(parts) or "0.0"
    half = len(parts) // 2
    return f"({_sum(parts[:half])})\n  + ({_sum(parts[half:])})"


def _number(value: float) -> str:
    """A literal that reads back as the same number; in brackets if it is negative, since -- begins a comment."""
    text = repr(float(value))
    if not any(mark in text for mark in ".en"):
        text += ".0"
    if "n" in text:
        raise ValueError(f"expected a finite number, got {value!r}")
    return f"({text})" if value < 0 or text.startswith("-") else text


def _identifier(name: str) -> str:
    return '"' + _sound(name).replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + _sound(value).replace("'", "''") + "'"


def _sound(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"expected names and levels without NUL characters to be written as SQL, got {text!r}")
    return text
