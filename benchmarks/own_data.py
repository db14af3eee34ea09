"""The command line on files: `onward fit` beside Vowpal Wabbit, river, and the bare read of the same file.

    python benchmarks/own_data.py [--quick] [--large] [--folder FOLDER] [--out FILE]

The same rows are written as CSV, Parquet and Vowpal Wabbit's own text. Start-up is left out: `onward fit`, river and
the bare reads are timed inside of their processes, after what they need has been loaded; Vowpal Wabbit as a whole
process, less the same on ten rows. river learns only the first rows, and its time is scaled up. Contenders take turns,
each as it comes (Vowpal Wabbit parses in a second thread, and so do we; polars uses all cores), and the best round
counts. Processor time is shown beside: on a busy machine it is the one to trust.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from benchmarks import own_data_files
from benchmarks.own_data_files import TARGET, Files
from benchmarks.report import NOTHING, Target, print_targets, short
from benchmarks.timing import machine, versions

OUT = Path(__file__).resolve().parent / "results" / "own_data.json"
CHILD = Path(__file__).resolve().parent / "own_data_child.py"
LIBRARIES = ("onward", "numpy", "numba", "polars", "pyarrow", "river", "vowpalwabbit")
# One learner is what the pass around it is measured with; `auto`, the default, is some thirty of them, and shown beside
OPTIONS = ["--target", TARGET, "--quiet", "--learner", "forward"]
AUTO = ["--target", TARGET, "--quiet"]
ONWARD = [sys.executable, "-m", "onward"]
VW = [sys.executable, "-m", "vowpalwabbit"]
FIT_CSV, FIT_PARQUET, WABBIT = "onward fit, CSV", "onward fit, Parquet", "Vowpal Wabbit, its text"
PREDICT_CSV, PREDICT_PARQUET = f"{FIT_CSV}, --predictions", f"{FIT_PARQUET}, --predictions"
AUTO_CSV = f"{FIT_CSV}, auto"
READ_CSV, READ_PARQUET = "polars.read_csv", "polars.read_parquet"
RIVER = {"river, CSV, LinearRegression": "LinearRegression", "river, CSV, Bayesian": "BayesianLinearRegression"}


@dataclass(frozen=True)
class Settings:
    """How much is measured. The defaults take about three minutes."""

    seed: int = 0
    rows: int = 1_000_000
    features: int = 20
    rounds: int = 5
    river_rows: int = 10_000
    large_rows: int = 0  # memory is measured for so many rows, too
    start_repeats: int = 5


QUICK = Settings(rows=100_000, rounds=2, river_rows=1000, start_repeats=3)
LARGE = 10_000_000
MOST_MB = 300


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock and of the processors."""

    wall: float
    cpu: float

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.wall - other.wall, self.cpu - other.cpu)


@dataclass
class Contender:
    """A way to go through the file. `run` goes through it once; `start`, if there is one, only starts."""

    run: Callable[[], Spent]
    start: Callable[[], Spent] | None = None
    runs: list[Spent] = field(default_factory=list)
    starts: list[Spent] = field(default_factory=list)

    def go(self) -> None:
        """One round."""
        self.runs.append(self.run())
        if self.start is not None:
            self.starts.append(self.start())

    @property
    def best(self) -> Spent:
        """The least of each, start-up taken off."""
        return _least(self.runs) - (_least(self.starts) if self.starts else Spent(0.0, 0.0))


def _least(spent: Sequence[Spent]) -> Spent:
    return Spent(min(each.wall for each in spent), min(each.cpu for each in spent))


# Processes


def command(arguments: Sequence[str | Path]) -> tuple[Spent, str, str]:
    """Run a program: what it spent, and what it said on standard output and standard error."""
    before, start = os.times(), perf_counter()
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True)
    wall, after = perf_counter() - start, os.times()
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments))} failed:\n{done.stderr}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(wall, cpu), done.stdout, done.stderr


def child(*arguments: str | Path | int) -> dict[str, Any]:
    """What `own_data_child.py` measures."""
    _, out, _ = command([sys.executable, CHILD, *map(str, arguments)])
    return cast(dict[str, Any], json.loads(out.splitlines()[-1]))


def wabbit(path: Path) -> list[str | Path]:
    """One pass of Vowpal Wabbit over its own text, without a cache."""
    return [*VW, "--data", path, "--loss_function", "squared", "--no_stdin"]


# Measuring


