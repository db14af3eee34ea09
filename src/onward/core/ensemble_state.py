"""The state of an ensemble, for Python: how it begins, learns, grows, and whom it leans on."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from onward.core import ensemble as layout
from onward.core.aggregation import WAYS, Mixture, Weights, weights_of
from onward.core.ensemble_rows import GROWS_BY, LONGER, SHORTEST, learn_ensemble, read_ensemble
from onward.core.ensemble_single import ordinary_rows
from onward.core.factor import Factor
from onward.core.interrupts import interrupts_deferred
from onward.core.state import Information
from onward.core.too_extreme import TooExtremeError
from onward.core.types import Matrix, Vector
from onward.core.views import owned

LEAST_LAM = 1e-12
_LEAST_PIVOT = 1e-300  # what is less, no λ leads to: a leverage would overflow
PERIOD = 2.0  # half-lives after which λ is given back what it lost: until then it is a quarter at least


class Expert(NamedTuple):
    """One of the learners whose predictions are weighed."""

    learner: str  # "ridge", "forward", or "mean" for a running mean of the targets
    lam: float | None  # λ in the features' own units; None for a mean
    half_life: float | None  # rows after which a row counts half; None if all count alike


class EnsembleState:
    """What an ensemble has learned, in one buffer: see `core.ensemble`."""

    buffer: Vector
    intercept = True  # there is always a constant, and it is not regularised

    def __init__(
        self,
        n_features: int,
        n_targets: int,
        lams: Sequence[float],
        half_lives: Sequence[float | None],
        means: Sequence[float | None],
    ) -> None:
        sizes = n_features + 1, n_targets, len(lams), len(half_lives), len(means)
        buffer = np.zeros(layout.ensemble_size(*sizes))
        header = buffer[: layout.N_ENSEMBLE].view(layout.ENSEMBLE)
        for name, size in zip(("coordinates", "targets", "lams", "memories", "means"), sizes, strict=True):
            header[name] = size
        self._bind(buffer)
        views = self.views
        views.lams[:] = lams
        views.gammas[:] = [_gamma(each) for each in half_lives]
        views.periods[:] = [0.0 if each is None else max(1, round(PERIOD * each)) for each in half_lives]
        views.growth[:] = 1.0
        views.fading[:] = [_gamma(each) for each in means]

    def _bind(self, buffer: Vector) -> None:
        self.buffer = buffer
        self.views: layout.Ensemble = owned(buffer, layout.ensemble_in(buffer))

    # What is known

    @property
    def n_features(self) -> int:
        """How many values a row has."""
        return len(self.views.scale)

    @property
    def n_targets(self) -> int:
        """How many targets share the factors."""
        return len(self.views.online_loss)

    @property
    def rows(self) -> int:
        """How many rows were learned."""
        return int(self.views.header["seen"][0])

    @property
    def online_loss(self) -> Vector:
        """Σ w (ŷ − y)², for each target (m,)."""
        return self.views.online_loss

    @property
    def experts(self) -> list[Expert]:
        """The experts, in the order of their weights."""
        views = self.views
        pairs = [
            Expert(learner, float(lam), _half_life(gamma))
            for gamma in views.gammas
            for lam in views.lams
            for learner in ("ridge", "forward")
        ]
        return pairs + [Expert("mean", None, _half_life(gamma)) for gamma in views.fading]

    def mixture(self, target: int = 0) -> Mixture:
        """What is known of the experts from their errors in a target: views."""
        if not 0 <= target < self.n_targets:
            raise ValueError(f"target must be one of 0 to {self.n_targets - 1}, got {target}")
        views: Mixture = owned(self.buffer, layout.mixture_in(self.buffer, target))
        return views

    def factor(self, memory: int, lam: int) -> Factor:
        """A factor, by the places of its memory and its λ: views."""
        views: Factor = owned(self.buffer, layout.factor_in(self.buffer, memory, lam))
        return views

    def weights(self, target: int = 0) -> Vector:
        """The weight that each expert has in the next prediction (K,): they sum to 1."""
        weights: Weights = weights_of(self.mixture(target))
        K = len(self.experts)
        return np.asarray(weights.ways @ weights.experts[:WAYS, :K])

    def losses(self, target: int = 0) -> Vector:
        """Σ w (ŷ − y)² of each expert (K,), over all rows but the first, of which nobody knew anything."""
        return self.mixture(target).loss.copy()

    def coefficients(self) -> Matrix:
        """θ (d, m) of the experts, averaged by their weights; forward's θ is ridge's of the same state."""
        from scipy.linalg import solve_triangular  # here: who only learns and predicts does without its 16 MB

        views, m = self.views, self.n_targets
        theta = np.zeros((self.n_features + 1, m))
        weights = np.array([self.weights(target) for target in range(m)])
        L = len(views.lams)
        if views.header["counted"][0] > 0:
            for place in range(L * len(views.gammas)):
                factor = self.factor(place // L, place % L)
                own = solve_triangular(factor.U[:, : len(theta)], factor.c, unit_diagonal=True, check_finite=False)
                theta += own * (weights[:, 2 * place] + weights[:, 2 * place + 1])
            theta[0] += (weights[:, 2 * L * len(views.gammas) :] * views.mean.T).sum(axis=1)
        return theta

    def state_of_all_rows(self, target: int = 0) -> Information | None:
        """A copy of the state in which all rows count alike, of one target, at the least λ; None if all memories fade.

        A column that has not varied yet has λ and nothing else: 1, as its pivot, where the ensemble has one that stands
        for all being known.
        """
        views, d = self.views, self.n_features + 1
        lasting = np.flatnonzero(views.gammas == 1.0)
        if not len(lasting):
            return None
        place = int(np.argmin(views.lams))
        factor = self.factor(int(lasting[0]), place)
        varies, began = views.scale > 0, views.header["counted"][0] > 0
        lam = np.append(0.0, np.where(varies, views.lams[place] * (layout.EVEN * views.scale**2), 1.0))
        state = Information(self.n_features, 1, lam, intercept=True)
        if began:
            state.U[:, :d], state.c[:, 0] = factor.U[:, :d], factor.c[:, target]
            state.D[:] = np.append(factor.D[0], np.where(varies, factor.D[1:], 1.0))
            state.loss[0] = factor.loss[target]
        state.tally = np.array([views.header["seen"][0], views.header["counted"][0], 0.0])
        return state

    # What changes it

    def learn(self, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector) -> None:
        """Learn rows in order; overwrites p (n, m) and q (n,) with predictions and leverages as of just before each.

        Raises TooExtremeError, and changes nothing, if the numbers cannot hold the result.
        """
        ordinary = ordinary_rows(X, Y, w)
        if ordinary and not self.views.header["extreme"][0]:
            learn_ensemble(self.buffer, X, Y, w, p, q)
            return
        before = self.buffer.copy()
        with interrupts_deferred():
            learn_ensemble(self.buffer, X, Y, w, p, q)
            if not ordinary:
                self.views.header["extreme"] = 1.0
            if not (np.isfinite(self.buffer).all() and np.isfinite(p).all() and self._squares_are_finite()):
                self.buffer[:] = before
                raise TooExtremeError(
                    "the rows cannot be learned in double precision: expected values whose squares and ratios stay "
                    f"between 1e-300 and 1e300, got magnitudes up to {np.abs(X).max(initial=0.0):.3g} in X and "
                    f"{np.abs(Y).max(initial=0.0):.3g} in y; rescale the columns"
                )

    def _squares_are_finite(self) -> bool:
        """Whether the diagonal of each G and the sums of squares of targets can be held."""
        for memory in range(len(self.views.gammas)):
            for lam in range(len(self.views.lams)):
                factor = self.factor(memory, lam)
                with np.errstate(over="ignore", invalid="ignore"):
                    squares = factor.D @ np.square(factor.U[:, : len(factor.D)]), factor.D @ np.square(factor.c)
                if not all(np.isfinite(each).all() for each in squares):
                    return False
        return True

    def read(self, X: Matrix, w: Vector) -> tuple[Matrix, Vector]:
        """Predictions (n, m) and leverages (n,) of rows of weights w, each as if it came next.

        The leverage is the average of the experts', by their weights.
        """
        p, q = np.empty((len(X), self.n_targets)), np.empty(len(X))
        read_ensemble(self.buffer, X, w, p, q)
        return p, q

    def grow(self, count: int) -> None:
        """Add features that were 0 in every row so far."""
        old, width = self.views, self.n_features
        halves = [_half_life(gamma) for gamma in old.gammas]
        means = [_half_life(gamma) for gamma in old.fading]
        grown = EnsembleState(width + count, self.n_targets, old.lams.tolist(), halves, means)
        new = grown.views
        for name in ("seen", "counted", "extreme"):
            new.header[name] = old.header[name]
        for mine, theirs in (
            (new.gammas, old.gammas),
            (new.periods, old.periods),
            (new.growth, old.growth),
            (new.since, old.since),
            (new.fading, old.fading),
            (new.weight, old.weight),
            (new.mean, old.mean),
            (new.bounds, old.bounds),
            (new.online_loss, old.online_loss),
        ):
            mine[:] = theirs
        for mine, theirs in ((new.low, old.low), (new.high, old.high), (new.scale, old.scale)):
            mine[:width] = theirs
        for target in range(self.n_targets):
            for after, before in zip(grown.mixture(target), self.mixture(target), strict=True):
                after[:] = before
        d, began = width + 1, bool(old.header["counted"][0] > 0)
        for memory in range(len(old.gammas)):
            for lam in range(len(old.lams)):
                mine_factor, factor = grown.factor(memory, lam), self.factor(memory, lam)
                mine_factor.U[:d, :d], mine_factor.D[:d] = factor.U[:, :d], factor.D
                mine_factor.c[:d], mine_factor.loss[:] = factor.c, factor.loss
                mine_factor.counts[:] = factor.counts
                mine_factor.D[d:] = layout.FLAT if began else 0.0
        self._bind(grown.buffer)

    def copy(self) -> Self:
        """A state that can be changed without touching this one."""
        other = object.__new__(type(self))
        other._bind(self.buffer.copy())
        return other

    def __getstate__(self) -> dict[str, Vector]:
        return {"buffer": self.buffer}

    def __setstate__(self, state: dict[str, Vector]) -> None:
        self._bind(np.require(state["buffer"], requirements=["W"]))  # that of a memory map may not be written to

    @classmethod
    def from_buffer(cls, buffer: Vector) -> Self:
        """The state that a buffer holds; ValueError if it cannot be one."""
        buffer = np.array(buffer, dtype=np.float64)
        if buffer.ndim != 1 or len(buffer) < layout.N_ENSEMBLE or not np.isfinite(buffer).all():
            raise ValueError("the buffer of an ensemble must be finite numbers, with a header")
        header = buffer[: layout.N_ENSEMBLE].view(layout.ENSEMBLE)[0]
        given = [float(header[name]) for name in layout.ENSEMBLE.names or ()]
        if not all(number == round(number) and 0 <= number < 2**53 for number in given):
            raise ValueError(f"the header of an ensemble must be whole numbers, got {given}")
        d, m, L, M, H = sizes = tuple(int(number) for number in given[:5])
        # The numbers below are all among those of the buffer: so its size can be computed without overflow.
        if min(sizes[:4]) < 1 or max(L * M * d * d, L * M * d * m, m * L * M, m * H) > len(buffer):
            raise ValueError(f"sizes of an ensemble must fit its buffer of {len(buffer):,} numbers, got {sizes}")
        expected = layout.ensemble_size(*sizes)
        if len(buffer) != expected:
            raise ValueError(f"the buffer of this ensemble must hold {expected:,} numbers, got {len(buffer):,}")
        state = object.__new__(cls)
        state._bind(buffer)
        state._check()
        return state

    def _check(self) -> None:
        """ValueError if learning on could give nonsense."""
        views, header = self.views, self.views.header[0]
        began, fades = bool(header["counted"] > 0), views.gammas < 1
        if header["counted"] > header["seen"] or header["extreme"] > 1:
            raise ValueError("an ensemble must not count rows that it has not seen")
        if not ((views.lams >= LEAST_LAM) & (views.lams <= 1 / LEAST_LAM)).all():
            raise ValueError(f"lams of an ensemble must be between {LEAST_LAM} and {1 / LEAST_LAM}, got {views.lams}")
        for values in (views.gammas, views.fading):
            if not ((values >= 0.5) & (values <= 1)).all():
                raise ValueError(f"rows of an ensemble must not fade by more than half at once, got {values}")
        half_lives = -1 / np.log2(np.where(fades, views.gammas, 0.5))
        periods = np.where(fades, np.maximum(1, PERIOD * half_lives), 0)
        rows = np.minimum(views.since, views.periods)
        if (
            (np.abs(views.periods - periods) > 0.5 + (1e-6 + 1e-15 * periods) * periods).any()
            or (views.periods != np.round(views.periods)).any()
            or (views.since < 0).any()
            or (views.since != np.round(views.since)).any()
            or (fades & (views.since > views.periods)).any()
            or (views.growth < 1).any()
            or (views.growth > (1 + 1e-6) * np.where(fades, views.gammas, 1.0) ** -rows).any()
        ):
            raise ValueError("the memories of an ensemble must have grown with their rows, since they were restored")
        if (views.since > header["counted"]).any():
            raise ValueError("an ensemble cannot have had more rows since it was restored than it counts")
        if not began and self._knows_something():
            raise ValueError("an ensemble that counts no rows must know nothing")
        self._check_scales()
        if began and (views.weight < _LEAST_PIVOT).any():
            raise ValueError(f"the weights of an ensemble's rows must be at least {_LEAST_PIVOT:g}")
        for memory in range(len(views.gammas)):
            for lam in range(len(views.lams)):
                factor = self.factor(memory, lam)
                if began and (factor.D < _LEAST_PIVOT).any():
                    raise ValueError("the pivots of an ensemble must be positive")
        if not self._squares_are_finite():
            raise ValueError("the squares of an ensemble's triangles must be finite")
        for target in range(self.n_targets):
            mixture = self.mixture(target)
            sums = (mixture.squares, mixture.loss, mixture.recent, mixture.top_squares)
            totals = mixture.totals.view(np.float64)
            if any((each < 0).any() for each in (*sums, totals, views.online_loss)):
                raise ValueError("the losses of an ensemble must not be negative")

    def _knows_something(self) -> bool:
        """Whether there is a number other than 0 where rows have left theirs."""
        rest = self.copy()
        views = rest.views
        rest.buffer[: layout.N_ENSEMBLE] = 0.0
        for settings in (views.lams, views.gammas, views.periods, views.growth, views.fading):
            settings[:] = 0.0
        return bool(rest.buffer.any())

    def _check_scales(self) -> None:
        """ValueError unless scales are as long as what columns cover, or up to half more, and λ of them finite."""
        views = self.views
        if (views.low > views.high).any() or (views.bounds[0] > views.bounds[1]).any():
            raise ValueError("the ends of what an ensemble has seen must be in order")
        scale, varies = views.scale, views.scale > SHORTEST
        with np.errstate(over="ignore"):
            length = views.high - views.low
            lam = views.lams.max() * (layout.EVEN * np.square(scale))
            least, most = np.where(length > SHORTEST, length / LONGER**2, 0.0), GROWS_BY * LONGER * length
        fits = np.where(varies, (least <= scale) & (scale <= most), (scale == 0) & (length <= SHORTEST))
        if not (fits.all() and np.isfinite(lam).all()):
            raise ValueError("the scales of an ensemble must be those of the values that it has seen")


def _gamma(half_life: float | None) -> float:
    return 1.0 if half_life is None else float(2.0 ** (-1.0 / half_life))


def _half_life(gamma: float) -> float | None:
    """The shortest number of rows that has this γ: what it was given as."""
    if gamma == 1.0:
        return None
    half_life = -1.0 / float(np.log2(gamma))
    rounded = (float(f"{half_life:.{digits}g}") for digits in range(1, 17))
    return next((short for short in rounded if _gamma(short) == gamma), half_life)
