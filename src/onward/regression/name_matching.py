"""Rows and tables whose features have names, and where those stand in a model."""

from collections.abc import Hashable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from onward.core.shown import several
from onward.core.types import Matrix
from onward.core.words import counted
from onward.regression.ensembles import Fitted
from onward.tables import Rows, as_mapping, as_row, as_rows

Row = ArrayLike | Mapping[Any, Any]
"""One row: an array, or a dict of features or columns."""


def named_row(x: Row) -> tuple[list[Hashable] | None, Matrix]:
    """One row as an array (1, features) of finite numbers, with names if it is a dict or a named series."""
    x = as_mapping(x)
    if isinstance(x, Mapping):
        return list(x), as_row(list(x.values()), list(x))
    return None, as_row(x)


def named_table(X: Any) -> tuple[list[Hashable] | None, Rows]:
    """A table of numbers with the names of its columns; ValueError if it has none, or one twice."""
    rows = as_rows(X, min_columns=0)
    if rows.names is None:
        raise ValueError(
            f"X must be a data frame with named columns, got {type(X).__name__}; "
            "predict_then_learn, partial_fit and predict take arrays"
        )
    if len(set(rows.names)) < len(rows.names):
        raise ValueError(f"X must have different column names, got {several(rows.names)}")
    return rows.names, rows


def match_names(fitted: Fitted, names: list[Hashable] | None, width: int) -> tuple[list[int], list[int], list[int]]:
    """Which columns are known, where they stand in the model, and which columns are not known."""
    expected = fitted.state.n_features
    if names is None:
        if width != expected:
            raise ValueError(f"x has {counted(width, 'feature')}, but this model was fitted with {expected}")
        return list(range(width)), list(range(width)), []
    if fitted.names is None:
        raise ValueError(
            f"x has named features, but this model was fitted with {counted(expected, 'feature')} without names; "
            "expected an array"
        )
    position = [fitted.columns.get(name) for name in names]
    known = [column for column, place in enumerate(position) if place is not None]
    unknown = [column for column, place in enumerate(position) if place is None]
    return known, [place for place in position if place is not None], unknown
