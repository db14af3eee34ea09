"""Which columns of a file are used, and as what: from a `Table` and what the columns hold to a `Recipe`."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from onward.core.shown import brief, shortened
from onward.tables.errors import DataError
from onward.tables.kinds import UNKNOWN, Content
from onward.tables.readers import missing_column, shown
from onward.tables.recipe import KINDS, Column, Kind, Recipe
from onward.tables.recipe_checks import TIMES, check_recipe
from onward.tables.table import WRITTEN, Table
from onward.tables.terms import Term, columns_in, parse_term
from onward.tables.text_hints import Texts, describe_texts

INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what pandas calls the index of a frame in a file


def choose_columns(file: str, contents: Mapping[str, Content], table: Table, texts: Texts) -> tuple[Recipe, list[str]]:
    """The recipe for the columns of a file, and remarks for a person; DataError if that cannot be."""
    columns, target, notes = list(contents), str(table.target), []
    for column in table.schema:
        if column not in contents:
            raise missing_column(file, column, columns)
    contents = {**contents, **table.schema}
    for column in (target, *([] if table.weight is None else [table.weight])):
        if column not in contents:
            raise missing_column(file, column, columns)
        if contents[column] not in ("number", "boolean", UNKNOWN):
            example, advice = describe_texts([column] * (contents[column] == "text"), table.notation, texts)
            raise DataError(
                f"{file}: column {brief(column)} holds {contents[column]}{example}, expected numbers{advice}"
            )
    for pattern in (*(table.features or ()), *table.exclude, *table.categorical):
        if not fitting(pattern, columns):
            raise missing_column(file, pattern, columns)
    time = None if table.time is None else _time_column(file, contents, table.time)
    special = {target, table.weight, table.time}
    categories = {each for pattern in table.categorical for each in fitting(pattern, columns)}
    named_categories = categories | {each for each, kind in table.schema.items() if kind == "category"}
    categories = named_categories | {each for each, content in contents.items() if content == "category"} - special
    left_out = {each for pattern in table.exclude for each in fitting(pattern, columns)}
    wrong = [each for each in (*table.categorical, *(table.features or ())) if each in special]
    if wrong:
        role = "the time" if wrong[0] == table.time else "the target or the weight"
        raise DataError(f"{file}: column {brief(wrong[0])} is {role}, so it cannot be a feature")
    if table.features is None:
        carried = set(choose_kept(file, columns, table.keep)) - categories
        taken = [each for each in columns if each not in carried]
        first = columns[0]
        if first in INDEX_NAMES and contents[first] == "number" and first not in special | left_out | categories:
            left_out.add(first)
            notes.append(f"left out column {brief(first)}, the index of a data frame; name it in features to use it")
    else:  # a column that is named as a category is meant to be used
        named = [each for pattern in table.features for each in fitting(pattern, columns)]
        taken = [*named, *(each for each in columns if each in named_categories)]
    used = [each for each in dict.fromkeys(taken) if each not in special | left_out]
    if "" in used and table.features is None:
        raise DataError(f"{file}: column {columns.index('') + 1} has no name; exclude '', or give it a name")
    _check_contents(file, used, contents, categories, table, texts)
    terms = tuple(parse_term(text) for text in table.terms)
    if not used and not terms:
        raise DataError(f"{file}: no column is left to be a feature beside {target!r}")
    chosen = tuple(Column(each, "category" if each in categories else _kind(contents[each])) for each in used)
    inputs = _inputs(file, terms, contents, {column.name for column in chosen}, categories, target)
    notation = table.notation
    recipe = Recipe(
        target,
        chosen,
        table.weight,
        table.missing,
        notation.na,
        notation.decimal,
        notation.thousands,
        notation.date_format,
        terms,
        inputs,
        table.drop_first,
        time=time,
    )
    try:
        check_recipe(recipe)
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error
    return recipe, notes


def count_used(columns: Sequence[str], table: Table) -> int:
    """How many columns a table uses, before it is known what they hold: at least so many features, but for errors.

    A category may have no level that makes a feature, so those that are named as such do not count.
    """
    if table.features is None:
        used = set(columns)
        for pattern in table.keep:
            used.difference_update(fitting(pattern, columns))
    else:
        used = {each for pattern in table.features for each in fitting(pattern, columns)}
    for pattern in (*table.exclude, *table.categorical):
        used.difference_update(fitting(pattern, columns))
    used -= {each for each, kind in table.schema.items() if kind == "category"}
    return len(used - {table.target, table.weight, table.time})


def _time_column(file: str, contents: Mapping[str, Content], name: str) -> Column:
    """The column of the rows' times."""
    if name not in contents:
        raise missing_column(file, name, list(contents))
    if contents[name] not in (*TIMES, UNKNOWN):
        raise DataError(
            f"{file}: column {name!r} holds {contents[name]}, expected times: numbers, or dates such as 2026-01-31 "
            "(--date-format says how others are written)"
        )
    return Column(name, _kind(contents[name]))


