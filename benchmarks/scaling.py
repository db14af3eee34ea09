"""A pass shared out over workers: the constants of the cost model, and what the model says beside the clock.

    python benchmarks/scaling.py [--rows 10000000] [--rounds 3] [--folder DIR] [--out FILE]

First the constants, one by one: reading, reducing and learning a row, merging and sending a state, starting workers and
handing them tasks. Then fits of a folder of Parquet files at d = 20, with one worker and with two, each beside what the
model in `scaling_model.py` makes of the constants. Last the memory of a worker for a small and for a large chunk.
"""

import argparse
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from benchmarks import scaling_model as model
from benchmarks.process import peak_memory as peak
from benchmarks.report import Target, print_targets, short
from benchmarks.timing import clock, machine, one_thread, versions
from onward import ForwardRegressor, Known, progressive, scale
from onward.progressive.running_scores import count_all, new_totals
from onward.scale import Chunk, Engine, Summary, chunks_of
from onward.scale.engine import Workers
from onward.scale.parallel_fit import _join_parts as join_parts
from onward.scale.tasks import Predict, Predicting, Reading, Reduce, do, part
from onward.tables import Block, stream
from onward.tables.sources import find_files
from onward.tables.table import as_table

D = 20  # features of the folder
GROUP = 1 << 18  # rows in a row group
OUT = Path(__file__).resolve().parent / "results" / "scaling.json"
LIBRARIES = ("onward", "numpy", "numba", "polars", "pyarrow", "joblib", "distributed")


@dataclass(frozen=True)
class Settings:
    """How much is measured. The defaults take about five minutes, and 3 GB on disk."""

    rows: int = 10_000_000
    file_rows: int = 1_000_000
    row_dims: tuple[int, ...] = (5, 20, 100, 300, 1000)
    state_dims: tuple[int, ...] = (20, 100, 300, 1000)
    values: int = 4_000_000  # in memory, for the time of a row: rows times features
    rounds: int = 3
    tasks: int = 100  # for the time of a task
    memory_rows: tuple[int, ...] = (1_000_000, 5_000_000)
    dask: bool = True


def best(call: Callable[[], object], rounds: int) -> float:
    """Seconds, the least of the rounds: noise only ever adds time. Once before, uncounted, for the compiler."""
    call()
    return min(clock(call) for _ in range(rounds))


# Data


def write_folder(folder: Path, rows: int, file_rows: int, d: int = D, group: int = GROUP) -> None:
    """Standard Gaussian rows, a target of variance 1.25, as Parquet files."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(d) / np.sqrt(d)
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, rows, file_rows)):
        n = min(file_rows, rows - first)
        X = rng.standard_normal((d, n))
        columns = {f"x{j}": X[j] for j in range(d)} | {"y": theta @ X + 0.5 * rng.standard_normal(n)}
        pl.DataFrame(columns).write_parquet(folder / f"part-{number:04d}.parquet", row_group_size=group)


def blocks(d: int, rows: int) -> list[Block]:
    """Rows in memory, in blocks as large as a reader makes them."""
    rng, names = np.random.default_rng(1), [f"x{j}" for j in range(d)]
    size = min(rows, max(1, (1 << 19) // d))
    made = []
    for first in range(0, rows, size):
        n = min(size, rows - first)
        X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
        made.append(Block(X, list(names), y, np.ones(n), first + np.arange(n), first, first + n))
    return made


def reading_of(folder: Path) -> Reading:
    with stream(folder, "y") as rows:
        return Reading(rows.recipe, as_table("y"), True)


# Constants


def row_times(settings: Settings) -> dict[str, Any]:
    """Seconds a row at each d: to reduce it, and to predict and learn it."""
    found: dict[str, Any] = {}
    for d in settings.row_dims:
        made = blocks(d, max(2, 2 * d, settings.values // d))
        n = sum(len(block.rows) for block in made)

        part = Summary.of(made, True)  # filled before: the first rows of a part are another matter

        def reduce(made: list[Block] = made, part: Summary = part) -> None:
            for block in made:
                part.add(block)

        def learn(made: list[Block] = made) -> None:
            learner, totals = ForwardRegressor(1.0), new_totals()
            for block in made:
                assert block.y is not None
                predictions = learner.learn_many(block, block.y, block.weight)
                count_all(predictions, block.y, block.weight, totals)

        found[str(d)] = {"reduce": best(reduce, settings.rounds) / n, "learn": best(learn, settings.rounds) / n}
    return found


def file_times(folder: Path, settings: Settings) -> dict[str, float]:
    """Seconds a row of the folder's last chunk: to read it, to write its prediction, to copy that into one file."""
    reading, chunks = reading_of(folder), chunks_of(find_files(folder), GROUP)
    chunk, before = chunks[-1], Reduce(chunks[0], reading)()
    n = Reduce(chunk, reading)().read

    def read() -> None:
        with reading.stream(chunk, []) as rows:
            for _ in rows:
                pass

    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        scored = partial(_predicted, chunk, reading, before, None)
        written = partial(_predicted, chunk, reading, before, Path(name))
        times = {"scored": best(scored, settings.rounds), "written": best(written, settings.rounds)}
        times["join"] = best(lambda: join_parts(Path(name) / "all.parquet", [part(Path(name), 0)]), settings.rounds)
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    times["read"] = best(read, settings.rounds)
    pa.set_cpu_count(threads)
    return {
        "read": times["read"] / n,
        "write": (times["written"] - times["scored"]) / n,
        "join": times["join"] / n,
    }


