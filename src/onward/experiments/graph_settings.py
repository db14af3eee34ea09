"""The settings of bandits on graphs, and what is played there."""

import itertools
from dataclasses import dataclass

from onward.bandits import SpectralBasis
from onward.bandits.graphs import barabasi_albert, random_geometric
from onward.core.checks import positive, probability, whole
from onward.experiments.figure import Settings

GRAPHS = {"geometric": "geometric graphs", "preferential": "Barabási–Albert graphs"}
INDICES = {"full": "full index", "no-bias": "S-term dropped"}
POLICIES = {
    "SpectralUCB": ("spectral", "ridge"),
    "SpectralUCB^f": ("spectral", "forward"),
    "OFUL": ("plain", "ridge"),
    "OFUL^f": ("plain", "forward"),
}


@dataclass(frozen=True)
class GraphConfig(Settings):
    """Settings; Valko et al. leave most of them open."""

    repeats: int = 50
    undecided_times: int = 2
    horizon: int = 300
    sizes: tuple[int, ...] = (20, 40, 80, 160)
    sigmas: tuple[float, ...] = (0.1, 0.5)
    components: int = 5  # eigenvectors that the rewards are made of
    lam: float = 0.01
    delta: float = 0.01
    attached: int = 3  # edges that each new node brings (Barabási–Albert)
    neighbours: float = 8.0  # of a node, about (random geometric)
    kept: int = 30  # rounds that are kept, evenly spread

    def __post_init__(self) -> None:
        for name in ("repeats", "horizon", "kept", "attached"):
            whole(name, getattr(self, name))
        for size in self.sizes:
            whole("each of sizes", size, max(self.components, self.attached + 1))
        if len(self.sizes) < 2 or list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError(f"sizes must be at least two numbers of nodes that increase, got {self.sizes}")
        for sigma in self.sigmas:
            positive("each of sigmas", sigma)
        for name in ("lam", "neighbours"):
            positive(name, getattr(self, name))
        probability("delta", self.delta)

    @property
    def worlds(self) -> dict[str, tuple[str, float]]:
        """The kind of graph and σ of each world, by its name, which is that of its group of repeats."""
        return {f"{graph}-sigma{sigma:g}": (graph, sigma) for graph, sigma in itertools.product(GRAPHS, self.sigmas)}

    def make_basis(self, graph: str, size: int, repeat: int) -> SpectralBasis:
        """Of a graph of its own for each repeat."""
        seed = self.seed + 1_000_003 * repeat
        edges = (
            barabasi_albert(size, self.attached, seed)
            if graph == "preferential"
            else random_geometric(size, self.neighbours, seed)
        )
        return SpectralBasis.of(edges)
