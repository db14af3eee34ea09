"""The paper's experiments, one object for each figure: run, decide and draw them.

from onward.experiments import FIGURE_4A, run

config = FIGURE_4A.Config(repeats=10)
frame = run(FIGURE_4A, config)
for claim in FIGURE_4A.claims(config, frame):
    print(claim.verdict, claim.finding)
"""

from onward.experiments.claims import Claim
from onward.experiments.figure import Figure, Piece, Settings, run
from onward.experiments.figure1 import FIGURE_1
from onward.experiments.figure2 import FIGURE_2
from onward.experiments.figure3 import FIGURE_3
from onward.experiments.figure4a import FIGURE_4A
from onward.experiments.figure4b import FIGURE_4B
from onward.experiments.graph_bandits import GRAPH_BANDITS
from onward.experiments.registry import EXTENSIONS, FIGURES
from onward.experiments.sharp import SHARP
from onward.experiments.task_bandits import TASK_BANDITS

__all__ = [
    "EXTENSIONS",
    "FIGURES",
    "FIGURE_1",
    "FIGURE_2",
    "FIGURE_3",
    "FIGURE_4A",
    "FIGURE_4B",
    "GRAPH_BANDITS",
    "SHARP",
    "TASK_BANDITS",
    "Claim",
    "Figure",
    "Piece",
    "Settings",
    "run",
]
