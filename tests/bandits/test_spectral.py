"""Bandits on graphs: Laplacians, their eigenbasis, and SpectralUCB with both estimators."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import binom

from onward import load
from onward.bandits import OFUL, SpectralBandit, SpectralBasis, play
from onward.bandits.environments import Gaussian
from onward.bandits.graphs import as_laplacian, barabasi_albert, random_geometric
from onward.bandits.structured_worlds import SmoothTheta, graph_world

ESTIMATORS: Any = ["ridge", "forward"]
EDGES = [("a", "b", 2.0), ("b", "c", 1.0), ("c", "a", 0.5), ("c", "d", 3.0), ("d", "d", 7.0)]
WEIGHTS = np.array([[0, 2, 0.5, 0], [2, 0, 1, 0], [0.5, 1, 0, 3], [0, 0, 3, 7]])


class Networkx:
    """What is asked of a networkx graph."""

    nodes = ("a", "b", "c", "d")
    directed = False

    def edges(self, data: str, default: float) -> list[tuple[str, str, float]]:
        assert (data, default) == ("weight", 1.0)
        return EDGES

    def is_directed(self) -> bool:
        return self.directed


@pytest.mark.parametrize(
    "graph",
    [
        WEIGHTS,
        sparse.coo_matrix(WEIGHTS),
        np.diag(WEIGHTS.sum(axis=1)) - WEIGHTS,
        EDGES,
        [("b", "a", 1.0), *EDGES[1:], ("a", "b", 1.0)],
        Networkx(),
    ],
    ids=["weights", "sparse", "laplacian", "edges", "an edge twice", "networkx"],
)
def test_a_graph_in_whatever_form(graph: Any) -> None:
    matrix, nodes = as_laplacian(graph)
    order = [nodes.index(node) for node in ("abcd" if isinstance(nodes[0], str) else range(4))]
    assert_allclose(matrix.toarray()[np.ix_(order, order)], np.diag(WEIGHTS.sum(axis=1)) - WEIGHTS, atol=1e-15)


def test_networkx_itself() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from(EDGES)
    assert_allclose(as_laplacian(graph).matrix.toarray(), as_laplacian(EDGES).matrix.toarray())
    graph.add_edge("a", "d")
    assert SpectralBandit(graph, 1.0).nodes == ("a", "b", "c", "d")
    with pytest.raises(ValueError, match="must be undirected"):
        as_laplacian(graph.to_directed())


def test_whole_numbers_beside_weights_in_an_array() -> None:
    edges = np.array([[0, 1, 0.5], [1, 2, 2.0], [2, 0, 1.0], [3, 0, 1.0]])
    laplacian = as_laplacian(edges)
    assert laplacian.nodes == (0, 1, 2, 3)
    assert laplacian.matrix[0, 1] == -0.5


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.array([[0.0, 1.0], [2.0, 0.0]]), "undirected"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "finite numbers, got nan"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "weights >= 0, or be a Laplacian"),
        (np.array([["a", "b"], ["c", "d"]]), "must hold numbers"),
        ([("a", "b", -1.0)], "a finite number >= 0, got -1.0"),
        ([("a",)], r"must be \(u, v\) or \(u, v, weight\)"),
        ([(1.5, 2)], "text or a whole number, got 1.5"),
        ([], "at least one node"),
        ("ab", "a list of edges, got 'ab'"),
        (3, "a list of edges, got 3"),
    ],
)
def test_what_is_no_graph_is_refused(graph: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SpectralBandit(graph, 1.0)
    directed = Networkx()
    directed.directed = True
    with pytest.raises(ValueError, match="directed"):
        as_laplacian(directed)


def test_lists_of_lists_and_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="a list of 3 lists of 3 can be a matrix or edges"):
        as_laplacian([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    frame = pytest.importorskip("pandas").DataFrame(np.eye(3))
    with pytest.raises(ValueError, match="graph must be a square array"):
        as_laplacian(frame)


def test_play_takes_it_as_it_is() -> None:
    basis = SpectralBasis.of(random_geometric(12, seed=1))
    world = graph_world(SmoothTheta(basis), Gaussian(0.1))
    bandit = SpectralBandit(basis, 1.0, sigma=0.1, seed=0)
    assert_array_equal(play({"a": bandit}, world, 30, 2)["a"], play({"a": bandit.policy}, world, 30, 2)["a"])


def test_random_graphs_are_repeatable_and_joined() -> None:
    for made in (barabasi_albert(60, 2, 5), random_geometric(60, 6.0, 5), random_geometric(60, 0.5, 5)):
        basis = SpectralBasis.of(made)
        assert len(basis.nodes) == 60
        assert basis.eigenvalues[0] < 1e-12 < 1e-6 < basis.eigenvalues[1]  # joined
    assert barabasi_albert(60, 2, 5) == barabasi_albert(60, 2, 5) != barabasi_albert(60, 2, 6)
    assert random_geometric(60, 6.0, 5) == random_geometric(60, 6.0, 5) != random_geometric(60, 6.0, 6)
    degrees = np.bincount([node for edge in barabasi_albert(2000, 3, 0) for node in edge[:2]])
    assert degrees.min() == 3
    assert 5 < degrees.mean() < 6
    assert degrees.max() > 60  # hubs: a random graph with as many edges has none
    assert 5 < 2 * len(random_geometric(2000, 6.0, 0)) / 2000 < 6.1  # fewer at the border


def test_the_basis_is_that_of_the_laplacian() -> None:
    rng = np.random.default_rng(0)
    edges = barabasi_albert(40, 2, 1)
    basis = SpectralBasis.of(edges)
    laplacian = as_laplacian(edges).matrix.toarray()
    assert_allclose(basis.rows @ np.diag(basis.eigenvalues) @ basis.rows.T, laplacian, atol=1e-12)
    f = rng.standard_normal(40)
    assert basis.roughness(f) == pytest.approx(sum(w * (f[u] - f[v]) ** 2 for u, v, w in edges))
    assert basis.smoothness(f, 0.3) ** 2 == pytest.approx(basis.roughness(f) + 0.3 * f @ f)
    with pytest.raises(ValueError, match="values must be 40 numbers"):
        basis.roughness(f[:3])


def test_a_reduced_basis_of_a_large_graph() -> None:
    edges = random_geometric(700, 8.0, 3)
    few, dense = SpectralBasis.of(edges, 12), np.linalg.eigh(as_laplacian(edges).matrix.toarray())
    assert_allclose(few.eigenvalues, np.maximum(dense[0][:12], 0.0), atol=1e-10)
    first = dense[1][:, :12]
    assert_allclose(few.rows @ few.rows.T, first @ first.T, atol=1e-7)
    assert_array_equal(few.rows, SpectralBasis.of(edges, 12).rows)
    assert_array_equal(SpectralBasis.of(few, 5).rows, few.rows[:, :5])
    with pytest.raises(ValueError, match="at most 12"):
        SpectralBasis.of(few, 13)
    with pytest.raises(ValueError, match="at most 700, the number of nodes"):
        SpectralBasis.of(edges, 701)


@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("horizon", [10, 1000])
def test_effective_dimension_bounds_the_information_gain(horizon: int, lam: float) -> None:
    """By the most informative play there is, greedily; d − 1 in place of d would be too little somewhere."""
    gains, dimensions = [], []
    for edges in (barabasi_albert(30, 2, 0), random_geometric(30, 6.0, 0), [(i, i + 1) for i in range(29)]):
        bandit = SpectralBandit(edges, 1.0, lam, estimator="ridge")
        basis, d = bandit.basis, bandit.effective_dimension(horizon)
        brute = max(
            i + 1 for i in range(30) if i * (basis.eigenvalues[i] + lam) <= horizon / math.log(1 + horizon / lam)
        )
        assert d == brute
        for _ in range(horizon):
            bandit.learn(bandit.nodes[int(np.argmax(bandit.leverage()))], 0.0)
        gain = bandit.policy.information().information_gain
        assert gain <= 2 * d * math.log(1 + horizon / lam)
        gains.append(gain)
        dimensions.append(d)
    assert any(gain > math.log(1 + horizon / lam) for gain in gains)  # one dimension would not do for all of them


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("settings", [{}, {"width": "trace"}, {"bias": "paper"}, {"bias": "tight"}, {"bias": "none"}])
def test_the_index_is_that_of_scaled_rows(estimator: Any, settings: dict[str, Any]) -> None:
    """λ_i for coordinate i is λ = 1 on the rows Λ^(−1/2)q, where ‖α‖_Λ is the plain norm: another way to the same."""
    rng = np.random.default_rng(2)
    known: Any = {"sigma": 0.3, "delta": 0.05, "estimator": estimator, **settings}
    bandit = SpectralBandit(barabasi_albert(20, 2, 0), 1.7, 0.1, **known)
    scaled = bandit.basis.rows / np.sqrt(bandit.basis.eigenvalues + 0.1)
    plain = OFUL(1.0, theta_bound=1.7, **known)
    for _ in range(30):
        node, reward = int(rng.integers(20)), float(rng.standard_normal())
        assert_allclose(bandit.index(), plain.index(scaled), rtol=1e-9)
        assert_allclose(bandit.estimate(), plain.estimate(scaled), rtol=1e-9, atol=1e-12)
        bandit.learn(node, reward)
        plain.learn(scaled[node], reward)


def test_the_index_of_ridge_from_its_definition() -> None:
    rng = np.random.default_rng(3)
    bandit = SpectralBandit(barabasi_albert(15, 2, 0), 1.7, 0.1, sigma=0.3, delta=0.05, estimator="ridge", bias="none")
    full = SpectralBandit(bandit.basis, 1.7, 0.1, sigma=0.3, delta=0.05, estimator="ridge")
    L = as_laplacian(barabasi_albert(15, 2, 0)).matrix.toarray() + 0.1 * np.eye(15)
    played, rewards = rng.integers(15, size=25), rng.standard_normal(25)
    bandit.learn_many(played.tolist(), rewards)
    full.learn_many(played.tolist(), rewards)
    G = L + np.diag(np.bincount(played, minlength=15))  # on the nodes themselves, without any basis
    b = np.bincount(played, rewards, minlength=15)
    p, q = np.linalg.solve(G, b), np.diag(np.linalg.inv(G))
    noise = 0.3 * math.sqrt(2 * math.log(20) + np.linalg.slogdet(G)[1] - np.linalg.slogdet(L)[1])
    assert_allclose(bandit.estimate(), p, atol=1e-12)
    assert_allclose(bandit.index(), p + np.sqrt(q) * noise, rtol=1e-10)
    assert (full.index() <= p + np.sqrt(q) * (noise + 1.7) + 1e-12).all()
    assert (full.index() >= p + np.sqrt(q) * math.hypot(noise, 1.7) - 1e-12).all()


RUNS, ROUNDS, DELTA = 300, 100, 0.1
LIMIT = int(binom.ppf(1 - 1e-6, RUNS, DELTA))  # so many runs may fail, if each does with probability δ


def misses(estimator: Any, sigma: float, scale: float) -> int:
    """In how many runs some node's index falls below its mean, at any round. Nodes are played at random.

    Each run has the rewards with ‖α*‖_Λ = C in which one node is as good as C allows.
    """
    basis = SpectralBasis.of([(i, i + 1, 0.5) for i in range(4)])
    lam, missed = 0.05, 0
    rng = np.random.default_rng(4)
    bandit = SpectralBandit(basis, 1.0, lam, sigma=sigma, delta=DELTA, estimator=estimator, scale=scale, seed=0)
    for _ in range(RUNS):
        bandit.restart()
        x = basis.rows[int(rng.integers(5))]
        alpha = x / (basis.eigenvalues + lam)
        means = basis.rows @ (alpha / math.sqrt((basis.eigenvalues + lam) @ alpha**2))
        for node in rng.integers(5, size=ROUNDS):
            if (bandit.index() < means * (1 - 1e-12)).any():
                missed += 1
                break
            bandit.learn(int(node), float(means[node] + sigma * rng.standard_normal()))
    return missed


@pytest.mark.parametrize("sigma", [0.2, 5.0])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_index_is_optimistic_in_most_runs_and_half_of_it_is_not(estimator: Any, sigma: float) -> None:
    """With little noise C is what counts, with much of it the noise: half of either is too little."""
    assert misses(estimator, sigma, 1.0) <= LIMIT < misses(estimator, sigma, 0.5)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_files_late_rewards_and_what_waits(tmp_path: Path, estimator: Any) -> None:
    bandit = SpectralBandit(EDGES, 2.0, sigma=0.2, seed=3, estimator=estimator, prior_mean=[0.1, 0.2, 0.3, 0.4])
    assert_allclose(bandit.estimate(), [0.1, 0.2, 0.3, 0.4])
    bandit.learn("a", 0.5)
    node = bandit.decide("later", available=[False, True, True, True]).action
    assert node in bandit.nodes[1:]
    bandit.save(tmp_path / "graph.onward")
    again = load(tmp_path / "graph.onward")
    assert repr(again) == repr(bandit)
    assert again.describe() == bandit.describe()
    assert tuple(again.pending) == ("later",)
    for each in (bandit, again):
        each.reward("later", 1.0)
    assert_array_equal(again.index(), bandit.index())
    assert [again.choose() for _ in range(5)] == [bandit.choose() for _ in range(5)]
    assert again.n_learned == bandit.n_learned == 2
    before = bandit.index()
    with pytest.raises(ValueError, match="no node 'z'; expected one of 4, such as 'a'"):
        bandit.learn("z", 1.0)
    with pytest.raises(ValueError, match="reward must be a finite number"):
        bandit.learn("a", math.nan)
    assert_array_equal(bandit.index(), before)
    assert bandit.probabilities(available=[True, False, False, False]).tolist() == [1, 0, 0, 0]
    bandit.restart()
    assert_allclose(bandit.estimate(), [0.1, 0.2, 0.3, 0.4])


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(TypeError, match="expected smoothness"):
        SpectralBandit(EDGES, 1.0, theta_bound=1.0)
    with pytest.raises(ValueError, match="smoothness must be a number >= 0"):
        SpectralBandit(EDGES, -1.0)
    with pytest.raises(ValueError, match="values must be 4 numbers"):
        SpectralBandit(EDGES, 1.0, prior_mean=[1.0])
    with pytest.raises(TypeError, match="no parameter 'widht'"):
        SpectralBandit(EDGES, 1.0, widht="trace")  # type: ignore[call-arg]


def test_worlds_are_repeatable_and_as_smooth_as_they_say() -> None:
    basis = SpectralBasis.of(random_geometric(50, 8.0, 0))
    rewards = SmoothTheta(basis, components=4, level=2.0)
    world = graph_world(rewards, Gaussian(0.1))
    reached = []
    for seed in range(40):
        means = world.start(seed).means()
        assert_array_equal(means, world.start(seed).means())
        assert math.sqrt(np.mean(means**2)) == pytest.approx(2.0)
        assert basis.smoothness(means, 0.1) <= rewards.smoothness(0.1) * (1 + 1e-12)
        reached.append(basis.smoothness(means, 0.1) / rewards.smoothness(0.1))
    assert max(reached) > 0.7
    assert "sha256" in str(world.describe())
    with pytest.raises(ValueError, match="components must be at most 50"):
        SmoothTheta(basis, components=51)


def test_it_plays_in_the_compiled_game_and_beats_oful_where_rewards_are_smooth() -> None:
    basis, lam = SpectralBasis.of(random_geometric(100, 8.0, 1)), 0.01
    rewards = SmoothTheta(basis, components=3)
    bandit = SpectralBandit(basis, rewards.smoothness(lam), lam, sigma=0.5, estimator="ridge")
    plain = OFUL(lam, sigma=0.5, theta_bound=rewards.bound, estimator="ridge")
    policies = {"spectral": bandit.policy, "plain": plain}
    runs = play(policies, graph_world(rewards, Gaussian(0.5)), 200, 20)
    assert runs.difference("spectral", "plain").upper < 0
    assert_array_equal(runs.regret, play(policies, graph_world(rewards, Gaussian(0.5)), 200, 20).regret)