def _predicted(chunk: Chunk, reading: Reading, before: Summary, folder: Path | None) -> object:
    """Predict a chunk after what came before it."""
    start = ForwardRegressor(1.0)
    start.recipe_ = reading.recipe
    if before.model is not None:
        start.merge_part(before.model)
    predicting = Predicting(Known(), "uniform", folder)
    return do(Predict((chunk,), 0, reading, predicting, start, before.means, before.read))


def state_times(settings: Settings) -> dict[str, Any]:
    """Of states at each d: seconds to merge two, and into a model; bytes on the wire; seconds to fill an empty one.

    The first d rows of a part, which fill it, take longer than those that follow.
    """
    found: dict[str, Any] = {}
    for d in settings.state_dims:
        one, other = (Summary.of(blocks(d, 2 * d + 10), True) for _ in range(2))
        assert one.model is not None
        assert other.model is not None
        whole = ForwardRegressor(1.0).merge_part(other.model)
        found[str(d)] = {
            "merge": best(partial(one.model.merge, other.model), settings.rounds),
            "merge_into_model": best(partial(whole.merge_part, other.model), settings.rounds),
            "bytes": len(pickle.dumps(one)),
            "fill": best(partial(Summary.of, blocks(d, d + 1), True), settings.rounds),
        }
    return found


def give(state: Summary) -> Summary:
    """What a worker does where only the way there and back is of interest."""
    return state


