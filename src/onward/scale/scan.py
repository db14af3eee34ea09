"""Merging what chunks came to: in order, so that each chunk has its exact prefix; or as a tree, for the whole."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Generic, TypeVar

from onward.regression import OnlineRegressor
from onward.scale.summary import Summary
from onward.tables import DataError

T = TypeVar("T")


def prefixes(start: OnlineRegressor, summaries: Sequence[Summary], names: Sequence[str] = ()) -> list[OnlineRegressor]:
    """The model just before each chunk, and after the last: one more than there are chunks.

    DataError with the name of a chunk that cannot come after those before, as it is too early.

    Args:
        start: the model before the first chunk.
        summaries: of the chunks, in order.
        names: of the chunks, for what is told.

    Returns:
        The models.

    Raises:
        DataError: if a chunk cannot come after those before.

    Example:
        >>> import polars as pl
        >>> from onward import ForwardRegressor, stream
        >>> from onward.scale import Summary, prefixes
        >>> rows = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.0, 6.0, 8.0]})
        >>> summaries = [Summary.of(stream(part, "y"), intercept=True) for part in (rows[:2], rows[2:])]
        >>> before, between, after = prefixes(ForwardRegressor(1.0), summaries)
        >>> between.coef_.round(3), after.coef_.round(3)
        (array([0.667]), array([1.667]))
    """
    models = [start]
    for place, summary in enumerate(summaries):
        after = deepcopy(models[-1])
        if summary.model is not None:
            try:
                after.merge_part(summary.model)
            except ValueError as error:
                raise DataError(f"{names[place] if names else f'chunk {place + 1}'}: {error}") from error
        models.append(after)
    return models


class Tree(Generic[T]):
    """Items merged, neighbours with neighbours, so that the depth is log₂ of their number.

    They may come in any order. Two are merged as soon as both are there, so that few wait at a time; which are merged
    with which does not depend on the order, and so neither does the rounding.

    Args:
        count: how many items there will be.
        merge: makes one of two neighbours, the earlier first.

    Raises:
        ValueError: if there is nothing to merge.

    Example:
        >>> from onward.scale import Tree
        >>> words = Tree(3, lambda first, second: f"({first} {second})")
        >>> for place, word in ((2, "c"), (0, "a"), (1, "b")):
        ...     words.put(place, word)
        >>> words.whole()
        '((a b) c)'
    """

    def __init__(self, count: int, merge: Callable[[T, T], T]) -> None:
        if count < 1:
            raise ValueError(f"expected at least one item to merge, got {count}")
        self._count, self._merge = count, merge
        self._waiting: dict[tuple[int, int], T] = {}

    def put(self, place: int, item: T) -> None:
        """Add the item that has this place among all items.

        Args:
            place: among all items, from 0.
            item: what to merge.
        """
        level, count = 0, self._count
        while count > 1:
            if place ^ 1 < count:
                other = self._waiting.pop((level, place ^ 1), None)
                if other is None:
                    break
                item = self._merge(other, item) if place & 1 else self._merge(item, other)
            level, place, count = level + 1, place >> 1, (count + 1) >> 1
        self._waiting[level, place] = item

    @property
    def waiting(self) -> int:
        """How many items are held."""
        return len(self._waiting)

    def whole(self) -> T:
        """All of them, merged."""
        (item,) = self._waiting.values()
        return item


def tree(items: Sequence[T], merge: Callable[[T, T], T]) -> T:
    """All of them merged, as `Tree` does it.

    Args:
        items: at least one.
        merge: makes one of two neighbours, the earlier first.

    Returns:
        The item that all of them make.

    Raises:
        ValueError: if there are none.

    Example:
        >>> from onward.scale import tree
        >>> tree(["a", "b", "c", "d"], lambda first, second: f"({first} {second})")
        '((a b) (c d))'
    """
    merged = Tree(len(items), merge)
    for place, item in enumerate(items):
        merged.put(place, item)
    return merged.whole()
