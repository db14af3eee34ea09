"""Whether a recipe can be followed: when it is made of a table, and when it comes with a model from a file."""

from collections import Counter
from collections.abc import Sequence

from onward.core.shown import brief, shortened
from onward.core.words import counted
from onward.tables.recipe import Recipe
from onward.tables.term_values import count_features, feature_names
from onward.tables.terms import Cycle, Name, Product, columns_at_once, columns_in

TIMES = ("number", "time", "duration")
"""The kinds of a column of times."""
MOST_ROWS_BACK = 10_000_000  # that all lags together look back: 160 MB
_MOST_FEATURES = 1_000_000  # whose names are made to be looked at; a model of so many is refused for its size


def check_recipe(recipe: Recipe) -> None:
    """ValueError if a term cannot be made of its columns, tells of the target, or has a name that is taken."""
    kinds = recipe.kinds
    for term in recipe.terms:
        text = shortened(term.text)
        if recipe.target in columns_at_once(term):
            raise ValueError(
                f"the term {text} has the target {brief(recipe.target)} in it, which is to be predicted; "
                f"expected it in a lag, such as lag({shortened(Name(recipe.target).text)}, 1)"
            )
        direct = [each.column for each in term.factors if isinstance(each, Name)] if isinstance(term, Product) else []
        for column in columns_in(term):
            if kinds.get(column) == "category" and column not in direct:
                raise ValueError(f"the term {text} needs numbers, but {brief(column)} holds categories")
        if isinstance(term, Cycle) and kinds.get(term.inner.column) != "time":
            raise ValueError(
                f"the term {text} needs dates or times, but column {brief(term.inner.column)} holds "
                f"{kinds.get(term.inner.column, 'number')}s; say how dates are written (--date-format)"
            )
    back = sum(lag.rows for lag in recipe.lags.values())
    if back > MOST_ROWS_BACK:
        raise ValueError(f"all lags together may look back {MOST_ROWS_BACK:,} rows, got {back:,}")
    if sum(map(count_features, recipe.fixed_terms)) > _MOST_FEATURES:
        return
    _check_names(recipe)


def check_recipe_of_model(recipe: Recipe, names: Sequence[object] | None, n_features: int) -> None:
    """ValueError unless a recipe from a file can be followed, and makes the features that a model has."""
    columns = [column.name for column in (*recipe.columns, *recipe.inputs)]
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise ValueError(f"columns of a recipe have different names, got {brief(twice[0])} twice")
    special = [each for each in (recipe.target, recipe.weight, recipe.time and recipe.time.name) if each is not None]
    if len(set(special)) < len(special) or not set(special).isdisjoint(columns):
        raise ValueError("the target, the weight and the time of a recipe are columns of their own")
    if recipe.time is not None and recipe.time.kind not in TIMES:
        raise ValueError(f"the time of a recipe is one of {', '.join(TIMES)}, got {recipe.time.kind}")
    for term in recipe.terms:
        missing = [each for each in columns_in(term) if each not in recipe.kinds and each != recipe.target]
        if missing:
            raise ValueError(f"the term {shortened(term.text)} needs column {brief(missing[0])}, which is not read")
    if len({term.text for term in recipe.terms}) < len(recipe.terms):
        raise ValueError("terms of a recipe are different, got one twice")
    fixed = len(recipe.plain) + sum(map(count_features, recipe.fixed_terms))
    if fixed > n_features:  # before their names are made
        raise ValueError(f"the recipe makes {counted(fixed, 'feature')} or more, but the model has {n_features:,}")
    check_recipe(recipe)
    lags = recipe.lags
    for text, values in recipe.memory.lags.items():
        if text not in lags or len(values) != lags[text].rows:
            raise ValueError(
                f"the memory of a recipe is of its lags, got {counted(len(values), 'value')} of {brief(text)}"
            )
    if names is None:
        raise ValueError("a recipe makes features with names, but those of the model have none")
    levels = recipe.levels(names)
    if len(levels) + fixed != len(names):
        raise ValueError(f"the recipe makes {counted(fixed, 'feature')} that are no levels, but the model has others")


def _check_names(recipe: Recipe) -> None:
    names = [column.name for column in recipe.plain]
    for term in recipe.fixed_terms:
        names += feature_names(term)
    groups, counts = [group.name for group in recipe.level_groups], Counter(names)
    for name in counts:
        owner = next((group for group in groups if name.startswith(f"{group}=")), None) if "=" in name else None
        if counts[name] > 1 or owner is not None:
            what = "two features would be called" if owner is None else f"a level of {brief(owner)} may be called"
            raise ValueError(f"{what} {brief(name)}; rename a column")
