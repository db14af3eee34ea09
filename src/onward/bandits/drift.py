"""The parameter θ of a world, round by round: still, jumping, rotating or wandering."""

import math
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from onward.bandits.arms import BallArms, SphereArms
from onward.bandits.world_parts import Part, finite_matrix, finite_vector
from onward.core.checks import positive, whole
from onward.core.compile import unlocked
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

_ROUNDING = 1e-12  # norms that agree to this are the same


class Drift(Protocol):
    """What a `LinearWorld` asks of its θ.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import Drift, Rotating
        >>> theta: Drift = Rotating([1.0, 0.0], [0.0, 1.0], steps=2)
        >>> theta.draw(np.random.default_rng(0), 0, 3, None).round(3).tolist()
        [[1.0, 0.0], [0.707, 0.707], [0.0, 1.0]]
    """

    @property
    def dimension(self) -> int:
        """Numbers in θ, d."""

    @property
    def bound(self) -> float:
        """No norm is larger, up to rounding."""

    @property
    def change_points(self) -> tuple[int, ...]:
        """The rounds that begin with a new θ, where θ jumps; empty otherwise."""

    def variation(self, horizon: int) -> float:
        """B_T: the sum of ‖θ_{t+1} − θ_t‖ over the first `horizon` rounds; ValueError if it is random."""

    def draw(self, rng: Generator, t: int, count: int, previous: Vector | None) -> Matrix:
        """θ of the rounds t, …, t + count − 1 (the first is 0), drawn from `rng`: (count, d).

        `previous` is that of round t − 1; None in the first round of a run. Two calls draw what one call of their sum
        would.
        """

    def describe(self) -> dict[str, Any]:
        """Class and settings as plain values for JSON."""


class RandomTheta(Part):
    """A θ that every run draws for itself.

    Args:
        d: dimension.
        law: uniform on the "sphere" or in the "ball".
        radius: of either.

    Raises:
        ValueError: if the law is neither, d not a positive whole number, or the radius not positive.

    Example:
        >>> from onward.bandits.environments import RandomTheta, RandomWalk
        >>> RandomWalk(RandomTheta(3), step=0.01).dimension
        3
    """

    def __init__(self, d: int, law: Literal["sphere", "ball"] = "sphere", radius: float = 1.0) -> None:
        if law not in ("sphere", "ball"):
            raise ValueError(f"law must be 'sphere' or 'ball', got {brief(law)}")
        self.law = law
        self._one = SphereArms(1, d, radius) if law == "sphere" else BallArms(1, d, radius)
        self.dimension, self.bound = self._one.dimension, self._one.bound

    def draw(self, rng: Generator) -> Vector:
        """One of them, drawn from `rng`."""
        theta: Vector = self._one.draw(rng, 1)[0, 0]
        return theta

    def _settings(self) -> dict[str, Any]:
        return {"d": self.dimension, "law": self.law, "radius": self.bound}


class _GivenTheta:
    """A θ that is the same in every run."""

    def __init__(self, name: str, theta: ArrayLike) -> None:
        self.theta = finite_vector(name, theta)
        self.dimension, self.bound = len(self.theta), float(np.linalg.norm(self.theta))

    def draw(self, rng: Generator) -> Vector:
        return self.theta


def _start(name: str, theta: ArrayLike | RandomTheta) -> _GivenTheta | RandomTheta:
    return theta if isinstance(theta, RandomTheta) else _GivenTheta(name, theta)


def _setting(start: _GivenTheta | RandomTheta) -> Any:
    return start.theta if isinstance(start, _GivenTheta) else start


class Stationary(Part):
    """One θ in every round.

    Args:
        theta: the vector, (d,), or a `RandomTheta`.

    Raises:
        ValueError: if it is no vector of finite numbers.

    Example:
        >>> from onward.bandits.environments import Stationary
        >>> Stationary([0.6, -0.8]).bound
        1.0
        >>> Stationary.random(5).dimension
        5
    """

    change_points: tuple[int, ...] = ()

    def __init__(self, theta: ArrayLike | RandomTheta) -> None:
        self._theta = _start("theta", theta)
        self.dimension, self.bound = self._theta.dimension, self._theta.bound

    @classmethod
    def random(cls, d: int, law: Literal["sphere", "ball"] = "sphere", radius: float = 1.0) -> Self:
        """A θ of d numbers that every run draws for itself: by `law` and `radius` as in `RandomTheta`."""
        return cls(RandomTheta(d, law, radius))

    def variation(self, horizon: int) -> float:
        """0 up to any `horizon`: θ never moves."""
        whole("horizon", horizon)
        return 0.0

    def draw(self, rng: Generator, t: int, count: int, previous: Vector | None) -> Matrix:
        """θ of the rounds t, …, t + count − 1: `previous`, or in the first round of a run one that `rng` may draw."""
        return np.tile(self._theta.draw(rng) if previous is None else previous, (count, 1))

    def _settings(self) -> dict[str, Any]:
        return {"theta": _setting(self._theta)}


