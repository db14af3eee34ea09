"""Arms with own coefficients, and shared ones for all: the hybrid model of LinUCB."""

import copy
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits.arm_names import told_names
from onward.bandits.buffer_checks import check_hybrid, checked_arms, plain_lam
from onward.bandits.buffers import PolicySettings
from onward.bandits.chances import draw_from
from onward.bandits.hybrid_arms import HybridArms
from onward.bandits.hybrid_factor import learn_hybrid, read_hybrid, sample_hybrid
from onward.bandits.hybrid_inputs import as_features, check_fits_hybrid
from onward.bandits.inputs import as_mask, as_reward
from onward.bandits.late_rewards import When, as_time
from onward.bandits.pending import Decision, Pending, PendingDecision
from onward.bandits.policy import Policy
from onward.bandits.proposing import LOGGED_SAMPLES
from onward.bandits.randomness import Seed, share_of_best
from onward.bandits.rules import EpsilonGreedily, Optimistic, Sampling
from onward.confidence.widths import radius_of_both, radius_of_noise
from onward.core.checks import whole
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.shown_html import html_values
from onward.core.types import Matrix, Vector


def _one_scale(settings: PolicySettings) -> float:
    """The scale of a policy; the third of those that it would tune, for that is done for one model."""
    return settings.numbers["scale"] * (4.0 if settings.numbers["scales"] else 1.0)


