"""The noise of a world's rewards, each with its sub-Gaussian constant."""

import math
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from onward.bandits.world_parts import Part
from onward.core.checks import not_negative
from onward.core.types import Vector


class Noise(Protocol):
    """What a `LinearWorld` asks of its noise."""

    @property
    def sigma(self) -> float:
        """E exp(sε) ≤ exp(s²sigma²/2) for every s, and for no smaller sigma."""

    def draw(self, rng: Generator, count: int) -> Vector:
        """The noise of the next `count` rounds. Two calls draw what one call of their sum would."""

    def describe(self) -> dict[str, Any]:
        """Class and settings as plain values for JSON."""


class Gaussian(Part):
    """Normal noise of standard deviation sigma; 0 for none."""

    def __init__(self, sigma: float) -> None:
        self.sigma = not_negative("sigma", sigma)

    def draw(self, rng: Generator, count: int) -> Vector:
        """The noise of the next `count` rounds."""
        return self.sigma * rng.standard_normal(count)

    def _settings(self) -> dict[str, Any]:
        return {"sigma": self.sigma}


class Rademacher(Part):
    """±sigma, each with probability 1/2: of all noise with this sub-Gaussian constant, the most even."""

    def __init__(self, sigma: float) -> None:
        self.sigma = not_negative("sigma", sigma)

    def draw(self, rng: Generator, count: int) -> Vector:
        """The noise of the next `count` rounds."""
        return np.where(rng.random(count) < 0.5, -self.sigma, self.sigma)

    def _settings(self) -> dict[str, Any]:
        return {"sigma": self.sigma}


class Bounded(Part):
    """Noise uniform in [−width, width]. Its sub-Gaussian constant is its standard deviation, width/√3."""

    def __init__(self, width: float) -> None:
        self.width = not_negative("width", width)
        self.sigma = self.width / math.sqrt(3.0)

    def draw(self, rng: Generator, count: int) -> Vector:
        """The noise of the next `count` rounds."""
        return self.width * (2.0 * rng.random(count) - 1.0)

    def _settings(self) -> dict[str, Any]:
        return {"width": self.width}
