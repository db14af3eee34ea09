"""Random Fourier features as a transformer, for rows by number or by name."""

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from onward.core.checks import positive, whole
from onward.core.types import Matrix, Vector
from onward.regression.name_matching import Row, named_row
from onward.tables import as_mapping, as_rows, blocks
from onward.tables.fourier import cosines, direction, shift

if TYPE_CHECKING:
    from sklearn.utils import Tags


class RandomFeatures(TransformerMixin, BaseEstimator):
    """n cosines of random directions: their inner products are about exp(−γ‖x − x'‖²) (Rahimi and Recht 2007).

    A linear learner on them is one with that kernel, to within about 1/√n. Nothing is fitted: the directions come from
    the seed and the column (its name in data frames and dicts, its number in arrays), so that single rows, batches and
    other machines give the same bits, and a name first seen later, or missing, counts as if it had been there at 0.

    Args:
        gamma: γ > 0 of the kernel. 1/√(2γ) is the distance at which values begin to differ: scale columns to it.
        n: how many features.
        seed: of the directions.
    """

    def __init__(self, gamma: float = 1.0, n: int = 100, seed: int = 0) -> None:
        self.gamma = gamma
        self.n = n
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the settings, and remember which columns there are."""
        self._check()
        validate_data(self, X=X, skip_check_array=True)
        for _ in blocks(as_rows(X, self)):  # values that are not finite are refused
            pass
        return self

    def transform(self, X: Any) -> Matrix:
        """The features of each row, (rows, n)."""
        self._check()
        if hasattr(self, "n_features_in_"):
            validate_data(self, X=X, reset=False, skip_check_array=True)
        rows = as_rows(X, self)
        names: list[Hashable] = list(range(rows.shape[1])) if rows.names is None else rows.names
        directions, shifts = self._directions(names)
        out = np.empty((rows.shape[0], self.n))
        for where, block, _ in blocks(rows):
            out[where] = cosines(list(block.T), directions, shifts)
        return out

    def transform_one(self, x: Row) -> Vector:
        """The features of one row, (n,): of an array, or of a dict of named values."""
        self._check()
        names, values = named_row(x)
        if names is not None and hasattr(self, "n_features_in_") and not hasattr(self, "feature_names_in_"):
            raise ValueError(f"x has named features, but this was fitted with {self.n_features_in_} without names")
        if names is None:
            names = list(range(values.shape[1]))
        return cosines(list(values.T), *self._directions(names))[0] if names else self._bare()

    def _bare(self) -> Vector:
        """Of a row in which everything is missing, hence 0."""
        return cosines([np.zeros(1)], [np.zeros(self.n)], self._directions([])[1])[0]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """random[1], random[2], …"""
        return np.array([f"random[{place}]" for place in range(1, self.n + 1)], dtype=object)

    def _directions(self, names: list[Hashable]) -> tuple[list[Vector], Vector]:
        """For each column the directions of all features, and their shifts: kept once they were drawn."""
        settings = (self.gamma, self.n, self.seed)
        if getattr(self, "_drawn_with", None) != settings:
            self._drawn_with, self._drawn = settings, dict[Hashable, Vector]()
            self._shifts = np.array([shift(f"{self.seed} shift {place}") for place in range(self.n)])
        for name in names:
            if name not in self._drawn:
                kind = "name" if isinstance(name, str) else "number"
                self._drawn[name] = np.array(
                    [direction(self.gamma, f"{self.seed} {kind} {name} {place}") for place in range(self.n)]
                )
        return [self._drawn[name] for name in names], self._shifts

    def _check(self) -> None:
        positive("gamma", self.gamma)
        whole("n", self.n)
        whole("seed", self.seed, 0)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = True
        return tags


def transform_one(transformer: Any, x: Row) -> Vector:
    """One row, an array or a dict, by whatever transformer: its own way for one row if it has one, else as a table."""
    x = as_mapping(x)
    if hasattr(transformer, "transform_one"):
        made = transformer.transform_one(x)
        return np.asarray(list(made.values()) if isinstance(made, Mapping) else made, dtype=np.float64)
    if isinstance(x, Mapping):
        known = getattr(transformer, "feature_names_in_", None)
        if known is None or set(known) != set(x):
            expected = "an array" if known is None else f"values for {list(known)}"
            raise ValueError(f"{type(transformer).__name__} cannot take this row: expected {expected}, got {dict(x)}")
        import pandas as pd

        x = pd.DataFrame([x])[list(known)]
        return np.asarray(transformer.transform(x), dtype=np.float64)[0]
    return np.asarray(transformer.transform(np.asarray(x, dtype=np.float64).reshape(1, -1)), dtype=np.float64)[0]