@storage.kind("hybrid policy")
class Hybrid(HybridArms):
    """A policy with own coefficients for each arm and shared ones for all: reward = xᵀθ_arm + zᵀβ + noise.

    It is one linear model with a block of coordinates for each arm (LinUCB with hybrid models, Li et al. 2010,
    Algorithm 2). What an arm learns of β all arms know; the cost of a reward does not depend on how many arms there
    are, and a choice reads each arm once. Widths are the whole model's: with δ, all indices are optimistic at once. Of
    scales that a policy would tune as it plays ("auto") it has the third, for good.

    Args:
        policy: how to choose, on everything learned so far and with ridge: `LinUCB`, `OFUL` (with a width that is a
            number or "determinant"), `LinTS`, `Greedy`, `EpsilonGreedy`, with one λ for all and no prior mean. It must
            not have learned anything.
        n_arms: how many arms, or their names (text or whole numbers).

    Raises:
        ValueError: if the policy is of another kind or has learned, or if there is no arm.

    Example:
        >>> from onward.bandits import Hybrid, LinUCB
        >>> policy = Hybrid(LinUCB(lam=1.0, seed=0), ["left", "right"])
        >>> policy.learn("left", [1.0], [0.5, 0.0], 1.0)
        >>> policy.learn("right", [1.0], [0.0, 0.5], 0.0)
        >>> policy.estimate([1.0], [[0.5, 0.0], [0.0, 0.5]]).round(3)
        array([0.556, 0.   ])
    """

    kind_of_file = "hybrid policy"

    def __init__(self, policy: Policy, n_arms: int | Iterable[Hashable]) -> None:
        check_fits_hybrid(policy)
        self._policy = copy.deepcopy(policy)
        self._rng = self._policy.generator
        self._slots: dict[Hashable, int] = {}  # of each arm among the blocks, in the order of `arms`
        self._free: list[int] = []
        self._own: Matrix = np.empty((0, 0))  # d pivots for each slot: see hybrid_factor.py
        self._shared: Matrix = np.empty((0, 0))
        self._sizes = (0, 0)  # d and k
        self._lam = np.empty(0)  # of each feature, once it has begun
        self._sums = np.zeros(4)  # rewards, the regularised loss, Σ y², the information gain
        self._pending = Pending()
        for name in told_names(n_arms):
            self.add_arm(name)
        if not self._slots:
            raise ValueError("expected at least one arm, got none")

    def __repr__(self) -> str:
        return f"Hybrid({self._policy!r}, {list(self._slots)!r})"

    def _repr_html_(self) -> str:
        return html_values("Hybrid", {"policy": repr(self._policy), "arms": ", ".join(map(brief, self._slots))})

    # Choosing

    def choose(self, context: ArrayLike, shared: ArrayLike, available: ArrayLike | None = None) -> Hashable:
        """The name of the arm to play. Ties are broken at random.

        Args:
            context: x (d,) for all arms, or a row for each (arms, d): what their own coefficients multiply.
            shared: z, a row for each arm (arms, k) or (k,) for all: what the shared coefficients multiply.
            available: whether each may be played, in the order of `arms`; None if all may.
        """
        with self._lock:
            X, Z = self._offer(context, shared)
            names, free = self.arms, self._mask(available)
            self._start(X, Z)
            index = self._indices(X, Z)
            rule, explore = self._policy.rule, self._policy.explore
            if (explore and self._rng.random() < explore) or (
                isinstance(rule, EpsilonGreedily) and self._rng.random() < rule.epsilon
            ):
                places = np.flatnonzero(free)
            else:
                places = np.flatnonzero(share_of_best(index, free))
            chosen = names[int(places[0] if len(places) == 1 else places[int(self._rng.random() * len(places))])]
            self._note_offer("choose", X, Z, available, {}, chosen)
        return chosen

    def _note_offer(
        self, done: str, X: Matrix, Z: Matrix, available: ArrayLike | None, given: Mapping[str, Any], result: Any
    ) -> None:
        """Write down what was done with the features of arms; the lock is held."""
        if self._is_noting:
            own = {"context": X[0] if len(X) == 1 else X, "shared": Z[0] if len(Z) == 1 else Z}
            mask = None if available is None else self._mask(available)
            self._note(done, {**own, "available": mask, **given}, result)

    def _mask(self, available: ArrayLike | None) -> NDArray[np.bool_]:
        n = len(self._slots)
        return np.ones(n, dtype=bool) if available is None else as_mask(available, n)

    def index(self, context: ArrayLike, shared: ArrayLike) -> Vector:
        """The index of each arm, in the order of `arms`; of a policy that samples, the sample that would come next.

        Args:
            context: x (d,) for all arms, or a row for each (arms, d).
            shared: z, a row for each arm (arms, k), or (k,) for all.
        """
        with self._lock:
            generator = self._rng.bit_generator.state
            index = self._started(*self._offer(context, shared))
            self._rng.bit_generator.state = generator
        return index

    def estimate(self, context: ArrayLike, shared: ArrayLike) -> Vector:
        """The estimated reward of each arm, in the order of `arms`. Changes nothing.

        Args:
            context: x (d,) for all arms, or a row for each (arms, d).
            shared: z, a row for each arm (arms, k), or (k,) for all.
        """
        with self._lock:
            X, Z = self._offer(context, shared)
            return self._read(X, Z)[0] if self._sizes[0] else np.zeros(len(self._slots))

    def probabilities(
        self, context: ArrayLike, shared: ArrayLike, available: ArrayLike | None = None, samples: int = 1000
    ) -> Vector:
        """The chance with which each arm would be chosen now, in the order of `arms`. Changes nothing.

        Exact, but for policies that sample: there it is the share of so many samples.

        Args:
            context: x (d,) for all arms, or a row for each (arms, d).
            shared: z, a row for each arm (arms, k), or (k,) for all.
            available: whether each may be played, in the order of `arms`; None if all may.
        """
        count = whole("samples", samples, 1)
        with self._lock:
            X, Z = self._offer(context, shared)
            generator = self._rng.bit_generator.state
            chances = self._chances(X, Z, self._mask(available), count)
            self._rng.bit_generator.state = generator
        return chances

    def _chances(self, X: Matrix, Z: Matrix, free: NDArray[np.bool_], samples: int) -> Vector:
        """The chance of each arm; of a policy that samples, given so many samples that are drawn now."""
        rule, explore, uniform = self._policy.rule, self._policy.explore, free / free.sum()
        shares = [share_of_best(self._started(X, Z), free) for _ in range(samples if isinstance(rule, Sampling) else 1)]
        spread = rule.epsilon if isinstance(rule, EpsilonGreedily) else 0.0
        by_rule = (1.0 - spread) * np.mean(shares, axis=0) + spread * uniform
        return np.asarray((1.0 - explore) * by_rule + explore * uniform)

    def _started(self, X: Matrix, Z: Matrix) -> Vector:
        """The index of each arm, of one that knows nothing if it has not begun."""
        if self._sizes[0]:
            return self._indices(X, Z)
        begun = copy.copy(self)
        begun._rng = self._rng
        begun._start(X, Z)
        return begun._indices(X, Z)

    def _read(self, X: Matrix, Z: Matrix) -> Matrix:
        return read_hybrid(self._own, self._shared, self._places(), X, Z)

    def _indices(self, X: Matrix, Z: Matrix) -> Vector:
        estimate, leverage = self._read(X, Z)
        rule = self._policy.rule
        if isinstance(rule, Sampling):
            draws = self._rng.standard_normal(Z.shape[1] + X.shape[1] * len(self._slots))
            drawn = sample_hybrid(self._own, self._shared, self._places(), X, Z, draws)
            return np.asarray(estimate + self.radius * drawn)
        return np.asarray(estimate + self.radius * np.sqrt(leverage) if isinstance(rule, Optimistic) else estimate)

    @property
    def radius(self) -> float:
        """By how many √(xᵀG⁻¹x) an index is above the estimate."""
        rule, known = self._policy.rule, self._policy.known
        if not isinstance(rule, Optimistic | Sampling):
            return 0.0
        rewards, loss, squares, gain = self._sums
        sigma, scale = known.sigma, _one_scale(self._policy._settings)
        if sigma is None:  # as `indices.noise_level` has it
            count = self._sizes[0] * len(self._slots) + self._sizes[1]
            early = count / (rewards + count) if rewards else 1.0
            sigma = math.sqrt(max(loss, 0.0) / (rewards + 1.0) + early**2 * squares / rewards) if rewards else 1.0
        if isinstance(rule.width, float):
            return scale * rule.width * sigma
        noise = scale * radius_of_noise(sigma, known.delta, max(gain, 0.0))
        if known.theta_bound is None or rule.bias == "none":
            return float(noise)
        bias = scale * known.theta_bound * math.sqrt(self._lam.max(initial=0.0))
        return float(radius_of_both(noise, bias, rule.radius == "joint"))

    # Learning

    def learn(self, arm: Hashable, context: ArrayLike, shared: ArrayLike, reward: float) -> None:
        """Learn the reward of an arm, from its x (d,) and its z (k,): now or later, in any order.

        Args:
            context: x (d,) for all arms, or a row for each (arms, d).
            shared: z, a row for each arm (arms, k), or (k,) for all.
        """
        x, z, reward = as_features("context", context), as_features("shared", shared), as_reward(reward)
        with self._lock:
            slot = self._slot(arm)
            self._check_sizes(len(x), len(z))
            with interrupts_deferred():
                self._learn(slot, x, z, reward)
                self._note("learn", {"arm": arm, "context": x, "shared": z, "reward": reward})

    def _learn(self, slot: int, x: Vector, z: Vector, reward: float) -> None:
        self._start(x.reshape(1, -1), z.reshape(1, -1))
        loss, gain = learn_hybrid(self._own, self._shared, slot, x, z, reward)
        self._sums += (1.0, loss, reward * reward, gain)

    def restart(self) -> None:
        """Forget all rewards; what is waiting stays."""
        with self._lock, interrupts_deferred():
            self._sums = np.zeros(4)
            if self._sizes[0]:
                self._clear_all(*self._sizes)
            self._note("restart", {})

    def _reseed(self, seed: Seed) -> None:
        self._policy.reseed(seed)
        self._rng = self._policy.generator

    # Rewards that come later

    def decide(
        self,
        context: ArrayLike,
        shared: ArrayLike,
        key: Hashable = None,
        available: ArrayLike | None = None,
        *,
        at: When = None,
    ) -> Decision:
        """`choose`, and remember arm and features under a key until the `reward` comes: see `Policy.decide`.

        For a policy that samples, a few samples are drawn first, and the arm by its probability given these.

        Args:
            context: x (d,) for all arms, or a row for each (arms, d).
            shared: z, a row for each arm (arms, k), or (k,) for all.
            available: whether each may be played, in the order of `arms`; None if all may.
            at: when it is decided, for `expire`: a date, or seconds by your own clock; None for `time.time()`.
        """
        now = as_time("at", at)
        with self._lock, interrupts_deferred():
            own, (X, Z), free = self._pending.new_key(key), self._offer(context, shared), self._mask(available)
            self._start(X, Z)
            chances = self._chances(X, Z, free, LOGGED_SAMPLES)
            sure = np.flatnonzero(chances)
            place = int(sure[0]) if len(sure) == 1 else draw_from(chances, self._rng.random())
            arm, probability = self.arms[place], float(chances[place])
            x, z = X[place if len(X) > 1 else 0], Z[place if len(Z) > 1 else 0]
            self._pending.add(own, np.concatenate([x, z]), now, probability, self._slots[arm])
            decision = Decision(arm, probability, own)
            self._note_offer("decide", X, Z, available, {"key": own, "at": now}, decision)
        return decision

    def _learn_waiting(self, slots: Sequence[int], rewards: Vector) -> None:
        d = self._sizes[0]
        for slot, reward in zip(slots, rewards.tolist(), strict=True):
            row = self._pending.row(slot).copy()
            self._learn(self._pending.actions[slot], row[:d], row[d:], reward)

    def override(self, key: Hashable, arm: Hashable, context: ArrayLike, shared: ArrayLike) -> None:
        """Note that another arm was played than the one decided, with its x (d,) and z (k,): see `Policy.override`.

        Args:
            key: that of the decision.
            context: x (d,) for all arms, or a row for each (arms, d).
            shared: z, a row for each arm (arms, k), or (k,) for all.
        """
        x, z = as_features("context", context), as_features("shared", shared)
        with self._lock:
            self._check_sizes(len(x), len(z))
            self._override(key, np.concatenate([x, z]), self._slot(arm), {"arm": arm, "context": x, "shared": z})

    def _decision(self, key: Hashable) -> PendingDecision:
        with self._lock:
            decision = super()._decision(key)
            names = {slot: name for name, slot in self._slots.items()}
            return decision._replace(action=names[decision.action])

    # Files

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values."""
        return {"policy": "Hybrid", "of": self._policy.describe(), "arms": list(self._slots)}

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        with self._lock:
            waiting, arrays = self._pending.record(sum(self._sizes))
            settings = self.describe() | {"slots": list(self._slots.values()), "free": list(self._free)} | waiting
            settings |= {"sizes": list(self._sizes), "lam": plain_lam(self._lam)}
            settings["generator"] = self._rng.bit_generator.state
            arrays |= {"own": self._own.copy(), "shared": self._shared.copy(), "sums": self._sums.copy()}
        return settings, arrays

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        policy = cls(Policy.described(settings["of"]), checked_arms(settings["arms"]))
        slots, free = ([whole("each slot", slot, 0) for slot in settings[name]] for name in ("slots", "free"))
        if sorted([*slots, *free]) != list(range(len(slots) + len(free))):
            raise ValueError(f"arms in slots {slots} with {free} free, expected each once")
        policy._slots, policy._free = dict(zip(policy._slots, slots, strict=True)), free
        d, k = (whole("each of sizes", size, 0) for size in settings["sizes"])
        policy._sizes, policy._sums = (d, k), arrays["sums"]
        blocks = len(slots) + len(free)
        policy._lam = check_hybrid(arrays["own"], arrays["shared"], arrays["sums"], (d, k), blocks, settings["lam"])
        policy._own, policy._shared = arrays["own"], arrays["shared"]
        policy._rng.bit_generator.state = settings["generator"]
        policy._pending = Pending.from_record(settings, arrays, d + k, slots)
        return policy
