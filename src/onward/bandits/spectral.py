"""Bandits on graphs: the arms are nodes, and neighbours have similar rewards."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from onward import storage
from onward.bandits.filed import Filed
from onward.bandits.late_rewards import Span, When
from onward.bandits.pending import Counts, Decision, PendingView
from onward.bandits.policies import OFUL
from onward.bandits.policy import Policy
from onward.bandits.policy_arguments import Exploration
from onward.bandits.randomness import Seed
from onward.bandits.spectral_basis import SpectralBasis
from onward.core.checks import is_hashable, is_iterable, not_negative, positive
from onward.core.shown import brief
from onward.core.shown_html import html_values
from onward.core.types import Vector


@storage.kind("spectral policy")
class SpectralBandit(Filed):
    """SpectralUCB, and with forward its ^f: OFUL on a graph whose nodes are the arms.  [Valko et al. 2014, spectral]

    The expected rewards are a function f on the nodes that changes little along edges. In the eigenbasis of the
    Laplacian f = Qα; coordinate i is regularised by λ_i = eigenvalue_i + λ, so that rough parts of f are believed only
    when many rewards say so, and one reward teaches about all nodes nearby. Index of a node with row x of Q and
    G = Λ + Σ xxᵀ: `xᵀα̂ + √(xᵀG⁻¹x) W`, W = √(σ²(2 log(1/δ) + I) + C²) with C = `smoothness`; with forward, as in
    `OFUL`, ‖x‖S being √(Σ x_i²/λ_i) C. (Its authors add C and the noise, and bound I by the effective dimension.)

    Args:
        graph: a square NumPy array or sparse matrix of weights, or the Laplacian; a networkx graph; a list of edges; or
            a `SpectralBasis`. See `graphs.as_laplacian`.
        smoothness: C ≥ ‖α*‖_Λ = √(fᵀLf + λ‖f‖²), the sum of f² over all nodes in it: `basis.smoothness(guess, lam)`.
        lam: λ > 0.
        size: how many eigenvectors, the smoothest, for large graphs; None for all.
        settings: as in `OFUL`, sigma being 1 unless told, without theta_bound, which `smoothness` is. `prior_mean` is
            an expected reward for each node; then C bounds ‖α* − α_0‖_Λ.

    Raises:
        TypeError: if theta_bound is told.
        ValueError: if a value is out of its range, or the graph is none.

    Example:
        >>> from onward.bandits import SpectralBandit
        >>> policy = SpectralBandit([("a", "b"), ("b", "c"), ("c", "d")], smoothness=1.0, sigma=0.1, seed=0)
        >>> policy.learn_many(["a", "d"], [1.0, 0.0])
        >>> dict(zip(policy.nodes, policy.estimate().round(1).tolist()))  # neighbours are alike
        {'a': 0.8, 'b': 0.6, 'c': 0.4, 'd': 0.2}
    """

    kind_of_file = "spectral policy"

    def __init__(
        self,
        graph: Any,
        smoothness: float,
        lam: float = 0.01,
        *,
        size: int | None = None,
        **settings: Unpack[Exploration],
    ) -> None:
        if "theta_bound" in settings:
            raise TypeError("SpectralBandit has no parameter 'theta_bound': expected smoothness, which says it")
        self.basis = SpectralBasis.of(graph, size)
        self.smoothness, self.lam = not_negative("smoothness", smoothness), positive("lam", lam)
        if (prior := settings.get("prior_mean")) is not None:
            settings["prior_mean"] = self.basis.coordinates(prior)
        lams = self.basis.eigenvalues + self.lam
        # A policy's S bounds √(Σ λ_i/λ̄ α_i²), λ̄ the largest λ: then √λ̄ S, what the index adds, is C.
        settings["theta_bound"] = self.smoothness / math.sqrt(float(lams.max()))
        settings.setdefault("sigma", 1.0)
        self._policy: Policy = OFUL(lams, **settings)
        self._finish()

    def _finish(self) -> None:
        self._places = {node: place for place, node in enumerate(self.basis.nodes)}
        self._rows = self.basis.rows.copy()  # of its own, which the loops take as it is

    @property
    def policy(self) -> Policy:
        """The policy on the nodes' rows, `basis.rows`: for `play`, or to see what it knows."""
        return self._policy

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """Their names, in the order of `index`, `estimate` and `available`."""
        return self.basis.nodes

    def effective_dimension(self, horizon: int) -> int:
        """In how many dimensions so many rounds explore: see `SpectralBasis.effective_dimension`.

        Args:
            horizon: how many rounds.
        """
        return self.basis.effective_dimension(horizon, self.lam)

    # Choosing

    def choose(self, available: ArrayLike | None = None) -> Any:
        """The node to play; `available` says of each node whether it may be, None if all may. Ties are random."""
        return self.nodes[self._policy.choose(self._rows, available)]

    def index(self) -> Vector:
        """The index of each node. Changes nothing."""
        return self._policy.index(self._rows)

    def estimate(self) -> Vector:
        """The estimated reward of each node. Changes nothing."""
        return self._policy.estimate(self._rows)

    def leverage(self) -> Vector:
        """xᵀG⁻¹x of each node: how little is known of it. Changes nothing."""
        return self._policy.leverage(self._rows)

    def probabilities(self, available: ArrayLike | None = None) -> Vector:
        """The chance with which each node would be chosen now. Changes nothing.

        Args:
            available: whether each may be played, (k,); None if all may.
        """
        return self._policy.probabilities(self._rows, available)

    # Learning

    def learn(self, node: Hashable, reward: float) -> None:
        """Learn the reward of a node: now or later, in any order."""
        self._policy.learn(self._rows[self._place(node)], reward)

    def learn_many(self, nodes: Sequence[Hashable], rewards: ArrayLike) -> None:
        """Learn a log: the nodes that were played with their rewards, in order. All of it or nothing."""
        if isinstance(nodes, str | bytes) or not (isinstance(nodes, Sequence | np.ndarray) and is_iterable(nodes)):
            raise ValueError(f"nodes must be a list of nodes that were played, got {brief(nodes)}")
        self._policy.learn_many(self._rows[[self._place(node) for node in nodes]], rewards)

    def decide(self, key: Hashable = None, available: ArrayLike | None = None, *, at: When = None) -> Decision:
        """`choose`, and remember the node under a key until its `reward` comes: see `Policy.decide`.

        Args:
            available: whether each may be played, (k,); None if all may.
            at: when it is decided, for `expire`: a date, or seconds by your own clock; None for `time.time()`.
        """
        decision = self._policy.decide(self._rows, key, available, at=at)
        return decision._replace(action=self.nodes[decision.action])

    def reward(self, key: Hashable, reward: float) -> None:
        """Learn the reward of the decision that waits under the key. Each counts once."""
        self._policy.reward(key, reward)

    def reward_many(self, rewards: Mapping[Any, float]) -> None:
        """Learn the rewards of several decisions, in the order given. All of them or none."""
        self._policy.reward_many(rewards)

    def cancel(self, key: Hashable) -> None:
        """Wait no longer for the reward of this decision.

        Args:
            key: that of the decision.
        """
        self._policy.cancel(key)

    def expire(
        self,
        older_than: Span | None = None,
        *,
        rounds: int | None = None,
        default: float | None = None,
        now: When = None,
    ) -> list[Hashable]:
        """Wait no longer for the rewards of old decisions: see `Policy.expire`.

        Args:
            older_than: as there.
            rounds: as there.
            default: as there.
            now: as there.
        """
        return self._policy.expire(older_than, rounds=rounds, default=default, now=now)

    def override(self, key: Hashable, node: Hashable) -> None:
        """Note that another node was played than the one decided: the reward will be that of this one.

        Args:
            key: that of the decision.
        """
        place = self._place(node)
        self._policy.override(key, self._rows[place], place)

    @property
    def pending(self) -> PendingView:
        """The decisions that wait for their rewards: see `Policy.pending`; an action is a place in `nodes`."""
        return self._policy.pending

    @property
    def n_pending(self) -> int:
        """How many decisions wait for their rewards."""
        return self._policy.n_pending

    @property
    def counts(self) -> Counts:
        """How many decisions there were, and what became of them."""
        return self._policy.counts

    @property
    def n_learned(self) -> int:
        """How many rewards were learned, over all restarts."""
        return self._policy.n_learned

    def restart(self) -> None:
        """Forget all rewards; what is waiting stays."""
        self._policy.restart()

    def reseed(self, seed: Seed) -> None:
        """Begin another sequence of random numbers.

        Args:
            seed: of the random numbers; None for one of the system.
        """
        self._policy.reseed(seed)

    def _place(self, node: Hashable) -> int:
        if not is_hashable(node) or node not in self._places:
            told = f"expected one of {len(self.nodes)}, such as {brief(self.nodes[0])}"
            raise ValueError(f"there is no node {brief(node)}; {told}")
        return self._places[node]

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values; of the graph, how large it is."""
        settings = {name: value for name, value in self._policy.describe().items() if name not in ("policy", "lam")}
        own = {"policy": "SpectralBandit", "nodes": len(self.nodes), "size": len(self.basis.eigenvalues)}
        return own | {"smoothness": self.smoothness, "lam": self.lam} | settings

    def __repr__(self) -> str:
        estimator = self._policy.estimator
        return f"SpectralBandit({self.basis!r}, {self.smoothness!r}, {self.lam!r}, estimator={estimator!r})"

    def _repr_html_(self) -> str:
        return html_values("SpectralBandit", {name: each for name, each in self.describe().items() if name != "policy"})

    # Files

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        settings, arrays = self._policy.to_record()
        own = {"nodes": list(self.nodes), "smoothness": self.smoothness, "lam": self.lam, "policy": settings}
        return own, arrays | {"eigenvalues": self.basis.eigenvalues, "rows": self.basis.rows}

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        bandit = cls.__new__(cls)
        nodes, eigenvalues, rows = tuple(settings["nodes"]), arrays["eigenvalues"], arrays["rows"]
        if rows.shape != (len(nodes), len(eigenvalues)):
            raise ValueError(f"rows of shape {rows.shape}, expected {(len(nodes), len(eigenvalues))}")
        if len(set(nodes)) < len(nodes) or not all(isinstance(node, str | int | float) for node in nodes):
            raise ValueError(f"nodes must have different names, got {nodes}")
        if not ((np.abs(rows) <= 1 + 1e-6).all() and (eigenvalues >= -1e-6).all() and np.isfinite(eigenvalues).all()):
            raise ValueError("rows must be of eigenvectors, and eigenvalues numbers >= 0")
        bandit.basis = SpectralBasis(nodes, eigenvalues, rows)
        bandit.smoothness = not_negative("smoothness", settings["smoothness"])
        bandit.lam = positive("lam", settings["lam"])
        bandit._policy = Policy.from_record(settings["policy"], arrays)
        if bandit._policy.dimension not in (None, len(eigenvalues)):
            raise ValueError(f"a policy of {bandit._policy.dimension} features, expected {len(eigenvalues)}")
        if bandit._policy.lam != tuple((eigenvalues + bandit.lam).tolist()):
            raise ValueError("lam of the policy, expected eigenvalues + lam")
        bandit._finish()
        return bandit