class Abrupt(Part):
    """θ jumps: it is thetas[i] until change_points[i] rounds have been played, and then the next.

    Args:
        thetas: one a row, (m, d).
        change_points: m − 1 numbers of rounds, increasing.

    Raises:
        ValueError: if the change points do not increase, or are not one fewer than the thetas.

    Example:
        >>> from onward.bandits.environments import Abrupt
        >>> theta = Abrupt([(1.0, 0.0), (0.0, 1.0)], change_points=(300,))
        >>> round(theta.variation(600), 3)
        1.414
    """

    def __init__(self, thetas: ArrayLike, change_points: tuple[int, ...] | list[int]) -> None:
        self.thetas = finite_matrix("thetas", thetas, "(m, d)")
        self.dimension = self.thetas.shape[1]
        self.bound = float(np.linalg.norm(self.thetas, axis=1).max())
        self.change_points = tuple(whole("each change point", point) for point in change_points)
        if len(self.change_points) != len(self.thetas) - 1:
            raise ValueError(
                f"{len(self.thetas)} thetas need {len(self.thetas) - 1} change_points, got {len(self.change_points)}"
            )
        if any(before >= after for before, after in pairwise(self.change_points)):
            raise ValueError(f"change_points must increase, got {self.change_points}")

    def variation(self, horizon: int) -> float:
        """The lengths of the jumps before round `horizon`."""
        seen = bisect_left(self.change_points, whole("horizon", horizon))
        return float(np.linalg.norm(np.diff(self.thetas[: seen + 1], axis=0), axis=1).sum())

    def draw(self, rng: Generator, t: int, count: int, previous: Vector | None) -> Matrix:
        """θ of the rounds t, …, t + count − 1, whatever `rng` and `previous`: nothing is random."""
        out = np.empty((count, self.dimension))
        first, last = bisect_right(self.change_points, t), bisect_left(self.change_points, t + count)
        edges = (t, *self.change_points[first:last], t + count)
        for i, (begin, end) in enumerate(pairwise(edges), first):
            out[begin - t : end - t] = self.thetas[i]
        return out

    def _settings(self) -> dict[str, Any]:
        return {"thetas": self.thetas, "change_points": self.change_points}


class Rotating(Part):
    """θ goes from start to end along their circle, at constant speed, and stays there.

    Args:
        start: θ of round 0, (d,).
        end: θ of round `steps` and all later ones; of the same norm, and not opposite to start.
        steps: how many rounds it takes.

    Raises:
        ValueError: if start and end differ in dimension or norm, or are opposite to each other.

    Example:
        >>> from onward.bandits.environments import Rotating
        >>> theta = Rotating([1.0, 0.0], [0.0, 1.0], steps=1000)
        >>> round(theta.variation(2000), 3)  # about a quarter of the circle
        1.571
    """

    change_points: tuple[int, ...] = ()

    def __init__(self, start: ArrayLike, end: ArrayLike, steps: int) -> None:
        self.start, self.end = finite_vector("start", start), finite_vector("end", end)
        self.steps = whole("steps", steps)
        if len(self.start) != len(self.end):
            raise ValueError(f"start has dimension {len(self.start)}, but end has {len(self.end)}")
        self.dimension, self.bound = len(self.start), float(np.linalg.norm(self.start))
        if abs(np.linalg.norm(self.end) - self.bound) > _ROUNDING * self.bound:
            raise ValueError(f"start has norm {self.bound:g}, but end has {np.linalg.norm(self.end):g}")
        # The circle is cos(a) start + sin(a) side, with `side` at a right angle to start, towards end.
        square = self.bound**2 or 1.0
        along = float(self.start @ self.end) / square
        side = self.end - along * self.start
        across = float(np.linalg.norm(side)) / (self.bound or 1.0)
        self.angle = math.atan2(across, along) if self.bound else 0.0
        if across <= _ROUNDING and along < 0:
            raise ValueError("end is opposite to start, so many circles join them; give a point on the way, got none")
        self._side = side / across if across else side

    def variation(self, horizon: int) -> float:
        """The chords between the rounds before `horizon`."""
        moves = min(self.steps, whole("horizon", horizon) - 1)
        return moves * 2.0 * self.bound * math.sin(self.angle / (2 * self.steps))

    def draw(self, rng: Generator, t: int, count: int, previous: Vector | None) -> Matrix:
        """θ of the rounds t, …, t + count − 1, whatever `rng` and `previous`: nothing is random."""
        out = np.empty((count, self.dimension))
        _fill_rotating(self.start, self._side, self.end, self.angle, self.steps, t, out)
        return out

    def _settings(self) -> dict[str, Any]:
        return {"start": self.start, "end": self.end, "steps": self.steps}


