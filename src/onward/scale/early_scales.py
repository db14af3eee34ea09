"""The features' scale in intervals for coefficients, where workers share a pass: as one pass would fix it."""

from contextlib import suppress

from onward.core.inference import Inference
from onward.core.known import Known
from onward.progressive.coefficient_intervals import known_names
from onward.progressive.learning_pass import Pass, fix_scales
from onward.regression import OnlineRegressor
from onward.tables import DataError, Stream, Table
from onward.tables.sources import File

MOST_ROWS = 4096  # that are looked at: what is not known by then gets its scale from all rows


def scales_of_first_rows(
    files: list[File], table: Table, model: OnlineRegressor, known: Known, inference: Inference
) -> OnlineRegressor:
    """A model that has learned the first rows, beside the one that is given, and has fixed scales on the way."""
    early = model.copy()
    if not early._has_contrasts:
        return early
    # What is wrong with a row is for those to say who learn them all.
    with suppress(DataError), Stream(files, table, recipe=model.recipe_, known=known_names(model)) as rows:
        work = Pass(early, rows, known, with_scores=False, inference=inference)
        for block in rows:
            work.learn(block.part(0, min(block.shape[0], MOST_ROWS - work.learned)), None)
            if work.learned >= MOST_ROWS:
                break
    return early


def take_scales(model: OnlineRegressor, early: OnlineRegressor, known: Known, inference: Inference) -> None:
    """Let a model have the scales of one that has learned fewer rows, whose features may be in another order.

    What has none there gets it of all rows.
    """
    if early.anchors_ is not None and early.n_seen_:
        places = {name: place for place, name in enumerate(model._coordinate_names())}
        model.anchors_ = early.anchors_.moved([places[name] for name in early._coordinate_names()])
    fix_scales(model, known, inference)