def task_times(backend: Any, settings: Settings) -> dict[str, Any]:
    """Seconds to start two workers until each has done something, and for a task with a state there and back."""
    begun = perf_counter()
    with Engine(2, backend).started() as workers:
        state = Summary.of(blocks(settings.state_dims[0], 50), True)
        list(workers.run(give, [state, state]))
        found: dict[str, Any] = {"start": perf_counter() - begun}
        for d in settings.state_dims:
            tasks = [Summary.of(blocks(d, 2 * d + 10), True)] * max(4, settings.tasks // (1 + d // 100))
            found[str(d)] = best(partial(_run_all, workers, tasks), settings.rounds) / len(tasks)
    return found


def _run_all(workers: Workers, tasks: Sequence[Summary]) -> None:
    for _ in workers.run(give, tasks):
        pass


def timed(task: Reduce) -> float:
    """Seconds that a task takes in a worker."""
    return clock(partial(do, task))


def busy(folder: Path, settings: Settings) -> float:
    """How many times as long a chunk takes to reduce while a second worker is at work, too, as alone."""
    reading = reading_of(folder)
    tasks = [Reduce(chunk, reading) for chunk in chunks_of(find_files(folder), GROUP)[:8]]
    with Engine(2).started() as workers:
        list(workers.run(timed, tasks))
        alone, together = [], []
        for _ in range(settings.rounds):
            alone += [seconds for task in tasks[:2] for _, seconds in workers.run(timed, [task])]
            together += [seconds for _, seconds in workers.run(timed, tasks)]
    return float(np.median(together) / np.median(alone))


# Fits


@dataclass(frozen=True)
class Fit:
    """A fit of the folder: what is asked for, and of how many workers; 0 for the ordinary pass in one process."""

    what: str
    workers: int

    @property
    def name(self) -> str:
        if not self.workers:
            return f"{self.what}, ordinary pass"
        return f"{self.what}, {self.workers} worker{'s' if self.workers > 1 else ''}"

    def run(self, folder: Path, out: Path) -> object:
        predictions = out / "predictions.parquet" if self.what == "with predictions" else None
        if not self.workers:
            return progressive.fit(folder, "y", predictions=predictions)
        scored = self.what != "model only"
        return scale.fit(folder, "y", engine=Engine(self.workers), with_scores=scored, predictions=predictions)

    def expected(self, rows: int, chunks: int, costs: model.Costs) -> float | None:
        if not self.workers:
            return None
        if self.what == "model only":
            return model.learned(rows, chunks, self.workers, costs)
        return model.predicted(rows, chunks, self.workers, costs, file=self.what == "with predictions")


WHAT = ("model only", "with scores", "with predictions")
FITS = [Fit(what, workers) for what in WHAT for workers in (0, 1, 2) if what != "model only" or workers]


def fits(folder: Path, settings: Settings) -> dict[str, list[float]]:
    """Seconds of each fit in each round. The workers of this machine have started before."""
    seconds: dict[str, list[float]] = {fit.name: [] for fit in FITS}
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        for _ in range(settings.rounds):
            for fit in FITS:
                seconds[fit.name].append(clock(partial(fit.run, folder, Path(out))))
    return seconds


def cold(folder: Path) -> float:
    """Seconds of a fit without scores, its two workers not yet started."""
    import_module("joblib.externals.loky").get_reusable_executor().shutdown(wait=True)
    return clock(lambda: scale.fit(folder, "y", engine=Engine(2), with_scores=False))


# Memory


def memory(folder: Path, settings: Settings) -> list[dict[str, Any]]:
    """Peak memory of a worker, in a process of its own, for chunks that are one row group of so many rows."""
    found = []
    for rows in settings.memory_rows:
        where = folder.parent / f"chunk-{rows}"
        write_folder(where, rows, rows, group=rows)
        for what in ("reduce", "predict"):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                before, after = pool.submit(peaks, where, what).result()
            found.append({"rows": rows, "what": what, "before_mb": before, "peak_mb": after})
        for path in where.iterdir():
            path.unlink()
        where.rmdir()
    return found


def peaks(folder: Path, what: str) -> tuple[float | None, float | None]:
    """In the worker: peak memory once all is loaded and compiled, and after a chunk."""
    warm = Summary.of(blocks(D, 100), True)
    assert warm.model is not None
    reading, chunk = reading_of(folder), chunks_of(find_files(folder), 1 << 40)[0]
    before = peak()
    with tempfile.TemporaryDirectory(dir=folder) as out:
        if what == "reduce":
            do(Reduce(chunk, reading))
        else:
            _predicted(chunk, reading, Summary(True), Path(out))
    return before, peak()


# The command


def costs_of(constants: dict[str, Any], d: int = D, backend: str = "loky") -> model.Costs:
    """The constants at d. Reading was measured at one d: it goes by the number of values."""
    row, state = constants["row"][str(d)], constants["state"][str(d)]
    file = constants["file"]
    return model.Costs(
        read=file["read"] * (d + 1) / (D + 1),
        reduce=row["reduce"],
        learn=row["learn"],
        write=file["write"],
        join=file["join"],
        fill=state["fill"],
        merge=state["merge_into_model"],
        task=constants["task"][backend][str(d)],
        busy=max(1.0, constants["busy"]),
    )


def on_paper(console: Console, constants: dict[str, Any], rows: float = 1e12, chunks: int = 1 << 14) -> None:
    """What the model says of a cluster of W workers. Nothing of this was measured.

    T₁ without scores, T₂ with them; TB and GB/s to read; what the driver does alone: tasks, merges, GB of states, join.
    """
    backend = "dask" if "dask" in constants["task"] else "loky"
    table = Table(
        title=f"Computed, not measured: {rows:.0e} rows in {chunks:,} chunks, {backend}",
        title_justify="left",
        title_style="bold",
    )
    for name in ("d", "W", "TB", "T₁, h", "T₂, h", "GB/s", "tasks, h", "merges, h", "states, GB", "join, h"):
        table.add_column(name, justify="right")
    for d in (d for d in (20, 100, 1000) if str(d) in constants["row"] and str(d) in constants["state"]):
        costs = costs_of(constants, d, backend)
        for workers in (100, 1000):
            once = model.learned(rows, chunks, workers, costs)
            table.add_row(
                str(d),
                f"{workers:,}",
                short(rows * 8 * (d + 1) / 1e12),
                short(once / 3600),
                short(model.predicted(rows, chunks, workers, costs) / 3600),
                short(rows * 8 * (d + 1) / once / 1e9),
                short(chunks * costs.task / 3600),
                short(chunks * costs.merge / 3600),
                short(chunks * constants["state"][str(d)]["bytes"] / 1e9),
                short(rows * costs.join / 3600),
            )
    console.print(table)


def measure(settings: Settings, folder: Path, console: Console) -> dict[str, Any]:
    """Measure everything, printing as it goes. Returns all of it."""
    begun = perf_counter()
    about = {"machine": machine(), "versions": versions(LIBRARIES)}
    at = about["machine"]
    console.print(f"{at['processor']}, {at['cores']} cores, load {at['load_average']}; {at['system']}; {at['python']}")
    data = folder / "data"
    if not data.exists():
        with console.status("writing the folder"):
            write_folder(data, settings.rows, settings.file_rows)
    with console.status("constants"), one_thread():
        constants: dict[str, Any] = {"row": row_times(settings), "state": state_times(settings)}
        constants["file"] = file_times(data, settings)
    with console.status("workers"):
        backends = ["loky", *(["dask"] if settings.dask else [])]
        constants["task"] = {backend: task_times(backend, settings) for backend in backends}
        constants["busy"] = busy(data, settings)
    print_constants(console, constants)
    costs, chunks = costs_of(constants), len(chunks_of(find_files(data)))
    with console.status("fits"), one_thread():
        seconds = fits(data, settings)
        start_too = cold(data)
    expected = {fit.name: fit.expected(settings.rows, chunks, costs) for fit in FITS}
    print_fits(console, settings.rows, chunks, seconds, expected, start_too)
    with console.status("memory"):
        peaks = memory(data, settings)
    print_memory(console, peaks)
    on_paper(console, constants)
    found = targets(seconds, expected)
    print_targets(console, found)
    took = perf_counter() - begun
    console.print(f"\n{took:.0f} s in all; load {os.getloadavg()[0]:.1f} now.")
    return about | {
        "settings": asdict(settings),
        "constants": constants,
        "costs": asdict(costs),
        "chunks": chunks,
        "seconds": seconds,
        "expected": expected,
        "cold": start_too,
        "memory": peaks,
        "targets": [asdict(target) for target in found],
        "took": took,
    }


def targets(seconds: dict[str, list[float]], expected: dict[str, float | None]) -> list[Target]:
    """What the project aims at, for information: machines and days differ."""
    times = {name: min(each) for name, each in seconds.items()}

    def gain(what: str) -> float:
        return times[f"{what}, 1 worker"] / times[f"{what}, 2 workers"]

    found = [
        Target("model only: two workers at least 1.7× as fast as one", short(gain(WHAT[0]), "×"), gain(WHAT[0]) >= 1.7)
    ]
    found += [
        Target(f"{what}: two workers not slower than one", short(gain(what), "×"), gain(what) >= 1) for what in WHAT[1:]
    ]
    for name, guess in expected.items():
        if guess is not None:
            ratio = times[name] / guess
            found.append(Target(f"{name}: within 20% of the model", short(ratio, "×"), abs(ratio - 1) <= 0.2))
    return found


def print_constants(console: Console, constants: dict[str, Any]) -> None:
    rows = Table(title="µs a row, in memory", title_justify="left", title_style="bold")
    for name in ("d", "to reduce", "to predict and learn"):
        rows.add_column(name, justify="right")
    for d, times in constants["row"].items():
        rows.add_row(d, short(1e6 * times["reduce"]), short(1e6 * times["learn"]))
    states = Table(title="A state", title_justify="left", title_style="bold")
    backends = list(constants["task"])
    tasks_of = [f"ms a task, {each}" for each in backends]
    columns = ("d", "bytes", "ms to merge two", "ms into a model", "ms to fill", *tasks_of)
    for name in columns:
        states.add_column(name, justify="right")
    for d, state in constants["state"].items():
        tasks = [short(1e3 * constants["task"][each][d]) for each in backends]
        merges = [short(1e3 * state[name]) for name in ("merge", "merge_into_model", "fill")]
        states.add_row(d, f"{state['bytes']:,}", *merges, *tasks)
    console.print(rows, states)
    file = constants["file"]
    console.print(
        f"µs a row at d = {D}: {short(1e6 * file['read'])} to read, {short(1e6 * file['write'])} to write a "
        f"prediction, {short(1e6 * file['join'])} to join it. Workers start in "
        + ", ".join(f"{short(constants['task'][each]['start'])} s ({each})" for each in backends)
        + f". Work takes {short(constants['busy'])} times as long while both processors are busy.\n"
    )


def print_fits(
    console: Console,
    rows: int,
    chunks: int,
    seconds: dict[str, list[float]],
    expected: dict[str, float | None],
    start_too: float,
) -> None:
    table = Table(
        title=f"{rows:,} rows, d = {D}, {chunks} chunks: seconds, best of the rounds",
        title_justify="left",
        title_style="bold",
    )
    for name in ("", "measured", "all rounds", "model", "measured / model"):
        table.add_column(name, justify="right" if name else "left")
    for name, each in seconds.items():
        guess = expected[name]
        ratio = None if guess is None else min(each) / guess
        table.add_row(name, short(min(each)), " ".join(short(one) for one in each), short(guess), short(ratio))
    table.add_row("model only, 2 workers, started first", short(start_too), "", "", "")
    console.print(table)


def print_memory(console: Console, peaks: list[dict[str, Any]]) -> None:
    table = Table(title="Memory of a worker, one row group a chunk", title_justify="left", title_style="bold")
    for name in ("rows of the chunk", "task", "peak before, MB", "peak after, MB"):
        table.add_column(name, justify="right")
    for each in peaks:
        table.add_row(f"{each['rows']:,}", each["what"], short(each["before_mb"]), short(each["peak_mb"]))
    console.print(table)


@contextmanager
def somewhere(folder: Path | None) -> Iterator[Path]:
    """The folder that was given, whose data are kept for the next time; or one that is removed in the end."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=Settings.rows, help="of the folder that is fitted")
    parser.add_argument("--rounds", type=int, default=Settings.rounds, help="of which the best counts")
    parser.add_argument(
        "--folder", type=Path, default=None, metavar="DIR", help="where to make the data, and keep them"
    )
    parser.add_argument("--no-dask", action="store_true", help="leave Dask out")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="where to write every number, as JSON")
    given = parser.parse_args(arguments)
    memory_rows = tuple(min(rows, given.rows) for rows in Settings.memory_rows)
    settings = Settings(rows=given.rows, rounds=given.rounds, dask=not given.no_dask, memory_rows=memory_rows)
    console = Console()
    with somewhere(given.folder) as folder:
        results = measure(settings, folder, console)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print(f"Every number: {given.out}")


if __name__ == "__main__":
    main()
