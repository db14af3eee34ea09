"""The eigenbasis of a graph's Laplacian: where functions that change little along edges have few coordinates."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.sparse import eye_array
from scipy.sparse.linalg import eigsh

from onward.bandits.graphs import as_laplacian
from onward.bandits.world_parts import finite_vector
from onward.core.checks import positive, whole
from onward.core.read_only import read_only
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

_LONGEST = 2**53  # rounds, which floats count
_DENSE = 500  # up to so many nodes, or if a quarter of the basis or more is wanted, all of it is found


@dataclass(frozen=True, eq=False)
class SpectralBasis:
    """The eigenvectors of a graph's Laplacian with the smallest eigenvalues, those first.

    A function f on the nodes is f = rows @ α, with fᵀLf = Σ eigenvalue_i α_i² = Σ weight (f_u − f_v)² over the edges.

    Attributes:
        nodes: their names.
        eigenvalues: of the Laplacian, the smallest first, (J,).
        rows: a row for each node, (n, J).

    Example:
        >>> from onward.bandits import SpectralBasis
        >>> basis = SpectralBasis.of([("a", "b"), ("b", "c")])
        >>> basis.eigenvalues.round(6) + 0.0
        array([0., 1., 3.])
        >>> round(basis.roughness([0.0, 1.0, 3.0]), 6)  # 1² + 2²
        5.0
    """

    nodes: tuple[Hashable, ...]
    eigenvalues: Vector
    """(J,), ascending; 0 as often as the graph has parts that are not joined."""
    rows: Matrix
    """(nodes, J): node i has the coordinates rows[i]. Columns are orthonormal."""

    @classmethod
    def of(cls, graph: Any, size: int | None = None) -> Self:
        """The basis of a graph, given as `graphs.as_laplacian` says.

        Args:
            graph: the graph, or a basis, which is taken as it is.
            size: J, how many eigenvectors; None for all. With fewer, functions outside their span are not seen: what
                a policy says of them has no guarantee.
        """
        if isinstance(graph, cls):
            return graph if size is None else graph.first(size)
        matrix, nodes = as_laplacian(graph)
        n = len(nodes)
        wanted = n if size is None else whole("size", size, 1)
        if wanted > n:
            raise ValueError(f"size must be at most {n}, the number of nodes, got {brief(size)}")
        if n <= _DENSE or 4 * wanted >= n:
            values, vectors = linalg.eigh(matrix.toarray(), subset_by_index=(0, wanted - 1))
        else:
            # Near to a number just below 0, where L less it has an inverse. It begins at a vector of its own: the
            # same graph gives the same basis.
            shift = 1e-3 * float(matrix.trace()) / n + 1e-12
            start = np.random.default_rng(0).standard_normal(n)
            values, vectors = eigsh((matrix + shift * eye_array(n)).tocsc(), k=wanted, sigma=0.0, v0=start)
            order = np.argsort(values)
            values, vectors = values[order] - shift, vectors[:, order]
        signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(wanted)])
        rows = np.ascontiguousarray(vectors * signs)
        eigenvalues = np.maximum(values, 0.0)  # those that are 0 may come out a little below
        return cls(nodes, read_only(eigenvalues), read_only(rows))

    def first(self, size: int) -> Self:
        """The first so many of its eigenvectors.

        Args:
            size: how many.
        """
        size = whole("size", size, 1)
        if size > len(self.eigenvalues):
            raise ValueError(f"size must be at most {len(self.eigenvalues)}, which this basis has, got {size}")
        return type(self)(self.nodes, self.eigenvalues[:size], np.ascontiguousarray(self.rows[:, :size]))

    def coordinates(self, values: ArrayLike) -> Vector:
        """α of a function on the nodes (n,), or of its part in the span of the basis.

        Args:
            values: of the function on the nodes, (n,).
        """
        given = finite_vector("values", values)
        if len(given) != len(self.nodes):
            raise ValueError(f"values must be {len(self.nodes)} numbers, one for each node, got {len(given)}")
        return np.asarray(given @ self.rows)

    def roughness(self, values: ArrayLike) -> float:
        """fᵀLf = Σ weight (f_u − f_v)² over the edges, of a function in the span of the basis.

        Args:
            values: of the function on the nodes, (n,).
        """
        return float(self.eigenvalues @ self.coordinates(values) ** 2)

    def smoothness(self, values: ArrayLike, lam: float) -> float:
        """‖α‖_Λ = √(fᵀLf + λ‖f‖²): what the `smoothness` of a `SpectralBandit` must be no less than.

        Args:
            values: of the function on the nodes, (n,).
            lam: λ > 0.
        """
        return math.sqrt(float((self.eigenvalues + positive("lam", lam)) @ self.coordinates(values) ** 2))

    def effective_dimension(self, horizon: int, lam: float) -> int:
        """The largest d with (d − 1)·λ_d ≤ T / log(1 + T/λ), λ_d = eigenvalue_d + λ.  [Valko et al. 2014, spectral]

        The information gain of T rounds is at most 2 d log(1 + T/λ), whatever nodes are played.

        Args:
            horizon: how many rounds.
            lam: λ > 0.
        """
        horizon, lam = whole("horizon", horizon, most=_LONGEST), positive("lam", lam)
        places = np.arange(len(self.eigenvalues))
        good = places * (self.eigenvalues + lam) <= horizon / math.log1p(horizon / lam)
        return int(places[good].max()) + 1

    def __repr__(self) -> str:
        return f"<SpectralBasis: {self.rows.shape[1]} eigenvectors of a graph with {len(self.nodes)} nodes>"
