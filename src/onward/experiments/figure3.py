"""Figure 3: OFUL and OFUL^f on a linear bandit of many dimensions with hardly any regularisation.

The paper does not say whether its ten arms are drawn once or anew each round, nor how long they are, nor which index
was played. So all of it is run: {fixed, fresh} arms × {full norm, uniform norm} × {full index, S-term dropped, index as
printed}; and, for fewer rounds, over λ. OFUL's own index is not printed wrongly; beside OFUL^f's printed one it has the
uniform width, as the paper has it.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from onward.bandits import OFUL
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary, UniformNormArms
from onward.bandits.rules import Bias
from onward.experiments import bandit_games, figure3_claims, figure3_drawings, repeat_frame
from onward.experiments.bandit_games import Player, play_piece, spaced_rounds
from onward.experiments.claims import Claim
from onward.experiments.figure import Figure, Piece
from onward.experiments.figure3_settings import ARMS, INDICES, NORMS, Figure3Config
from onward.experiments.repeat_frame import split_repeats
from onward.pages.drawing import Drawing

FORWARD_BIAS: dict[str, Bias] = {"full": "tight", "no-bias": "none", "printed": "paper"}


class Figure3(Figure[Figure3Config]):
    """Curves for each variant, and a map over variants and λ."""

    name = "figure3"
    title = "Figure 3: OFUL and OFUL^f on a linear bandit, with hardly any regularisation"
    Config = Figure3Config
    quick_settings: ClassVar[Mapping[str, Any]] = {
        "repeats": 5,
        "fresh_repeats": 3,
        "horizon": 3000,
        "undecided_times": 1,
    }
    repeat_settings = ("repeats", "fresh_repeats")
    computing_modules = (bandit_games, repeat_frame)

    def remarks(self, config: Figure3Config) -> list[str]:
        """Which repeats are fewer, and what was changed."""
        found = []
        if config.fresh_repeats < config.repeats:
            found.append(
                f"Variants with arms drawn anew each round ran with {config.fresh_repeats} repeats, not "
                f"{config.repeats}: a repeat takes ten times as long as with fixed arms, which span ten dimensions "
                "instead of a hundred. Quartiles and intervals are those of that many repeats. --repeats N sets both."
            )
        return found + super().remarks(config)

    def groups(self, config: Figure3Config) -> Mapping[str, int]:
        """Curves and map of each world."""
        found = {}
        for arms, norm in itertools.product(ARMS, NORMS):
            found[f"curves-{arms}-{norm}"] = config.fresh_repeats if arms == "fresh" else config.repeats
            found[f"map-{arms}-{norm}"] = config.map_repeats
        return found

    def cut(self, config: Figure3Config, group: str, start: int, stop: int) -> Sequence[Piece]:
        """Ten repeats of fixed arms at a time, one of fresh ones; of the map, five."""
        part, arms, norm = group.split("-")
        size = 5 if part == "map" else 1 if arms == "fresh" else 10
        return split_repeats(part, start, stop, size, arms=arms, norm=norm)

    def compute(self, config: Figure3Config, piece: Piece) -> pl.DataFrame:
        """All policies in some repeats of one world."""
        labels = {name: piece.about[name] for name in ("part", "arms", "norm")}
        world = make_world(config, labels["arms"], labels["norm"])
        lams: Sequence[float] = config.map_lams
        rounds = np.array([config.map_horizon])
        if labels["part"] == "curves":
            lams, rounds = (config.lam,), spaced_rounds(config.horizon, config.kept, log=True)
        players = [player for lam in lams for player in make_players(config, lam)]
        return play_piece(players, world, int(rounds[-1]), config.seed, piece, rounds, **labels)

    def claims(self, config: Figure3Config, frame: pl.DataFrame) -> Sequence[Claim]:
        """What the paper says of OFUL^f, and what came out."""
        return figure3_claims.decide_claims(config, frame)

    def draw(self, config: Figure3Config, frame: pl.DataFrame) -> Sequence[Drawing]:
        """Curves with the paper's axes, the same with the first rounds spread out, and the map over λ."""
        curves = frame.filter(part="curves")
        found = [figure3_drawings.draw_curves(config, curves, arms, log) for arms in ARMS for log in (False, True)]
        return [*found, figure3_drawings.draw_map(config, frame.filter(part="map"))]


def make_players(config: Figure3Config, lam: float) -> list[Player]:
    """OFUL and OFUL^f with each index; all of them meet the same arms and noise."""
    known: dict[str, Any] = {
        "sigma": config.variance**0.5,
        "theta_bound": config.theta_bound,
        "delta": config.delta,
        "radius": "sum",
    }
    found = []
    for index in INDICES:
        ridge = OFUL(
            lam,
            **known,
            estimator="ridge",
            width="uniform" if index == "printed" else "determinant",
            bias="none" if index == "no-bias" else "tight",
        )
        forward = OFUL(
            lam,
            **known,
            estimator="forward",
            width="printed" if index == "printed" else "determinant",
            bias=FORWARD_BIAS[index],
        )
        for name, policy in (("OFUL", ridge), ("OFUL^f", forward)):
            found.append(Player(policy, {"policy": name, "index": index, "lam": float(lam)}))
    return found


def make_world(config: Figure3Config, arms: str, norm: str) -> LinearWorld:
    """Arms, θ* from the unit ball unless told otherwise, Gaussian noise."""
    kind = SphereArms if norm == "full" else UniformNormArms
    offered = kind(config.n_arms, config.d, radius=config.norm, fresh=arms == "fresh")
    theta = Stationary.random(config.d, "ball" if config.theta_law == "ball" else "sphere", config.theta_norm)
    return LinearWorld(offered, theta, Gaussian(config.variance**0.5))


FIGURE_3 = Figure3()
