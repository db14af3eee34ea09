"""A short run of each harness, always of the same cases; `make fuzz` has the long one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.__main__ import ENVIRONMENT

LIMIT = 300.0  # seconds: some where everything is compiled
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("harness", "cases", "seed", "says"),
    [
        ("mutated_tables", 60, 0, "mutated tables: 60"),
        ("random_calls", 102, 0, "calls: 3,060"),
        ("killed_runs", 1, 1, "killed runs: 1"),
    ],
)
def test_a_short_run_finds_nothing(harness: str, cases: int, seed: int, says: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", f"tests.fuzz.{harness}", "--cases", str(cases), "--seed", str(seed)]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    out = tmp_path / "said.txt"
    with out.open("wb") as said:  # no pipe, which a process that outlives it would keep open
        child = subprocess.Popen(
            command,
            stdout=said,
            stderr=said,
            cwd=ROOT,
            env=os.environ | ENVIRONMENT | {"PYTHONPATH": paths},
            start_new_session=True,
        )
        try:
            status = child.wait(LIMIT)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    assert (status, says in out.read_text()) == (0, True), out.read_text()
