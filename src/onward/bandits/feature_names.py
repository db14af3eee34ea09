"""Actions and contexts by name: dicts and data frames as rows of features, each name in a column of its own."""

import itertools
import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

import numpy as np

from onward.core.checks import is_iterable
from onward.core.factor import ORDINARY
from onward.core.shown import brief, came
from onward.core.types import Matrix
from onward.tables import as_mapping
from onward.tables.levels import level_name
from onward.tables.rows import wrapped

INTERCEPT = "intercept"
NUMBER, CATEGORY = "a number", "a category"

Interactions = bool | Sequence[tuple[str, str]]
"""Which products of columns are features: all of an action's with a context's, these pairs, or none."""


class Part(NamedTuple):
    """A feature of one row, and the column that it comes from."""

    column: str
    feature: str
    value: float


class Encoded(NamedTuple):
    """Rows as features by name, and the kinds of their columns."""

    rows: list[dict[str, float]]
    kinds: dict[str, str]


def named_rows(table: Any, what: str) -> list[Mapping[str, Any]]:
    """A dict for each row of a list of dicts or of a data frame; ValueError if names are missing."""
    if isinstance(table, Mapping) or isinstance(as_mapping(table), Mapping):
        raise ValueError(f"{what} must be a list of dicts or a data frame, a row for each, got one dict")
    rows = _frame_rows(table)
    if rows is None and is_iterable(table) and not isinstance(table, str | np.ndarray):
        rows = [named_row(row, what) for row in table]
    if rows is None:
        raise ValueError(f"{what} must have names: expected dicts or a data frame, got {type(table).__name__}")
    if not rows:
        raise ValueError(f"no row in {what}: expected at least one, got none")
    return rows


def named_row(row: Any, what: str) -> Mapping[str, Any]:
    """One dict, or a named series as one."""
    given = as_mapping(row)
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} must have names: expected a dict, got {type(row).__name__}")
    return given


def _frame_rows(table: Any) -> list[Mapping[str, Any]] | None:
    """The rows of a data frame as dicts; None if it is none. A category's values are text."""
    if isinstance(table, list | tuple | np.ndarray):
        return None
    import narwhals.stable.v2 as nw

    frame = wrapped(table, "a table of rows")
    if not isinstance(frame, nw.DataFrame):
        return None
    texts = [nw.col(name).cast(nw.String) for name, kind in frame.schema.items() if kind in (nw.Categorical, nw.Enum)]
    return list((frame.with_columns(*texts) if texts else frame).iter_rows(named=True))


