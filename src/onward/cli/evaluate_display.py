"""What a person sees of an evaluation: values, differences, what the weights look like, and warnings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onward.cli import display
from onward.cli.terminal import console
from onward.core.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from onward.bandits.policy_value import Value, ValueDifference
    from onward.bandits.replay import LoggedData


def show_values(
    source: str,
    log: "LoggedData",
    values: "Mapping[str, Value]",
    differences: "Mapping[str, ValueDifference]",
    remarks: Sequence[str],
) -> None:
    """Print tables of the values by policy, of their differences to the first, and all warnings."""
    out, first = console(), next(iter(values.values()))

    def say(line: str) -> None:
        out.print(line, markup=False, highlight=False)

    say(f"{source}: {log!r}; mean reward {_short(float(log.reward.mean()))}")
    interval = f"{100 * (1 - first.delta):g}% interval"
    heads = ["policy", "value", "std. error", interval, "effective events", "mean weight"]
    rows = [
        [name, _short(each.value), _short(each.standard_error), _ends(each), _events(each), _weight(each)]
        for name, each in values.items()
    ]
    out.print(_table(f"Reward an event, by {first.method}", heads, rows))
    if len(values) > 1 and differences:
        names = list(values)[1:]
        gaps = [differences[name] for name in names]
        rows = [
            [name, _short(each.mean), _short(each.standard_error), _ends(each), f"{each.p_value:.2g}"]
            for name, each in zip(names, gaps, strict=True)
        ]
        heads = ["policy", "difference", "std. error", interval, "p-value"]
        out.print(_table(f"More than {next(iter(values))}, on the same events", heads, rows))
    told = "given" if first.range_from == "given" else "that of the log"
    low, high = map(display.number, first.reward_range)
    say(f"Intervals are {first.interval}, cut to the range of rewards ({told}): {low} to {high}.")
    if first.diagnostics is not None:
        out.print(_checks(first), highlight=False)
    for line in remarks:
        say(f"Warning: {line}")
    told_of: dict[str, list[str]] = {}
    for name, value in values.items():
        lines = list(value.all_warnings)
        if not value.reliable and not lines:
            lines = [f"Only {counted(round(value.effective_sample_size), 'effective event')}: not to be relied on."]
        for line in lines:
            told_of.setdefault(line, []).append(name)
    for line, names in told_of.items():
        say(f"Warning ({'all' if len(names) == len(values) else ', '.join(names)}): {line}")


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _checks(value: "Value") -> "Table":
    """What the log's propensities came out as in the checks."""
    seen = value.diagnostics
    assert seen is not None
    wrong = [each for each in seen.checks if each.flagged]
    rows = {
        "least propensity": display.number(seen.least_propensity),
        "events with propensity 1": f"{seen.certain_share:.1%}",
        "checks of propensities": f"{len(wrong)} of {len(seen.checks)} flagged",
    }
    for each in seen.checks[:2]:
        rows[f"mean weight, {each.name}"] = f"{each.value:.3g} ± {each.standard_error:.2g}"
    return display.pairs(rows)


def _events(value: "Value") -> str:
    return f"{value.effective_sample_size:,.0f}"


def _weight(value: "Value") -> str:
    seen = value.diagnostics
    return "–" if seen is None else f"{seen.mean_weight:.3g} ± {seen.mean_weight_error:.2g}"


def _short(value: float) -> str:
    return display.number(float(f"{value:.3g}"))


def _ends(value: "Value | ValueDifference") -> str:
    return f"[{_short(value.lower)}, {_short(value.upper)}]"
