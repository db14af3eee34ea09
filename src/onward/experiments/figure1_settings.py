"""The settings of figure 1."""

from dataclasses import dataclass

from onward.core.checks import not_negative, positive
from onward.experiments.regression_problems import RegressionSettings

TERMS = (("ridge", "first"), ("forward", "first"), ("forward", "second"))


@dataclass(frozen=True)
class Figure1Config(RegressionSettings):
    """The paper's settings. It does not give θ*, which is uniform on the unit sphere unless told otherwise."""

    d: int = 5
    rounds: int = 200
    sigma: float = 0.1  # of the noise, in the picture
    lam: float = 1.0
    sigmas: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # for which the claims are tried, too
    # Repeats behind the claims, for each one of the picture: of 100, one can make up much of a mean.
    sums_times: int = 5
    margin: float = 0.1  # on par: neither has more than 1 + margin times the other's

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sigma", "lam", "sums_times", "d"):
            positive(name, getattr(self, name))
        not_negative("margin", self.margin)
        for sigma in self.sigmas:
            positive("sigmas", sigma)
        if self.rounds < 2 * self.d + 2:
            raise ValueError(f"rounds must be at least 2·d + 2 = {2 * self.d + 2}, got {self.rounds}")

    @property
    def all_sigmas(self) -> tuple[float, ...]:
        """Every σ that is run, ascending."""
        return tuple(sorted({self.sigma, *self.sigmas}))

    @property
    def marks(self) -> tuple[int, int, int]:
        """Rounds at which sums are kept: the end of the first d rounds, the beginning of the last tenth, the end."""
        return self.d, self.rounds - max(1, self.rounds // 10), self.rounds