class FeatureNames:
    """Which names there are, in the order in which they came: the columns of a policy.

    A number is a feature of its name; True and False are 1 and 0. A text is a level of a category, and that a feature
    that is 1: `city=Bern`. A name that a row does not have counts as 0.

    Args:
        intercept: whether every row has a feature of 1, `intercept`.
        interactions: products of features, called `genre=jazz:device=phone`: True for each of an action's with each of
            its context's, or pairs of columns.
    """

    def __init__(self, intercept: bool = False, interactions: Interactions = False) -> None:
        self.intercept, self.interactions = bool(intercept), interactions
        if not isinstance(interactions, bool):
            pairs = [tuple(pair) for pair in interactions if not isinstance(pair, str)]
            if len(pairs) < len(list(interactions)) or not all(
                len(pair) == 2 and all(isinstance(name, str) for name in pair) for pair in pairs
            ):
                raise ValueError(f"interactions must be True, False or pairs of names, got {brief(interactions)}")
            self.interactions = [(pair[0], pair[1]) for pair in pairs]
        self.columns: dict[str, int] = {}
        self.kinds: dict[str, str] = {}

    def encode(self, rows: Sequence[Mapping[str, Any]], contexts: Sequence[Mapping[str, Any]] | None) -> Encoded:
        """The features of rows, each with its context if there are any. Changes nothing."""
        kinds: dict[str, str] = {}
        encoded: list[dict[str, float]] = []
        earlier, of_context = None, list[Part]()  # a context that many rows share is looked at once
        for row, context in zip(rows, itertools.repeat(None) if contexts is None else contexts, strict=False):
            of_row = list(self._parts(row, kinds))
            if context is not None and context is not earlier:
                earlier, of_context = context, list(self._parts(context, kinds))
            encoded.append(self._features(of_row, of_context))
        return Encoded(encoded, kinds)

    def _parts(self, row: Mapping[str, Any], kinds: dict[str, str]) -> Iterator[Part]:
        if not isinstance(row, Mapping):
            raise ValueError(f"features must be a dict of values by their names, got {came(row)}")
        for name, value in row.items():
            if not isinstance(name, str):
                raise ValueError(f"a feature's name must be text, got {brief(name)}")
            if self.intercept and name == INTERCEPT:
                raise ValueError(
                    f"{INTERCEPT!r} is the name of the constant: expected another name, or intercept=False"
                )
            kind, feature, number = NUMBER, name, math.nan
            if isinstance(value, str):
                kind, feature, number = CATEGORY, level_name(name, value), 1.0
            elif isinstance(value, numbers.Real | np.bool_):
                with suppress(OverflowError):  # a whole number beyond 1e308
                    number = float(value)
            if not abs(number) < ORDINARY:
                raise ValueError(f"{name!r} must be a finite number or text, got {brief(value)}")
            known = self.kinds.get(name) or kinds.setdefault(name, kind)
            if known != kind:
                raise ValueError(f"{name!r} was {known} before, got {brief(value)}")
            yield Part(name, feature, number)

    def _features(self, row: list[Part], context: list[Part]) -> dict[str, float]:
        features = {INTERCEPT: 1.0} if self.intercept else {}
        every = [*row, *context]
        features |= {part.feature: part.value for part in every}
        columns = [part.column for part in every]
        if len(set(columns)) < len(columns):
            both = next(name for name in columns if columns.count(name) > 1)
            raise ValueError(f"{both!r} is in the action and in its context: expected different names")
        if self.interactions is True:
            for part, other in itertools.product(row, context):
                features[f"{part.feature}:{other.feature}"] = part.value * other.value
        elif self.interactions:
            by_column = {part.column: part for part in every}
            for one, two in self.interactions:
                if one in by_column and two in by_column:
                    part, other = by_column[one], by_column[two]
                    features[f"{part.feature}:{other.feature}"] = part.value * other.value
        return features

    def new_in(self, encoded: Encoded) -> list[str]:
        """The features that are not known yet, in the order in which they come."""
        return list(dict.fromkeys(name for row in encoded.rows for name in row if name not in self.columns))

    def add(self, names: Sequence[str], kinds: Mapping[str, str]) -> None:
        """Know these names too."""
        self.columns |= {name: len(self.columns) + i for i, name in enumerate(names)}
        self.kinds |= kinds

    def matrix(self, encoded: Encoded, new: Sequence[str]) -> Matrix:
        """The rows as a matrix: a column for each known feature, then for each of the `new`."""
        columns = self.columns | {name: len(self.columns) + i for i, name in enumerate(new)}
        X = np.zeros((len(encoded.rows), len(columns)))
        for i, row in enumerate(encoded.rows):
            for name, value in row.items():
                X[i, columns[name]] = value
        return X

    def to_record(self) -> dict[str, Any]:
        """All of it as plain values."""
        pairs = self.interactions if isinstance(self.interactions, bool) else [list(p) for p in self.interactions]
        return {
            "intercept": self.intercept,
            "interactions": pairs,
            "features": list(self.columns),
            "kinds": dict(self.kinds),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `to_record` described."""
        pairs, features, kinds = record["interactions"], record["features"], record["kinds"]
        if not (isinstance(features, list) and all(isinstance(name, str) for name in features)):
            raise ValueError(f"expected the names of features in a list, got {brief(features)}")
        if not (isinstance(kinds, dict) and set(kinds.values()) <= {NUMBER, CATEGORY}):
            raise ValueError(f"expected {NUMBER!r} or {CATEGORY!r} for each name, got {brief(kinds)}")
        if not isinstance(record["intercept"], bool):
            raise ValueError(f"intercept must be True or False, got {brief(record['intercept'])}")
        names = cls(record["intercept"], pairs if isinstance(pairs, bool) else [(one, two) for one, two in pairs])
        names.add(features, kinds)
        if len(names.columns) != len(features):
            raise ValueError(f"features {features}, expected different names")
        return names


@contextmanager
def names_unless_refused(policy: Any) -> Iterator[None]:
    """What is refused in here leaves no names of features behind, with a policy that knew none."""
    columns = policy._columns
    try:
        yield
    except BaseException:
        policy._columns = columns
        raise


def plain_row(row: Mapping[str, Any]) -> dict[str, float | str]:
    """A row that was encoded, as plain values that are encoded alike."""
    return {str(name): str(value) if isinstance(value, str) else float(value) for name, value in row.items()}


def plain_context(context: Any) -> dict[str, float | str] | None:
    """`plain_row` of what actions have in common, if they have anything."""
    return None if context is None else plain_row(named_row(context, "context"))


def plain_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, float | str]]:
    """`plain_row` of each."""
    return [plain_row(row) for row in rows]
