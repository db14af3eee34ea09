"""`onward score`: how well a model predicts other rows."""

from typing import TYPE_CHECKING

from onward.cli import options as o
from onward.core.words import counted, left_out

if TYPE_CHECKING:
    from onward.core.known import Known
    from onward.progressive.scoring import ModelScores
    from onward.tables.table import Table

EXAMPLES = """Examples:

onward score model.onward held-out.csv

onward score model.onward 'logs/*.parquet' --sigma 1.5 --json"""


@o.with_reading
@o.with_known
def command(
    model: o.Model,
    data: o.Data,
    missing: o.Missing = None,
    *,
    table: "Table",
    intervals: o.IntervalsOfModel = None,
    known: "Known",
    json: o.Json = False,
) -> None:
    """Compare a model's predictions with the targets in data: RMSE, MAE, R², and how often intervals held.

    Nothing is learned. Columns are found by name, the target's among them; others are ignored.
    """
    from onward.cli.model_files import check_interval_options, describe_missing_intervals, load_learner, show_json
    from onward.progressive.json_results import score_record
    from onward.progressive.scoring import score

    learner = load_learner(model)
    check_interval_options(learner, known, intervals)
    result = score(learner, data, table, known=known, intervals=intervals, missing=missing)
    if json:
        return show_json(score_record(result))
    _show(result, describe_missing_intervals(learner))


def _show(result: "ModelScores", without_intervals: list[str]) -> None:
    from onward.cli import display
    from onward.cli.terminal import console
    from onward.confidence.assumptions import describe_target_intervals

    out = console()
    out.print(
        f"{result.target} of {result.source}: scored {result.rows:,} of {counted(result.read, 'row')}.",
        markup=False,
        highlight=False,
    )
    for line in (*left_out(result.skipped, result.filled), *display.unknown_levels(result.unknown)):
        out.print(line, markup=False, highlight=False)
    said = {
        "RMSE": display.number(result.rmse),
        "MAE": display.number(result.mae),
        "R²": display.number(result.r2),
    }
    if result.inside is not None:
        inside = f"{result.inside:,} of {counted(result.rows, 'row')} ({result.coverage:.2%})"
        open_ended = f", {result.open:,} of which may be anything (∞)" if result.open else ""
        said[f"in {result.method} intervals for {1 - result.known.delta:g}"] = inside + open_ended
    out.print(display.pairs(said), highlight=False)
    if result.method is not None:
        holds = describe_target_intervals(result.method, result.known, learned=False)
        out.print(holds, markup=False, highlight=False)
    for line in without_intervals:
        out.print(f"{line[0].upper()}{line[1:]}.", markup=False, highlight=False)
