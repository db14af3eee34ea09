"""A short run of the forger, always with the same files; `make fuzz` has the long one."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onward import RidgeRegressor, storage
from onward.bandits import DetectingLinUCB, SWLinUCB
from onward.bandits.buffers import head_in
from onward.bandits.memories import window
from onward.core.views import owned
from tests.fuzz.forging import Contents, pack, unpack
from tests.fuzz.sample_files import data, played

LIMIT = 300.0  # seconds: 8 where everything is compiled


def test_files_that_lie_are_refused_or_harmless() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.fuzz.forged_files", "--files", "150", "--seed", "0"]
    paths = os.pathsep.join([str(root), str(root / "src")])
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "forged files: 150" in done.stdout


# Findings of long runs


def _array(contents: Contents, name: str) -> Any:
    return contents.arrays[[entry["name"] for entry in contents.header["arrays"]].index(name)]


def _large_triangle(contents: Contents) -> None:
    _array(contents, "U")[0, 1] = 1e300


def _ring_index(contents: Contents) -> None:
    buffer = _array(contents, "buffer")
    ring = owned(buffer, window.memory_in(buffer, 3, int(head_in(buffer).log["capacity"][0]))).ring
    ring.header["next_slot"] = -1e9


def _many_failures(contents: Contents) -> None:
    contents.header["settings"]["window"] = 10**12


@pytest.mark.parametrize(
    ("made", "alter", "words"),
    [
        (lambda: RidgeRegressor(half_life=20.0).fit(*data()), _large_triangle, "triangle of a state"),
        (lambda: played(SWLinUCB(20, sigma=1.0, theta_bound=2.0, seed=1)), _ring_index, "next"),
        (lambda: DetectingLinUCB(window=9, sigma=1.0, theta_bound=2.0), _many_failures, "from 1 to 1,000,000"),
    ],
)
def test_what_was_found_is_refused(made: Callable[[], Any], alter: Callable[[Contents], None], words: str) -> None:
    contents = unpack(made().to_bytes())
    assert storage.from_bytes(pack(contents)) is not None
    alter(contents)
    with pytest.raises(storage.StorageError, match=words):
        storage.from_bytes(pack(contents))
