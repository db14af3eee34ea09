"""Arms that share a context and nothing else: one parameter vector for each."""

import copy
import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import choosing, choosing_arms, memories
from onward.bandits.arm_buffers import ArmBuffers
from onward.bandits.arm_summaries import level_of_arms
from onward.bandits.buffers import PolicySettings, fresh_buffer, grown, head_in, pools_noise, refusal, state_in
from onward.bandits.deciding_arms import choose_arm_plainly
from onward.bandits.feature_names import names_unless_refused
from onward.bandits.inputs import as_reward, as_rewards, as_weights
from onward.bandits.joined_buffers import check_mergeable, check_same, join_tuning, joined
from onward.bandits.pending import Pending, checked_key
from onward.bandits.policy import Policy
from onward.bandits.randomness import draw
from onward.bandits.saved_disjoint import SavedDisjoint
from onward.bandits.settings import GREEDY, N_LOG, N_SETTINGS, OPTIMISTIC, Status
from onward.bandits.shared_record import (
    NOTHING_SHARED,
    about_of,
    credit_arm,
    factor_in,
    learn_arm_loop,
    mark_choice,
    new_record,
)
from onward.core import Information
from onward.core.checks import is_hashable, is_many, positive, whole
from onward.core.fast_path import close
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

_SHOWN = 20  # so many names are listed in a message


