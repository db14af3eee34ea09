"""Kill runs of the command line (SIGKILL) at random moments, start them again, and compare with an undisturbed run.

    python -m tests.fuzz.killed_runs --minutes 20
    python -m tests.fuzz.killed_runs --cases 10 --seed 7

Run i of a harness is killed at the same share of its time on every machine. A finding is a file that is not whole
after a kill, a run that cannot be started again, a result that differs in one bit from the undisturbed one, a process
that outlives its parent, or a left-over temporary file that an old run left and the next did not clear.
"""

import atexit
import contextlib
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from onward import storage
from tests.fuzz import children
from tests.fuzz.children import Case, Harness, finding

ROWS = 80_000  # 3 MB, so that a pass has some chunks
LONGEST = 55.0  # seconds that a run may take: less than a harness waits
OLD = 2 * 86_400  # seconds by which left-overs are made older
KILLS = 3  # at most, before a run is let go on
_LEFT_OVER = re.compile(r"\..*\.[a-z0-9_]{8}\.tmp")


class Way(NamedTuple):
    """A command, run in a folder of its own, and the files whose bytes are its result."""

    arguments: str
    results: tuple[str, ...]
    others: tuple[str, ...] = ()  # that tell of times, too: they need only be whole


_FIT = "fit {data} -t y --learner ridge -q --save m.onward"
WAYS = {
    "fit": Way(f"{_FIT} --predictions p.parquet", ("m.onward", "p.parquet")),
    "resumed": Way(f"{_FIT} --checkpoint-every 15000 --resume --predictions p.csv", ("m.onward", "p.csv")),
    "auto": Way(_FIT.replace("ridge", "auto") + " --checkpoint-every 20000 --resume", ("m.onward",)),
    "report": Way(f"{_FIT} --checkpoint-every 15000 --resume --report r.html", ("m.onward",), ("r.html",)),
    "jobs": Way(f"{_FIT} --jobs 2 --checkpoint-every 15000 --resume", ("m.onward",)),
    "no scores": Way(f"{_FIT} --no-scores --checkpoint-every 15000 --resume", ("m.onward",)),
    "jobs without scores": Way(f"{_FIT} --no-scores --jobs 2 --checkpoint-every 15000 --resume", ("m.onward",)),
    "reproduce": Way(
        "reproduce figure4a --quick --repeats 3 --jobs 2 --out out", ("out/claims.json",), ("out/report.html",)
    ),
}


def make_table(path: Path) -> None:
    """The table of all runs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 4)).round(4)
    y = (X @ np.array([1.0, 2.0, -1.0, 0.5]) + rng.standard_normal(ROWS)).round(4)
    pl.DataFrame(X, schema=["a", "b", "c", "d"]).with_columns(y=pl.Series(y)).write_csv(path)


def _run(way: Way, folder: Path, data: Path, seconds: float | None) -> tuple[int | None, str]:
    """Run it, and kill it and all it has started after that time: the status, None if killed, and what it said."""
    command = [sys.executable, "-m", "onward", *way.arguments.format(data=data).split()]
    said = folder / "said.txt"
    with said.open("wb") as out:
        # A session of its own, and no pipe: a worker that lives on would keep it open, and nobody would see its end.
        child = subprocess.Popen(
            command, cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True
        )
        try:
            status: int | None = child.wait(LONGEST if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            status = None
            if seconds is None:
                raise
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    words = said.read_text(errors="replace")
    said.unlink()
    return status, words


def _digest(way: Way, folder: Path) -> dict[str, bytes]:
    """The bytes of the results; of an experiment, the values of its frames without the times that they took."""
    found = {name: (folder / name).read_bytes() for name in way.results}
    for path in sorted(folder.glob("out/results/*.parquet")):
        frame = pl.read_parquet(path)
        found[path.name] = frame.select(pl.exclude("^.*seconds.*$")).write_csv().encode()
    return found


def _broken(way: Way, folder: Path) -> str | None:
    """A file that is not whole; None if none is."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name, whole = path.name, True
        if _LEFT_OVER.fullmatch(name):
            continue
        try:
            if name.endswith((".onward", ".checkpoint")):
                storage.read(path)
            elif name.endswith(".parquet"):
                pl.read_parquet(path)
            elif name.endswith(".html"):
                whole = path.read_text().rstrip().endswith("</html>")
            elif name == "p.csv":
                whole = len(path.read_bytes().splitlines()) == ROWS + 1
        except (ValueError, OSError, pl.exceptions.PolarsError) as error:
            return f"{name} is not whole: {error}"
        if not whole:
            return f"{name} is not whole"
    return None


