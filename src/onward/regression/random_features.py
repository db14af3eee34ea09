"""Random Fourier features as a transformer, for rows by number or by name."""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from onward.core.checks import positive, whole
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.regression.name_matching import Row, named_row
from onward.tables import as_mapping, as_row, as_rows, blocks
from onward.tables.fourier import cosines, direction, shift

if TYPE_CHECKING:
    from sklearn.utils import Tags


MOST_FEATURES = 15_000
"""So many take 2 GB in a linear learner, whose state is a square of them."""


class RandomFeatures(TransformerMixin, BaseEstimator):
    """n cosines of random directions: their inner products are about exp(−γ‖x − x'‖²) (Rahimi and Recht 2007).

    A linear learner on them is one with that kernel, to within about 1/√n; forward, without a constant, is then
    posterior mean · λ/(λ + posterior variance).  [Jézéquel et al. 2019, kernels]

    Nothing is fitted: the directions come from the seed and the column (its name in data frames and dicts, its number
    in arrays), so that single rows, batches and other machines give the same bits, and a name first seen later, or
    missing, counts as if it had been there at 0.

    Args:
        gamma: γ > 0 of the kernel. 1/√(2γ) is the distance at which values begin to differ: scale columns to it.
        n: how many features, 15,000 at most.
        seed: of the directions.

    Example:
        >>> import numpy as np
        >>> from onward import RandomFeatures
        >>> features = RandomFeatures(gamma=0.5, n=2000)
        >>> near, far = features.transform([[0.0], [0.5]]), features.transform([[0.0], [3.0]])
        >>> np.round([near[0] @ near[1], far[0] @ far[1]], 1)  # about exp(-0.125) and exp(-4.5)
        array([0.9, 0. ])
    """

    def __init__(self, gamma: float = 1.0, n: int = 100, seed: int = 0) -> None:
        self.gamma = gamma
        self.n = n
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the settings, and remember which columns there are.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            y: not used.
        """
        self._check()
        rows = as_rows(X)
        validate_data(self, X=X, skip_check_array=True)
        for _ in blocks(rows):  # values that are not finite are refused
            pass
        return self

    def transform(self, X: Any) -> Matrix:
        """The features of each row, (rows, n).

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
        """
        self._check()
        rows = as_rows(X)
        if hasattr(self, "n_features_in_"):
            validate_data(self, X=X, reset=False, skip_check_array=True)
        out = np.empty((rows.shape[0], self.n))
        for where, block, _ in blocks(rows):
            out[where] = self._cosines(rows.names, block)
        return out

    def transform_one(self, x: Row) -> Vector:
        """The features of one row, (n,): of an array, or of a dict of named values.

        Args:
            x: one row: an array (features,), or a dict of named features.
        """
        self._check()
        made: Vector = self._cosines(*named_row(x))[0]
        return made

    def _cosines(self, names: list[Hashable] | None, rows: Matrix) -> Matrix:
        """In the order of the names, whichever they came in: sums in another order have other last digits."""
        known = range(rows.shape[1]) if names is None else [n if isinstance(n, int) else str(n) for n in names]
        columns = sorted(zip(known, rows.T, strict=True), key=_place)
        directions = [_directions(self.gamma, self.n, self.seed, name) for name, _ in columns]
        return cosines([column for _, column in columns], directions, _shifts(self.n, self.seed), len(rows))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """random[1], random[2], …

        Args:
            input_features: not used; scikit-learn hands it in.
        """
        self._check()
        return np.array([f"random[{place}]" for place in range(1, self.n + 1)], dtype=object)

    def _check(self) -> None:
        positive("gamma", self.gamma)
        whole("n", self.n, most=MOST_FEATURES)
        whole("seed", self.seed, 0)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = True
        return tags


def _place(column: tuple[int | str, Vector]) -> tuple[bool, int | str]:
    """Numbers first, then names."""
    return isinstance(column[0], str), column[0]


@lru_cache(maxsize=4096)
def _directions(gamma: float, n: int, seed: int, column: int | str) -> Vector:
    """Of all features, in a column that is known by its name or its number."""
    return np.array([direction(gamma, f"{seed} {column!r} {place}") for place in range(n)])


@lru_cache(maxsize=64)
def _shifts(n: int, seed: int) -> Vector:
    return np.array([shift(f"{seed} shift {place}") for place in range(n)])


def transform_one(transformer: Any, x: Row) -> Vector:
    """One row, an array or a dict, by whatever transformer: its own way for one row if it has one, else as a table."""
    x = as_mapping(x)
    if hasattr(transformer, "transform_one"):
        made = transformer.transform_one(x)
        return np.array(list(made.values()) if isinstance(made, Mapping) else made, dtype=np.float64)
    table: Any = as_row(x) if not isinstance(x, Mapping) else _frame(transformer, x)
    row: Vector = np.asarray(transformer.transform(table), dtype=np.float64)[0]
    return row


def _frame(transformer: Any, x: Mapping[Any, Any]) -> Any:
    known = getattr(transformer, "feature_names_in_", None)
    if known is None or set(known) != set(x):
        expected = "an array" if known is None else f"values for {brief(list(known))}"
        raise ValueError(
            f"{type(transformer).__name__} cannot take this row: expected {expected}, got {brief(dict(x))}"
        )
    import polars as pl

    return pl.DataFrame({name: [x[name]] for name in known})
