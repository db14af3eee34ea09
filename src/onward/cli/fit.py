"""`onward fit`: one pass over one's own data."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onward.cli import options as o

if TYPE_CHECKING:
    from onward.progressive import Fit
    from onward.regression import OnlineRegressor

EXAMPLES = """Examples:

onward fit trips.csv --target fare

onward fit 'logs/*.parquet' -t y --categorical city,device --missing skip --save model.onward --report report.html

onward fit big.csv.gz -t y --save m.onward --checkpoint-every 1000000   (and with --resume after a crash)

tail -n +1 -f live.csv | onward fit - -t y --save m.onward   (Ctrl-C ends it and saves)"""


def command(
    context: typer.Context,
    data: o.Data,
    target: o.Target,
    features: o.Features = None,
    exclude: o.Exclude = None,
    categorical: o.Categorical = None,
    max_levels: o.MaxLevels = 1000,
    weight: o.Weight = None,
    missing: o.MissingRule = o.Missing.error,
    na: o.Na = None,
    format: o.FormatOf = None,
    separator: o.Separator = None,
    learner: o.LearnerOf = o.Learner.forward,
    lam: o.Lam = 1.0,
    no_intercept: o.NoIntercept = False,
    start: Annotated[
        Path | None,
        typer.Option(
            "--start",
            metavar="MODEL",
            help="Go on with this model, with its settings, instead of a new one.",
            rich_help_panel="Model",
            show_default=False,
        ),
    ] = None,
    delta: o.Delta = 0.05,
    sigma: o.Sigma = None,
    theta_bound: o.ThetaBound = None,
    save: o.Save = None,
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
        Path | None,
        typer.Option(
            "--predictions",
            help="Write row, target, prediction, lower, upper and leverage of each row to this Parquet file.",
            rich_help_panel=o.OUTPUT,
            show_default=False,
        ),
    ] = None,
    report: o.Report = None,
    no_scores: Annotated[
        bool,
        typer.Option(
            "--no-scores",
            help="Learn only: no online scores. Many workers then read the data once instead of twice.",
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
    true and false 1 and 0.
    """
    from onward.cli.display import watching
    from onward.progressive import fit
    from onward.progressive.checkpoints import beside
    from onward.progressive.fit import new_model
    from onward.progressive.outputs import check_outputs
    from onward.progressive.predictions import check_name
    from onward.tables.streams import check_separator

    if address is not None and backend is None:
        raise typer.BadParameter("expected --backend dask or ray beside --address")
    if (checkpoint_every is not None or resume) and save is None:
        raise typer.BadParameter("checkpoints lie beside the saved model: expected --save, too")
    o.check_noise(delta, sigma, theta_bound)
    with o.usage():
        new_model(learner.value, lam, not no_intercept)
        check_separator(separator)
        if predictions is not None:
            check_name(predictions)
        check_outputs(data, {"--save": save, "--predictions": predictions, "--report": report}, o.format_of(format))
    model = None if start is None else _started(start, context, missing)
    if save is not None and not resume and beside(save).exists() and not quiet:
        typer.echo(f"onward: starting anew; {beside(save)} is from a run that --resume would go on with", err=True)
    options: dict[str, Any] = {
        "learner": learner.value,
        "lam": lam,
        "fit_intercept": not no_intercept,
        "start": model,
        "features": o.listed(features) or None,
        "exclude": o.listed(exclude),
        "categorical": o.listed(categorical),
        "weight": weight,
        "missing": missing.value,
        "na": o.listed(na),
        "format": o.format_of(format),
        "separator": separator,
        "max_levels": max_levels,
        "delta": delta,
        "sigma": sigma,
        "theta_bound": theta_bound,
        "save": save,
        "predictions": predictions,
    }
    if jobs is None and backend is None and not no_scores:
        with watching(quiet or json) as watch:
            result = fit(
                data,
                target,
                checkpoint_every=checkpoint_every,
                resume=resume,
                history=report is not None,
                watch=watch,
                **options,
            )
    else:
        if report is not None:
            raise typer.BadParameter("a report is made along one pass: expected no --jobs, --backend or --no-scores")
        if no_scores and predictions is not None:
            raise typer.BadParameter("predictions are scored as they are made: expected no --no-scores")
        if o.format_of(format) is None and "-" in data:
            raise typer.BadParameter("standard input comes in one order and once: expected files for workers")
        from onward import scale
        from onward.cli.display import chunks_done

        if jobs is None:
            jobs = 1 if backend is None else -1
        engine = o.engine(jobs, backend, address)
        with chunks_done(quiet or json) as advance:
            result = scale.fit(
                data,
                target,
                engine=engine,
                with_scores=not no_scores,
                resume=resume if resume or checkpoint_every is not None else None,
                advance=advance,
                **options,
            )
    if report is not None:
        from onward.progressive.report import write_fit_report

        write_fit_report(report, result, shlex.join(["onward", *sys.argv[1:]]))
    if json:
        from onward.cli.machines import show_json
        from onward.progressive.records import of_fit

        show_json(of_fit(result))
    elif not quiet:
        show(result)
        for what, path in (("Model", save), ("Predictions", predictions), ("Report", report)):
            if path is not None:
                typer.echo(f"{what}: {path}")


def _started(path: Path, context: typer.Context, missing: o.Missing) -> "OnlineRegressor":
    """The model to go on with; a usage error if settings are given that it has of its own."""
    from dataclasses import replace

    from onward.cli.machines import load_learner

    given = [name for name in context.params if _was_given(context, name)]
    for name in ("learner", "lam", "no_intercept", "features", "exclude", "categorical", "weight", "na"):
        if name in given:
            raise typer.BadParameter(f"--{name.replace('_', '-')} is the model's own: expected none beside --start")
    model = load_learner(path)
    if model.recipe_ is None:
        raise ValueError(
            f"{path}: does not know how its features are made from columns; expected a model of onward fit"
        )
    if "missing" in given:
        model.recipe_ = replace(model.recipe_, missing=missing.value)
    return model


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def show(result: "Fit") -> None:
    """The summary of a pass."""
    from onward.cli import display
    from onward.core.state import described
    from onward.progressive.records import learner_of

    out, model = display.console(), result.model
    rate, lam = result.scores.rows / max(result.seconds, 1e-9), described(model.information_.lam)
    out.print(
        f"{learner_of(model).capitalize()}, λ = {lam}, {model.n_features_in_:,} features: {result.target} of "
        f"{result.source}. Learned {result.scores.rows:,} of {result.read:,} rows in {result.seconds:.1f} s "
        f"({rate:,.0f} rows/s).",
        markup=False,
        highlight=False,
    )
    for line in display.left_out(result.skipped, result.filled):
        out.print(line, markup=False, highlight=False)
    if result.scores.rmse == result.scores.rmse:
        out.print(display.scores(result.scores))
    out.print(display.coefficients(result.coefficients(), result.delta))
