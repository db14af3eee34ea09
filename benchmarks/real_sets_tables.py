"""What was measured on real data, as tables for the terminal and for the page, and how often who is best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.peers import CONTENDERS, Contender
from tools.held_out_sets import HELD_OUT
from tools.own_data import SAME, number

if TYPE_CHECKING:
    from benchmarks.real_sets import Measured

NEAR, FAR = 1.02, 1.12  # the ratios to the best pair that the project wants to stay below: mostly, and always
TITLES = {each.key: each.title for each in CONTENDERS}


class Grid(NamedTuple):
    """A table as text: its title, its headings, and its lines."""

    title: str
    headings: Sequence[str]
    lines: Sequence[Sequence[str]]

    def rich(self) -> Table:
        table = Table(title=self.title, title_justify="left", title_style="bold")
        for heading in self.headings:
            table.add_column(heading, justify="left" if heading == "data" else "right")
        for line in self.lines:
            table.add_row(*(f"[bold]{cell.strip('*')}[/]" if cell.startswith("**") else cell for cell in line))
        return table

    def markdown(self) -> str:
        rules = ["---" if heading == "data" else "--:" for heading in self.headings]
        lines = [f"| {' | '.join(self.headings)} |", f"|{'|'.join(rules)}|"]
        return "\n".join([*lines, *(f"| {' | '.join(line)} |" for line in self.lines)])


def shown(found: Sequence[Measured]) -> list[Contender]:
    """Who has a column: all that were run, but for the pairs of the grid, of which the best has one."""
    return [each for each in CONTENDERS if each.part != "pair" and all(each.key in one.errors for one in found)]


def _ours(found: Sequence[Measured]) -> list[Contender]:
    return [each for each in shown(found) if each.part == "ours"]


def errors(found: Sequence[Measured], later: bool) -> Grid:
    """A line for each set: online RMSE of all, the smallest of those that learn online in bold."""
    columns = shown(found)
    lines = []
    for one in found:
        pair, error = one.best("pair", later)
        values = [one.rmse(each.key, later) for each in columns]
        least = min(value for each, value in zip(columns, values, strict=True) if each.part != "yardstick")
        cells = [
            f"**{number(value)}**" if value == least and each.part != "yardstick" else _number(value)
            for each, value in zip(columns, values, strict=True)
        ]
        lines.append([one.name, f"{one.rows:,}", str(one.features), TITLES[pair], number(error), *cells])
    title = "Online RMSE, from row 50 on" if later else "Online RMSE, all rows"
    return Grid(title, ["data", "rows", "features", "best pair", "its RMSE", *(each.title for each in columns)], lines)


def _number(value: float) -> str:
    return number(value) if math.isfinite(value) else "∞"


def ratio(one: Measured, key: str, part: str, later: bool = False) -> float:
    """Its error over the least of those who play a part."""
    return one.rmse(key, later) / one.best(part, later)[1]


def ratios(found: Sequence[Measured]) -> Grid:
    """A line for each set: our errors over the best pair's, the best online peer's and the yardstick's."""
    headings, lines = ["data", "best online peer"], []
    for each in _ours(found):
        headings += [f"{each.title} ÷ best pair", "÷ peer", "÷ RidgeCV"]
    for one in found:
        cells = [one.name, TITLES[one.best("peer")[0]]]
        for each in _ours(found):
            cells += [
                f"{ratio(one, each.key, part):.3f} ({ratio(one, each.key, part, True):.3f})"
                for part in ("pair", "peer", "yardstick")
            ]
        lines.append(cells)
    return Grid("Errors over those of others; in brackets, from row 50 on", headings, lines)


def summary(found: Sequence[Measured]) -> list[str]:
    """For each of ours, how often it is near the best pair, and how often better than all online peers."""
    sentences = []
    for each in _ours(found):
        for later in (False, True):
            to_pair = {one.name: ratio(one, each.key, "pair", later) for one in found}
            to_peer = [ratio(one, each.key, "peer", later) for one in found]
            to_cv = [ratio(one, each.key, "yardstick", later) for one in found]
            worst = max(to_pair, key=to_pair.__getitem__)
            near, far = (sum(value <= limit for value in to_pair.values()) for limit in (NEAR, FAR))
            sentences.append(
                f"{each.title}, {'from row 50 on' if later else 'all rows'}: at most {NEAR} times the error of the "
                f"best pair on {near} of {len(found)} sets, at most {FAR} on {far}, at worst {to_pair[worst]:.2f} "
                f"({worst}); the smallest error of all online peers on {sum(value <= 1 for value in to_peer)}, by more "
                f"than {SAME:.1%} on {sum(value < 1 - SAME for value in to_peer)}; smaller than that of RidgeCV on "
                f"{sum(value < 1 for value in to_cv)}."
            )
    return sentences


def failures(found: Sequence[Measured]) -> list[str]:
    """Who could not finish, where and why."""
    return [
        f"{one.name}: {TITLES[key]} fails at {error.failed}"
        for one in found
        for key, error in one.errors.items()
        if error.failed is not None
    ]


def parts(found: Sequence[Measured]) -> dict[str, list[Measured]]:
    """The eleven sets, and those held out."""
    both = {"peers": [one for one in found if not one.held_out], "held out": [one for one in found if one.held_out]}
    return {name: some for name, some in both.items() if some}


def show(console: Console, found: Sequence[Measured]) -> None:
    for name, some in parts(found).items():
        console.rule({"peers": "The eleven sets", "held out": "Held out"}[name])
        for grid in (errors(some, False), errors(some, True), ratios(some)):
            console.print(grid.rich(), end="\n\n")
        for sentence in [*summary(some), *failures(some)]:
            console.print(sentence, markup=False)


def described() -> str:
    """What each held-out set is."""
    return "\n".join(f"- **{data.name}** ({data.package}). {data.about}" for data in HELD_OUT)


def sections(found: Sequence[Measured], versions: Mapping[str, str | None]) -> dict[str, str]:
    """What the page holds between its marks, by name."""
    libraries = ", ".join(f"{name} {versions[name]}" for name in ("river", "vowpalwabbit", "scikit-learn"))
    made = {"peers versions": f"Measured beside {libraries}.", "held out sets": described()}
    for name, some in parts(found).items():
        made[f"{name} summary"] = "\n".join(f"- {sentence}" for sentence in [*summary(some), *failures(some)])
        made[f"{name} errors"] = errors(some, False).markdown()
        made[f"{name} later errors"] = errors(some, True).markdown()
        made[f"{name} ratios"] = ratios(some).markdown()
    return made
