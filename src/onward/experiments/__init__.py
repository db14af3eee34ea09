"""The paper's experiments, one module for each figure: run, judge and draw them.

from onward.experiments import figure4a, run

frame = run(figure4a, figure4a.Config(repeats=10))
for claim in figure4a.claims(figure4a.Config(repeats=10), frame):
    print(claim.verdict, claim.finding)
"""

from onward.experiments import figure1, figure2, figure3, figure4a, figure4b
from onward.experiments.base import Claim, Experiment, Piece, run
from onward.pages.drawing import Drawing

FIGURES: dict[str, Experiment] = {each.NAME: each for each in (figure1, figure2, figure3, figure4a, figure4b)}

__all__ = [
    "FIGURES",
    "Claim",
    "Drawing",
    "Experiment",
    "Piece",
    "figure1",
    "figure2",
    "figure3",
    "figure4a",
    "figure4b",
    "run",
]
