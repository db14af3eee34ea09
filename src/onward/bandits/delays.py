"""How late rewards come: after a number of rounds, the same always or drawn.

play(policies, world, 1000, delay=20)
play(policies, world, 1000, delay=GeometricDelay(20))
"""

from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from onward.bandits.world_parts import Part
from onward.core.checks import whole
from onward.core.shown import brief

Rounds = NDArray[np.int64]


class Delay(Protocol):
    """How many rounds later each reward comes; 0: before the next round."""

    def draw(self, rng: Generator, count: int) -> Rounds:
        """The delays of so many rewards, in the order of their rounds.

        Args:
            rng: the random numbers.
            count: how many.
        """

    def describe(self) -> dict[str, Any]:
        """Class and settings as plain values."""


class FixedDelay(Part):
    """Every reward comes so many rounds later.

    Args:
        rounds: how many.

    Example:
        >>> import numpy as np
        >>> from onward.bandits import FixedDelay
        >>> FixedDelay(3).draw(np.random.default_rng(0), 4)
        array([3, 3, 3, 3])
    """

    def __init__(self, rounds: int) -> None:
        self.rounds = whole("rounds", rounds, 0)

    def _settings(self) -> dict[str, Any]:
        return {"rounds": self.rounds}

    def draw(self, rng: Generator, count: int) -> Rounds:
        """The delays of so many rewards.

        Args:
            rng: the random numbers.
            count: how many.
        """
        return np.full(count, self.rounds, dtype=np.int64)


class UniformDelay(Part):
    """Each number of rounds from `least` to `most` is as likely as any other.

    Args:
        least, most: the smallest and the largest number of rounds.

    Example:
        >>> import numpy as np
        >>> from onward.bandits import UniformDelay
        >>> delays = UniformDelay(1, 5).draw(np.random.default_rng(0), 1000)
        >>> int(delays.min()), int(delays.max())
        (1, 5)
    """

    def __init__(self, least: int, most: int) -> None:
        self.least = whole("least", least, 0)
        self.most = whole("most", most, self.least)

    def _settings(self) -> dict[str, Any]:
        return {"least": self.least, "most": self.most}

    def draw(self, rng: Generator, count: int) -> Rounds:
        """The delays of so many rewards.

        Args:
            rng: the random numbers.
            count: how many.
        """
        return rng.integers(self.least, self.most + 1, size=count)


class GeometricDelay(Part):
    """Each round the reward comes with the same chance, so that it takes `mean` rounds on average.

    Args:
        mean: the mean number of rounds.

    Raises:
        ValueError: if the mean is negative or not finite.

    Example:
        >>> import numpy as np
        >>> from onward.bandits import GeometricDelay
        >>> round(float(GeometricDelay(4.0).draw(np.random.default_rng(0), 10_000).mean()))
        4
    """

    def __init__(self, mean: float) -> None:
        if isinstance(mean, bool) or not isinstance(mean, int | float) or not 0 <= mean < float("inf"):
            raise ValueError(f"mean must be a number >= 0, got {brief(mean)}")
        self.mean = float(mean)

    def _settings(self) -> dict[str, Any]:
        return {"mean": self.mean}

    def draw(self, rng: Generator, count: int) -> Rounds:
        """The delays of so many rewards.

        Args:
            rng: the random numbers.
            count: how many.
        """
        return rng.geometric(1 / (1 + self.mean), size=count) - 1


def as_delay(value: Any) -> Delay | None:
    """A delay: what was given, or so many rounds; None for none."""
    if value is None or callable(getattr(value, "draw", None)):
        return value if value is None else _described(value)
    rounds = whole("delay", value, 0)
    return FixedDelay(rounds) if rounds else None


def _described(value: Any) -> Delay:
    if not callable(getattr(value, "describe", None)):
        raise ValueError(f"delay must have a method describe beside draw, got {brief(value)}")
    delay: Delay = value
    return delay
