"""Arms that share a context and nothing else: one parameter vector for each."""

import copy
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import choosing, choosing_arms, memories
from onward.bandits.buffers import grown, head_in, refusal, state_in, with_settings
from onward.bandits.deciding import ALL_AVAILABLE
from onward.bandits.inputs import as_mask, as_reward, as_rewards
from onward.bandits.late_rewards import LateRewards, When, as_time
from onward.bandits.legacy import from_first_version, with_room_for_settings
from onward.bandits.pending import Decision, Pending, PendingDecision
from onward.bandits.policy import Policy
from onward.bandits.randomness import draw, share_of_best
from onward.bandits.settings import GREEDY, N_LOG, N_SETTINGS, OPTIMISTIC, SAMPLING, Status
from onward.core import Information
from onward.core.checks import whole
from onward.core.fast_path import close
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

_choose_arm_plainly: Callable[[Matrix, Any], int] = choosing_arms.choose_arm_fast


@storage.kind("disjoint policy")
class Disjoint(LateRewards):
    """A policy for each arm, all of one kind: the arm with the best index for the context is played.

    The widths are each arm's own: with probability 1 − δ *an* arm's index is optimistic at all rounds. For all arms at
    once, give the policy δ divided by their number. So are the memories: what an arm has learned is discounted, leaves
    its window or is forgotten at a change point as further rewards *of that arm* come, not as rounds go by.

    Args:
        policy: what each arm begins as; it must not have learned anything.
        n_arms: how many arms, or their names (text or whole numbers).
    """

    kind_of_file = "disjoint policy"

    def __init__(self, policy: Policy, n_arms: int | Iterable[Hashable]) -> None:
        if not isinstance(policy, Policy):
            raise ValueError(f"policy must be one of onward.bandits, such as OFUL(), got {policy!r}")
        if type(policy).index is not Policy.index:
            raise ValueError(f"the index of {type(policy).__name__} is its own, in Python: arms need a compiled one")
        if policy.dimension is not None:
            raise ValueError("policy must not have learned or chosen anything yet, got one that has")
        self._policy = copy.deepcopy(policy)
        self._rng = self._policy.generator
        self._names: list[Hashable] = []
        self._serials: list[int] = []  # a number for each arm that is never given again
        self._next = 0
        self._buffers: Matrix = np.empty((0, 0))
        self._dimension = 0
        self._ready = self._quick = False  # whether a plain context may go straight to the closed loops
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
                name = next(number for number in itertools.count(self._next) if number not in self._names)
            if not isinstance(name, str | int) or isinstance(name, bool):
                raise ValueError(f"an arm's name must be text or a whole number, got {name!r}")
            if name in self._names:
                raise ValueError(f"there is an arm {name!r} already; expected a new name")
            buffers = self._buffers
            if self._dimension:
                fresh = self._policy.buffer_for(self._dimension)
                while len(fresh) < buffers.shape[1]:
                    fresh = grown(self._policy.memory, fresh)
                buffers = np.vstack([buffers, fresh])
            with interrupts_deferred():
                self._buffers = buffers
                self._names.append(name)
                self._serials.append(self._next)
                self._next += 1
                self._note("add_arm", {"name": name}, name)
        return name

    def remove_arm(self, name: Hashable) -> None:
        """Forget an arm, and cancel its decisions that still wait for a reward."""
        with self._lock:
            at = self._place(name)
            if len(self._names) == 1:
                raise ValueError(f"cannot remove {name!r}: it is the only arm")
            buffers = np.delete(self._buffers, at, axis=0) if self._dimension else self._buffers
            with interrupts_deferred():
                for key in self._pending.of_action(self._serials[at]):
                    self._pending.cancelled += 1
                    self._pending.drop(key, self._pending.slots[key])
                self._buffers = buffers
                del self._names[at], self._serials[at]
                self._note("remove_arm", {"name": name})

    def _place(self, name: Hashable) -> int:
        if name not in self._names or isinstance(name, bool):
            raise ValueError(f"there is no arm {name!r}; expected one of {', '.join(map(repr, self._names))}")
        return self._names.index(name)

    # Choosing

    def choose(self, context: ArrayLike, available: ArrayLike | None = None) -> Hashable:
        """The name of the arm to play for a context (d,). Ties are broken at random.

        `available` says of each arm, in the order of `arms`, whether it may be played; None if all may.
        """
        if self._quick and available is None and type(context) is np.ndarray:
            try:
                with self._lock:
                    best = _choose_arm_plainly(self._buffers, context)
                    if best >= 0:
                        return self._names[best]
            except TypeError:
                pass  # not as the loops take it
        row = self._row(context)
        with self._lock:
            chosen = self._names[self._choose(row, self._mask(available))]
            self._note("choose", {"context": row, "available": self._mask(available)}, chosen)
        return chosen

    def _mask(self, available: ArrayLike | None) -> NDArray[np.bool_]:
        return ALL_AVAILABLE if available is None else as_mask(available, len(self._names))

    def _choose(self, row: Vector, mask: NDArray[np.bool_]) -> int:
        """The place of the arm to play; the row was checked, and the lock is held."""
        self._start(len(row))
        best, ties, index = choosing_arms.choose_arm(self._buffers, self._draw(len(row)), row.reshape(1, -1), mask)
        if best < 0:
            raise refusal(best, row.reshape(1, -1), self._policy.known.action_bound)
        return best if ties == 1 else choosing.nth_best(index, mask, best, int(self._rng.random() * ties))

    def choose_with_probability(self, row: Vector, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """The place of the arm to play, for a context that was checked, and the chance with which it was chosen."""
        chances = self.probabilities(row, None if mask is ALL_AVAILABLE else mask)
        at = self._choose(row, mask)
        return at, float(chances[at])

    def index(self, context: ArrayLike) -> Vector:
        """The index of each arm, in the order of `arms`. Changes nothing."""
        return self._read(context)[1]

    def estimate(self, context: ArrayLike) -> Vector:
        """The estimated reward of each arm, in the order of `arms`. Changes nothing."""
        return self._read(context)[0]

    def probabilities(self, context: ArrayLike, available: ArrayLike | None = None, samples: int = 1000) -> Vector:
        """The chance with which each arm would be chosen now, in the order of `arms`. Changes nothing.

        Exact, but for policies that sample: there it is the share of so many samples.
        """
        row = self._row(context)
        mask = np.ones(len(self._names), dtype=bool) if available is None else as_mask(available, len(self._names))
        if self._policy.rule.kind != SAMPLING:
            return self._policy.chances(self.index(row), mask)
        with self._lock:
            generator = self._rng.bit_generator.state
            shares = [share_of_best(self._read(row, renew=True)[1], mask) for _ in range(whole("samples", samples, 1))]
            self._rng.bit_generator.state = generator
        return np.asarray(np.mean(shares, axis=0))

    def _read(self, context: ArrayLike, renew: bool = False) -> tuple[Vector, Vector]:
        row = self._row(context)
        with self._lock:
            buffers = self._buffers
            if not self._dimension:
                buffers = np.tile(self._policy.buffer_for(len(row)), (len(self._names), 1))
            generator = self._rng.bit_generator.state
            draws = self._draw(len(row))
            if not renew:
                self._rng.bit_generator.state = generator
            index, estimate = choosing_arms.read_arms(buffers, draws, row.reshape(1, -1))
        return estimate, index

    def _draw(self, d: int) -> Vector:
        return draw(self._policy.rule.kind, self._rng, d * len(self._names))

    # Learning

    def learn(self, arm: Hashable, context: ArrayLike, reward: float) -> None:
        """Learn the reward of an arm in a context: now or later, in any order."""
        if self._ready and self._journal is None and type(context) is np.ndarray and isinstance(reward, float):
            try:
                with self._lock:
                    at = self._place(arm)
                    if memories.learn_loop(self._policy.memory.kind)(self._buffers[at], context, reward) == 0:
                        return
            except TypeError:
                pass
        row, reward = self._row(context), as_reward(reward)
        with self._lock:
            self._learn(self._place(arm), row, reward)
            self._note("learn", {"arm": arm, "context": row, "reward": reward})

    def _learn(self, at: int, row: Vector, reward: float) -> None:
        """Learn a context that was checked; the lock is held."""
        self._start(len(row))
        loop = memories.learn_loop(self._policy.memory.kind)
        while loop(self._buffers[at], row, reward) == Status.FULL:
            self._buffers = self._grown(self._buffers)

    def learn_many(self, arms: Sequence[Hashable], contexts: ArrayLike, rewards: ArrayLike) -> None:
        """Learn a log, all of it or nothing: the arms played, in contexts (n, d), with rewards (n,), in order.

        It is the past, before this policy began to play: change points are counted from here on.
        """
        table = self._policy.checked_table(contexts)
        if self._dimension and table.shape[1] != self._dimension:
            raise ValueError(f"contexts have {table.shape[1]} features, but this policy knows {self._dimension}")
        with self._lock:
            places, column = np.array([self._place(arm) for arm in arms], dtype=int), as_rewards(rewards, len(table))
            if len(places) != len(table):
                raise ValueError(f"arms must be {len(table)} names, one for each context, got {len(places)}")
            self._start(table.shape[1])
            self._learn_rows(places, table, column, past=True)
            self._note("learn_many", {"arms": list(arms), "contexts": table, "rewards": column})

    def _learn_rows(self, places: NDArray[np.int_], table: Matrix, column: Vector, past: bool) -> None:
        """Learn rows that were checked, all of them or none; the lock is held."""
        buffers = self._buffers.copy()
        for at in np.unique(places).tolist():
            rows, paid, first = table[places == at], column[places == at], 0
            while (first := memories.learn_rows(buffers[at], rows, paid, first, past)) < len(rows):
                buffers = self._grown(buffers)
        self._buffers = buffers

    def start_from(self, arm: Hashable, model: OnlineRegressor | Information) -> None:
        """Let an arm begin with what a fitted regressor knows, in place of what it has learned."""
        with self._lock:
            at = self._place(arm)
            other = Policy.described(self._policy.describe())
            if self._dimension:
                other.choose(np.zeros((1, self._dimension)))
            other.start_from(model)
            d = other.dimension or 0
            self._start(d)
            buffer = other.buffer_for(d)
            while len(buffer) < self._buffers.shape[1]:
                buffer = grown(other.memory, buffer)
            log, before = head_in(buffer).log, head_in(self._buffers[at]).log
            for kept in ("offered", "counted"):
                log[kept] = max(log[kept][0], before[kept][0])
            self._buffers[at] = buffer
            self._note_state()

    def reseed(self, seed: int | np.random.SeedSequence | None) -> None:
        """Begin another sequence of random numbers."""
        with self._lock:
            self._policy.reseed(seed)
            self._rng = self._policy.generator
            self._note_state()

    def information(self, arm: Hashable) -> Information:
        """A copy of the state behind an arm's estimates: for `onward.confidence`, or for looking at."""
        with self._lock:
            at = self._place(arm)
            if not self._dimension:
                raise ValueError(
                    "nothing is known yet, not even how many features a context has: let it choose or learn"
                )
            return state_in(self._policy._settings, self._buffers[at])

    def coef(self, arm: Hashable) -> Vector:
        """The ridge estimate θ (d,) of an arm, which both estimators share, the prior mean included."""
        state = self.information(arm)
        return np.asarray(state.coefficients()[:, 0] + state.prior[:, 0])

    def _grown(self, buffers: Matrix) -> Matrix:
        return np.array([grown(self._policy.memory, buffer) for buffer in buffers])

    def restart(self, arm: Hashable = None) -> None:
        """Forget all rewards of an arm, or of all arms; what is waiting stays."""
        with self._lock:
            places = range(len(self._names)) if arm is None else [self._place(arm)]
            for at in places if self._dimension else ():
                memories.begin(self._buffers[at])
            self._note("restart", {"arm": arm})

    def _row(self, context: ArrayLike) -> Vector:
        row = self._policy.checked_row(context)
        if self._dimension and len(row) != self._dimension:
            raise ValueError(f"context has {len(row)} features, but this policy knows {self._dimension}")
        return row

    def _start(self, d: int) -> None:
        if not self._dimension:
            self._buffers = np.tile(self._policy.buffer_for(d), (len(self._names), 1))
            self._dimension = d
        if not self._ready:
            plain = self._journal is None and self._policy.rule.kind in (OPTIMISTIC, GREEDY)
            self._quick, self._ready = plain and close_loop_of_arms(), self._journal is None

    def _go_the_long_way(self) -> None:
        self._ready = self._quick = False

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            own = {"_buffers": self._buffers.copy(), "_pending": self._pending.copy()}
            return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_journal")} | own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()
        # In another process loops are not closed yet, and functions have other addresses.
        self._ready = self._quick = False
        self._buffers = np.require(self._buffers, requirements=["W"])
        for buffer in self._buffers:
            with_settings(self._policy._settings, buffer)

    # Rewards that come later

    def decide(
        self, context: ArrayLike, key: Hashable = None, available: ArrayLike | None = None, *, at: When = None
    ) -> Decision:
        """`choose`, and remember arm and context under a key until the `reward` comes: see `Policy.decide`."""
        now, row = as_time("at", at), self._row(context)
        with self._lock, interrupts_deferred(), self._noting("decide") as noting:
            own, mask = self._pending.new_key(key), self._mask(available)
            place, probability = self.choose_with_probability(row, mask)
            self._pending.add(own, row, now, probability, self._serials[place])
            decision = Decision(self._names[place], probability, own)
            noting({"context": row, "available": mask, "key": own, "at": now}, decision)
        return decision

    def _learn_waiting(self, slots: Sequence[int], rewards: Vector) -> None:
        places = [self._serials.index(self._pending.actions[slot]) for slot in slots]
        rows = [self._pending.row(slot) for slot in slots]
        if len(rows) == 1:
            self._learn(places[0], rows[0], float(rewards[0]))
        else:
            self._learn_rows(np.array(places), np.array(rows), rewards, past=False)

    def override(self, key: Hashable, arm: Hashable) -> None:
        """Note that another arm was played than the one decided: the reward will be that of this one.

        Its probability is not known any more.
        """
        with self._lock:
            self._override(key, None, self._serials[self._place(arm)], {"arm": arm})

    def _decision(self, key: Hashable) -> PendingDecision:
        with self._lock:
            decision = super()._decision(key)
            return decision._replace(action=self._names[self._serials.index(decision.action)])

    # What is known

    @property
    def dimension(self) -> int | None:
        """How many features a context has; None before any was seen."""
        return self._dimension or None

    @property
    def n_learned(self) -> dict[Hashable, int]:
        """How many rewards each arm has learned."""
        if not self._dimension:
            return dict.fromkeys(self._names, 0)
        counts = (int(head_in(buffer).log["learned"][0]) for buffer in self._buffers)
        return dict(zip(self._names, counts, strict=True))

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values."""
        return {"policy": "Disjoint", "of": self._policy.describe(), "arms": list(self._names)}

    # Files

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        with self._lock:
            waiting, arrays = self._pending.record(self._dimension)
            settings = {
                "of": self._policy.describe(),
                "names": list(self._names),
                "serials": list(self._serials),
                "next": self._next,
                "dimension": self._dimension,
                "generator": self._rng.bit_generator.state,
                "n_settings": N_SETTINGS,
            }
            return settings | waiting, arrays | {"buffers": self._buffers.copy()}

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file."""
        policy = cls(Policy.described(settings["of"]), settings["names"])
        policy._serials, policy._next = [int(number) for number in settings["serials"]], int(settings["next"])
        policy._rng.bit_generator.state = settings["generator"]
        d = int(settings["dimension"])
        if d:
            own = policy._policy
            if "memories" in arrays:
                buffers = [from_first_version(own._settings, own.memory, memory, d) for memory in arrays["memories"]]
            else:
                old = (with_room_for_settings(buffer, d, settings) for buffer in arrays["buffers"])
                buffers = [own.fitting(buffer, d) for buffer in old]
            if not len(buffers) == len(policy._names) == len(policy._serials):
                raise ValueError(f"{len(buffers)} arms in the arrays, expected {len(policy._names)}")
            policy._buffers, policy._dimension = np.array(buffers), d
        policy._pending = Pending.from_record(settings, _with_decisions(arrays))
        return policy


def _with_decisions(arrays: storage.Arrays) -> storage.Arrays:
    """What waits as files have it now: in earlier ones, each row began with the number of its arm."""
    if "decisions" in arrays or not len(arrays["pending"]):
        return arrays
    rows, count = arrays["pending"], len(arrays["pending"])
    about = [np.zeros(count), np.full(count, np.nan), rows[:, 0], np.arange(count)]
    return arrays | {"pending": rows[:, 1:], "decisions": np.column_stack(about)}


@cache
def close_loop_of_arms() -> bool:
    """Make the loop for plain contexts ready; it takes nothing else from then on."""
    close(choosing_arms.choose_arm_fast, np.zeros((1, N_SETTINGS + N_LOG)), np.zeros(1))
    return True
