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
    with_auto: bool  # one of the shares has it

    def __call__(self) -> Comparison:
        return compare_here(
            self.source,
            self.table,
            lams=self.lams,
            fit_intercept=self.fit_intercept,
            units=self.units,
            with_auto=self.with_auto,
            jobs=1,
        )


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
    """`onward.progressive.compare`, with the same result to the last bit.

    Args:
        source: files, folders of them, or data frames.
        table: which columns are used; or the name of the target alone.
        engine: where the work is done; None for the processes of this machine, as many as it has processors.
        lams: the λ, each once.
        fit_intercept: add a constant feature.
        units: of λ, as those of the learners.
        advance: called as shares of the λ are done.

    Returns:
        The scores of each learner for each λ, with a conclusion.

    Raises:
        DataError: if the data cannot be read.
        EngineError: if the engine fails.
        ValueError: if a λ cannot be one, or the data come through a pipe.

    Example:
        >>> import numpy as np
        >>> import polars as pl
        >>> from onward.scale import Engine, compare
        >>> rng = np.random.default_rng(0)
        >>> x = rng.standard_normal(200)
        >>> rows = pl.DataFrame({"x": x, "y": x + rng.standard_normal(200)})
        >>> result = compare(rows, "y", lams=[0.1, 1.0, 10.0], engine=Engine(jobs=1))
        >>> [round(float(error), 1) for error in result.rmse("ridge")]
        [1.1, 1.1, 1.1]
    """
    begun = time.perf_counter()
    grid, table = checked_lams(lams), as_table(table)
    files = find_files(source, table.format)
    if any(file.comes_once for file in files):
        raise ValueError("standard input comes once: expected files for several workers")
    # A worker may be in another folder; data frames travel as they are.
    places = [file.path.absolute() for file in files if file.path is not None] or source
    with (engine or Engine()).started() as workers:
        count = min(workers.count, len(grid))
        shares = [_Share(places, table, grid[place::count], fit_intercept, units, place == 0) for place in range(count)]
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
