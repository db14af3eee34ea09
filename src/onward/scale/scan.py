"""Merging what chunks came to: in order, so that each chunk has its exact prefix; or as a tree, for the whole."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TypeVar

from onward.regression import OnlineRegressor
from onward.scale.summary import Summary

T = TypeVar("T")


def prefixes(start: OnlineRegressor, summaries: Sequence[Summary]) -> list[OnlineRegressor]:
    """The model just before each chunk, and after the last: one more than there are chunks."""
    models = [start]
    for summary in summaries:
        after = deepcopy(models[-1])
        if summary.model is not None:
            after.merge_part(summary.model)
        models.append(after)
    return models


def tree(items: Sequence[T], merge: Callable[[T, T], T]) -> T:
    """All of them merged, neighbours with neighbours, so that the depth is log₂ of their number."""
    level = list(items)
    if not level:
        raise ValueError("expected at least one item to merge, got none")
    while len(level) > 1:
        pairs = [(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = [merge(one, other) for one, other in pairs] + level[2 * len(pairs) :]
    return level[0]