def contenders(files: Files, tiny: Files, settings: Settings) -> dict[str, Contender]:
    """All that are installed, by name."""

    def process(*arguments: str | Path) -> Callable[[], Spent]:
        return lambda: command(arguments)[0]

    def inside(scale: float, *arguments: str | Path | int) -> Callable[[], Spent]:
        def run() -> Spent:
            found = child(*arguments)
            return Spent(scale * found["wall"], scale * found["cpu"])

        return run

    predictions: list[str | Path] = ["--predictions", files.csv.with_name("predictions.parquet")]
    found = {
        FIT_CSV: Contender(inside(1.0, "fit", tiny.csv, files.csv, *OPTIONS)),
        FIT_PARQUET: Contender(inside(1.0, "fit", tiny.parquet, files.parquet, *OPTIONS)),
        PREDICT_CSV: Contender(inside(1.0, "fit", tiny.csv, files.csv, *OPTIONS, *predictions)),
        PREDICT_PARQUET: Contender(inside(1.0, "fit", tiny.parquet, files.parquet, *OPTIONS, *predictions)),
        AUTO_CSV: Contender(inside(1.0, "fit", tiny.csv, files.csv, *AUTO)),
        READ_CSV: Contender(inside(1.0, "read", files.csv)),
        READ_PARQUET: Contender(inside(1.0, "read", files.parquet)),
    }
    if files.vw is not None and tiny.vw is not None:
        found[WABBIT] = Contender(process(*wabbit(files.vw), "--quiet"), process(*wabbit(tiny.vw), "--quiet"))
    if find_spec("river") is not None:
        scale = settings.rows / settings.river_rows
        for title, learner in RIVER.items():
            found[title] = Contender(inside(scale, "river", files.csv, learner, settings.river_rows))
    return found


def wabbit_rmse(said: str) -> float:
    """The online error in what it says at the end; NaN if it says none."""
    average = re.search(r"^average loss = (\S+)", said, re.MULTILINE)
    return math.sqrt(float(average[1])) if average else math.nan


def errors(files: Files, settings: Settings) -> dict[str, float]:
    """The online RMSE of each: whether they learn at all, and how soon."""
    found = {}
    for name, path, options in (
        (FIT_CSV, files.csv, OPTIONS),
        (FIT_PARQUET, files.parquet, OPTIONS),
        (AUTO_CSV, files.csv, AUTO),
    ):
        _, out, _ = command([*ONWARD, "fit", path, *options, "--json"])
        found[name] = float(json.loads(out)["scores"]["rmse"])
    if files.vw is not None:
        _, _, said = command(wabbit(files.vw))
        found[WABBIT] = wabbit_rmse(said)
    if find_spec("river") is not None:
        found |= {
            title: float(child("river", files.csv, learner, settings.river_rows)["rmse"])
            for title, learner in RIVER.items()
        }
    return found


def memory(files: Files, folder: Path) -> dict[str, dict[str, Any]]:
    """Peak memory of `onward fit`, plainly, with a file of predictions and with a report."""
    outputs: dict[str, list[str | Path]] = {
        "": [],
        ", --predictions": ["--predictions", folder / "predictions.parquet"],
        ", --report": ["--report", folder / "report.html"],
    }
    return {
        path.suffix[1:] + name: child("peak", path, *OPTIONS, *asked)
        for path in (files.csv, files.parquet)
        for name, asked in outputs.items()
    }


def start_up(tiny: Files, repeats: int) -> dict[str, float]:
    """Seconds by the clock of commands that do next to nothing, the best of several."""
    commands: dict[str, list[str | Path]] = {
        "onward --help": [*ONWARD, "--help"],
        "onward --version": [*ONWARD, "--version"],
        "onward fit, ten rows": [*ONWARD, "fit", tiny.csv, *OPTIONS],
    }
    if tiny.vw is not None:
        commands["Vowpal Wabbit, ten rows"] = [*wabbit(tiny.vw), "--quiet"]
    return {name: min(command(each)[0].wall for _ in range(repeats)) for name, each in commands.items()}


