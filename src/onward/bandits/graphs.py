"""Graphs as Laplacians: read from matrices, edge lists and networkx, or drawn at random."""

import math
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from onward.bandits.pending import checked_key
from onward.core.checks import is_hashable, is_iterable, is_real, positive, whole
from onward.core.shown import brief, several

__all__ = ["barabasi_albert", "random_geometric"]

_HEAVIEST = 1e300  # weight of an edge: sums of them are numbers
_ROUNDING = 1e-8  # entries that agree to this share of the largest are the same

Edges = list[tuple[int, int, float]]


class Laplacian(NamedTuple):
    """L = D − W of a graph with weights W, and the names of its nodes in the order of the rows."""

    matrix: Any  # scipy.sparse.csr_array
    nodes: tuple[Hashable, ...]


def as_laplacian(graph: Any) -> Laplacian:
    """The Laplacian of a graph.

    A square NumPy array or SciPy sparse matrix is the matrix of weights (not negative; what is on its diagonal does not
    count) or, if some entry off the diagonal is negative, the Laplacian itself. A networkx graph has its weights in
    the attribute `weight`, 1 where there is none. Anything else is a list of edges, (u, v) or (u, v, weight); weights
    of an edge that comes twice add up. Nodes are text or whole numbers. (Two edges in an array would be a matrix: give
    a list.)
    """
    if sparse.issparse(graph) or (isinstance(graph, np.ndarray) and graph.ndim == 2 and len(set(graph.shape)) == 1):
        return _laplacian_of_matrix(graph)
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):
        if callable(getattr(graph, "is_directed", None)) and graph.is_directed():
            raise ValueError("graph must be undirected, got a directed one: give graph.to_undirected()")
        return _laplacian_of_edges(graph.edges(data="weight", default=1.0), tuple(graph.nodes))
    if (
        isinstance(graph, list | tuple)
        and graph
        and all(isinstance(row, list) and len(row) == len(graph) for row in graph)
    ):
        raise ValueError(
            f"a list of {len(graph)} lists of {len(graph)} can be a matrix or edges: expected an array, or tuples as "
            "edges"
        )
    if isinstance(graph, str) or hasattr(graph, "columns") or not is_iterable(graph):
        raise ValueError(
            f"graph must be a square array, a sparse matrix, a networkx graph or a list of edges, got {brief(graph)}"
        )
    return _laplacian_of_edges(graph, None)


def barabasi_albert(n: int, m: int, seed: int = 0) -> Edges:
    """A graph that grows by preferential attachment: each new node is joined to m others, the likelier the better
    joined these are (Barabási and Albert 1999). It begins with m + 1 nodes, all joined.

    Args:
        n: nodes, more than m.
        m: edges of each new node.
        seed: of the draws.

    Returns:
        The edges, as (node, node, weight).

    Raises:
        ValueError: if n, m or the seed is out of its range.

    Example:
        >>> from onward.bandits.graphs import barabasi_albert
        >>> edges = barabasi_albert(50, 2, seed=0)
        >>> len(edges), edges[0]
        (97, (0, 1, 1.0))
    """
    m = whole("m", m, 1)
    n = whole("n", n, m + 1)
    rng = np.random.default_rng(np.random.SeedSequence(whole("seed", seed, 0)))
    edges: Edges = [(i, j, 1.0) for j in range(m + 1) for i in range(j)]
    ends = [node for i, j, _ in edges for node in (i, j)]  # each node as often as it has neighbours
    for new in range(m + 1, n):
        chosen: set[int] = set()
        while len(chosen) < m:
            chosen.add(ends[int(rng.integers(len(ends)))])
        for old in sorted(chosen):
            edges.append((old, new, 1.0))
            ends += [old, new]
    return edges


def random_geometric(n: int, neighbours: float = 8.0, seed: int = 0) -> Edges:
    """Nodes uniform in the unit square, joined where they are near: each has about so many neighbours, fewer at the
    border. Parts that this leaves apart are joined where they are nearest.

    Args:
        n: nodes, at least 2.
        neighbours: about how many each has.
        seed: of the places.

    Returns:
        The edges, as (node, node, weight).

    Raises:
        ValueError: if n, neighbours or the seed is out of its range.

    Example:
        >>> from onward.bandits import SpectralBasis
        >>> from onward.bandits.graphs import random_geometric
        >>> len(SpectralBasis.of(random_geometric(100, seed=1)).nodes)
        100
    """
    n, neighbours = whole("n", n, 2), positive("neighbours", neighbours)
    rng = np.random.default_rng(np.random.SeedSequence(whole("seed", seed, 0)))
    points = rng.random((n, 2))
    square = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    joined = np.triu(square <= neighbours / (math.pi * n), 1)
    while True:
        parts, part = sparse.csgraph.connected_components(sparse.csr_array(joined), directed=False)
        if parts == 1:
            break
        apart = np.where((part == 0)[:, None] & (part != 0)[None], square, np.inf)
        i, j = sorted(int(place) for place in np.unravel_index(np.argmin(apart), apart.shape))
        joined[i, j] = True
    return [(int(i), int(j), 1.0) for i, j in np.argwhere(joined)]


