"""`onward simulate`: what policies lose in a world, or on a labelled table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from onward.cli import options as o
from onward.cli.terminal import console, say
from onward.cli.value_options import split_names, usage
from onward.core.words import counted

if TYPE_CHECKING:
    from onward.bandits.runs import Runs

EXAMPLES = """Examples:

onward simulate --policy 'linucb alpha=1' --policy thompson --policy random

onward simulate -p linucb -p 'swlinucb window=300' --world jump --rounds 5000 --plot regret.png

onward simulate -p linucb -p greedy --table iris.csv --label species --rounds 1000 --csv regret.csv"""

Scaling = Literal["beforehand", "online"]  # as in onward.bandits.labelled_world

_WORLD, _GAME = "World", "Game"
_POINTS = 200  # rounds that are kept for a drawing
_PICTURES = (".png", ".svg", ".pdf")


def command(
    policy: Annotated[
        list[str],
        typer.Option(
            "--policy",
            "-p",
            metavar="'NAME PARAMETER=VALUE ...'",
            help="A policy by name with its parameters: linucb, oful, thompson, squarecb, boltzmann, egreedy, greedy, "
            "random; for worlds that drift dlinucb, swlinucb, detecting, oraclerestart; on a table 'disjoint NAME', "
            "one for each arm. Several are compared with the first.",
            show_default=False,
        ),
    ],
    world: Annotated[
        str | None,
        typer.Option(
            "--world",
            help="sphere: new arms of length 1 every round; ball: the same arms all the time; jump: as sphere, and the "
            "coefficients turn into their opposite half way; drift: as sphere, and they wander.",
            rich_help_panel=_WORLD,
            show_default="sphere",
        ),
    ] = None,
    arms: Annotated[
        int | None, typer.Option("--arms", min=1, help="Arms in a round.", rich_help_panel=_WORLD, show_default="20")
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option("--dimension", min=1, help="Features of an arm.", rich_help_panel=_WORLD, show_default="10"),
    ] = None,
    sigma: Annotated[
        float | None,
        typer.Option(
            "--sigma", min=0.0, help="Standard deviation of the noise.", rich_help_panel=_WORLD, show_default="0.5"
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            help="In place of a world: a labelled table (CSV, JSON lines, Parquet), whose classes are the arms; the "
            "right one earns 1.",
            rich_help_panel=_WORLD,
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", help="The column of the classes.", rich_help_panel=_WORLD, show_default=False),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--features", metavar="NAME,...", help="Its columns.", rich_help_panel=_WORLD, show_default="all others"
        ),
    ] = None,
    scaling: Annotated[
        Scaling | None,
        typer.Option(
            "--scaling",
            help="Columns in units of their deviation over the whole table, or over the rows met so far.",
            rich_help_panel=_WORLD,
            show_default="beforehand",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Of each game.", rich_help_panel=_GAME)] = 2000,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Games; all policies meet the same.", rich_help_panel=_GAME)
    ] = 10,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of everything random.", rich_help_panel=_GAME)] = 0,
    jobs: Annotated[
        int, typer.Option("--jobs", help="Games at a time; -1 for all processors.", rich_help_panel=_GAME)
    ] = 1,
    delta: Annotated[
        float,
        typer.Option("--delta", help="Intervals of differences may fail with this probability.", rich_help_panel=_GAME),
    ] = 0.05,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="Draw regret over rounds (.png, .svg, .pdf).", rich_help_panel=o.OUTPUT, show_default=False
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            help="Write regret over rounds, mean and quartiles, as CSV.",
            rich_help_panel=o.OUTPUT,
            show_default=False,
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Let policies play in a simulated world, or on a labelled table, and see what each loses: its regret.

    Regret is what the best action of every round would have earned more, in expectation; on a labelled table it is the
    number of wrong answers. In each repeat all policies meet the same arms and the same noise: differences are paired.
    """
    from onward.bandits.named_worlds import labelled_file, named_world
    from onward.bandits.policy_names import named_policy
    from onward.bandits.simulate import play
    from onward.progressive.frame_writers import check_target

    if jobs == 0 or jobs < -1:
        raise typer.BadParameter(f"expected -1 or at least 1, got {jobs}", param_hint="--jobs")
    if (table is None) != (label is None):
        raise typer.BadParameter("expected --table and --label together")
    if table is not None and world is not None:
        raise typer.BadParameter("expected --world or --table, got both")
    if not 0 < delta < 1:
        raise typer.BadParameter(f"expected a number between 0 and 1, got {delta}", param_hint="--delta")
    of_world = {"--arms": arms, "--dimension": dimension, "--sigma": sigma}
    of_table = {"--features": features, "--scaling": scaling}
    for name, given in (of_world if table is not None else of_table).items():
        if given is not None:
            there = "a world, not for --table" if table is not None else "--table"
            raise typer.BadParameter(f"{name} is for {there}", param_hint=name)
    for text in policy:
        if policy.count(text) > 1:
            raise typer.BadParameter(f"{text!r} is given more than once", param_hint="--policy")
    if plot is not None and plot.suffix.lower() not in _PICTURES:
        raise typer.BadParameter(
            f"expected a name that ends in {', '.join(_PICTURES)}, got {plot.name!r}", param_hint="--plot"
        )
    for target in (plot, csv):
        if target is not None:
            check_target(target)
    environment: Any
    n_arms = None
    if table is not None and label is not None:
        environment = labelled_file(table, label, split_names(features) or None, scaling or "beforehand")
        n_arms = environment.n_arms
    else:
        with usage():
            environment = named_world(
                world or "sphere", arms or 20, dimension or 10, 0.5 if sigma is None else sigma, rounds
            )
    policies: dict[str, Any] = {}
    for text in policy:
        with usage():
            policies[text] = named_policy(text, n_arms, seed)
    runs = play(policies, environment, rounds, repeats, seed=seed, n_jobs=jobs, keep=max(1, rounds // _POINTS))
    if plot is not None:
        runs.plot().savefig(plot, dpi=150)
    if csv is not None:
        from onward.progressive.spreadsheet_text import quote_formulas

        quote_formulas(runs.to_frame()).write_csv(csv)
    if json:
        from onward.cli.model_files import show_json

        show_json(_record(runs, delta, table is not None))
    else:
        _show(runs, repr(environment), delta, table is not None)
        for what, path in (("Plot", plot), ("Table", csv)):
            if path is not None:
                say(f"{what}: {path}")


def _record(runs: "Runs", delta: float, labelled: bool) -> Any:
    """The result as JSON has it."""
    from onward.json_values import to_json_values

    rows = []
    for row in runs.summary().to_dicts():
        if labelled:
            row["share_right"] = 1 - row["mean"] / runs.horizon
        if runs.repeats > 1:
            gap = runs.difference(row["policy"], runs.names[0], delta)
            row["difference"] = {"to": gap.second, "mean": gap.mean, "lower": gap.lower, "upper": gap.upper}
        rows.append(row)
    about = {"rounds": runs.horizon, "repeats": runs.repeats, "seed": runs.seed, "complete": runs.complete}
    return to_json_values(about | {"environment": runs.settings["environment"], "policies": rows})


def _show(runs: "Runs", world: str, delta: float, labelled: bool) -> None:
    from rich.table import Table

    from onward.cli import display

    out, number = console(), display.number
    stopped = "" if runs.complete else ", stopped early"
    said = f"{world}: {counted(runs.horizon, 'round')}, {counted(runs.repeats, 'repeat')}{stopped}."
    out.print(said, markup=False, highlight=False)
    several = runs.repeats > 1 and len(runs.names) > 1
    table = Table(title="Regret", title_justify="left", title_style="bold")
    heads = ["policy", "mean", "std. error", "median", *(["right"] if labelled else []), "µs a round"]
    for place, head in enumerate(heads + ([f"less the first, {100 * (1 - delta):g}% interval"] if several else [])):
        table.add_column(head, justify="right" if place else "left")
    for row in runs.summary().to_dicts():
        error = float("nan") if row["standard_error"] is None else row["standard_error"]
        cells = [row["policy"], number(row["mean"]), number(error), number(row["median"])]
        cells += [f"{1 - row['mean'] / runs.horizon:.1%}"] if labelled else []
        cells.append(f"{row['microseconds_a_round']:.1f}")
        if several:
            gap = runs.difference(row["policy"], runs.names[0], delta)
            ends = f"{number(gap.mean)} [{number(gap.lower)}, {number(gap.upper)}]"
            cells.append("" if row["policy"] == runs.names[0] else ends)
        table.add_row(*cells)
    out.print(table)