def measure(settings: Settings, folder: Path, console: Console) -> dict[str, Any]:
    """Measure everything, printing as it goes. Returns all of it."""
    begun = perf_counter()
    about = {"machine": machine(), "versions": versions(LIBRARIES), "settings": asdict(settings)}
    console.print(
        f"{about['machine']['processor']}, {os.cpu_count()} cores, load {about['machine']['load_average']}; "
        + ", ".join(f"{name} {version or 'not installed'}" for name, version in about["versions"].items())
    )
    with console.status("writing files"):
        has_vw = find_spec("vowpalwabbit") is not None
        files = own_data_files.write(folder, "rows", settings.rows, settings.features, settings.seed, vw=has_vw)
        tiny = own_data_files.write(folder, "tiny", 10, settings.features, settings.seed, vw=has_vw)
    racers = contenders(files, tiny, settings)
    command([*ONWARD, "fit", tiny.csv, *OPTIONS])  # the compiler's turn
    names = list(racers)
    for turn in range(settings.rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            with console.status(f"round {turn + 1} of {settings.rounds}: {name}"):
                racers[name].go()
    with console.status("errors"):
        rmse = errors(files, settings)
    times = {name: racer.best for name, racer in racers.items()}
    print_times(console, times, rmse, settings, files.sizes())
    with console.status("memory and start-up"):
        speaking = start_up(tiny, settings.start_repeats)
        peaks = {settings.rows: memory(files, folder)}
        if settings.large_rows:
            large = own_data_files.write(
                folder, "large", settings.large_rows, settings.features, settings.seed, vw=False
            )
            peaks[settings.large_rows] = memory(large, folder)
    print_process(console, speaking, peaks)
    found = targets(times, speaking, peaks)
    print_targets(console, found)
    seconds = perf_counter() - begun
    console.print(f"\n{seconds:.0f} s in all.")
    return about | {
        "times": {name: asdict(spent) for name, spent in times.items()},
        "runs": {name: [asdict(each) for each in racer.runs] for name, racer in racers.items()},
        "starts": {name: [asdict(each) for each in racer.starts] for name, racer in racers.items()},
        "rmse": rmse,
        "bytes": files.sizes(),
        "start_up_seconds": speaking,
        "memory": {str(rows): peak for rows, peak in peaks.items()},
        "targets": [asdict(target) for target in found],
        "seconds": seconds,
    }


# Showing


def ratio(times: dict[str, Spent], one: str, other: str) -> Spent | None:
    """How many times as long `one` takes as `other`; None where one of them was not measured."""
    if one not in times or other not in times:
        return None
    return Spent(*(_over(getattr(times[one], of), getattr(times[other], of)) for of in ("wall", "cpu")))


def _over(one: float, other: float) -> float:
    return one / other if other > 0 else math.nan  # at a tiny size, start-up may be all there is


def print_times(
    console: Console,
    times: dict[str, Spent],
    rmse: dict[str, float],
    settings: Settings,
    sizes: dict[str, int],
) -> None:
    megabytes = ", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in sizes.items())
    table = Table(
        title=f"{settings.rows:,} rows × {settings.features} features ({megabytes}): seconds, start-up apart",
        title_justify="left",
        title_style="bold",
        caption=f"river learned {settings.river_rows:,} rows; its times are scaled up, its error is of those rows. "
        f"Best of {settings.rounds} rounds.",
        caption_justify="left",
    )
    table.add_column("what")
    for heading in ("clock", "processors", "µs a row", "beside onward, CSV", "online RMSE"):
        table.add_column(heading, justify="right")
    for name, spent in times.items():
        beside = ratio(times, name, FIT_CSV)
        table.add_row(
            name,
            short(spent.wall, " s"),
            short(spent.cpu, " s"),
            short(1e6 * spent.wall / settings.rows),
            short(beside.wall if beside else None, "×"),
            f"{rmse[name]:.5f}" if name in rmse else NOTHING,
        )
    console.print(table)
    if WABBIT not in times:
        console.print(f"{NOTHING} Vowpal Wabbit: not installed")


def print_process(console: Console, speaking: dict[str, float], peaks: dict[int, dict[str, Any]]) -> None:
    table = Table(title="Start-up, and peak memory of onward fit", title_justify="left", title_style="bold")
    table.add_column("what")
    table.add_column("measured", justify="right")
    for option, seconds in speaking.items():
        table.add_row(option, short(seconds, " s"))
    for rows, found in peaks.items():
        for what, peak in found.items():
            table.add_row(f"{what}: {rows:,} rows", short(peak["peak_mb"], " MB"))
    console.print()
    console.print(table)


def targets(times: dict[str, Spent], speaking: dict[str, float], peaks: dict[int, dict[str, Any]]) -> list[Target]:
    """What the project aims at, for information: machines and days differ."""
    found = [
        _times_as("CSV at least 2× as fast as Vowpal Wabbit on its text", ratio(times, WABBIT, FIT_CSV), least=2),
        _times_as("CSV at most 1.4× the bare read", ratio(times, FIT_CSV, READ_CSV), most=1.4),
        _times_as("Parquet at most 3× the bare read", ratio(times, FIT_PARQUET, READ_PARQUET), most=3),
        _times_as("CSV with predictions at most 1.5× without", ratio(times, PREDICT_CSV, FIT_CSV), most=1.5),
        _times_as(
            "Parquet with predictions at most 1.5× without", ratio(times, PREDICT_PARQUET, FIT_PARQUET), most=1.5
        ),
        Target("help in less than 0.5 s", short(speaking["onward --help"], " s"), speaking["onward --help"] < 0.5),
    ]
    rows = max(peaks)
    largest = max((peak["peak_mb"] for peak in peaks[rows].values() if peak["peak_mb"] is not None), default=None)
    says = f"at most {MOST_MB} MB, whatever the outputs, for {rows:,} rows"
    return [*found, Target(says, short(largest, " MB"), None if largest is None else largest <= MOST_MB)]


def _times_as(says: str, measured: Spent | None, *, least: float = 0.0, most: float = math.inf) -> Target:
    if measured is None:
        return Target(says, NOTHING, None)
    text = f"{short(measured.wall, '×')} by the clock, {short(measured.cpu, '×')} of the processors"
    return Target(says, text, least <= measured.wall <= most)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a rougher picture, in about half a minute")
    parser.add_argument("--large", action="store_true", help=f"memory for {LARGE:,} rows, too: writes 4 GB")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where the files go, in a folder that vanishes")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="where to write every number, as JSON")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=130)
    settings = replace(QUICK if given.quick else Settings(), seed=given.seed, large_rows=LARGE if given.large else 0)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        results = measure(settings, Path(folder), console)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print(f"Every number: {given.out}")


if __name__ == "__main__":
    main()