def choose_kept(file: str, columns: Sequence[str], keep: Sequence[str]) -> list[str]:
    """The columns that are carried to the predictions; DataError if one is not there or cannot be."""
    found: list[str] = []
    for pattern in keep:
        fits = fitting(pattern, columns)
        if not fits:
            raise missing_column(file, pattern, columns)
        found += fits
    clashes = [each for each in found if each in WRITTEN]
    if clashes:
        raise DataError(f"{file}: column {brief(clashes[0])} cannot be kept: predictions have a column of that name")
    return list(dict.fromkeys(found))


def _inputs(
    file: str,
    terms: Sequence[Term],
    contents: Mapping[str, Content],
    features: set[str],
    categories: set[str],
    target: str,
) -> tuple[Column, ...]:
    """The columns that are read for terms alone."""
    found: dict[str, Column] = {}
    for term in terms:
        for column in columns_in(term):
            if column not in contents:
                raise missing_column(file, column, list(contents))
            if column in features or column == target:
                continue
            content = contents[column]
            if content not in (*KINDS, "text", UNKNOWN):
                raise DataError(
                    f"{file}: column {brief(column)} holds {content}, expected numbers for {shortened(term.text)}"
                )
            is_category = column in categories or content == "text"
            found[column] = Column(column, "category" if is_category else _kind(content))
    return tuple(found.values())


def _check_contents(
    file: str,
    used: Sequence[str],
    contents: Mapping[str, Content],
    categories: set[str],
    table: Table,
    texts: Texts,
) -> None:
    """DataError if a column cannot be what it should be, or if two features may get one name."""
    wrong = [each for each in used if contents[each] == "text" and each not in categories]
    if wrong:
        example, advice = describe_texts(wrong, table.notation, texts)
        raise DataError(
            f"{file}: expected numbers, but {shown(wrong)} {'holds' if len(wrong) == 1 else 'hold'} text{example}; "
            f"name such columns as categorical (--categorical), or exclude them (--exclude){advice}"
        )
    odd = [each for each in used if contents[each] not in (*KINDS, "text", UNKNOWN)]
    if odd:
        raise DataError(f"{file}: column {brief(odd[0])} holds {contents[odd[0]]}, expected numbers; exclude it")
    for one in categories & set(used):
        for other in used:
            if other.startswith(f"{one}="):
                raise DataError(
                    f"{file}: a level of {one!r} and column {brief(other)} may get one name; rename a column"
                )


def _kind(content: Content) -> Kind:
    kinds: dict[Content, Kind] = {
        UNKNOWN: "number",
        "number": "number",
        "boolean": "boolean",
        "time": "time",
        "duration": "duration",
    }
    return kinds[content]


def fitting(pattern: str, columns: Sequence[str]) -> list[str]:
    """The columns of that name; if there is none, those that fit it as a pattern."""
    return [pattern] if pattern in columns else [each for each in columns if fnmatchcase(each, pattern)]