@storage.kind("disjoint policy")
class Disjoint(SavedDisjoint):
    """A policy for each arm, all of one kind: the arm with the best index for the context is played.

    The widths are each arm's own: with probability 1 − δ *an* arm's index is optimistic at all rounds. For all arms at
    once, give the policy δ divided by their number. So are the memories: what an arm has learned is discounted, leaves
    its window or is forgotten at a change point as further rewards *of that arm* come, not as rounds go by. Where σ
    is not told it is estimated from the rewards of all arms, and one tuning of scales ("auto") is for all of them.

    Args:
        policy: what each arm begins as; it must not have learned anything.
        n_arms: how many arms, or their names (text or whole numbers).

    Example:
        >>> import numpy as np
        >>> from onward.bandits import Disjoint, LinUCB
        >>> policy = Disjoint(LinUCB(seed=0), ["left", "right"])
        >>> policy.learn_many(["left", "right"] * 20, np.ones((40, 1)), [1.0, 0.0] * 20)
        >>> policy.choose([1.0]), policy.estimate([1.0]).round(1)
        ('left', array([1., 0.]))
        >>> policy.add_arm("middle")
        'middle'
    """

    def __init__(self, policy: Policy, n_arms: int | Iterable[Hashable]) -> None:
        if not isinstance(policy, Policy):
            raise ValueError(f"policy must be one of onward.bandits, such as OFUL(), got {brief(policy)}")
        if type(policy).index is not Policy.index:
            raise ValueError(f"the index of {type(policy).__name__} is its own, in Python: arms need a compiled one")
        if policy.dimension is not None:
            raise ValueError("policy must not have learned or chosen anything yet, got one that has")
        known, settings = policy.known, policy._settings.numbers
        estimates = pools_noise(policy.design)
        if estimates and known.theta_bound is not None:
            raise ValueError(
                f"theta_bound goes with sigma, for several arms: expected both or neither, got theta_bound="
                f"{known.theta_bound:g} and sigma=None"
            )
        self._policy = copy.deepcopy(policy)
        self._policy.for_arms()
        # What all arms share: the estimate of σ and the tuning of scales
        self._record = new_record(estimates, int(settings["scales"]), settings["scale"])
        self._rng = self._policy.generator
        self._names: list[Hashable] = []
        self._serials: list[int] = []  # a number for each arm that is never given again
        self._next = 0
        self._serial_of: dict[Hashable, int] = {}
        self._slots: dict[Hashable, int] = {}  # of arms that have a buffer of their own
        self._arms: ArmBuffers | None = None  # None until it is known how many features a context has
        self._dimension = 0
        self._pending = Pending()
        self._share()
        named = isinstance(n_arms, Iterable) and not isinstance(n_arms, str)
        names = n_arms if named and isinstance(n_arms, Iterable) else range(whole("n_arms", n_arms, 1))
        for name in names:
            self.add_arm(name)
        if not self._names:
            raise ValueError("expected at least one arm, got none")

    def __repr__(self) -> str:
        return f"Disjoint({self._policy!r}, {self._names!r})"

    # Arms

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """Their names, in the order of `index`."""
        return tuple(self._names)

    def add_arm(self, name: Hashable = None) -> Hashable:
        """A new arm that knows nothing. Without a name it gets a number that no arm had before. Returns the name."""
        with self._lock:
            if name is None:
                name = next(number for number in itertools.count(self._next) if number not in self._serial_of)
            if not isinstance(name, str | int) or isinstance(name, bool):
                raise ValueError(f"an arm's name must be text or a whole number, got {brief(name)}")
            checked_key(name, "an arm's name")
            if name in self._serial_of:
                raise ValueError(f"there is an arm {brief(name)} already; expected a new name")
            with interrupts_deferred():
                if self._arms is not None:
                    self._arms.add()
                self._names.append(name)
                self._serials.append(self._next)
                self._serial_of[name] = self._next
                self._next += 1
                self._note("add_arm", {"name": name}, name)
        return name

    def remove_arm(self, name: Hashable) -> None:
        """Forget an arm, and cancel its decisions that still wait for a reward.

        Args:
            name: of the arm.
        """
        with self._lock:
            at = self._place(name)
            if len(self._names) == 1:
                raise ValueError(f"cannot remove {brief(name)}: it is the only arm")
            with interrupts_deferred():
                self._pending.cancel_of(self._serials[at])
                if self._arms is not None:
                    self._arms.remove(at)
                self._slots.pop(name, None)
                del self._names[at], self._serials[at], self._serial_of[name]
                self._note("remove_arm", {"name": name})

    def _place(self, name: Hashable) -> int:
        """Where the arm of this name stands among `arms`."""
        serial = self._serial_of.get(name) if is_hashable(name) and not isinstance(name, bool) else None
        if serial is None:
            shown = [
                *map(repr, self._names[:_SHOWN]),
                *([f"… ({len(self._names)} in all)"] * (len(self._names) > _SHOWN)),
            ]
            raise ValueError(f"there is no arm {brief(name)}; expected one of {', '.join(shown)}")
        return self._place_of(serial)

    # Choosing

    def choose(self, context: ArrayLike, available: ArrayLike | None = None) -> Hashable:
        """The name of the arm to play for a context (d,). Ties are broken at random.

        `available` says of each arm, in the order of `arms`, whether it may be played; None if all may.
        """
        if self._quick and available is None and type(context) is np.ndarray:
            try:
                with self._lock:
                    arms = self._arms
                    if self._quick and arms is not None:
                        best = choose_arm_plainly(arms.rows, arms.summary, arms.forms, arms.arms, self._record, context)
                        if best >= 0:
                            return self._names[best]
            except TypeError:
                pass  # not as the loops take it
        with self._lock:
            row, mask = self._offer(context, available)
            chosen = self._names[self._choose(row, mask)]
            self._note("choose", {"context": row, "available": mask}, chosen)
        return chosen

    def _choose(self, row: Vector, mask: NDArray[np.bool_]) -> int:
        """The place of the arm to play; the row and the mask were checked, and the lock is held."""
        context = row.reshape(1, -1)
        arms = self._start(context)
        best, ties, index = choosing_arms.choose_arm(
            arms.rows, arms.summary, arms.forms, arms.arms, self._record, self._draw(), context, mask
        )
        if best < 0:
            raise refusal(best, context, self._policy.known.action_bound)
        if self.is_tuned:
            mark_choice(self._record, float(self._serials[best]))
        return best if ties == 1 else choosing.nth_best(index, mask, best, int(self._rng.random() * ties))

    def index(self, context: ArrayLike) -> Vector:
        """The index of each arm, in the order of `arms`. Changes nothing.

        Args:
            context: (d,), what all arms share.
        """
        return self._read(context)[1]

    def estimate(self, context: ArrayLike) -> Vector:
        """The estimated reward of each arm, in the order of `arms`. Changes nothing.

        Args:
            context: (d,), what all arms share.
        """
        return self._read(context)[0]

    def _read(self, context: ArrayLike, renew: bool = False) -> tuple[Vector, Vector]:
        with self._lock:
            row = self._row(context)
            arms = self._buffers_for(row.reshape(1, -1))
            generator = self._rng.bit_generator.state
            draws = self._draw()
            if not renew:
                self._rng.bit_generator.state = generator
            index, estimate, _ = choosing_arms.read_arms(arms.rows, arms.arms, draws, row.reshape(1, -1))
            level = level_of_arms(arms.rows, arms.summary, arms.arms, self._record)
            factor = factor_in(head_in(arms.rows[0]), self._record, level, draws)
        return estimate, index if factor == 1.0 else estimate + factor * (index - estimate)

    def _draw(self) -> Vector:
        """The random numbers of one choice: of a policy that samples, one for each arm."""
        return draw(self._policy.rule.kind, self._rng, len(self._names), self._policy.explore, self.is_tuned)

    @property
    def is_tuned(self) -> bool:
        """Whether each choice takes one of several scales."""
        return bool(len(self._record) and about_of(self._record)["scales"][0])

    # Learning

    def learn(self, arm: Hashable, context: ArrayLike, reward: float, weight: float = 1.0) -> None:
        """Learn the reward of an arm in a context: now or later, in any order. Weights are as in `Policy.learn`.

        Args:
            weight: how much it counts.
        """
        if self._ready and type(context) is np.ndarray and isinstance(reward, float) and weight == 1.0:
            try:
                with self._lock:
                    arms, slot = self._arms, 0 if arm is True else self._slots.get(arm, 0)
                    if slot and self._ready and arms is not None:
                        serial = float(self._serial_of[arm])
                        if self._learn_loop(arms.rows[slot], self._record, context, reward, serial) == 0:
                            arms.summary[slot, arms.stale] = 1.0
                            return
            except TypeError:
                pass
        with self._lock, names_unless_refused(self._policy):
            at, row, reward = self._place(arm), self._row(context), as_reward(reward)
            told: dict[str, Any] = {"arm": arm, "context": row, "reward": reward}
            if weight == 1.0:
                self._learn(at, row, reward, row)
            else:
                root = math.sqrt(positive("weight", weight))
                self._learn(at, self._row(row * root), reward * root, row)
                if self.is_tuned:
                    credit_arm(self._record, row, reward, float(self._serials[at]))
                told["weight"] = float(weight)
            self._note("learn", told)

    def _learn(self, at: int, row: Vector, reward: float, first: Vector) -> None:
        """Learn a context that was checked; the lock is held. If nothing is known yet, it begins for such a `first`."""
        begins, buffers = self._arms is None, self._start(first.reshape(1, -1))
        serial = float(self._serials[at])
        if self._names[at] not in self._slots:  # what is refused gives it no buffer of its own
            tried = self._learn_loop(buffers.read(at), self._record.copy(), row, reward, serial)
            if tried < 0 and tried != Status.FULL:
                if begins:
                    self._arms, self._dimension, self._ready, self._quick = None, 0, False, False
                raise refusal(tried, row.reshape(1, -1), self._policy.known.action_bound)
        slot = self._own_slot(at)
        while (status := self._learn_loop(buffers.rows[slot], self._record, row, reward, serial)) == Status.FULL:
            buffers.grow()
        if status < 0:
            raise refusal(status, row.reshape(1, -1), self._policy.known.action_bound)

    def learn_many(
        self,
        arms: Sequence[Hashable],
        contexts: ArrayLike,
        rewards: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> None:
        """Learn a log, all of it or nothing: the arms played, in contexts (n, d), with rewards (n,), in order.

        It is the past, before this policy began to play: change points are counted from here on. Weights (n,) are as in
        `Policy.learn`.

        Args:
            weights: how much each counts, (n,); None for 1.
        """
        if not is_many(arms):
            raise ValueError(f"arms must be names, one for each context, got {brief(arms)}")
        with self._lock, names_unless_refused(self._policy):
            places = np.array([self._place(arm) for arm in arms], dtype=int)
            table = self._table(contexts)
            column = as_rewards(rewards, len(table))
            if len(places) != len(table):
                raise ValueError(f"arms must be {len(table)} names, one for each context, got {len(places)}")
            told: dict[str, Any] = {"arms": list(arms), "contexts": table, "rewards": column}
            begin = table[:1]
            if weights is not None:
                told["weights"] = as_weights(weights, len(table))
                roots = np.sqrt(told["weights"])
                table, column = self._policy.checked_table(table * roots[:, None]), column * roots
            self._learn_rows(places, table, column, begin)
            self._note("learn_many", told)

    def _learn_rows(self, places: NDArray[np.int_], table: Matrix, column: Vector, begin: Matrix) -> None:
        """Learn the past, all of it or nothing; the lock is held."""
        buffers = self._start(begin).copy()
        order = np.argsort(places, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(places[order])) + 1) if len(order) else ():
            slot, rows, paid, first = buffers.own_slot(int(places[group[0]])), table[group], column[group], 0
            while (first := memories.learn_rows(buffers.rows[slot], rows, paid, first, True)) < len(rows):
                buffers.grow()
        self._take(buffers)

    def start_from(self, arm: Hashable, model: OnlineRegressor | Information) -> None:
        """Let an arm begin with what a fitted regressor knows, in place of what it has learned.

        Args:
            model: a fitted learner, or its state.
        """
        with self._lock, interrupts_deferred():
            self._start_from(self._place(arm), model)
            self._note_state()

    def _start_from(self, at: int, model: OnlineRegressor | Information) -> None:
        other = self.as_policy()
        other.start_from(model)
        buffer = other._buffer
        lam = head_in(buffer).lam
        if self._arms is None:
            fresh = fresh_buffer(self._policy._settings, self._policy.memory, len(lam), len(lam), lam)
            self._begin(fresh)
        arms = self._start(lam.reshape(1, -1))
        if not np.array_equal(lam, head_in(arms.rows[0]).lam):
            raise ValueError(
                f"cannot start from a model with lam {lam}: expected {head_in(arms.rows[0]).lam}, the arms'"
            )
        while len(buffer) < arms.rows.shape[1]:
            buffer = grown(other.memory, buffer)
        log, before = head_in(buffer).log, head_in(arms.read(at)).log
        for kept in ("offered", "counted"):
            log[kept] = max(log[kept][0], before[kept][0])
        arms.rows[self._own_slot(at)] = buffer

    def merge(self, other: "Disjoint") -> None:
        """Know also what the arms of another one have learned, arm by arm; arms that are only there are added.

        For policies of one design whose memory counts all rewards alike. Decisions that wait there stay there.

        Args:
            other: another policy of the same design.
        """
        if not isinstance(other, Disjoint):
            raise ValueError(f"cannot merge: expected another Disjoint, got {brief(other)}")
        check_mergeable(self._policy.design, other._policy.design)
        other = copy.deepcopy(other)  # as it is now, whatever other threads do to it
        with self._lock:
            with self._noting("merge"):
                self._merge(other)
            self._note_state()

    def _merge(self, other: "Disjoint") -> None:
        if other._arms is not None and self._arms is not None:
            check_same("so many features:", self._dimension, other._dimension)
        new = [name for name in other._names if name not in self._serial_of]
        arms = None
        if other._arms is not None:
            if self._arms is None:
                self._begin(other._arms.parts()[0][0])
            arms = self._start(np.empty((1, other._dimension))).copy()
            for _ in new:
                arms.add()
            places = {name: at for at, name in enumerate([*self._names, *new])}
            for at, name in enumerate(other._names):
                here = places[name]
                arms.arms[here, 1] = max(arms.arms[here, 1], other._arms.arms[at, 1])
                if other._arms.slot(at):
                    buffer = joined(self._policy._settings, arms.read(here), other._arms.read(at))
                    arms.rows[arms.own_slot(here)] = buffer
        with interrupts_deferred():
            for name in new:
                self.add_arm(name)
            if arms is not None:
                self._take(arms)
            if self.is_tuned:
                join_tuning(self._record, other._record)

    def reseed(self, seed: int | np.random.SeedSequence | None) -> None:
        """Begin another sequence of random numbers.

        Args:
            seed: of the random numbers; None for one of the system.
        """
        with self._lock:
            self._policy.reseed(seed)
            self._rng = self._policy.generator
            self._note_state()

    def information(self, arm: Hashable) -> Information:
        """A copy of the state behind an arm's estimates: for `onward.confidence`, or for looking at."""
        with self._lock:
            at = self._place(arm)
            if self._arms is None:
                raise ValueError(
                    "nothing is known yet, not even how many features a context has: let it choose or learn"
                )
            return state_in(self._policy._settings, self._arms.read(at))

    def coef(self, arm: Hashable) -> Vector:
        """The ridge estimate θ (d,) of an arm, which both estimators share, the prior mean included."""
        state = self.information(arm)
        return np.asarray(state.coefficients()[:, 0] + state.prior[:, 0])

    def restart(self, arm: Hashable = None) -> None:
        """Forget all rewards of an arm, or of all arms; what is waiting stays."""
        with self._lock:
            places = range(len(self._names)) if arm is None else [self._place(arm)]
            for at in places if self._arms is not None else ():
                if self._arms is not None and self._arms.slot(at):
                    memories.begin(self._arms.rows[self._own_slot(at)])
            self._note("restart", {"arm": arm})

    def _row(self, context: ArrayLike) -> Vector:
        row = self._policy.checked_row(context)
        if self._dimension and len(row) != self._dimension:
            raise ValueError(f"context has {len(row)} features, but this policy knows {self._dimension}")
        return row

    def _start(self, contexts: Matrix) -> ArmBuffers:
        """The buffers of the arms, made for such contexts if nothing was seen yet."""
        if self._arms is None:
            arms = ArmBuffers.fresh(self._policy, len(self._names), contexts)
            self._arms, self._dimension = arms, contexts.shape[1]
        if not self._ready:
            lots = self._policy.explore or self.is_tuned or self._policy.rule.kind not in (OPTIMISTIC, GREEDY)
            self._plain = not lots and close_loop_of_arms()
            self._learn_loop = learn_arm_loop(self._policy.memory.kind)
            self._ready = self._journal is None
            self._quick = self._plain and self._ready
        return self._arms

    def _go_the_long_way(self) -> None:
        self._ready = self._quick = False
        self._begin_as_from_bytes()

    def _note_state(self) -> None:
        super()._note_state()
        if self._is_noting:
            self._begin_as_from_bytes()

    def _begin_as_from_bytes(self) -> None:
        """Have buffers as a replay has them, in slots without gaps and with no summaries yet."""
        if self._arms is not None:
            self._take(self._arms.copy())

    def _begin(self, fresh: Vector) -> None:
        """Have arms of which none has learned anything, with this buffer."""
        d = len(head_in(fresh).lam)
        arms = ArmBuffers(self._policy, d, fresh.reshape(1, -1).copy(), np.zeros((len(self._names), 2)))
        self._arms, self._dimension = arms, d

    def as_policy(self) -> Policy:
        """A policy that knows what an arm does that has learned nothing."""
        policy = copy.copy(self._policy)
        policy.for_arms()
        if self._arms is not None:
            policy._buffer, policy._dimension = self._arms.rows[0].copy(), self._dimension
        return policy

    def grow(self, settings: PolicySettings, d: int) -> None:
        """Have d features, of which those that are known come first; the settings have λ and prior mean of each."""
        with self._lock:
            arms = None if self._arms is None else self._arms.with_features(settings, d)
            with interrupts_deferred():
                self._policy._settings = settings
                if arms is not None:
                    self._dimension = d
                    self._pending.widen(d)
                    self._take(arms)
                self._note_state()

    def _own_slot(self, at: int) -> int:
        """The slot of the arm's own buffer, to be written to."""
        if self._arms is None:
            raise ValueError("nothing is known yet, not even how many features a context has")
        slot = self._slots[self._names[at]] = self._arms.own_slot(at)
        return slot

    # What is known

    @property
    def dimension(self) -> int | None:
        """How many features a context has; None before any was seen."""
        return self._dimension or None

    @property
    def n_learned(self) -> dict[Hashable, int]:
        """How many rewards each arm has learned."""
        with self._lock:
            if self._arms is None:
                return dict.fromkeys(self._names, 0)
            return dict(zip(self._names, self._arms.counts(), strict=True))

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values."""
        return {"policy": "Disjoint", "of": self._policy.describe(), "arms": list(self._names)}


@cache
def close_loop_of_arms() -> bool:
    """Make the loop for plain contexts ready; it takes nothing else from then on."""
    none, forms = np.zeros((1, N_SETTINGS + N_LOG)), np.zeros((0, 1), dtype=np.float32)
    close(choosing_arms.choose_arm_fast, none, none, forms, np.zeros((1, 2)), NOTHING_SHARED, np.zeros(1))
    return True