def _undisturbed(name: str, base: Path) -> tuple[float, dict[str, bytes]]:
    """How long a run takes that nobody kills, and what comes of it: done once."""
    folder, timed = base / name, base / f"{name}.time"
    if not timed.exists():
        folder.mkdir()
        begun = time.monotonic()
        status, words = _run(WAYS[name], folder, base / "table.csv", None)
        if status != 0:
            raise RuntimeError(f"an undisturbed run ended with {status}: {words[-300:]}")
        timed.write_text(str(time.monotonic() - begun))
    return float(timed.read_text()), _digest(WAYS[name], folder)


def outcome_of(name: str, seed: int, base: Path) -> str:
    """What becomes of a run that is killed: "killed", "ended" if it was too quick, or "finding: …"."""
    way, rng = WAYS[name], random.Random(seed)
    try:
        lasts, expected = _undisturbed(name, base)
        with tempfile.TemporaryDirectory(dir=base) as place:
            folder, killed = Path(place), 0
            for _ in range(rng.randint(2, KILLS)):
                status, words = _run(way, folder, base / "table.csv", rng.uniform(0.1, 1.0) * lasts)
                killed += status is None
                broken = _broken(way, folder)
                if broken is not None:
                    return f"finding: after a kill, {broken}"
                if status not in (None, 0):
                    return f"finding: a second run ended with {status}: {words[-300:]}"
            return _after(way, folder, base, expected) or "\n".join(
                ["killed" if killed else "ended", *["a kill"] * killed]
            )
    except BaseException as error:
        return finding(name, error)


def _after(way: Way, folder: Path, base: Path, expected: dict[str, bytes]) -> str | None:
    """What is wrong once a run was let go on to its end, all that was left being old by then."""
    for left in folder.rglob("*.tmp"):
        os.utime(left, (time.time() - OLD,) * 2)
    status, words = _run(way, folder, base / "table.csv", None)
    if status != 0:
        return f"finding: the last run ended with {status}: {words[-300:]}"
    left_over = [str(each.relative_to(folder)) for each in folder.rglob("*.tmp")]
    if left_over:
        return f"finding: left over: {left_over}"
    broken = _broken(way, folder)
    if broken is not None:
        return f"finding: {broken}"
    got = _digest(way, folder)
    differing = [name for name in expected.keys() | got.keys() if expected.get(name) != got.get(name)]
    return f"finding: other bytes in {sorted(differing)}" if differing else None


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def harness() -> Harness:
    """The harness; its folder goes with the process."""
    folder = tempfile.mkdtemp(prefix="onward-kills-")
    atexit.register(_remove, folder, os.getpid())
    base = Path(folder)
    with multiprocessing.get_context("fork").Pool(1) as pool:  # polars starts threads, which a fork must not have
        pool.apply(make_table, (base / "table.csv",))

    def case(seed: int) -> Case:
        name = list(WAYS)[seed % len(WAYS)]
        return Case(name, lambda: outcome_of(name, seed, base), 60.0)

    return Harness(
        "killed runs", "tests.fuzz.killed_runs", case, lambda: None, life=40, wait=4 * LONGEST, within="kills"
    )


if __name__ == "__main__":
    sys.exit(children.main(harness()))
