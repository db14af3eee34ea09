"""What was measured of bandits, as tables for the terminal, and which of the project's targets it meets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.bandit_game import Game
from benchmarks.bandit_many import Blocks, Size
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
    for method in methods:
        if method.note:
            console.print(f"{method.title}: {method.note}")
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


def print_many(console: Console, found: Sequence[Blocks], size: Size) -> None:
    title = f"{size.arms:,} arms, d = {size.d}, one θ: ms a round, over {size.rounds} rounds in blocks of {size.block}"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("arms")
    table.add_column("policy")
    for heading in ("mean", "worst block", "choices checked", "not the best"):
        table.add_column(heading, justify="right")
    for blocks in found:
        checked = (str(blocks.checked), str(blocks.worse)) if blocks.ours else ("", "")
        table.add_row(blocks.arms, blocks.title, short(blocks.mean / 1000), short(blocks.worst / 1000), *checked)
    console.print()
    console.print(table)


# Targets

SMALL, LARGE = (20, 10), (100, 100)  # features, arms
HELD_TO_THE_BEST = ("oful", "lints", "dlinucb", "swlinucb", "disjoint")


def targets(
    comparisons: Sequence[Comparison], methods: Sequence[Method], many: Sequence[Blocks], game: Game
) -> list[Target]:
    """What the project aims at, for information: machines and days differ."""
    at = {(comparison.d, comparison.n_arms): comparison for comparison in comparisons}
    titles = {method.key: method.title for method in methods}
    found: list[Target] = []
    if (small := at.get(SMALL)) is not None:
        ours = {method.key for method in methods if method.beside is None}
        found += [
            _quick_rounds(small, {"oful"}, titles, 3, "OFUL"),
            _quick_rounds(small, ours, titles, 8, "every policy"),
            _many_times_good(small, methods),
        ]
    if (large := at.get(LARGE)) is not None:
        found += [_faster_than_the_best(large, methods, key, titles[key]) for key in HELD_TO_THE_BEST]
    slowest = max(game.ours, key=game.milliseconds)
    return [
        *found,
        *(_many_arms(many, arms) for arms in ("new", "fixed")),
        Target(
            "figure 4a in at most 8 ms a replicate and policy, drawing its world included",
            f"{short(game.milliseconds(slowest))} ms, {slowest}",
            game.milliseconds(slowest) <= 8,
        ),
    ]


def _where(comparison: Comparison) -> str:
    return f"at d = {comparison.d}, {comparison.n_arms} arms"


def _quick_rounds(comparison: Comparison, keys: set[str], titles: dict[str, str], most: float, who: str) -> Target:
    times = {titles[key]: timing.best for key, timing in comparison.timings.items() if key in keys}
    says = f"a round of {who} in at most {most:g} µs {_where(comparison)}"
    if not times:
        return Target(says, NOTHING, None)
    slowest = max(times, key=lambda title: times[title])
    return Target(says, f"{short(times[slowest])} µs, {slowest}", times[slowest] <= most)


def _many_times_good(comparison: Comparison, methods: Sequence[Method]) -> Target:
    says = f"every policy at least 8× as fast as good NumPy {_where(comparison)}"
    good = [method for method in methods if method.level == "good"]
    ratios = {method.title: ratio for method in good if (ratio := comparison.ratio(method)) is not None}
    if not ratios:
        return Target(says, NOTHING, None)
    closest = min(ratios, key=lambda title: ratios[title])
    return Target(says, f"{short(ratios[closest])}×, {closest}", ratios[closest] >= 8)


def _faster_than_the_best(comparison: Comparison, methods: Sequence[Method], key: str, title: str) -> Target:
    """Beside whichever NumPy loop turns out to be the fastest for the policy."""
    says = f"{title} at least 1.5× as fast as the best NumPy {_where(comparison)}"
    peers = [method for method in methods if method.beside == key and method.level in ("good", "best")]
    ratios = {method.title: ratio for method in peers if (ratio := comparison.ratio(method)) is not None}
    if not ratios:
        return Target(says, NOTHING, None)
    closest = min(ratios, key=lambda title: ratios[title])
    return Target(says, f"{short(ratios[closest])}×, {closest}", ratios[closest] >= 1.5)


def _many_arms(many: Sequence[Blocks], arms: str) -> Target:
    says = f"a round under 2 ms with {arms} arms, very many of them, and the best one chosen"
    ours = [blocks for blocks in many if blocks.ours and blocks.arms == arms]
    if not ours:
        return Target(says, NOTHING, None)
    slowest, worse = max(ours, key=lambda blocks: blocks.mean), sum(blocks.worse for blocks in ours)
    measured = f"{short(slowest.mean / 1000)} ms, {slowest.title}, worst block {short(slowest.worst / 1000)} ms"
    if worse:
        measured += f", {worse} choices not the best"
    return Target(says, measured, slowest.mean < 2000 and not worse)
