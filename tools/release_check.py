"""Build the wheel and the source distribution, and try both where there is nothing of the repository.

    python tools/release_check.py                 everything; ten minutes or so, most of it installing and compiling
    python tools/release_check.py --keep FOLDER   leave the distributions there

The distributions are checked by twine; the wheel holds every file of src/onward; the source distribution builds the
same wheel, bit for bit. In new environments, from a folder outside of the repository: what is said without each extra,
every command, every Python block and shell line of README.md, and each extra with what it is for.
"""

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import smoke_lines as smoke  # noqa: E402
from tools.run_readme import blocks  # noqa: E402
from tools.smoke_lines import FailedError, Shell  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NOT_SHIPPED = {".nbi", ".nbc", ".pyc"}
WALK = """
import json, typer
from onward.cli import app
def walk(command, path):
    below = getattr(command, "commands", None)
    return [" ".join(path)] if below is None else [n for k, v in below.items() for n in walk(v, [*path, k])]
print(json.dumps(walk(typer.main.get_command(app), [])))
"""


class Steps:
    """Steps that are done and told one after the other; a failure is told, and the next one is tried."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.done = 0

    def do(self, name: str, step: Callable[[], object]) -> None:
        """Run a step; what it raises is its failure."""
        begun = time.monotonic()
        self.done += 1
        try:
            step()
        except (FailedError, subprocess.SubprocessError, OSError, ValueError) as error:
            self.failed.append(name)
            said = getattr(error, "output", None) or ""
            print(f"FAILED  {name}\n{error}\n{said}", flush=True)
        else:
            print(f"{time.monotonic() - begun:6.1f} s  {name}", flush=True)


def run(*command: str | Path, folder: Path = ROOT) -> None:
    """Run a program; CalledProcessError with what it said if it fails."""
    subprocess.run(
        [str(each) for each in command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )


def only(folder: Path, pattern: str) -> Path:
    """The one file of this kind."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise FailedError(f"expected one {pattern} in {folder}, got {len(found)}")
    return found[0]


def check_wheel_files(wheel: Path, source: Path = ROOT / "src") -> None:
    """Every file of the package is in the wheel, and nothing else but its metadata."""
    files = {
        str(path.relative_to(source))
        for path in (source / "onward").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in NOT_SHIPPED
    }
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    if inside != files:
        raise FailedError(f"not in the wheel: {sorted(files - inside)}; in it alone: {sorted(inside - files)}")


