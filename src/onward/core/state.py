"""What is known: the state of a learner in one buffer, with its rules for learning, merging and growing."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq, solve_triangular

from onward.core import forgetting, kernel
from onward.core.factor import ORDINARY, Factor, information_gain, weighted_trace
from onward.core.own_units import next_refresh
from onward.core.row_memory import RowMemory, forgets_between, take_rows
from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Records, Vector
from onward.core.views import owned
from onward.core.words import counted

_NO_PRIOR = np.empty((0, 0))
_SLACK = 1e-6  # of shares that are 1/2 at least
# Rounding turns a column by some ε. What it makes up along a direction that only λ knows goes with the square of that
# over the sine: 1e-13 of the targets, at most, at a sine of 3e-10, so that 1e-10 or less is left here.
_LEAST_SINE = 2e-11
# Before they are merged, states of few rows have pivots of λ alone, and rightly so. But rows whose sizes are further
# apart leave rounding of one another in the triangle.
_LEAST_SINE_APART = 1e-20


class TooExtremeError(ValueError):
    """Values so far apart that double precision cannot hold what would be learned from them.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.core import TooExtremeError
        >>> try:
        ...     RidgeRegressor().fit([[1e200], [-1e200]], [1.0, 2.0])
        ... except TooExtremeError as error:
        ...     print(str(error)[:46])
        the rows cannot be learned in double precision
    """


class Information:
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

    buffer: Vector
    header: Records
    lam: Vector
    relative: Vector
    varied: Vector
    online_loss: Vector
    prior: Matrix
    factor: Factor

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

    def bind(self, buffer: Vector) -> None:
        """Take this buffer for the state's own."""
        state = owned(buffer, kernel.view_state(buffer))
        self.buffer, self.header = buffer, state.header
        self.lam, self.online_loss, self.prior, self.factor = state.lam, state.online_loss, state.prior, state.factor
        self.relative, self.varied = state.relative, state.varied

    # What is known

    def __repr__(self) -> str:
        counts = f"{counted(self.n_features, 'feature')}, {counted(self.n_targets, 'target')}"
        return f"Information({counts}{', with a constant' if self.intercept else ''})"

    @property
    def U(self) -> Matrix:  # noqa: N802
        """The triangle."""
        return self.factor.U

    @property
    def D(self) -> Vector:  # noqa: N802
        """The pivots."""
        return self.factor.D

    @property
    def c(self) -> Matrix:
        """The coefficients of the factored system."""
        return self.factor.c

    @property
    def loss(self) -> Vector:
        """The least value of the quadratic, for each target."""
        return self.factor.loss

    @property
    def intercept(self) -> bool:
        """Whether coordinate 0 is a constant."""
        return bool(self.header["intercept"][0])

    @property
    def own_units(self) -> bool:
        """Whether λ is in the features' own units."""
        return bool(self.header["own"][0])

    @property
    def n_features(self) -> int:
        """How many values a row has, the constant not counted."""
        return len(self.D) - self.intercept

    @property
    def rows(self) -> int:
        """How many rows were absorbed."""
        return int(self.factor.counts["seen"][0])

    @property
    def counted(self) -> int:
        """How many of them had a weight other than 0."""
        return int(self.factor.counts["counted"][0])

    @property
    def peak(self) -> float:
        """The largest w‖x‖² absorbed."""
        return float(self.factor.counts["peak"][0])

    @property
    def tally(self) -> Vector:
        """`rows`, `counted` and `peak` as numbers: a copy."""
        return np.array([self.rows, self.counted, self.peak])

    @tally.setter
    def tally(self, numbers: Vector) -> None:
        self.factor.counts[0] = tuple(numbers)

    @property
    def memory(self) -> RowMemory | None:
        """How it forgets; None if all rows count alike."""
        return RowMemory.read(self.header)

    @property
    def time(self) -> float:
        """The time of the latest row; NaN if rows have none."""
        return float(self.header["time"][0]) if self.memory is not None else math.nan

    @property
    def weight(self) -> float:
        """Σ w of a state that forgets, as far as rows still count."""
        return float(self.header["weight"][0])

    @property
    def n_targets(self) -> int:
        """How many targets share the factorisation."""
        return int(self.c.shape[1])

    @property
    def rank(self) -> int:
        """How many directions are known; all of them if λ > 0."""
        return int(np.count_nonzero(self.D))

    @property
    def regularized(self) -> bool:
        """Whether λ > 0 for each coordinate."""
        return bool((self.lam > 0).all())

    @property
    def log_det(self) -> float:
        """log det G; −inf while the rank is deficient."""
        return float(np.sum(np.log(self.D))) if self.D.all() else -math.inf

    @property
    def information_gain(self) -> float:
        """I = log det G − Σ log λ = Σ log(1 + w q).  Infinite if a λ is 0, once a row other than 0 was seen."""
        if not self.regularized:
            return math.inf if np.any(self.lam < self.D) else 0.0
        return information_gain(self.factor, self.lam)

    @property
    def trace(self) -> float:
        """Σ w ‖x‖² = tr(G) − Σ λ."""
        return self.scaled_trace(np.ones(len(self.D)))

    def scaled_trace(self, weights: Vector) -> float:
        """Σ_j weights_j Σ w x_j² over all rows.

        Args:
            weights: of each row, or of each coordinate.
        """
        return max(0.0, weighted_trace(self.factor, weights) - float(weights @ self.lam))

    def norm(self, vector: Vector) -> float:
        """√(vᵀGv) of a vector over all coordinates."""
        with np.errstate(over="ignore", invalid="ignore"):  # infinite, or no number, where squares overflow
            return math.sqrt(float(self.D @ np.square(self.triangle() @ vector)))

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

    def triangle(self) -> Matrix:
        """U with its unit diagonal, and without the padding."""
        d = len(self.D)
        return np.triu(self.U[:, :d], 1) + np.eye(d)

    def least_sine(self) -> float:
        """The sine of the smallest angle between a column and those before it, λ included; 1 at right angles.

        The smaller it is, the more of that column's pivot is rounding. Empty pivots do not count.
        """
        roots = np.sqrt(self.D)
        columns = roots[:, None] * self.triangle()
        largest = np.abs(columns).max(axis=0, initial=0.0)
        known = np.flatnonzero(self.D)
        shares = columns[:, known] / largest[known]
        sines = roots[known] / largest[known] / np.sqrt(np.sum(shares * shares, axis=0))
        return float(sines.min(initial=1.0))

    def second_moment(self) -> Matrix:
        """G = UᵀDU, multiplied out. For looking at, not for computing with."""
        U = self.triangle()
        return U.T @ (self.D[:, None] * U)

    def coefficients(self) -> Matrix:
        """θ = G⁻¹b, of shape (d, m), without the prior; the shortest of all minimisers while the rank is deficient."""
        d = len(self.D)
        if d == 0:
            return self.c.copy()
        if self.D.all():
            theta: Matrix = solve_triangular(self.U[:, :d], self.c, unit_diagonal=True, check_finite=False)
            return theta
        known = np.flatnonzero(self.D)
        if not len(known):
            return np.zeros_like(self.c)
        # Full row rank and consistent, so D does not matter here. gelsy does not mind rows of any scale.
        theta = lstsq(self.triangle()[known], self.c[known], lapack_driver="gelsy", cond=0.0, check_finite=False)[0]
        return theta

    def base(self, X: Matrix) -> Matrix:
        """The prior's part of predictions (n, m); without rows if the prior mean is 0.

        Args:
            X: rows (n, features), or one row.
        """
        return kernel.multiply(X, self.intercept, self.prior) if self.header["has_prior"][0] else _NO_PRIOR

    def read(self, X: Matrix, w: Vector | None = None) -> tuple[Matrix, Vector]:
        """For each row of X: p = xᵀG⁻¹b of shape (n, m), and the leverage q = xᵀG⁻¹x of shape (n,).

        A row outside the span of the rows seen (only where λ is 0) has p = 0 and q = inf. The weights (1 if None) say
        what λ a row would give to features that first vary in it, in own units.

        Args:
            w: weights (n,); None for 1.

        Returns:
            p (n, m) and q (n,).
        """
        p, q = np.empty((len(X), self.n_targets)), np.empty(len(X))
        kernel.read(self.buffer, X, np.ones(len(X)) if w is None else w, p, q)
        return p, q

    def leverages(self, rows: Matrix) -> Vector:
        """The leverage (n,) of rows over all coordinates, the constant included."""
        p, q = np.empty((len(rows), self.n_targets)), np.empty(len(rows))
        kernel.read_coordinates(self.buffer, np.ascontiguousarray(rows), p, q)
        return q

    # What changes it

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
        `places` says which coordinate of this state each of the other's is; None if they are the same.
        Of states that forget, the other's rows are the later ones. Two states with λ are refused where columns are so
        nearly collinear, or rows of such different sizes, that their factors are rounding along some direction.
        """
        d = len(self.D)
        if self.own_units or other.own_units:
            raise ValueError("cannot merge states whose λ is in own units: each depends on the rows that it has seen")
        places = range(len(other.D)) if places is None else places
        fits = len(places) == len(other.D) and all(0 <= place < d for place in places)
        mine, theirs = (self.n_targets, self.intercept), (other.n_targets, other.intercept)
        given = other.lam.any()
        if not fits or mine != theirs or (given and not np.array_equal(self.lam[list(places)], other.lam)):
            raise ValueError(
                f"cannot merge states: expected lam, targets, intercept {(described(self.lam), *mine)} on at most {d} "
                f"coordinates, got {(described(other.lam), *theirs)} on {len(other.D)}"
            )
        left = forgets_between(self, other)
        if given:
            self._check_sine(_LEAST_SINE_APART)
            other._check_sine(_LEAST_SINE_APART)
        embedding = np.zeros((len(places), d))
        embedding[np.arange(len(places)), places] = 1.0
        before = self.buffer.copy()
        try:
            if left < 1.0:
                forgetting.forget(self.buffer, left)
            scale, weights = _near_one(other.D)
            rows, targets = scale * (other.triangle() @ embedding), scale * other.c
            if not self.D.all():
                # Sizes below the diagonal of U: what is rounding in the other factor must not pass for data here.
                sizes = scale * ((np.tril(other.U[:, : len(other.D)], -1).T + np.eye(len(other.D))) @ embedding)
                taken = kernel.absorb_factor(self.buffer, rows, sizes, targets, weights)
                if taken < len(rows) or not self.holds(self.c, self.D):
                    raise TooExtremeError(
                        "cannot merge states: their values are too far apart for double precision; rescale"
                    )
            else:
                self.absorb_coordinates(rows, targets, weights)
            with np.errstate(over="ignore"):
                self.loss[:] += other.loss
            if given:
                self._take_out_lam(embedding, other.lam)
                self._check_sine(_LEAST_SINE)
            with np.errstate(over="ignore"):
                sums = [self.loss, self.online_loss + other.online_loss, self.header["weight"] + other.header["weight"]]
            if not all(np.isfinite(each).all() for each in sums):
                raise TooExtremeError("cannot merge states: their losses add up to more than double precision can hold")
        except BaseException:
            self.buffer[:] = before
            raise
        counts, theirs_counted = self.factor.counts, other.factor.counts
        for name in ("seen", "counted"):
            counts[name] += theirs_counted[name]
        counts["peak"] = max(self.peak, other.peak)
        self.online_loss += other.online_loss
        self.header["weight"] += other.header["weight"]
        if other.rows and self.memory is not None:
            for name in ("time", "first_time") if np.isnan(self.header["time"][0]) else ("time",):
                self.header[name] = other.header[name]

    def _check_sine(self, least: float) -> None:
        """Refuse a state along some direction of which there is rounding only, and no λ that outweighs it."""
        sine = self.least_sine()
        if not sine >= least:
            raise TooExtremeError(
                f"cannot merge states: with lam={described(self.lam)} a column differs from those before it by "
                f"{sine:.2g} of its size, expected at least {least:g}: less is rounding in double precision; "
                "rescale or leave out columns, take a larger lam, or merge parts with lam=0"
            )

    def _take_out_lam(self, embedding: Matrix, lam: Vector) -> None:
        """Count λ once where it was brought twice: by the coordinates of `embedding` (k, d), whose λ is `lam` (k,).

        What stays is at least as much as what goes: of the information along a coordinate, and of the loss, as twice
        the regularised loss is no less than the loss with twice the λ. So it is well conditioned; and if less than half
        is left, it was rounding that was taken for λ.
        """
        with_lam, before = np.flatnonzero(lam), self.loss.copy()
        scale, weights = _near_one(lam[with_lam])
        nothing = np.zeros((len(with_lam), self.n_targets))
        q = self.absorb_coordinates(scale * embedding[with_lam], nothing, -weights)
        regularized = self.lam > 0
        with np.errstate(over="ignore"):  # a share beyond all numbers is enough
            left = [1.0 - weights * q, 0.5 * self.D[regularized] / self.lam[regularized]]
        enough = all((share >= 0.5 - _SLACK).all() for share in left)
        if not enough or (self.loss < (0.5 - _SLACK) * before).any():
            raise TooExtremeError(
                f"cannot merge states: with lam={described(self.lam)} their values are too large for double precision "
                "to tell λ from rounding; rescale the columns, or merge parts with lam=0"
            )

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


def _near_one(weights: Vector) -> tuple[Matrix, Vector]:
    """By which powers of two (n, 1) to multiply rows of these weights, and the weights that they have then: about 1.

    A weight's product with a pivot may be beyond double precision where neither is. Powers of two change no digit.
    """
    exponents = np.frexp(weights)[1] // 2
    return np.ldexp(1.0, exponents)[:, None], np.ldexp(weights, -2 * exponents)


def described(lam: Vector) -> str:
    """λ of each coordinate as a reader would say it: one number if they are the same, a range if they are many."""
    if len(lam) and (lam == lam[0]).all():
        return f"{lam[0]:g}"
    if len(lam) > 8:
        return f"{lam.min():g} to {lam.max():g}"
    return f"[{', '.join(f'{value:g}' for value in lam)}]"


def described_lam(state: Information) -> str:
    """λ of a state as a reader would say it: that of the features alone, if the constant has none."""
    if state.own_units:
        return f"{described(state.relative[1:])} of the variance"
    free = state.intercept and state.n_features > 0 and state.lam[0] == 0.0
    return described(state.lam[1:] if free else state.lam)


def _largest(array: Matrix) -> float:
    return float(np.abs(array).max(initial=0.0))
