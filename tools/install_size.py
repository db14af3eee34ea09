"""How much `pip install onward` brings, and how much would be left without some of it.

    python tools/install_size.py                     install in a new environment, and measure
    python tools/install_size.py --extra serve       with an extra
    python tools/install_size.py --python .venv/bin/python    measure an environment that is there

Sizes are of the files that each distribution says it has installed, compiled bytecode included. What is left without a
group is what the other requirements still need.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# Requirements that could be extras instead, by what they are for.
GROUPS = {
    "files": ("polars", "pyarrow"),
    "reports, experiments and plots": ("matplotlib", "jinja2"),
    "command line": ("typer", "rich"),
}
# Runs in the environment that is measured, and needs nothing there but Python.
LISTING = """
import json, os, re
from importlib import metadata
found = {}
for each in metadata.distributions():
    paths = {os.path.realpath(path.locate()) for path in each.files or ()}
    needs = [text.split(";")[0] for text in each.requires or () if "extra ==" not in text]
    found[re.sub("[-_.]+", "-", each.metadata["Name"]).lower()] = {
        "bytes": sum(os.path.getsize(path) for path in paths if os.path.isfile(path)),
        "needs": sorted({re.sub("[-_.]+", "-", re.match("[A-Za-z0-9._-]+", text)[0]).lower() for text in needs}),
    }
print(json.dumps(found))
"""


class Installed(NamedTuple):
    """A distribution: how large its files are, and what it needs."""

    bytes: int
    needs: tuple[str, ...]


def reachable(installed: Mapping[str, Installed], roots: Iterable[str], without: Iterable[str] = ()) -> set[str]:
    """What the roots need, directly or not, if the roots did not ask for those left out themselves."""
    found: set[str] = set()
    left_out = set(without)
    waiting = [each for each in roots if each not in left_out]
    while waiting:
        name = waiting.pop()
        if name in installed and name not in found:
            found.add(name)
            waiting += installed[name].needs
    return found


def total(installed: Mapping[str, Installed], names: Iterable[str]) -> float:
    """The size of some distributions, in MB of a million bytes."""
    return sum(installed[name].bytes for name in names) / 1e6


def read_environment(python: Path) -> dict[str, Installed]:
    """The distributions that a Python has, by name."""
    listed = subprocess.run([str(python), "-c", LISTING], capture_output=True, text=True, check=True).stdout
    return {name: Installed(each["bytes"], tuple(each["needs"])) for name, each in json.loads(listed).items()}


def report(installed: Mapping[str, Installed], also: Iterable[str] = ()) -> list[str]:
    """Lines that say what is installed, and what would be left without each group and without several."""
    roots = {*installed["onward"].needs, *also}
    everything = {"onward", *reachable(installed, roots)}
    whole = total(installed, everything)
    lines = [f"{len(everything)} distributions, {whole:.0f} MB"]
    largest = sorted(everything, key=lambda name: -installed[name].bytes)[:12]
    lines += [f"    {installed[name].bytes / 1e6:6.1f}  {name}" for name in largest]
    without_all = [name for names in GROUPS.values() for name in names]
    but_commands = [name for name in without_all if name not in GROUPS["command line"]]
    for group, names in {**GROUPS, "all but the command line": but_commands, "all of these": without_all}.items():
        left = total(installed, {"onward", *reachable(installed, roots, names)})
        lines.append(f"without {group} ({', '.join(names)}): {left:.0f} MB, {left / whole:.0%}")
    return lines


def install(folder: Path, extras: Iterable[str]) -> Path:
    """A new environment with the project in it; the path of its Python."""
    python = folder / "venv" / "bin" / "python"
    wanted = ",".join(extras)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    target = f"{ROOT}[{wanted}]" if wanted else str(ROOT)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", target], check=True)
    return python


def extra_requirements(extras: Iterable[str]) -> set[str]:
    """The names that the project's extras ask for."""
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    return {re.match("[A-Za-z0-9._-]+", each)[0].lower() for extra in extras for each in declared[extra]}  # type: ignore[index]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", action="append", default=[], help="may be given several times")
    parser.add_argument("--python", type=Path, help="of an environment that has onward, instead of a new one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onward-size-") as place:
        where = given.python or install(Path(place), given.extra)
        print("\n".join(report(read_environment(where), extra_requirements(given.extra))))