def check_metadata(wheel: Path) -> None:
    """The version, the extras and the page of the package are those of the project."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        head, _, body = archive.read(name).decode().partition("\n\n")
    extras = re.findall(r"^Provides-Extra: (.*)$", head, flags=re.M)
    if f"Version: {PROJECT['version']}\n" not in head or set(extras) != set(PROJECT["optional-dependencies"]):
        raise FailedError(head)
    if body.strip() != (ROOT / "README.md").read_text("utf-8").strip():
        raise FailedError("the page of the package is not README.md")


def check_same(one: Path, other: Path) -> None:
    """Two wheels are the same, bit for bit."""
    if one.read_bytes() != other.read_bytes():
        with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
            differ = {each.filename: each.CRC for each in first.infolist()}.items() ^ {
                each.filename: each.CRC for each in second.infolist()
            }.items()
        raise FailedError(f"they differ in {sorted({name for name, _ in differ}) or 'their order'}")


def new_environment(place: Path, *wanted: str) -> Shell:
    """A new environment outside of the repository, and a folder to work in."""
    place.mkdir()
    (place / "work").mkdir()
    run(sys.executable, "-m", "venv", place / "venv", folder=place)
    shell = Shell(place / "work", place / "venv")
    if wanted:
        shell.run(f"pip install --quiet --disable-pip-version-check {' '.join(wanted)}")
    return shell


def check_place(shell: Shell) -> None:
    """The package that is imported is the one that was installed."""
    where = shell.run("python -c 'import onward; print(onward.__version__, onward.__file__)'").strip()
    version, path = where.split(" ", 1)
    if version != PROJECT["version"] or not Path(path).is_relative_to(shell.venv):
        raise FailedError(where)


def shell_lines(page: Path) -> list[str]:
    """The lines of a page's shell blocks."""
    found = [block.code.replace("\\\n", " ") for block in blocks(page.read_text("utf-8")) if block.language == "sh"]
    return [line for code in found for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def try_readme_line(shell: Shell, line: str, unpacked: Path, distributions: Path) -> None:
    """Do what a shell line of README.md says, in the folder of the smoke test."""
    if line.startswith("pip install"):  # as somebody would who has the sources, or a registry with our files
        shell.run(f"{line} --quiet --find-links '{distributions}'", unpacked, PIP_FORCE_REINSTALL="0")
        check_place(shell)
    elif smoke.goes_on(line):
        smoke.run_until_stopped(shell, line)
    else:
        shell.run(line)


def check(steps: Steps, place: Path) -> None:
    """All steps, in a temporary folder."""
    built, again = place / "dist", place / "again"
    steps.do("sdist", lambda: run(sys.executable, "-m", "build", "--sdist", "--outdir", built, ROOT))
    steps.do("wheel", lambda: run(sys.executable, "-m", "build", "--wheel", "--outdir", built, ROOT))
    if steps.failed:
        return
    wheel, sdist = only(built, "*.whl"), only(built, "*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "unpacked", filter="data")
    unpacked = only(place / "unpacked", "*")
    steps.do("twine check", lambda: run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist))
    steps.do("the wheel has every file of the package", lambda: check_wheel_files(wheel))
    steps.do("its metadata are the project's", lambda: check_metadata(wheel))
    steps.do("a wheel of the sdist", lambda: run(sys.executable, "-m", "build", "--wheel", "--outdir", again, unpacked))
    steps.do("is the same, bit for bit", lambda: check_same(wheel, only(again, "*.whl")))

    shells: list[Shell] = []
    steps.do("install the wheel", lambda: shells.append(new_environment(place / "wheel", str(wheel))))
    if not shells:
        return
    shell = shells[0]
    steps.do("what is imported is what was installed", lambda: check_place(shell))
    data = f"python -I '{ROOT / 'tools' / 'smoke_data.py'}' ."
    steps.do("first bandit, and data for what follows", lambda: shell.run(data))
    for extra, lines in smoke.REFUSALS.items():
        for line, words in lines:
            steps.do(f"without {extra}: {line}", partial(smoke.refused, shell, line, words))
    commands = json.loads(shell.run(f"python -c '{WALK}'"))
    untried = smoke.commands_without_line(commands)
    steps.do(f"each of {len(commands)} commands has a line", lambda: _none(untried))
    for command in commands:
        steps.do(f"onward {command} --help", partial(shell.run, f"onward {command} --help"))
    for line in smoke.LINES:
        steps.do(line, partial(shell.run, line))
    page = f"python -I '{ROOT / 'tools' / 'run_readme.py'}' '{ROOT / 'README.md'}'"
    steps.do("README.md: its Python", lambda: shell.run(page))

    for extra in PROJECT["optional-dependencies"]:
        is_real = extra in smoke.REFUSALS
        install = f"pip install --quiet {'' if is_real else '--dry-run '}'{wheel}[{extra}]'"
        steps.do(f"{'install' if is_real else 'resolve'} onward[{extra}]", partial(shell.run, install))
        for line in smoke.EXTRA_LINES.get(extra, ()):
            steps.do(f"with {extra}: {line}", partial(shell.run, line))
    steps.do(smoke.SERVE, lambda: smoke.serve_and_call(shell))
    for line in smoke.SERVICE_LINES:
        steps.do(line, partial(shell.run, line))

    steps.do("an environment for the sdist", lambda: shells.append(new_environment(place / "sdist")))
    for line in shell_lines(ROOT / "README.md"):
        if line.startswith("make "):
            print(f"          README.md: {line}: of the repository, not of the package", flush=True)
            continue
        # The sdist is installed as README.md says; all else runs where everything is compiled already.
        where = shells[-1] if line.startswith("pip install") else shell
        steps.do(f"README.md: {line}", partial(try_readme_line, where, line, unpacked, built))
    steps.do("the sdist, installed: first bandit", lambda: shells[-1].run(data))


def _none(names: list[str]) -> None:
    if names:
        raise FailedError(f"tools/smoke_lines.py has no line for: {', '.join(names)}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the distributions are left")
    given = parser.parse_args()
    # In the background of a shell Ctrl-C is ignored, by all that is started here, too; but lines are stopped by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    steps, begun = Steps(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="onward-release-") as folder:
        place = Path(folder).resolve()
        check(steps, place)
        if given.keep and not steps.failed:
            given.keep.mkdir(parents=True, exist_ok=True)
            for path in (place / "dist").iterdir():
                shutil.copy(path, given.keep)
    minutes = (time.monotonic() - begun) / 60
    print(f"{steps.done - len(steps.failed)} of {steps.done} steps went well, in {minutes:.1f} minutes")
    for name in steps.failed:
        print(f"FAILED  {name}")
    return 1 if steps.failed else 0


if __name__ == "__main__":
    sys.exit(main())
