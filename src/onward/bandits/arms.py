"""The arms that a world offers: given ones, or drawn by a law, anew each round or once a run."""

import math
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from onward.bandits.world_parts import Part, finite_matrix
from onward.core.checks import positive, whole
from onward.core.compile import unlocked
from onward.core.types import Matrix


class Arms(Protocol):
    """What a `LinearWorld` asks of its arms.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import Arms, SphereArms
        >>> arms: Arms = SphereArms(10, 3)
        >>> arms.n_arms, arms.dimension, arms.bound, arms.fresh
        (10, 3, 1.0, True)
        >>> arms.draw(np.random.default_rng(0), 2).shape
        (2, 10, 3)
    """

    @property
    def n_arms(self) -> int:
        """How many are offered, k."""

    @property
    def dimension(self) -> int:
        """Numbers in each, d."""

    @property
    def bound(self) -> float:
        """No norm is larger, up to rounding."""

    @property
    def fresh(self) -> bool:
        """Whether every round has its own. Otherwise they are drawn once for each run."""

    def draw(self, rng: Generator, count: int) -> Matrix:
        """The arms of the next `count` rounds, drawn from `rng`: (count, k, d), in an array that is the caller's.

        Two calls draw what one call of their sum would.
        """

    def describe(self) -> dict[str, Any]:
        """Class and settings as plain values for JSON."""


class GivenArms(Part):
    """The same arms in every round.

    Args:
        arms: one arm a row, (k, d).

    Raises:
        ValueError: if they are not finite numbers in k rows of d.

    Example:
        >>> from onward.bandits.environments import GivenArms
        >>> arms = GivenArms([[1.0, 0.0], [0.0, 2.0]])
        >>> arms.n_arms, arms.bound
        (2, 2.0)
    """

    fresh = False

    def __init__(self, arms: ArrayLike) -> None:
        self.arms = finite_matrix("arms", arms, "(k, d)")
        self.n_arms, self.dimension = self.arms.shape
        self.bound = float(np.linalg.norm(self.arms, axis=1).max())

    def draw(self, rng: Generator, count: int) -> Matrix:
        """The arms, `count` times; `rng` is left alone."""
        return np.repeat(self.arms[np.newaxis], count, axis=0)

    def _settings(self) -> dict[str, Any]:
        return {"arms": self.arms}


class _DirectedArms(Part):
    """A direction uniform on the sphere, and a norm by the law of the class."""

    _norm: int

    def __init__(self, n: int, d: int, radius: float = 1.0, fresh: bool = True) -> None:
        self.n_arms, self.dimension = whole("n", n), whole("d", d)
        self.bound, self.fresh = positive("radius", radius), bool(fresh)

    def draw(self, rng: Generator, count: int) -> Matrix:
        """The arms of the next `count` rounds, drawn from `rng`: (count, k, d)."""
        out = np.empty((count, self.n_arms, self.dimension))
        _fill_directed(rng, self._norm, self.bound, out)
        return out

    def _settings(self) -> dict[str, Any]:
        return {"n": self.n_arms, "d": self.dimension, "radius": self.bound, "fresh": self.fresh}


_SAME, _BALL, _UNIFORM = 0, 1, 2  # laws of the norm


class SphereArms(_DirectedArms):
    """Arms uniform on the sphere.

    Args:
        n: how many.
        d: dimension.
        radius: norm of each.
        fresh: drawn anew each round; otherwise once a run.

    Raises:
        ValueError: if n or d is not a positive whole number, or the radius not positive.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import SphereArms
        >>> arms = SphereArms(10, 3, radius=2.0).draw(np.random.default_rng(0), 1)
        >>> np.linalg.norm(arms, axis=2).round(6).tolist()[0][:3]
        [2.0, 2.0, 2.0]
    """

    _norm = _SAME


class BallArms(_DirectedArms):
    """Arms uniform in the ball: by volume, so in high dimension most are near its surface.

    Args:
        n: how many.
        d: dimension.
        radius: the largest norm.
        fresh: drawn anew each round; otherwise once a run.

    Raises:
        ValueError: if n or d is not a positive whole number, or the radius not positive.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import BallArms
        >>> arms = BallArms(1000, 20).draw(np.random.default_rng(0), 1)
        >>> bool(np.mean(np.linalg.norm(arms, axis=2) > 0.9) > 0.8)
        True
    """

    _norm = _BALL


