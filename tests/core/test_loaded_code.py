"""Compiled functions that are loaded: numba makes itself ready to compile when something is compiled, not before."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from onward.core import loaded_code
from onward.core.compile import TRIED

pytestmark = pytest.mark.skipif(
    tuple(int(part) for part in numba.__version__.split(".")[:2]) not in TRIED,
    reason=f"with numba {numba.__version__}, which was not tried, code loads as numba loads it",
)
SOURCE = Path(loaded_code.__file__).parents[2]

FUNCTIONS = """
import numpy as np
from onward.core.compile import compiled

@compiled
def total(x):
    found = 0.0
    for value in x:
        found += value
    return found

@compiled
def doubled(x):
    return 2.0 * x, total(x)

@compiled
def code(text):
    return hash(text + "!")
"""
READY = """
import sys
from numba.core.runtime import rtsys
def ready():
    return rtsys._init or any(name in sys.modules for name in ("numba.np.linalg", "numba.np.npyimpl"))
"""
LOAD = """
from functions import doubled, total
x = np.arange(4.0)
print(total(x), *doubled(x)[0], doubled(x)[1], ready(), sum(doubled.stats.cache_hits.values()))
"""
CALLER = """
from functions import compiled, doubled, total

@compiled
def squared(x):
    return total(x) * doubled(x)[1]
"""
THEN_COMPILE = """
from caller import squared
print(squared(x), ready(), squared(x + 1.0))
"""
HASH = """
from functions import code
print(code("a text") == hash("a text!"), sum(code.stats.cache_hits.values()))
"""


def run(tmp_path: Path, code: str) -> list[str]:
    """What code prints in a new process, which keeps what it compiles here."""
    for name, text in (("functions.py", FUNCTIONS), ("caller.py", CALLER)):
        (tmp_path / name).write_text(text)
    paths = {"PYTHONPATH": f"{SOURCE}{os.pathsep}{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    head = "import onward.core.compile_messages as told\ntold.TELL_LOG_AFTER = 1e9\nimport numpy as np\n" + READY
    done = subprocess.run(
        [sys.executable, "-c", head + code],
        env=os.environ | paths,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


def test_loading_does_without_what_compiling_needs(tmp_path: Path) -> None:
    values = ["6.0", "0.0", "2.0", "4.0", "6.0", "6.0"]
    assert run(tmp_path, LOAD) == [*values, "True", "0"]
    assert run(tmp_path, LOAD) == [*values, "False", "1"]


def test_what_was_loaded_can_be_compiled_into_others(tmp_path: Path) -> None:
    run(tmp_path, LOAD)
    *loaded, value, ready, another = run(tmp_path, LOAD + THEN_COMPILE)
    assert loaded[-2:] == ["False", "1"]
    assert (value, ready, another) == ("36.0", "True", "100.0")


@pytest.mark.parametrize("hits", ["0", "1"])
def test_what_only_a_ready_numba_gives_is_there_for_those_that_need_it(tmp_path: Path, hits: str) -> None:
    """LLVM ends the process where it does not find what code hashes with."""
    if hits == "1":
        run(tmp_path, HASH)
    assert run(tmp_path, HASH) == ["True", hits]
