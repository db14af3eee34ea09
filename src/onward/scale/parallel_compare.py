"""Ridge and forward over a grid of λ, the grid shared out over an engine's workers. Each reads the data for itself."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onward.progressive import Comparison
from onward.progressive import compare as compare_here
from onward.progressive.comparing import LAMS, checked_lams
from onward.regression.start import Units
from onward.scale.engine import Engine
from onward.scale.parallel_fit import Advance
from onward.tables import Table
from onward.tables.sources import Source, find_files, name_files
from onward.tables.table import as_table


@dataclass(frozen=True)
class _Share:
    """Some λ of the grid, and what to compare them on."""

    source: Any
    table: Table
    lams: list[float]
    fit_intercept: bool
    units: Units

    def __call__(self) -> Comparison:
        intercept, units = self.fit_intercept, self.units
        return compare_here(self.source, self.table, lams=self.lams, fit_intercept=intercept, units=units, jobs=1)


def _do(share: Callable[[], Comparison]) -> Comparison:
    return share()


def compare(
    source: Source | Sequence[Source],
    table: Table | str,
    *,
    engine: Engine | None = None,
    lams: Sequence[float] = LAMS,
    fit_intercept: bool = True,
    units: Units = "raw",
    advance: Advance = lambda what, done, total: None,
) -> Comparison:
    """`onward.progressive.compare`, with the same result to the last bit."""
    begun = time.perf_counter()
    grid, table = checked_lams(lams), as_table(table)
    files = find_files(source, table.format)
    if any(file.comes_once for file in files):
        raise ValueError("standard input comes once: expected files for several workers")
    # A worker may be in another folder; data frames travel as they are.
    places = [file.path.absolute() for file in files if file.path is not None] or source
    with (engine or Engine()).started() as workers:
        count = min(workers.count, len(grid))
        shares = [_Share(places, table, grid[place::count], fit_intercept, units) for place in range(count)]
        parts: dict[int, Comparison] = {}
        advance("comparing", 0, count)
        for place, part in workers.run(_do, shares):
            parts[place] = part
            advance("comparing", len(parts), count)
    first = parts[0]
    where = [(lam_place % count, lam_place // count) for lam_place in range(len(grid))]
    return replace(
        first,
        source=name_files(files),
        lams=grid,
        scores={name: [parts[part].scores[name][place] for part, place in where] for name in first.scores},
        curves={
            name: np.column_stack([parts[part].curves[name][:, place] for part, place in where])
            for name in first.curves
        },
        notes=list(dict.fromkeys(note for place in range(count) for note in parts[place].notes)),
        seconds=time.perf_counter() - begun,
    )
