"""`onward fit`: one pass over one's own data."""

import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onward.cli import options as o
from onward.cli.fit_models import check_workers_can_share, new_model, started_model
from onward.cli.terminal import console, data_output, say
from onward.cli.value_options import given_options, usage
from onward.core.words import counted, left_out

if TYPE_CHECKING:
    import polars as pl

    from onward.core.inference import Inference
    from onward.core.known import Known
    from onward.progressive import Fit
    from onward.regression import OnlineRegressor
    from onward.scale import Engine
    from onward.tables.table import Table

EXAMPLES = """Examples:

onward fit trips.csv --target fare

onward fit 'logs/*.parquet' -t y --categorical city,device --missing skip --save model.onward --report report.html

onward fit prices.csv -t price --learner ridge --half-life 30d --time when    # or --half-life 500, in rows

onward fit visits.csv -t paid --contrast treatment    # an A/B test: look as often as you like, stop when you like

onward fit big.csv.gz -t y --save m.onward --checkpoint-every 1000000    # and with --resume after a crash

tail -n +1 -f live.csv | onward fit - -t y --save m.onward --save-every 30s --follow    # Ctrl-C ends it and saves"""


class OnChange(StrEnum):
    """What to do when the relation changes."""

    warn = "warn"
    restart = "restart"
    ignore = "ignore"


_What = tuple[tuple[list[str], "Table", "OnlineRegressor"], dict[str, Any]]
"""What is learned from what, and the options of every `fit`."""


