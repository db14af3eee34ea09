"""The arms of `Hybrid`: a block of pivots for each, and those that all share."""

from collections.abc import Hashable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits.arm_names import check_new_arm, no_arm
from onward.bandits.buffers import usual_lam
from onward.bandits.hybrid_factor import N_PIVOT, solve_hybrid
from onward.bandits.hybrid_inputs import as_features_of_arms
from onward.bandits.pending import Pending
from onward.bandits.policy import Policy
from onward.bandits.wrapping import Wrapping
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.types import Matrix, Vector


class HybridArms(Wrapping):
    """The part of `Hybrid` that has its arms, and room for what they learn."""

    _policy: Policy
    _pending: Pending
    _slots: dict[Hashable, int]  # of each arm among the blocks, in the order of `arms`
    _free: list[int]
    _own: Matrix  # d pivots for each slot: see hybrid_factor.py
    _shared: Matrix
    _sizes: tuple[int, int]  # d and k
    _lam: Vector  # of an arm's features and of the shared ones, once it has begun
    _sums: Vector  # rewards, the regularised loss, Σ y², the information gain

    @property
    def _wrapped(self) -> Policy:
        return self._policy

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """Their names, in the order of `index`."""
        return tuple(self._slots)

    def add_arm(self, name: Hashable) -> None:
        """A new arm, of which only the shared coefficients are known.

        Args:
            name: of the arm.
        """
        with self._lock, interrupts_deferred():
            check_new_arm(name, self._slots)
            slot = self._free.pop() if self._free else len(self._slots)
            self._slots[name] = slot
            if self._sizes[0]:
                self._make_room()
                self._clear(slot)
            self._note("add_arm", {"name": name})

    def remove_arm(self, name: Hashable) -> None:
        """Forget an arm's own coefficients, cancel its decisions; what it taught of the shared ones stays.

        Args:
            name: of the arm.
        """
        with self._lock, interrupts_deferred():
            slot = self._slot(name)
            if len(self._slots) == 1:
                raise ValueError(f"cannot remove {brief(name)}: it is the only arm")
            self._pending.cancel_of(slot)
            if self._sizes[0]:
                d = self._sizes[0]
                pivots = self._own[slot * d : (slot + 1) * d, 0]
                self._sums[3] -= float(np.log(pivots / self._lam[:d]).sum())
            del self._slots[name]
            self._free.append(slot)
            self._note("remove_arm", {"name": name})

    def _slot(self, name: Hashable) -> int:
        if not isinstance(name, str | int) or isinstance(name, bool) or name not in self._slots:
            raise no_arm(name, self._slots)
        return self._slots[name]

    def _places(self) -> NDArray[np.int64]:
        return np.fromiter(self._slots.values(), dtype=np.int64, count=len(self._slots))

    # What is known

    def coef(self, arm: Hashable) -> Vector:
        """The estimate of an arm's own coefficients (d,)."""
        return self._coefficients(arm)[: self._sizes[0]]

    @property
    def shared_coef(self) -> Vector:
        """The estimate of the shared coefficients (k,)."""
        return self._coefficients(next(iter(self._slots)))[self._sizes[0] :]

    def _coefficients(self, arm: Hashable) -> Vector:
        with self._lock:
            slot = self._slot(arm)
            if not self._sizes[0]:
                raise ValueError("nothing is known yet, not even how many features there are: let it choose or learn")
            return solve_hybrid(self._own, self._shared, slot, self._sizes[0])

    @property
    def n_learned(self) -> int:
        """How many rewards were learned."""
        return int(self._sums[0])

    # Room

    # Sizes

    def _start(self, X: Matrix, Z: Matrix) -> None:
        if self._sizes[0]:
            return
        lam, n = self._policy.lam, max(len(X), len(Z))
        rows = np.hstack([np.broadcast_to(table, (n, table.shape[1])) for table in (X, Z)])
        self._lam = np.full(rows.shape[1], lam if isinstance(lam, float) else usual_lam(rows))
        self._clear_all(X.shape[1], Z.shape[1])

    def _clear_all(self, d: int, k: int) -> None:
        self._sizes = (d, k)
        self._shared = np.zeros((k, k + N_PIVOT))
        self._shared[:, 0] = self._lam[d:]
        self._own = np.zeros((0, d + k + N_PIVOT))
        self._make_room()

    def _make_room(self) -> None:
        d = self._sizes[0]
        needed = (len(self._slots) + len(self._free)) * d
        if needed > len(self._own):
            more = np.zeros((max(needed, 2 * len(self._own)) - len(self._own), self._own.shape[1]))
            more.reshape(-1, d, more.shape[1])[:, :, 0] = self._lam[:d]
            self._own = np.concatenate([self._own, more])

    def _clear(self, slot: int) -> None:
        d = self._sizes[0]
        self._own[slot * d : (slot + 1) * d] = 0.0
        self._own[slot * d : (slot + 1) * d, 0] = self._lam[:d]

    def _offer(self, context: ArrayLike, shared: ArrayLike) -> tuple[Matrix, Matrix]:
        n = len(self._slots)
        X, Z = as_features_of_arms("context", context, n), as_features_of_arms("shared", shared, n)
        self._check_sizes(X.shape[1], Z.shape[1])
        return X, Z

    def _check_sizes(self, d: int, k: int) -> None:
        if self._sizes[0] and (d, k) != self._sizes:
            known = "{} and {}".format(*self._sizes)
            raise ValueError(f"context and shared have {d} and {k} features, but this policy knows {known}")
