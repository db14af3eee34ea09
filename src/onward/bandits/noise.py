"""The noise of a world's rewards, each with its sub-Gaussian constant."""

import math
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from onward.bandits.world_parts import Part
from onward.core.checks import not_negative
from onward.core.types import Vector


class Noise(Protocol):
    """What a `LinearWorld` asks of its noise.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import Bounded, Noise
        >>> noise: Noise = Bounded(1.0)
        >>> round(noise.sigma, 3), noise.draw(np.random.default_rng(0), 3).shape
        (0.577, (3,))
    """

    @property
    def sigma(self) -> float:
        """E exp(sε) ≤ exp(s²sigma²/2) for every s, and for no smaller sigma."""

    def draw(self, rng: Generator, count: int) -> Vector:
        """The noise of the next `count` rounds, drawn from `rng`. Two calls draw what one call of their sum would."""

    def describe(self) -> dict[str, Any]:
        """Class and settings as plain values for JSON."""


class Gaussian(Part):
    """Normal noise.

    Args:
        sigma: its standard deviation; 0 for no noise.

    Raises:
        ValueError: if sigma is negative or not finite.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import Gaussian
        >>> bool(abs(np.std(Gaussian(2.0).draw(np.random.default_rng(0), 10_000)) - 2.0) < 0.05)
        True
    """

    def __init__(self, sigma: float) -> None:
        self.sigma = not_negative("sigma", sigma)

    def draw(self, rng: Generator, count: int) -> Vector:
        """The noise of the next `count` rounds, drawn from `rng`."""
        return self.sigma * rng.standard_normal(count)

    def _settings(self) -> dict[str, Any]:
        return {"sigma": self.sigma}


class Rademacher(Part):
    """±sigma, each with probability 1/2: of all noise with this sub-Gaussian constant, the most even.

    Args:
        sigma: its size.

    Raises:
        ValueError: if sigma is negative or not finite.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import Rademacher
        >>> sorted({float(each) for each in Rademacher(0.5).draw(np.random.default_rng(0), 100)})
        [-0.5, 0.5]
    """

    def __init__(self, sigma: float) -> None:
        self.sigma = not_negative("sigma", sigma)

    def draw(self, rng: Generator, count: int) -> Vector:
        """The noise of the next `count` rounds, drawn from `rng`."""
        return np.where(rng.random(count) < 0.5, -self.sigma, self.sigma)

    def _settings(self) -> dict[str, Any]:
        return {"sigma": self.sigma}


class Bounded(Part):
    """Noise uniform in [−width, width]. Its sub-Gaussian constant is its standard deviation, width/√3.

    Args:
        width: how far it reaches.

    Raises:
        ValueError: if the width is negative or not finite.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import Bounded
        >>> bool(abs(Bounded(0.5).draw(np.random.default_rng(0), 100)).max() <= 0.5)
        True
    """

    def __init__(self, width: float) -> None:
        self.width = not_negative("width", width)
        self.sigma = self.width / math.sqrt(3.0)

    def draw(self, rng: Generator, count: int) -> Vector:
        """The noise of the next `count` rounds, drawn from `rng`."""
        return self.width * (2.0 * rng.random(count) - 1.0)

    def _settings(self) -> dict[str, Any]:
        return {"width": self.width}