@o.with_table
@o.with_known
@o.with_inference
def command(
    context: typer.Context,
    data: o.Data,
    table: "Table",
    learner: o.LearnerOf = o.Learner.auto,
    lam: o.Lam = None,
    units: o.UnitsOf = None,
    no_intercept: o.NoIntercept = False,
    half_life: o.HalfLifeOf = None,
    window: o.WindowOf = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--start",
            metavar="MODEL",
            help="Go on with this model, or checkpoint, with its settings, instead of a new one.",
            rich_help_panel="Model",
            show_default=False,
        ),
    ] = None,
    *,
    intervals: o.Intervals = "conformal",
    known: "Known",
    inference: "Inference",
    on_change: Annotated[
        OnChange,
        typer.Option(
            "--on-change",
            help="When the relation changes, at a false alarm probability of --delta: warn; restart, so that the model "
            "forgets everything and goes on; or ignore, and do not look.",
            rich_help_panel="Model",
        ),
    ] = OnChange.warn,
    save: o.Save = None,
    save_every: Annotated[
        str | None,
        typer.Option(
            "--save-every",
            metavar="ROWS|TIME",
            help="Write the model along the way, too: after so many rows, or a time such as 30s or 5m.",
            rich_help_panel=o.OUTPUT,
            show_default=False,
        ),
    ] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            "--checkpoint-every",
            metavar="ROWS",
            min=1,
            help="Write a checkpoint beside the model after so many rows, at the end of the megabytes being read.",
            rich_help_panel=o.OUTPUT,
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on from the checkpoint, if there is one: same result.", rich_help_panel=o.OUTPUT
        ),
    ] = False,
    predictions: Annotated[
        str | None,
        typer.Option(
            "--predictions",
            metavar="FILE",
            help="Write row, target, prediction, lower, upper and leverage of each row to this file (.parquet, .csv, "
            ".jsonl); with workers, FOLDER/ for a Parquet file of each chunk.",
            rich_help_panel=o.OUTPUT,
            show_default=False,
        ),
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Print the same columns as rows are predicted, in CSV (JSON lines with --json), instead of a summary; "
            "with --contrast, the contrasts.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = False,
    report: o.Report = None,
    no_scores: Annotated[
        bool,
        typer.Option(
            "--no-scores",
            help="Learn only: no online scores, and no calibration for intervals. Many workers then read the data once "
            "instead of twice.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            help="Workers that share the work, with the same result; -1 for as many as there are processors. "
            "Without it: one pass in this process.",
            rich_help_panel="Workers",
            show_default=False,
        ),
    ] = None,
    backend: o.BackendOf = None,
    address: o.Address = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Learn a linear model in one pass: predict each row before its target is seen, then learn it.

    Rows are taken in the order of the files, in a memory that does not grow with them. Dates become years since 2000,
    true and false 1 and 0. Rows that arrive through a pipe are learned as they come.
    """
    from onward.cli.model_files import check_coefficient_options, check_interval_options
    from onward.progressive.checkpoints import beside
    from onward.progressive.contrasts import describe_contrasts
    from onward.progressive.outputs import Outputs, check_outputs, check_targets

    if address is not None and backend is None:
        raise typer.BadParameter("expected --backend dask or ray beside --address")
    workers = jobs is not None or backend is not None
    if workers and (report is not None or follow or save_every is not None):
        raise typer.BadParameter(
            "--report, --follow and --save-every go along one pass: expected no --jobs and no --backend"
        )
    if workers and "on_change" in given_options(context):
        raise typer.BadParameter("--on-change goes along one pass: expected no --jobs and no --backend")
    if no_scores and (report is not None or follow or predictions is not None):
        raise typer.BadParameter("predictions are scored as they are made: expected no --no-scores")
    outputs: Outputs = {
        "save": save,
        "save_every": save_every,
        "checkpoint_every": checkpoint_every,
        "resume": resume,
        "predictions": predictions,
    }
    with usage():
        check_outputs(data, table.format, outputs)
        targets = {"--save": save, "--predictions": predictions, "--report": report}
        check_targets(data, table.format, targets, may_be_folder="--predictions")
        if start is None:
            model = new_model(learner, lam, units, no_intercept, half_life, window, table.time)
        else:
            model = started_model(start, given_options(context), table)
    check_interval_options(model, known, intervals, new=start is None)
    check_coefficient_options(model, known, inference, new=start is None)
    if workers and inference.robust:
        raise typer.BadParameter("--robust goes along one pass: expected no --jobs and no --backend")
    engine = o.engine(-1 if jobs is None else jobs, backend, address) if workers else None
    if engine is not None:
        check_workers_can_share(model, started=start is not None)
    if save is not None and not resume and beside(save).exists() and not quiet:
        say(f"onward: starting anew; {beside(save)} is from a run that --resume would go on with", err=True)
    what: _What = (
        (data, table, model),
        {
            "known": known,
            "intervals": intervals,
            "inference": inference,
            "with_scores": not no_scores,
        },
    )
    what[1].update(outputs)
    assumed = ""
    if engine is not None:
        result = _fit_with_workers(what, engine, backend in (None, o.Backend.loky), quiet or json)
        for note in () if quiet else result.notes:
            _tell(note)
    else:
        if not quiet:
            what[1]["tell"] = _tell
        what[1]["on_change"] = on_change.value
        if follow and inference.contrasts and not quiet:
            assumed = describe_contrasts(model, known, inference)
        result = _fit_here(what, report is not None, json if follow else None, quiet or json, assumed)
    if follow and not quiet:  # which leaves no room for a summary
        for line in left_out(result.skipped, result.filled):
            _tell(line)
    if inference.contrasts and (follow or json) and not quiet:
        for line in _still_to_tell(result, assumed if follow else None):
            _tell(line)
    if report is not None:
        from onward.progressive.report import write_fit_report

        write_fit_report(report, result, shlex.join(["onward", *sys.argv[1:]]))
    if json and not follow:
        from onward.cli.model_files import show_json
        from onward.progressive.json_results import fit_record

        show_json(fit_record(result))
    elif not quiet and not follow:
        from onward.confidence.assumptions import describe_target_intervals

        show(result)
        for named, path in (("Model", save), ("Predictions", predictions), ("Report", report)):
            if path is not None:
                say(f"{named}: {path}")
            if path is not None and named == "Predictions":
                say(f"Intervals in it: {describe_target_intervals(result.method, known)}")
    if result.stopped is not None:
        from onward.core.stopping import StoppedError

        saved = "" if save is None else f", the model is in {save}"
        raise StoppedError(result.stopped, f" after {counted(result.read, 'row')}{saved}")


def _tell(remark: str) -> None:
    """A remark for a person, on standard error."""
    say(f"onward: {remark}", err=True)


def _still_to_tell(result: "Fit", assumed: str | None) -> list[str]:
    """What is to be said of contrasts at the end, where no summary says it; `assumed` was said before, None for JSON.

    Only then is it known whether targets are all 0 or 1, or whether the model started anew.
    """
    from onward.progressive.contrasts import describe_contrasts, left_out_lines

    lines = left_out_lines(result.model, result.inference)
    if assumed is None:
        return lines
    now = describe_contrasts(result.model, result.known, result.inference, is_restarted=result.is_restarted)
    return [line for line in (now.removeprefix(assumed).strip(), *lines) if line]


def _fit_here(what: _What, history: bool, follow_json: bool | None, quiet: bool, assumed: str) -> "Fit":
    """One pass in this process; `follow_json` says how predictions are printed, None for not at all.

    What is `assumed` of them is told with the first.
    """
    from onward.cli.display import watching
    from onward.progressive import fit
    from onward.progressive.frame_writers import open_writer

    arguments, options = what
    with (
        watching(quiet or follow_json is not None or not options["with_scores"]) as watch,
        open_writer(None, data_output(), "jsonl" if follow_json else "csv") as write,
    ):
        if follow_json is not None:
            left = [assumed] if assumed else []

            def follow(frame: "pl.DataFrame") -> None:
                if left:
                    _tell(left.pop())
                write(frame)

            options = {**options, "follow": follow}
        return fit(*arguments, history=history, watch=watch, **options)


def _fit_with_workers(what: _What, engine: "Engine", local: bool, quiet: bool) -> "Fit":
    """A pass that workers share; if they are `local` processes, it is said beforehand when they cannot pay."""
    from onward import scale
    from onward.cli.display import chunks_done
    from onward.tables.sources import find_files

    arguments, options = what
    data, table, _ = arguments
    if "-" in data:
        raise typer.BadParameter("standard input comes in one order and once: expected files for workers")
    if local and not quiet:
        chunks = scale.chunks_of(find_files(data, table.format))
        workers = min(engine.jobs if engine.jobs > 0 else os.cpu_count() or 1, len(chunks))
        reason = scale.why_workers_do_not_pay(chunks, workers, with_scores=options["with_scores"])
        if reason is not None:
            _tell(f"workers do not pay here: {reason}; without --jobs it is faster")
    with chunks_done(quiet) as advance:
        return scale.fit(*arguments, engine=engine, advance=advance, **options)


def show(result: "Fit") -> None:
    """The summary of a pass."""
    from onward.cli import display
    from onward.progressive.changes import describe_changes
    from onward.progressive.summaries import model_line, said_of_contrasts, settled_lines

    out, model = console(), result.model
    rate = result.scores.rows / max(result.seconds, 1e-9)
    out.print(
        f"{model_line(model)}: {result.target} of {result.source}. Learned {result.scores.rows:,} of "
        f"{counted(result.read, 'row')} in {result.seconds:.1f} s ({rate:,.0f} rows/s).",
        markup=False,
        highlight=False,
    )
    changed = describe_changes(result.changes or (), result.known.delta, result.on_change)
    left = left_out(result.skipped, result.filled)
    for line in (*settled_lines(model), *left, *([changed] if changed else [])):
        out.print(line, markup=False, highlight=False)
    if result.scores.rmse == result.scores.rmse:
        out.print(display.scores(result.scores))
    if result.inference.contrasts:
        found = result.contrasts()
        notes = said_of_contrasts(result, found)
        out.print(display.contrasts(found, notes) if found else "\n".join(notes), markup=False, highlight=False)
    out.print(display.coefficients(result.coefficients()))
