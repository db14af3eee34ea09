"""All figures, by name."""

from typing import Any

from onward.experiments.figure import Figure
from onward.experiments.figure1 import FIGURE_1
from onward.experiments.figure2 import FIGURE_2
from onward.experiments.figure3 import FIGURE_3
from onward.experiments.figure4a import FIGURE_4A
from onward.experiments.figure4b import FIGURE_4B
from onward.experiments.sharp import SHARP

FIGURES: dict[str, Figure[Any]] = {
    each.name: each for each in (FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4A, FIGURE_4B, SHARP)
}