def _laplacian_of_matrix(graph: Any) -> Laplacian:
    n, m = graph.shape
    if n != m or not n:
        raise ValueError(f"graph must be a square matrix, a row and a column for each node, got shape {graph.shape}")
    if graph.dtype.kind not in "biuf":
        raise ValueError(f"graph must hold numbers, got {graph.dtype}")
    matrix = sparse.csr_array(graph).astype(np.float64)
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"graph must hold finite numbers, got {matrix.data[~np.isfinite(matrix.data)][0]}")
    largest = float(np.abs(matrix.data).max(initial=0.0))
    if np.abs((matrix - matrix.T).data).max(initial=0.0) > _ROUNDING * largest:
        raise ValueError("graph must be undirected, a symmetric matrix, got one that is not")
    nodes = tuple(range(n))
    off = matrix - sparse.diags_array(matrix.diagonal())
    if not (off.data < 0).any():
        return Laplacian(_from_weights(off), nodes)
    if np.abs(matrix.sum(axis=1)).max() > _ROUNDING * n * largest or (off.data > 0).any():
        raise ValueError(
            "graph must have weights >= 0, or be a Laplacian, whose rows add up to 0 and which is <= 0 off its "
            f"diagonal; got {float(off.data.min()):g} off the diagonal and rows that add up to "
            f"{float(matrix.sum(axis=1).min()):g} … {float(matrix.sum(axis=1).max()):g}"
        )
    return Laplacian(matrix, nodes)


def _laplacian_of_edges(edges: Iterable[Any], nodes: tuple[Hashable, ...] | None) -> Laplacian:
    triples = [_edge(edge) for edge in edges]
    for edge in triples:
        for node in edge[:2]:
            if not is_hashable(node):
                raise ValueError(f"a node must be text or a whole number, got {brief(node)}")
    if nodes is None:
        named = dict.fromkeys(node for u, v, _ in triples for node in (u, v))
        nodes = tuple(sorted(named) if all(isinstance(node, int) for node in named) else named)  # type: ignore[type-var]
    for node in nodes:
        if not isinstance(node, str | int) or isinstance(node, bool):
            raise ValueError(f"a node must be text or a whole number, got {brief(node)}")
        checked_key(node, "a node")
    if not nodes:
        raise ValueError("graph must have at least one node, got no edges")
    places = {node: place for place, node in enumerate(nodes)}
    u, v = (np.array([places[edge[end]] for edge in triples], dtype=np.int64) for end in (0, 1))
    w: NDArray[np.float64] = np.array([weight for _, _, weight in triples], dtype=np.float64)
    apart = u != v
    n = len(nodes)
    half = sparse.coo_array((w[apart], (u[apart], v[apart])), shape=(n, n)).tocsr()
    return Laplacian(_from_weights(half + half.T), nodes)


def _edge(edge: Any) -> tuple[Hashable, Hashable, float]:
    parts = tuple(edge) if isinstance(edge, list | tuple | np.ndarray) else ()
    if len(parts) not in (2, 3):
        raise ValueError(f"an edge must be (u, v) or (u, v, weight), got {brief(edge)}")
    weight = parts[2] if len(parts) == 3 else 1.0
    if not (isinstance(weight, bool) or is_real(weight)) or not 0 <= weight < _HEAVIEST:
        between = several(parts[:2])
        raise ValueError(f"the weight of an edge must be a finite number >= 0, got {brief(weight)} between {between}")
    return _node(parts[0]), _node(parts[1]), float(weight)


def _node(node: Any) -> Any:
    """Whole numbers of NumPy, and those that stand beside weights in one array of floats, as whole numbers."""
    if isinstance(node, np.generic):
        node = node.item()
    return int(node) if isinstance(node, float) and node.is_integer() else node


def _from_weights(weights: Any) -> Any:
    return sparse.csr_array(sparse.diags_array(weights.sum(axis=1)) - weights)
