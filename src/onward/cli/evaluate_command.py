"""`onward evaluate`: what policies would have earned on a log of decisions."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from onward.cli import options as o
from onward.cli.value_options import split_names, usage

if TYPE_CHECKING:
    from onward.bandits.disjoint import Disjoint
    from onward.bandits.policy import Policy
    from onward.bandits.policy_value import Value, ValueDifference
    from onward.bandits.replay import LoggedData

EXAMPLES = """Examples:

onward evaluate decisions.jsonl --policy 'linucb alpha=1' --policy thompson

onward evaluate clicks.parquet --arms 5 -p 'disjoint linucb' -p 'disjoint greedy' --method snips

onward evaluate decisions.jsonl -p policy.onward --reward-range 0,1 --interval anytime --json"""

# As in onward.bandits.policy_value, which takes too long to load for help to wait for it.
Method = Literal["replay", "ips", "snips", "dm", "dr", "switch", "dros"]
Learn = Literal["matched", "all", "none"]
Interval = Literal["normal", "empirical_bernstein", "anytime"]

_LOG, _HOW = "Log", "Estimate"
_CHECKED = ("method", "learn", "delta", "clip", "interval", "reward_range")  # before the data are looked at


def command(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Decisions as LogWriter writes them (JSON lines, Parquet), or a table (CSV too): a row for each event "
            "with --arms, otherwise one for each action that was offered.",
            show_default=False,
        ),
    ],
    policy: Annotated[
        list[str],
        typer.Option(
            "--policy",
            "-p",
            metavar="'NAME PARAMETER=VALUE ...'|FILE",
            help="A policy by name with its parameters (linucb, oful, thompson, squarecb, boltzmann, egreedy, greedy, "
            "random, dlinucb, swlinucb, ...; on a log of contexts 'disjoint NAME', one for each arm), or a file that a "
            "policy was saved to. Several are compared with the first.",
            show_default=False,
        ),
    ],
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="replay: the events where the policy does what was done; ips, snips: inverse propensities; dm: a "
            "reward model alone; dr: doubly robust; switch, dros: the same with weights kept small.",
            rich_help_panel=_HOW,
        ),
    ] = "dr",
    learn: Annotated[
        Learn | None,
        typer.Option(
            "--learn",
            help="Learn all events, those that replay accepts (matched), or none.",
            rich_help_panel=_HOW,
            show_default="all, or matched with replay; none for a file",
        ),
    ] = None,
    interval: Annotated[
        Interval,
        typer.Option(
            "--interval",
            help="normal; or, for ips and dr with --reward-range, empirical_bernstein, at any size, or anytime, at all "
            "sizes at once.",
            rich_help_panel=_HOW,
        ),
    ] = "normal",
    delta: Annotated[
        float, typer.Option("--delta", help="Intervals may fail with this probability.", rich_help_panel=_HOW)
    ] = 0.05,
    clip: Annotated[
        float | None,
        typer.Option("--clip", help="Cut weights above it down to it.", rich_help_panel=_HOW, show_default=False),
    ] = None,
    reward_range: Annotated[
        str | None,
        typer.Option(
            "--reward-range",
            metavar="LOW,HIGH",
            help="No reward can be outside; intervals are cut to it.",
            rich_help_panel=_HOW,
            show_default="that of the log",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of policies' random numbers and replay's.", rich_help_panel=_HOW)
    ] = 0,
    allow_deterministic: Annotated[
        bool,
        typer.Option(
            "--allow-deterministic",
            help="Let --method dm judge on a log that explored nothing.",
            rich_help_panel=_HOW,
        ),
    ] = False,
    arms: Annotated[
        str | None,
        typer.Option(
            "--arms",
            metavar="NUMBER|NAME,...",
            help="A row is an event, its columns are a context that so many arms share, or arms of these names.",
            rich_help_panel=_LOG,
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--features",
            metavar="NAME,...",
            help="The columns that hold features.",
            rich_help_panel=_LOG,
            show_default="all others",
        ),
    ] = None,
    taken: Annotated[
        str, typer.Option("--taken", help="The column of what was taken.", rich_help_panel=_LOG)
    ] = "taken",
    propensity: Annotated[
        str, typer.Option("--propensity", help="The column of its probability.", rich_help_panel=_LOG)
    ] = "propensity",
    reward: Annotated[str, typer.Option("--reward", help="The column of the reward.", rich_help_panel=_LOG)] = "reward",
    event: Annotated[
        str, typer.Option("--event", help="The column that says which event, without --arms.", rich_help_panel=_LOG)
    ] = "event",
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Fail (exit code 1) if anything speaks against an estimate.", rich_help_panel=o.OUTPUT
        ),
    ] = False,
    json: o.Json = False,
) -> None:
    """Estimate what policies would have earned on a log of decisions, with intervals and with what speaks against them.

    The log holds for each event what was offered, what was taken, with which probability (the propensity), and the
    reward. A policy that is named begins with nothing and learns the log as it goes, judged on each event before it
    learns it; one from a file stays as it is. Differences to the first policy are paired: both meet the same events.
    """
    from onward.bandits.replay import LoggedData, LogWarning

    bounds = _range(reward_range)
    names = {"taken": taken, "propensity": propensity, "reward": reward, "event": event}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LogWarning)
        events = LoggedData.read(log, n_arms=_arms(arms), features=split_names(features) or None, **names)
    remarks = [str(each.message) for each in caught]
    policies = _policies(policy, events, seed)
    values: dict[str, Value] = {}
    settings: dict[str, Any] = {"method": method, "interval": interval, "delta": delta, "seed": seed}
    settings |= {"reward_range": bounds, "allow_deterministic": allow_deterministic, "clip": clip}
    for name, (one, saved) in policies.items():
        own: Learn = "none" if saved else "matched" if method == "replay" else "all"
        values[name] = _evaluate(one, events, settings | {"learn": learn or own})
    first = next(iter(values.values()))
    gaps = {} if method == "replay" else {name: each.difference(first) for name, each in values.items()}
    if json:
        from onward.cli.model_files import show_json

        show_json(_record(events, values, gaps, remarks))
    else:
        from onward.cli.evaluate_display import show_values

        show_values(str(log), events, values, gaps, remarks)
    if strict and (remarks or any(each.warnings or not each.reliable for each in values.values())):
        raise typer.Exit(1)


def _arms(text: str | None) -> int | list[str] | None:
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return split_names([text])


def _range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(each) for each in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"expected LOW,HIGH, got {text!r}", param_hint="--reward-range") from error
    return low, high


def _policies(texts: list[str], log: "LoggedData", seed: int) -> "dict[str, tuple[Policy | Disjoint, bool]]":
    """The policies by what they were called, and whether each comes from a file."""
    from onward.bandits.policy_names import named_policy

    n_arms: Any = None if log.contexts is None else log.arms or int(log.actions.sizes[0])
    found: dict[str, tuple[Any, bool]] = {}
    for text in texts:
        if text in found:
            raise typer.BadParameter(f"{text!r} is given more than once", param_hint="--policy")
        saved = text.endswith(".onward")
        if saved:
            found[text] = _load_policy(text), True
        else:
            with usage():
                found[text] = named_policy(text, n_arms, seed), False
    return found


def _load_policy(path: str) -> Any:
    from onward.storage import load

    policy = load(path)
    if not all(callable(getattr(policy, method, None)) for method in ("choose", "learn")):
        raise ValueError(f"{path}: holds a {type(policy).__name__}, expected a policy")
    return policy


def _evaluate(policy: Any, log: "LoggedData", settings: dict[str, Any]) -> "Value":
    from onward.bandits.evaluation_settings import check_settings
    from onward.bandits.replay import LogWarning, evaluate

    with usage():  # what does not fit together is a wrong call
        check_settings(**{name: settings[name] for name in _CHECKED})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)  # they are part of the value
        return evaluate(policy, log, **settings)


def _record(
    log: "LoggedData", values: "dict[str, Value]", gaps: "dict[str, ValueDifference]", remarks: list[str]
) -> Any:
    """The result as JSON has it."""
    from dataclasses import asdict

    from onward.bandits.replay import as_row
    from onward.json_values import to_json_values

    policies = []
    for name, value in values.items():
        row: dict[str, Any] = {"policy": name} | as_row(value) | {"warnings": list(value.all_warnings)}
        row |= {"reward_range": list(value.reward_range)}
        row["diagnostics"] = None if value.diagnostics is None else asdict(value.diagnostics)
        if name in gaps:
            gap = gaps[name]
            row["difference"] = {
                "to": next(iter(values)),
                "mean": gap.mean,
                "standard_error": gap.standard_error,
                "lower": gap.lower,
                "upper": gap.upper,
                "p_value": gap.p_value,
            }
        policies.append(row)
    about = {"events": len(log), "mean_reward": float(log.reward.mean()), "remarks": remarks}
    return to_json_values({"log": about, "policies": policies})