class UniformNormArms(_DirectedArms):
    """Arms of uniform direction, their norm uniform in [0, radius], whatever the dimension.

    Args:
        n: how many.
        d: dimension.
        radius: the largest norm.
        fresh: drawn anew each round; otherwise once a run.

    Raises:
        ValueError: if n or d is not a positive whole number, or the radius not positive.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import UniformNormArms
        >>> arms = UniformNormArms(1000, 20).draw(np.random.default_rng(0), 1)
        >>> bool(np.mean(np.linalg.norm(arms, axis=2) > 0.9) < 0.2)
        True
    """

    _norm = _UNIFORM


class BoxArms(Part):
    """Arms uniform in the box [−1, 1]ᵈ, divided by their norm where that exceeds 1 (Russac et al. 2019).

    Args:
        n: how many.
        d: dimension.
        fresh: drawn anew each round; otherwise once a run.

    Raises:
        ValueError: if n or d is not a positive whole number.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import BoxArms
        >>> arms = BoxArms(50, 2).draw(np.random.default_rng(0), 1)
        >>> bool(np.linalg.norm(arms, axis=2).max() <= 1.0 + 1e-15)
        True
    """

    bound = 1.0

    def __init__(self, n: int, d: int, fresh: bool = True) -> None:
        self.n_arms, self.dimension, self.fresh = whole("n", n), whole("d", d), bool(fresh)

    def draw(self, rng: Generator, count: int) -> Matrix:
        """The arms of the next `count` rounds, drawn from `rng`: (count, k, d)."""
        out = np.empty((count, self.n_arms, self.dimension))
        # Drawing takes most of the time, so a word of 64 random bits makes two coordinates, each one of 2³² values.
        # A round starts with a new word: what it gets must not depend on where a block began.
        size = self.n_arms * self.dimension
        words = (size + 1) // 2
        bits = np.asarray(rng.bit_generator.random_raw(count * words), dtype=np.uint64)
        halves = bits.view(np.uint32).reshape(count, 2 * words)[:, :size]
        _fill_box(np.ascontiguousarray(halves).reshape(count * size), out)
        return out

    def _settings(self) -> dict[str, Any]:
        return {"n": self.n_arms, "d": self.dimension, "fresh": self.fresh}


@unlocked
def _fill_directed(rng: Generator, law: int, radius: float, out: Matrix) -> None:
    """Fill out, (count, k, d), with arms of uniform direction. A normal vector has one."""
    count, k, d = out.shape
    for t in range(count):
        for i in range(k):
            square = 0.0
            while square == 0.0:
                for j in range(d):
                    z = rng.standard_normal()
                    out[t, i, j] = z
                    square += z * z
            scale = radius / math.sqrt(square)
            if law == _BALL:
                scale *= rng.random() ** (1.0 / d)
            elif law == _UNIFORM:
                scale *= rng.random()
            for j in range(d):
                out[t, i, j] *= scale


@unlocked
def _fill_box(bits: NDArray[np.uint32], out: Matrix) -> None:
    """Fill out, (count, k, d), with the box's arms, each number from 32 bits."""
    count, k, d = out.shape
    flat = out.reshape(count * k * d)
    for m in range(len(flat)):
        flat[m] = bits[m] * 2.0**-31 - (1.0 - 2.0**-32)  # the middle of one of 2³² cells: exact, and symmetric
    if d == 2:
        # Written out, the compiler does several arms at once: three times as fast.
        for i in range(count * k):
            x, y = flat[2 * i], flat[2 * i + 1]
            scale = 1.0 / math.sqrt(max(1.0, x * x + y * y))
            flat[2 * i] = x * scale
            flat[2 * i + 1] = y * scale
    else:
        for i in range(count * k):
            square = 0.0
            for m in range(i * d, i * d + d):
                square += flat[m] * flat[m]
            if square > 1.0:
                scale = 1.0 / math.sqrt(square)
                for m in range(i * d, i * d + d):
                    flat[m] *= scale
