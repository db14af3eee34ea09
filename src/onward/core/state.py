"""What is known: the state of a learner in one buffer, with its rules for learning and growing."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from onward.core import forgetting, kernel
from onward.core.factor import ORDINARY
from onward.core.lam_words import described
from onward.core.own_units import next_refresh
from onward.core.row_memory import RowMemory, take_rows
from onward.core.squares import sum_of_squares
from onward.core.state_merging import merge_states
from onward.core.state_view import StateView
from onward.core.too_extreme import TooExtremeError
from onward.core.types import Matrix, Vector
from onward.core.words import counted


class Information(StateView):
    """The regularised least-squares problem of all rows seen, factored.

    It stands for the quadratic  Σ w (y − xᵀθ)² + Σ λ_j θ_j²  of every θ, as  loss + ‖c − Uθ‖²_D  with
    G = diag(λ) + Σ w xxᵀ = UᵀDU. States of rows that are apart add up (`merge`): with λ = 0 they form a monoid.
    Of a state that forgets (`memory`), w is what is left of the rows' weights when the latest came.

    Everything is one array of numbers, `buffer`; the attributes are views of it.

    Attributes:
        U: unit upper triangle of shape (d, d padded); only what is above the diagonal counts (see `core.factor`).
        D: pivots (d,). Where nothing is regularised, a pivot is 0 until the rank fills it.
        c: coefficients (d, m) of the factored system, a column for each target.
        loss: min over θ of the quadratic, for each target (m,).
        lam: λ of each coordinate (d,).
        prior: the mean (d, m) that a learner starts from; its part is taken from the targets before they come here.
        online_loss: what a learner's predictions have cost, for each target (m,); it keeps this itself.
        intercept: whether coordinate 0 is a constant 1, which the rows that are given then lack.
        relative: where λ is in the features' own units, λ over the variance of each (d,), 0 for the constant; without
            numbers where λ is in the units of the data. `lam` is then what it is by now (see `core.own_units`).
        varied: in the same way, 0 while a feature has had one value only, and 1 from then on.

    Args:
        n_features: how many values a row has.
        n_targets: how many targets share the factorisation.

    Raises:
        ValueError: if a value is out of its range, or so many features need more than the memory there is.

    Example:
        >>> import numpy as np
        >>> from onward.core import Information
        >>> state = Information(n_features=2, lam=1.0)
        >>> p, q = state.absorb(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[2.0], [2.0]]), np.ones(2))
        >>> q  # leverages, each from before its row
        array([1. , 0.5])
        >>> state.coefficients()[:, 0].round(6), round(state.information_gain, 6)  # log 3
        (array([1.333333, 0.      ]), 1.098612)
    """

    def __init__(
        self,
        n_features: int,
        n_targets: int = 1,
        lam: ArrayLike = 1.0,
        intercept: bool = False,
        prior: ArrayLike = 0.0,
        memory: RowMemory | None = None,
        own_units: bool = False,
    ) -> None:
        """Know nothing but λ of each coordinate; with `own_units`, over its variance, and 0 for the constant."""
        d = n_features + intercept
        size = kernel.state_size(d, n_targets, own_units, 0)
        try:
            buffer = np.zeros(size)
        except MemoryError as error:
            raise ValueError(
                f"a model of {counted(n_features, 'feature')} needs {8 * size / 1e9:,.1f} GB, more than there is of "
                "memory; expected fewer features"
            ) from error
        header = buffer[: kernel.N_STATE].view(kernel.STATE)
        header["intercept"], header["coordinates"], header["targets"] = bool(intercept), d, n_targets
        header["own"] = bool(own_units)
        if memory is not None:
            memory.write(header)
        self.bind(buffer)
        self.lam[:] = lam
        if own_units:
            if memory is not None:
                raise ValueError(f"own units are for states that do not forget, got {memory}")
            if not (intercept and self.lam[0] == 0.0 and self.lam[1:].all()):
                raise ValueError(
                    f"own units are for a constant without λ, features with: got lam={described(self.lam)}"
                )
            self.relative[:] = self.lam
            self.lam[1:] = 1.0  # of features that have not varied it does not matter
            self.set_varied(self.relative == 0.0)
        self.D[:] = self.lam
        self.set_prior(prior)

    def __repr__(self) -> str:
        counts = f"{counted(self.n_features, 'feature')}, {counted(self.n_targets, 'target')}"
        return f"Information({counts}{', with a constant' if self.intercept else ''})"

    def set_varied(self, varied: ArrayLike) -> None:
        """Say which coordinates have varied, in own units; the constant does not count, and has."""
        self.varied[:] = varied
        self.header["unvaried"] = np.count_nonzero(self.varied == 0.0)
        self.header["refresh"] = next_refresh(float(self.counted))

    def set_prior(self, prior: ArrayLike) -> None:
        """Start from this mean (d, m); nothing may have been learned.

        Args:
            prior: the mean (d, m).
        """
        self.prior[:] = prior
        self.header["has_prior"] = bool(self.prior.any())

    def absorb(
        self,
        X: Matrix,
        Y: Matrix,
        w: Vector,
        ordinary: bool | None = None,
        out: tuple[Matrix, Vector] | None = None,
    ) -> tuple[Matrix, Vector]:
        """Learn rows X (n, features) with targets Y (n, m) and weights w ≥ 0, in order.

        All are finite, float64 and C-contiguous: the border sees to that. `ordinary` is what `is_ordinary` says of them
        for callers that have asked. Returns p and q of each row before it was learned, as `read` gives them, in `out`
        if that is given. Raises ValueError, and changes nothing, if the numbers cannot hold the result.

        Returns:
            p (n, m) and q (n,) of each row before it was learned.

        Raises:
            ValueError: if the numbers cannot hold the result; nothing has changed then.
        """
        p, q = (np.empty((len(X), self.n_targets)), np.empty(len(X))) if out is None else out
        self.check(X, Y, w, p, q)
        if not self.own_units and (self.is_ordinary(sum_of_squares(X), Y, w) if ordinary is None else ordinary):
            kernel.absorb(self.buffer, X, Y, w, p, q)
            return p, q
        before = self.buffer.copy()
        try:
            rank = self.rank
            taken = kernel.absorb(self.buffer, X, Y, w, p, q)
            # Where the rank rises q is infinite, and only there: elsewhere it has overflowed.
            rises = np.isinf(q) & (w > 0)
            if taken < len(X) or not self.holds(p, q) or np.count_nonzero(rises) > self.rank - rank:
                raise TooExtremeError(
                    "the rows cannot be learned in double precision: expected values whose squares and ratios stay "
                    f"between 1e-300 and 1e300, got magnitudes up to {_largest(X):.3g} in X and {_largest(Y):.3g} in y "
                    f"with lam={described(self.lam)}; rescale the columns"
                )
        except BaseException:
            self.buffer[:] = before
            raise
        return p, q

    def check(self, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector) -> None:
        """The compiled loops do not look where they write, so shapes and layouts must be right.

        Args:
            X: rows (n, features), or one row.
            Y: targets (n, m).
            w: weights (n,); None for 1.
            p: predictions (n, m).
            q: leverages (n,).
        """
        n = X.shape[0]
        of_targets, of_rows = (n, self.n_targets), (n,)
        arrays = [("X", X, (n, self.n_features)), ("Y", Y, of_targets), ("w", w, of_rows)]
        for name, array, shape in [*arrays, ("p", p, of_targets), ("q", q, of_rows)]:
            if array.shape != shape or array.dtype != np.float64 or not array.flags.carray:
                raise ValueError(
                    f"{name} must be a writeable C-contiguous float64 array of shape {shape}, "
                    f"got {array.dtype} of shape {array.shape}"
                )

    def merge(self, other: "Information", places: Sequence[int] | None = None) -> None:
        """Add what another state knows from rows of its own; λ is counted once.

        The other has the same λ or none (0): a part that was started without regularisation is added as it is.
        Into a state with λ a part without is refused where numbers are extreme and rounding of its columns outweighs λ.
        `places` says which coordinate of this state each of the other's is; None if they are the same.
        Of states that forget, the other's rows are the later ones. Two states with λ are refused where columns are so
        nearly collinear, or rows of such different sizes, that their factors are rounding along some direction.
        """
        merge_states(self, other, places)

    def grow(self, count: int, lam: ArrayLike | None = None, prior: ArrayLike = 0.0) -> None:
        """Add coordinates that were 0 in every row so far: exact, at any time.

        `lam` is the λ of each, as the state was given it, that of the last coordinate if None; `prior` their prior mean
        (count, m).
        """
        old, d, own = self.factor, len(self.D), self.own_units
        lams = self.relative if own else self.lam
        lams = np.append(lams, np.broadcast_to(lams[-1] if lam is None else lam, (count,)))
        grown = Information(self.n_features + count, self.n_targets, lams, self.intercept, 0.0, self.memory, own)
        for name in ("first_time", "time", "weight"):
            grown.header[name] = self.header[name]
        means = np.zeros_like(grown.prior)
        means[:d], means[d:] = self.prior, prior
        grown.set_prior(means)
        grown.U[:d, :d], grown.D[:d], grown.c[:d] = old.U[:, :d], old.D, old.c
        grown.loss[:], grown.online_loss[:] = old.loss, self.online_loss
        grown.factor.counts[:] = old.counts
        if own:
            grown.lam[:d] = self.lam
            grown.set_varied(np.append(self.varied, np.zeros(count)))
        if capacity := int(self.header["capacity"][0]):
            take_rows(grown, self, capacity)
        self.bind(grown.buffer)

    def ahead(self, time: float = math.nan) -> "Information":
        """The state as a row that comes next, at this time, finds it; itself if nothing fades until then."""
        if self.memory is None or self.memory.half_life is None:
            return self
        faded = object.__new__(type(self))
        faded.bind(forgetting.ahead(self.buffer, time))
        return faded

    def __getstate__(self) -> dict[str, Any]:
        return {"buffer": self.buffer}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.bind(np.require(state["buffer"], requirements=["W"]))  # that of a memory map may not be written to

    def copy(self) -> Self:
        """A state that can be changed without touching this one."""
        other = object.__new__(type(self))
        other.bind(self.buffer.copy())
        return other

    def absorb_coordinates(self, rows: Matrix, targets: Matrix, weights: Vector) -> Vector:
        """Absorb rows over all coordinates, the constant included; they are no observations, so none is counted.

        Returns the leverage of each before it came.

        Args:
            targets: (n, m).
            weights: of each row, or of each coordinate.
        """
        p, q = np.empty((len(rows), self.n_targets)), np.empty(len(rows))
        before = self.buffer.copy()
        taken = kernel.absorb_coordinates(
            self.buffer, np.ascontiguousarray(rows), np.ascontiguousarray(targets), weights, p, q
        )
        if taken < len(rows) or not self.holds(p, q):
            self.buffer[:] = before
            raise TooExtremeError("the values are too far apart for double precision; rescale the columns")
        return q

    def is_ordinary(self, squares: float, Y: Matrix, w: Vector) -> bool:
        """Whether nothing can overflow or underflow: true of nearly all data, and cheap to see.

        Args:
            squares: the sum of the squares of the rows.
            Y: targets (n, m).
            w: weights (n,); None for 1.
        """
        largest = max(squares, sum_of_squares(Y), sum_of_squares(w))
        return bool(largest < ORDINARY**2) and kernel.ordinary(self.buffer)

    def holds(self, p: Matrix, q: Vector) -> bool:
        """Whether everything came out as a number. q may be inf, but only where the rank rose.

        Args:
            p: predictions (n, m).
        """
        finite = all(np.isfinite(array).all() for array in (self.U, self.D, self.c, self.loss, p))
        overflowed = ~np.isfinite(q) if self.regularized else np.isnan(q)
        return finite and not overflowed.any() and bool((self.D >= 0).all()) and math.isfinite(self.peak)

    def of_target(self, target: int) -> Self:
        """A copy that knows of one target only."""
        other = object.__new__(type(self))
        Information.__init__(other, self.n_features, 1, self.lam, self.intercept, self.prior[:, [target]], self.memory)
        other.take_factor(self, [target])
        return other

    def take_factor(self, other: "Information", targets: Sequence[int] | None = None) -> None:
        """Take over what another state of the same coordinates has learned, of all its targets or of some.

        Args:
            other: another state.
        """
        chosen = slice(None) if targets is None else list(targets)
        self.U[:], self.D[:], self.c[:] = other.U, other.D, other.c[:, chosen]
        self.loss[:], self.online_loss[:] = other.loss[chosen], other.online_loss[chosen]
        self.factor.counts[:] = other.factor.counts


def _largest(array: Matrix) -> float:
    return float(np.abs(array).max(initial=0.0))
