"""SpectralUCB on random graphs (Valko et al. 2014), with ridge and with forward, beside OFUL that knows no graph."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from onward.bandits import OFUL, SpectralBandit
from onward.bandits.environments import Gaussian
from onward.bandits.structured_worlds import SmoothTheta, graph_world
from onward.experiments import bandit_games, graph_claims, graph_drawings, repeat_frame
from onward.experiments.bandit_games import Player, play_piece, spaced_rounds
from onward.experiments.claims import Claim
from onward.experiments.figure import Figure, Piece
from onward.experiments.graph_settings import INDICES, POLICIES, GraphConfig
from onward.experiments.repeat_frame import split_repeats
from onward.pages.drawing import Drawing


def make_players(config: GraphConfig, rewards: SmoothTheta, sigma: float) -> list[Player]:
    """SpectralUCB and OFUL with both estimators and indices. Each is told the truth: C, or S ≥ ‖α*‖."""
    basis, players = rewards.basis, []
    size, dimension = len(basis.nodes), basis.effective_dimension(config.horizon, config.lam)
    for (policy, (kind, estimator)), index in itertools.product(POLICIES.items(), INDICES):
        known: dict[str, Any] = {"sigma": sigma, "delta": config.delta, "estimator": estimator}
        known |= {"bias": "none"} if index == "no-bias" else {}
        made = (
            SpectralBandit(basis, rewards.smoothness(config.lam), config.lam, **known).policy
            if kind == "spectral"
            else OFUL(config.lam, theta_bound=rewards.bound, **known)
        )
        labels: dict[str, str | float] = {
            "policy": policy,
            "index": index,
            "nodes": float(size),
            "dimension": float(dimension),
        }
        players.append(Player(made, labels))
    return players


class GraphBandits(Figure[GraphConfig]):
    """Regrets on graphs of several sizes."""

    name = "graphs"
    title = "Graphs: rewards that are smooth along edges"
    of_paper = False
    source = "Valko et al. (2014)"
    Config = GraphConfig
    quick_settings: ClassVar[Mapping[str, Any]] = {"repeats": 10, "sizes": (20, 40, 80), "undecided_times": 1}
    computing_modules = (bandit_games, repeat_frame)

    def remarks(self, config: GraphConfig) -> list[str]:
        """What is played, and what was changed."""
        said = (
            f"Each repeat has a graph of its own. Rewards are a random sum of the {config.components} smoothest "
            "eigenvectors of its Laplacian, of root mean square 1 over the nodes. SpectralUCB has λ plus the "
            "eigenvalue for each eigenvector and is told C, the largest ‖α*‖_Λ that such rewards can have; OFUL has λ "
            "for all of them, and is told ‖α*‖. ^f is forward with the sharp index; radii are joint. “S-term dropped” "
            "leaves C or S out of the index, and the guarantee with it."
        )
        return [said, *super().remarks(config)]

    def groups(self, config: GraphConfig) -> Mapping[str, int]:
        """The worlds."""
        return dict.fromkeys(config.worlds, config.repeats)

    def cut(self, config: GraphConfig, group: str, start: int, stop: int) -> Sequence[Piece]:
        """Five repeats at a time."""
        return split_repeats(group, start, stop, 5)

    def compute(self, config: GraphConfig, piece: Piece) -> pl.DataFrame:
        """All policies in some repeats of one world, on graphs of every size."""
        world = piece.about["part"]
        graph, sigma = config.worlds[world]
        rounds, frames = spaced_rounds(config.horizon, config.kept, log=False), []
        for repeat in range(piece.about["start"], piece.about["stop"]):
            alone = Piece(piece.name, {"start": repeat, "stop": repeat + 1})
            for size in config.sizes:
                rewards = SmoothTheta(config.make_basis(graph, size, repeat), config.components)
                place = graph_world(rewards, Gaussian(sigma))
                players = make_players(config, rewards, sigma)
                frames.append(play_piece(players, place, config.horizon, config.seed, alone, rounds, part=world))
        return pl.concat(frames)

    def claims(self, config: GraphConfig, frame: pl.DataFrame) -> Sequence[Claim]:
        """What Valko et al. say, and whether forward helps."""
        return graph_claims.decide_claims(config.worlds, config.sizes, frame)

    def draw(self, config: GraphConfig, frame: pl.DataFrame) -> Sequence[Drawing]:
        """Regret over rounds, and over the number of nodes."""
        what = f"λ = {config.lam:g}, δ = {config.delta:g}, {config.horizon:,} rounds."
        return [
            graph_drawings.draw_curves(config.worlds, config.sizes[-1], frame, what),
            graph_drawings.draw_sizes(config.worlds, config.sizes, frame, what),
        ]


GRAPH_BANDITS = GraphBandits()
