"""Run a part of the tests with the lowest and the newest versions of all dependencies, and with every Python at hand.

    python tools/matrix.py                          every environment that can be made
    python tools/matrix.py --only lowest-3.11       one of them; --list shows which there are
    python tools/matrix.py --tests tests/test_storage.py

Each environment is a virtual one in a temporary folder. `lowest` has the first release that each bound in the
project file allows; `newest` what pip finds; `polars-1` the newest of polars 1. A Python is one on the path,
or among pyenv's. What cannot be had is said, and is no failure.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What tests import beside the package, at any version: their bounds are ours alone.
TOOLS = ("hypothesis", "mpmath", "pandas", "pytest", "pytest-xdist", "selenium")
# A meaningful part that is done in minutes: reading, kernels, files, a learner, a policy, the command line.
TESTS = (
    *("tests/tables", "tests/test_storage.py", "tests/test_json_values.py", "tests/cli/test_score_and_export.py"),
    *("tests/progressive/test_export.py", "tests/bandits/test_disjoint.py", "tests/fuzz/test_findings.py"),
)
MINUTES = 25.0  # that one environment may take: everything is compiled anew


class Environment(NamedTuple):
    """A Python, and the requirements beside the package's own."""

    name: str
    python: Path
    pins: tuple[str, ...]


def find_pythons() -> dict[str, Path]:
    """The interpreters that there are, by version."""
    found = {}
    for version in PYTHONS:
        pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        on_path = shutil.which(f"python{version}")
        if pyenv or on_path:
            found[version] = pyenv[-1] if pyenv else Path(str(on_path))
    return found


def requirements(path: Path = ROOT / "pyproject.toml") -> list[str]:
    """What the package depends on, as pyproject.toml says."""
    project = tomllib.loads(path.read_text())["project"]
    return [str(each) for each in project["dependencies"]]


def lowest(requirement: str, released: Sequence[str]) -> str:
    """A requirement of the first release that a bound allows: numpy==1.26.0 of numpy>=1.26."""
    name, bound = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
    allowed = [each for each in released if re.fullmatch(r"[\d.]+", each) and _key(each) >= _key(bound)]
    if not allowed:
        raise ValueError(f"{requirement}: there is no such release")
    return f"{name}=={min(allowed, key=_key)}"


def _key(version: str) -> tuple[int, ...]:
    numbers = [int(each) for each in version.split(".")]
    return tuple(numbers + [0] * (4 - len(numbers)))


def _released(python: Path, requirement: str) -> list[str]:
    name = re.split("[>=<]", requirement)[0]
    done = subprocess.run(
        [str(python), "-m", "pip", "index", "versions", name], capture_output=True, text=True, timeout=300.0
    )
    listed = re.search(r"Available versions: (.*)", done.stdout)
    return listed.group(1).split(", ") if listed else []


def environments(pythons: dict[str, Path]) -> Iterator[Environment]:
    """What there is to run: the lowest versions with the lowest Python, the others with each."""
    for number, (version, python) in enumerate(pythons.items()):
        if not number:
            yield Environment(f"lowest-{version}", python, ("lowest",))
            yield Environment(f"polars-1-{version}", python, ("polars<2",))
        yield Environment(f"newest-{version}", python, ())


def run(command: Sequence[str], folder: Path, seconds: float, **more: str) -> tuple[int | None, str]:
    """The exit status, None if it took too long, and what was said; nothing that it has started lives on."""
    said = folder / "said.txt"
    with said.open("wb") as out:
        child = subprocess.Popen(
            command, cwd=ROOT, stdout=out, stderr=out, env=os.environ | more, start_new_session=True
        )
        try:
            status: int | None = child.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    return status, said.read_text(errors="replace")


def check(environment: Environment, folder: Path, tests: Sequence[str]) -> bool | None:
    """Make an environment and run the tests in it: whether they pass; None if it cannot be made."""
    begun = time.monotonic()
    venv = folder / "venv"
    status, said = run([str(environment.python), "-m", "venv", str(venv)], folder, 300.0)
    python = venv / "bin" / "python"
    wanted = requirements()
    if environment.pins == ("lowest",):
        wanted = [lowest(each, _released(python, each)) for each in wanted]
    install = [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *wanted]
    extra = [each for each in environment.pins if each != "lowest"]
    if status == 0:
        status, said = run([*install, *extra, *TOOLS], folder, 1200.0)
    if status != 0:
        print(f"{environment.name}: cannot be made: {said.strip().splitlines()[-1:]}", flush=True)
        return None
    # A cache of its own: what another numba has compiled is none of its business, nor the other way round.
    about = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    # Compiling all anew takes longer than any test may otherwise; MINUTES end what hangs.
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=0", *_quiet(environment))
    command = [str(python), "-m", "pytest", *options, *tests]
    status, said = run(command, folder, 60 * MINUTES, PYTHONDONTWRITEBYTECODE="1", OPENBLAS_NUM_THREADS="1", **about)
    summary = said.strip().splitlines()[-1] if said.strip() else ""
    outcome = "passed" if status == 0 else f"FAILED (status {status})"
    print(f"{environment.name}: {outcome}, {time.monotonic() - begun:.0f} s: {summary}", flush=True)
    if status != 0:
        print("\n".join(f"    {line}" for line in said.strip().splitlines()[-40:]), flush=True)
    return status == 0


def _quiet(environment: Environment) -> list[str]:
    """Old releases warn of what newer Pythons and each other have deprecated since: that is not looked for there."""
    return ["-W", "ignore::DeprecationWarning"] if environment.pins == ("lowest",) else []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="the name of an environment; may be given several times")
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--required", action="store_true", help="what cannot be had or made is a failure, too")
    given = parser.parse_args()
    pythons = find_pythons()
    for version in PYTHONS:
        if version not in pythons:
            print(f"Python {version}: there is none here")
    chosen = [each for each in environments(pythons) if not given.only or each.name in given.only]
    if given.list:
        print("\n".join(f"{each.name:14} {each.python}" for each in chosen))
        sys.exit(0)
    outcomes = []
    for each in chosen:
        with tempfile.TemporaryDirectory(prefix="onward-matrix-") as place:
            outcomes.append(check(each, Path(place), given.tests))
    is_well = all(each if given.required else each is not False for each in outcomes)
    sys.exit(0 if outcomes and is_well else 1)
