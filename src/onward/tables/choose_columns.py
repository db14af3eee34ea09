"""Which columns of a file are used, and as what: from a `Table` and what the columns hold to a `Recipe`."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from onward.tables.errors import DataError
from onward.tables.kinds import UNKNOWN, Content
from onward.tables.readers import missing_column, shown
from onward.tables.recipe import KINDS, Column, Kind, Recipe
from onward.tables.table import Table

INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what pandas calls the index of a frame in a file


def choose_columns(file: str, contents: Mapping[str, Content], table: Table) -> tuple[Recipe, list[str]]:
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
            raise DataError(f"{file}: column {column!r} holds {contents[column]}, expected numbers")
    for pattern in (*(table.features or ()), *table.exclude, *table.categorical):
        if not _fitting(pattern, columns):
            raise missing_column(file, pattern, columns)
    special = {target, table.weight}
    categories = {each for pattern in table.categorical for each in _fitting(pattern, columns)}
    categories |= {each for each, kind in table.schema.items() if kind == "category"}
    left_out = {each for pattern in table.exclude for each in _fitting(pattern, columns)}
    wrong = [each for each in (*table.categorical, *(table.features or ())) if each in special]
    if wrong:
        raise DataError(f"{file}: column {wrong[0]!r} is the target or the weight, so it cannot be a feature")
    if table.features is None:
        taken = columns
        first = columns[0]
        if first in INDEX_NAMES and contents[first] == "number" and first not in special | left_out | categories:
            left_out.add(first)
            notes.append(f"left out column {first!r}, the index of a data frame; name it in features to use it")
    else:  # a column that is named as a category is meant to be used
        named = [each for pattern in table.features for each in _fitting(pattern, columns)]
        taken = [*named, *(each for each in columns if each in categories)]
    used = [each for each in dict.fromkeys(taken) if each not in special | left_out]
    if "" in used and table.features is None:
        raise DataError(f"{file}: column {columns.index('') + 1} has no name; exclude '', or give it a name")
    _check_contents(file, used, contents, categories)
    if not used:
        raise DataError(f"{file}: no column is left to be a feature beside {target!r}")
    chosen = tuple(Column(each, "category" if each in categories else _kind(contents[each])) for each in used)
    return Recipe(target, chosen, table.weight, table.missing, tuple(table.na)), notes


def _check_contents(file: str, used: Sequence[str], contents: Mapping[str, Content], categories: set[str]) -> None:
    """DataError if a column cannot be what it should be, or if two features may get one name."""
    texts = [each for each in used if contents[each] == "text" and each not in categories]
    if texts:
        raise DataError(
            f"{file}: expected numbers, but {shown(texts)} {'holds' if len(texts) == 1 else 'hold'} text; "
            "name such columns as categorical (--categorical), or exclude them (--exclude)"
        )
    odd = [each for each in used if contents[each] not in (*KINDS, "text", UNKNOWN)]
    if odd:
        raise DataError(f"{file}: column {odd[0]!r} holds {contents[odd[0]]}, expected numbers; exclude it")
    for one in categories & set(used):
        for other in used:
            if other.startswith(f"{one}="):
                raise DataError(f"{file}: a level of {one!r} and column {other!r} may get one name; rename a column")


def _kind(content: Content) -> Kind:
    kinds: dict[Content, Kind] = {
        UNKNOWN: "number",
        "number": "number",
        "boolean": "boolean",
        "time": "time",
        "duration": "duration",
    }
    return kinds[content]


def _fitting(pattern: str, columns: Sequence[str]) -> list[str]:
    """The columns of that name; if there is none, those that fit it as a pattern."""
    return [pattern] if pattern in columns else [each for each in columns if fnmatchcase(each, pattern)]
