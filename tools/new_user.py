"""A new user's way, timed: install in a new environment, fit a CSV file, play a bandit; everything compiled anew.

    python tools/new_user.py                          install the sources here
    python tools/new_user.py dist/onward-*.whl        install a wheel
    python tools/new_user.py --python python3.13      with another interpreter
    python tools/new_user.py --at-most 5              minutes beyond which it is a failure

Nothing of pip's cache is used, and nothing that was compiled before. The steps run at a terminal of their own, where
the user is told that code is being compiled; it is a failure if none of it is told.
"""

import argparse
import csv
import os
import pty
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TOLD = "compiling for this machine"
OVERWRITTEN = "\x1b[2K"  # how a state of a progress bar begins: the next one is written over it
BANDIT = """
import random
from onward.bandits import LinUCB

policy = LinUCB(seed=0)
random.seed(0)
for _ in range(200):
    actions = [[random.gauss(0, 1) for _ in range(3)] for _ in range(10)]
    i = policy.choose(actions)
    policy.learn(actions[i], 0.6 * actions[i][0] - 0.8 * actions[i][1] + random.gauss(0, 0.5))
print(policy.coef)
"""


class Step(NamedTuple):
    """What a step took, in seconds of the clock and of processors, what it said, and when it told of compiling."""

    name: str
    seconds: float
    cpu: float
    said: str
    told_after: float | None


def at_terminal(name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Step:
    """Run a command at a terminal of its own; CalledProcessError if it fails."""
    begun, before = time.monotonic(), _cpu()
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        list(command), cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said, told_after = b"", None
    while part := _read(ours):
        said += part
        if told_after is None and TOLD.encode() in said:
            told_after = time.monotonic() - begun
    os.close(ours)
    code, text = child.wait(), said.decode(errors="replace").replace("\r\n", "\n")
    if code != 0:
        raise subprocess.CalledProcessError(code, list(command), text)
    return Step(name, time.monotonic() - begun, _cpu() - before, text, told_after)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when nobody writes to it any more
        return b""


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_trips(path: Path, rows: int = 500) -> None:
    """A CSV file as people have them: numbers, a text, a target."""
    rng = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["km", "city", "fare"])
        for _ in range(rows):
            km, city = rng.uniform(1, 9), rng.choice(["Oslo", "Rome"])
            table.writerow([f"{km:.3f}", city, f"{3 + 2 * km + 4 * (city == 'Oslo') + rng.gauss(0, 1):.3f}"])


def walk(what: str, python: str, folder: Path) -> list[Step]:
    """The steps of a new user, in a folder that is empty."""
    venv, work = folder / "venv", folder / "work"
    work.mkdir()
    write_trips(work / "trips.csv")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_", "VIRTUAL"))}
    about = kept | {"PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}", "TERM": "xterm", "COLUMNS": "120"}
    fit = ["onward", "fit", "trips.csv", "--target", "fare", "--categorical", "city", "--save", "m.onward"]
    install = ["pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", what]
    return [
        at_terminal("python -m venv", [python, "-m", "venv", str(venv)], work, about),
        at_terminal("pip install", [str(venv / "bin" / install[0]), *install[1:]], work, about),
        at_terminal("first fit of a CSV", [str(venv / "bin" / fit[0]), *fit[1:]], work, about),
        at_terminal("first bandit", [str(venv / "bin" / "python"), "-c", BANDIT], work, about),
        at_terminal("second fit", [str(venv / "bin" / fit[0]), *fit[1:]], work, about),
    ]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", type=Path, default=ROOT, help="a wheel, an sdist or sources")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--at-most", type=float, metavar="MINUTES", help="it is a failure to take longer")
    parser.add_argument("--show", action="store_true", help="what each step says, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onward-new-user-") as folder:
        steps = walk(str(given.what.resolve()), given.python, Path(folder).resolve())
    for step in steps:
        told = "" if step.told_after is None else f"; told of compiling after {step.told_after:.1f} s"
        print(f"{step.seconds:6.1f} s, {step.cpu:6.1f} s of CPU  {step.name}{told}")
        if given.show:
            lines = [line for line in step.said.splitlines() if not line.startswith(OVERWRITTEN)]
            print("\n".join(f"    {line}" for line in lines))
    *way, again = steps
    minutes = sum(step.seconds for step in way) / 60
    print(f"From nothing to the first bandit: {minutes:.1f} minutes, {sum(step.cpu for step in way) / 60:.1f} of CPU")
    failures = []
    if not any(step.told_after for step in way):
        failures.append(f"nobody was told {TOLD!r}")
    if again.told_after:
        failures.append("what was compiled is compiled again")
    if given.at_most and minutes > given.at_most:
        failures.append(f"that is more than {given.at_most:g} minutes")
    for failure in failures:
        print(f"FAILED  {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
