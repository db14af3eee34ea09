"""What was measured of bandits, as tables for the terminal, and which of the project's targets it meets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.bandit_game import Game
from benchmarks.bandit_methods import Method
from benchmarks.report import NOTHING, Target, short

if TYPE_CHECKING:
    from benchmarks.bandits import Comparison


def print_rounds(console: Console, comparisons: Sequence[Comparison], methods: Sequence[Method]) -> None:
    titles = {method.key: method.title for method in methods}
    for kind in (True, False):
        what = "one θ for all arms" if kind else "one θ for each arm"
        table = Table(title=f"µs a round, to choose and to learn: {what}", title_justify="left", title_style="bold")
        table.add_column("policy")
        table.add_column("beside")
        for comparison in comparisons:
            table.add_column(f"d = {comparison.d}, {comparison.n_arms} arms", justify="right")
            table.add_column("× ours", justify="right")
        for method in methods:
            if method.shared is kind:
                cells = [cell for comparison in comparisons for cell in _cells(comparison, method)]
                table.add_row(method.title, titles.get(method.beside or "", ""), *cells)
        console.print(table, end="\n\n")
    for comparison in comparisons:
        where = f"at d = {comparison.d}, {comparison.n_arms} arms"
        for key, why in comparison.missing.items():
            console.print(f"{NOTHING} {titles[key]} {where}: {why}")
        chose = ", ".join(f"{titles[key]} {count}" for key, count in comparison.different.items())
        console.print(f"Rounds in which NumPy chose another arm than ours, {where}: {chose}")


def _cells(comparison: Comparison, method: Method) -> tuple[str, str]:
    timing = comparison.timings.get(method.key)
    ratio = "" if method.beside is None else short(comparison.ratio(method), "×")
    return short(timing.best if timing else None), ratio


def print_game(console: Console, game: Game) -> None:
    title = f"Figure 4a, {game.horizon:,} rounds: ms a replicate, ours with the drawing of its world"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("policy")
    for heading in (
        "onward",
        "NumPy",
        "NumPy / onward",
        "NumPy by arm",
        "by arm / onward",
        "final regret",
        "largest difference",
        "rounds that differ",
        "ties",
    ):
        table.add_column(heading, justify="right")
    for name in game.ours:
        table.add_row(
            name,
            short(game.milliseconds(name)),
            short(game.numpy[name].best / 1000),
            short(game.ratio(name), "×"),
            short(game.by_arm[name].best / 1000),
            short(game.ratio_by_arm(name), "×"),
            short(game.regret[name]),
            f"{game.difference[name]:.0e}",
            str(game.different_rounds[name]),
            str(game.ties[name]),
        )
    console.print()
    console.print(table)
    if game.world is not None:
        console.print(f"Drawing the world alone takes {short(game.world.best / 1000)} ms a replicate.")


# Targets


def targets(comparisons: Sequence[Comparison], methods: Sequence[Method], game: Game) -> list[Target]:
    """What the project aims at, for information: machines and days differ."""
    found = [
        _quick_rounds(comparison, methods)
        for comparison in comparisons
        if (comparison.d, comparison.n_arms) == (20, 10)
    ]
    for comparison in comparisons:
        libraries = [method for method in methods if method.needs != "numpy"]
        plain = [method for method in methods if method.needs == "numpy"]
        found += [
            _faster_than(comparison, libraries, "every other library"),
            _faster_than(comparison, plain, "every NumPy policy"),
        ]
    slowest = max(game.ours, key=game.milliseconds)
    closest = min(game.ours, key=game.ratio_by_arm)
    return [
        *found,
        Target(
            "figure 4a in at most 10 ms a replicate and policy",
            f"{short(game.milliseconds(slowest))} ms, {slowest}",
            game.milliseconds(slowest) <= 10,
        ),
        Target(
            "figure 4a at least 300× as fast as NumPy that loops over the arms",
            f"{short(game.ratio_by_arm(closest))}×, {closest}",
            game.ratio_by_arm(closest) >= 300,
        ),
    ]


def _quick_rounds(comparison: Comparison, methods: Sequence[Method]) -> Target:
    ours = {method.title: comparison.timings[method.key].best for method in methods if method.beside is None}
    slowest = max(ours, key=lambda title: ours[title])
    says = f"a round in at most 15 µs at d = {comparison.d}, {comparison.n_arms} arms, for each policy"
    return Target(says, f"{short(ours[slowest])} µs, {slowest}", ours[slowest] <= 15)


def _faster_than(comparison: Comparison, peers: Sequence[Method], who: str) -> Target:
    ratios = {method.title: ratio for method in peers if (ratio := comparison.ratio(method)) is not None}
    says = f"at least 5× as fast as {who} at d = {comparison.d}, {comparison.n_arms} arms"
    if not ratios:
        return Target(says, NOTHING, None)
    closest = min(ratios, key=lambda title: ratios[title])
    return Target(says, f"{short(ratios[closest])}×, {closest}", ratios[closest] >= 5)
