"""All figures, by name: those of the paper, and extensions that it names, which are run by themselves."""

from typing import Any

from onward.experiments.figure import Figure
from onward.experiments.figure1 import FIGURE_1
from onward.experiments.figure2 import FIGURE_2
from onward.experiments.figure3 import FIGURE_3
from onward.experiments.figure4a import FIGURE_4A
from onward.experiments.figure4b import FIGURE_4B
from onward.experiments.graph_bandits import GRAPH_BANDITS
from onward.experiments.sharp import SHARP
from onward.experiments.task_bandits import TASK_BANDITS

FIGURES: dict[str, Figure[Any]] = {
    each.name: each for each in (FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4A, FIGURE_4B, SHARP)
}
EXTENSIONS: dict[str, Figure[Any]] = {each.name: each for each in (GRAPH_BANDITS, TASK_BANDITS)}
ALL_FIGURES = FIGURES | EXTENSIONS
