"""Ridge and forward over a grid of λ, in one read of the data: which λ is right, and what does a wrong one cost?"""

import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from onward.core.types import Vector
from onward.progressive.contender import AutoContender, Contender
from onward.progressive.fitting import nothing_learned
from onward.progressive.learning_pass import Progress, Watch
from onward.progressive.results import Comparison, Scores
from onward.progressive.running_scores import WEIGHT, scores
from onward.progressive.schedule import next_power, next_reading
from onward.regression import describe_leaning
from onward.regression.start import Units, check_units
from onward.tables import Block, DataError, Table, stream
from onward.tables.sources import Source, name_files
from onward.tables.table import as_table

LEARNERS = ("ridge", "forward")
LAMS = tuple(10.0**k for k in range(-6, 5))


def compare(
    source: Source | Sequence[Source],
    table: Table | str,
    *,
    lams: Sequence[float] = LAMS,
    fit_intercept: bool = True,
    with_auto: bool = True,
    units: Units = "raw",
    jobs: int = -1,
    watch: Watch | None = None,
) -> Comparison:
    """Run ridge and forward with each λ over the same rows, predicting each row before its target is seen.

    Both read one state, so a λ costs one update for the two of them. The constant is not regularised. Beside them runs
    `AutoRegressor` at its defaults.

    Args:
        source: what to read, as `onward.tables.stream` takes it.
        table: which columns are used; or the name of the target alone.
        lams: the λ, each once.
        fit_intercept: add a constant feature.
        with_auto: whether `AutoRegressor` runs beside them.
        units: of λ, as those of the learners.
        jobs: threads over which the λ are shared out; −1 for as many as there are processors.
        watch: called now and then with how far it is.

    Returns:
        The scores of each learner for each λ, with a conclusion.

    Raises:
        DataError: if the data cannot be read.
        ValueError: if a λ cannot be one.

    Example:
        >>> import numpy as np
        >>> import polars as pl
        >>> from onward import compare
        >>> rng = np.random.default_rng(0)
        >>> x = rng.standard_normal(200)
        >>> result = compare(pl.DataFrame({"x": x, "y": x + rng.standard_normal(200)}), "y", lams=[0.1, 1.0, 10.0])
        >>> [round(float(error), 1) for error in result.rmse("ridge")]
        [1.1, 1.1, 1.1]
    """
    begun = time.perf_counter()
    grid, table = checked_lams(lams), as_table(table)
    for lam in grid:
        check_units(units, lam, fit_intercept, 0.0)
    opened = stream(source, table)
    contenders = [Contender(lam, fit_intercept, units == "own") for lam in grid]
    auto = AutoContender() if with_auto else None
    marks: list[int] = []
    curves: dict[str, list[Vector]] = {learner: [] for learner in LEARNERS}
    auto_curve: list[float] = []
    learned, due, told = 0, 1, 0
    with (
        opened as rows,
        ThreadPoolExecutor(threads(jobs, len(grid) + with_auto), thread_name_prefix="onward-compare") as pool,
    ):
        for block in rows:
            start, n = 0, block.shape[0]
            while start < n:
                stop = min(n, start + due - learned)
                part = block.part(start, stop)
                _learn(pool, [*contenders, *([] if auto is None else [auto])], part)
                learned += stop - start
                if learned >= due:
                    marks.append(learned)
                    _read_off(contenders, curves)
                    auto_curve.append(_auto_rmse(auto))
                    due = next_reading(learned, part.shape[1])
                start = stop
            if watch is not None and n and block.y is not None:
                best = min((c.forward for c in contenders if c.failed is None), key=lambda t: t[2], default=None)
                if best is not None:
                    mark = learned >= told  # the first block that gets past a power of two
                    told = next_power(learned) if mark else told
                    watch(Progress(scores(best), rows.read, rows.done, rows.size, mark, float(block.y[-1]), math.nan))
    if not learned:
        raise DataError(nothing_learned(rows.files, rows.read, rows.skipped))
    if all(each.failed is not None for each in contenders):
        raise DataError(
            f"{name_files(rows.files)}: at every λ the numbers grew beyond double precision, the last at row "
            f"{max(each.failed or 0 for each in contenders) + 1:,}; rescale the columns"
        )
    if not max(each.forward[WEIGHT] for each in contenders if each.failed is None) > 0:
        raise DataError(nothing_learned(rows.files, rows.read, rows.skipped))
    if marks[-1] < learned:
        marks.append(learned)
        _read_off(contenders, curves)
        auto_curve.append(_auto_rmse(auto))
    return Comparison(
        name_files(rows.files),
        rows.recipe.target,
        grid,
        rows.read,
        {learner: [_scores(each, learner) for each in contenders] for learner in LEARNERS},
        np.array(marks, dtype=np.int64),
        {learner: np.array(values) for learner, values in curves.items()},
        dict(rows.skipped),
        dict(rows.filled),
        time.perf_counter() - begun,
        len(rows.names),
        [
            *(["λ is in the columns' own units: a multiple of the variance of each"] if units == "own" else []),
            *(
                f"lam={each.lam:g} was given up at row {each.failed + 1:,}: its numbers grew beyond double precision"
                for each in contenders
                if each.failed is not None
            ),
        ],
        None if auto is None or auto.failed is not None else scores(auto.totals),
        np.array(auto_curve),
        describe_leaning(auto.state.experts, auto.state.weights(), auto.state.rows) if auto is not None else "",
    )


def checked_lams(lams: Sequence[float]) -> list[float]:
    """The λ, rising; ValueError if there is none, if one cannot be a λ, or if one comes twice."""
    if not len(lams):
        raise ValueError("expected at least one lam, got none")
    for lam in lams:
        if not (lam == 0 or 1e-300 <= lam <= 1e300):
            raise ValueError(f"lam must be 0 or a number between 1e-300 and 1e300, got {lam!r}")
    if len(set(lams)) < len(lams):
        raise ValueError(f"expected different lams, got {list(lams)}")
    return sorted(float(lam) for lam in lams)


def threads(jobs: int, most: int) -> int:
    """How many threads: as many as asked for, or as there are processors for −1, but no more than there is work."""
    if jobs == 0 or jobs < -1:
        raise ValueError(f"jobs must be -1 or at least 1, got {jobs}")
    return max(1, min(most, (os.cpu_count() or 1) if jobs == -1 else jobs))


def _auto_rmse(auto: AutoContender | None) -> float:
    return math.nan if auto is None or auto.failed is not None else scores(auto.totals).rmse


def _learn(pool: ThreadPoolExecutor, contenders: Sequence[Contender | AutoContender], part: Block) -> None:
    assert part.y is not None
    X, y, w, first = np.require(part.X, requirements=["C", "W"]), part.y, part.weight, int(part.rows[0])
    for done in [pool.submit(each.learn, X, y, w, first) for each in contenders]:
        done.result()


def _read_off(contenders: list[Contender], curves: dict[str, list[Vector]]) -> None:
    for learner in LEARNERS:
        now = [_scores(each, learner) for each in contenders]
        curves[learner].append(np.array([math.nan if each is None else each.rmse for each in now]))


def _scores(contender: Contender, learner: str) -> Scores | None:
    """None for ridge without regularisation, which is not defined, and for what was given up."""
    if contender.failed is not None or (learner == "ridge" and contender.lam == 0):
        return None
    return scores(contender.ridge if learner == "ridge" else contender.forward)