class RandomWalk(Part):
    """θ wanders: each round adds a normal step, and a θ that left the ball is put back on its surface.

    Args:
        start: θ of round 0, (d,), or a `RandomTheta`.
        step: standard deviation of the step in each coordinate.
        radius: of the ball.

    Raises:
        ValueError: if start lies outside of the ball, or step or radius is not positive.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import RandomWalk
        >>> thetas = RandomWalk([1.0, 0.0], step=0.1).draw(np.random.default_rng(0), 0, 100, None)
        >>> thetas[0].tolist(), bool(np.linalg.norm(thetas, axis=1).max() <= 1.0 + 1e-12)
        ([1.0, 0.0], True)
    """

    change_points: tuple[int, ...] = ()

    def __init__(self, start: ArrayLike | RandomTheta, step: float, radius: float = 1.0) -> None:
        self._theta = _start("start", start)
        self.step, self.bound = positive("step", step), positive("radius", radius)
        self.dimension = self._theta.dimension
        if self._theta.bound > self.bound * (1.0 + _ROUNDING):
            raise ValueError(f"start must be in the ball of radius {self.bound:g}, got norm {self._theta.bound:g}")

    def variation(self, horizon: int) -> float:
        """Differs from run to run, so there is none to tell up to a `horizon`: take it from a run's `thetas`."""
        raise ValueError(
            "expected a theta whose path is known beforehand, got a RandomWalk, which varies differently in each run; "
            "sum the norms of the differences of a block's thetas instead"
        )

    def draw(self, rng: Generator, t: int, count: int, previous: Vector | None) -> Matrix:
        """θ of the rounds t, …, t + count − 1, walked on from `previous` by steps from `rng`."""
        out = np.empty((count, self.dimension))
        if count:
            first = previous is None
            out[0] = self._theta.draw(rng) if previous is None else previous
            _fill_walk(rng, self.step, self.bound, first, out)
        return out

    def _settings(self) -> dict[str, Any]:
        return {"start": _setting(self._theta), "step": self.step, "radius": self.bound}


@unlocked
def _fill_rotating(start: Vector, side: Vector, end: Vector, angle: float, steps: int, t: int, out: Matrix) -> None:
    """Fill out, (count, d), with θ of the rounds t, t + 1, …. A loop, so that bits do not depend on the block."""
    count, d = out.shape
    for s in range(count):
        if t + s >= steps:
            for j in range(d):
                out[s, j] = end[j]
        else:
            a = angle * ((t + s) / steps)
            cos, sin = math.cos(a), math.sin(a)
            for j in range(d):
                out[s, j] = cos * start[j] + sin * side[j]


@unlocked
def _fill_walk(rng: Generator, step: float, radius: float, first: bool, out: Matrix) -> None:
    """Walk on from out[0], which is the first θ of the block if `first`, else the last one before it."""
    count, d = out.shape
    for s in range(1 if first else 0, count):
        square = 0.0
        for j in range(d):
            theta = out[max(s - 1, 0), j] + step * rng.standard_normal()
            out[s, j] = theta
            square += theta * theta
        if square > radius * radius:
            scale = radius / math.sqrt(square)
            for j in range(d):
                out[s, j] *= scale
