"""Interrupt (SIGINT) and kill (SIGKILL) a process at random moments of its first compiling, and look at its cache.

    python -m tests.fuzz.interrupted_compiling --tries 20 --seed 0

All tries share one new NUMBA_CACHE_DIR. A finding is a process that says that a file is damaged, or numbers that are
not those of a process with the usual cache.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

WORK = """
import numpy as np
from onward import RidgeRegressor
rng = np.random.default_rng(0)
X = rng.standard_normal((50, 3))
model = RidgeRegressor().fit(X, X.sum(axis=1))
for x in X:
    model.learn_one(x, 1.0)
print(model.coef_.tobytes().hex(), model.predict_one(X[0]))
"""
LONGEST = 300.0  # seconds in which everything is compiled
MOST = 6.0  # seconds after which a try is ended


def start(folder: Path, **more: str) -> subprocess.Popen[bytes]:
    """The work as a process, in a session of its own, that says what it has to say in a file."""
    with (folder / "said.txt").open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-c", WORK], stdout=out, stderr=out, env=os.environ | more, start_new_session=True
        )


def finish(process: subprocess.Popen[bytes], folder: Path, seconds: float, number: int) -> str:
    """What it said until it ended, or got the signal after so many seconds."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        try:
            process.wait(30.0)
        except subprocess.TimeoutExpired:  # it compiles, and heeds an interrupt afterwards
            process.kill()
            process.wait()
    return (folder / "said.txt").read_text(errors="replace")


def run(tries: int, seed: int) -> int:
    """So many tries: how many findings there were."""
    rng, findings, ended = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="onward-compiling-") as place:
        folder = Path(place)
        expected = finish(start(folder), folder, LONGEST, signal.SIGKILL)
        own = {"NUMBA_CACHE_DIR": str(folder / "cache")}
        for number in range(tries + 1):
            last = number == tries
            by = rng.choice((signal.SIGINT, signal.SIGKILL))
            said = finish(start(folder, **own), folder, LONGEST if last else rng.uniform(0.5, MOST), by)
            whole = said.splitlines()[-1:] == expected.splitlines()[-1:]
            ended += whole
            if "damaged" in said or (last and not whole):
                findings += 1
                print(f"finding: try {number}, {by.name}: {said[-500:]}")
    print(f"interrupted compiling: {tries:,} tries, {ended - 1:,} ended before, findings {findings:,}")
    return findings


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.exit(1 if run(given.tries, given.seed) else 0)
