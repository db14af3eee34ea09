"""Where compiled code is kept, and that a function is the same as a part of another as when Python calls it."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from onward.core import compile_messages, compiled_parts
from onward.core.compile import compiled, inlined
from onward.core.types import Vector

SOURCE = Path(compiled_parts.__file__).parents[2]

LOOPS = """
import numpy as np
from onward.core.compile import compiled, inlined

@inlined
def square(x):
    return x * x

@compiled
def inner(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += square(x[i])
    return total

@compiled
def outer(x):
    return 2.0 * inner(x)
"""

READ_ONLY = """
import numba.core.caching as caching
def refuse(self):
    raise OSError("read-only")
caching.InTreeCacheLocator.ensure_cache_path = refuse
"""

# On a busy machine compiling takes long enough to be told, which only one test here is about.
SILENT = "import onward.core.compile_messages as told\ntold.TELL_LOG_AFTER = 1e9\n"

RUN = """
import loops, numpy as np
print(loops.outer(np.arange(3.0)), loops.inner(np.arange(3.0)))
print(sum(loops.outer.stats.cache_hits.values()), loops.outer.stats.cache_path)
"""


def run(tmp_path: Path, before: str = "", **env: str) -> tuple[list[str], str]:
    """Run the loops in a process without a home, where the package cannot be written to if `before` says so."""
    (tmp_path / "loops.py").write_text(LOOPS)
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    places = {"PYTHONPATH": f"{SOURCE}{os.pathsep}{tmp_path}", "HOME": "/proc/none", "TMPDIR": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", SILENT + before + RUN],
        env=kept | places | env,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.split(), found.stderr


def test_without_a_home_and_beside_a_read_only_package_code_is_kept_among_temporary_files(tmp_path: Path) -> None:
    (twice, once, hits, path), told = run(tmp_path, READ_ONLY)
    assert (twice, once, hits) == ("10.0", "5.0", "0")
    directory = tmp_path / f"onward-compiled-{os.getuid()}"
    assert Path(path).parent == directory
    assert directory.stat().st_mode & 0o777 == 0o700
    assert told.startswith("onward:0: RuntimeWarning: cannot write beside the package or in a home")
    assert told.count("\n") == 1
    assert not (tmp_path / "~").exists()
    again, _ = run(tmp_path, READ_ONLY)
    assert again == ["10.0", "5.0", "1", path]


def test_a_directory_of_another_kind_is_not_trusted(tmp_path: Path) -> None:
    directory = tmp_path / f"onward-compiled-{os.getuid()}"
    directory.mkdir()
    directory.chmod(0o777)  # whoever can write there could have us run anything
    (_, _, _, path), _ = run(tmp_path, READ_ONLY)
    assert Path(path).parent != directory
    assert not any(directory.iterdir())


def test_where_nothing_can_be_kept_code_is_compiled_for_the_process(tmp_path: Path) -> None:
    values, told = run(tmp_path, READ_ONLY, NUMBA_CACHE_LOCATOR_CLASSES="InTreeCacheLocator")
    assert values == ["10.0", "5.0", "0", "None"]
    assert "kept in this process alone" in told
    assert told.count("\n") == 1


def test_numbas_own_directory_is_used_without_a_word(tmp_path: Path) -> None:
    (_, _, _, path), told = run(tmp_path, READ_ONLY, NUMBA_CACHE_DIR=str(tmp_path / "given"))
    assert Path(path).parent == tmp_path / "given"
    assert told == ""
    assert list(Path(path).glob("*inner-part*"))


def test_another_numba_compiles_as_usual(tmp_path: Path) -> None:
    other = "import sys\nsys.modules['onward.core.compiled_parts'] = None\n"
    values, told = run(tmp_path, other + READ_ONLY)
    assert values == ["10.0", "5.0", "0", "None"]
    assert told == ""


@inlined
def _cubed(x: float) -> float:
    return x * x * x


@compiled
def _refuse(x: Vector) -> float:
    if x.shape[0] == 0:
        raise ValueError("no number")
    return _cubed(x[0])


@compiled
def _call_refuse(x: Vector) -> float:
    return 1.0 + _refuse(x)


def test_a_part_gives_what_the_function_gives_and_raises_what_it_raises() -> None:
    x = np.array([3.0])
    assert _call_refuse(x) == 1.0 + _refuse(x) == 1.0 + _cubed(3.0) == 28.0
    for function in (_call_refuse, _refuse):
        with pytest.raises(ValueError, match="no number"):
            function(np.empty(0))


def test_functions_go_to_other_processes() -> None:
    sent = pickle.loads(pickle.dumps(_call_refuse))
    assert sent(np.array([2.0])) == 9.0


def test_compiling_that_takes_long_is_told_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_messages, "TELL_AFTER", 0.0)
    monkeypatch.setattr(compile_messages.Told, "said", False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    @inlined
    def half(x: float) -> float:
        return 0.5 * x

    @compiled
    def quarter(x: float) -> float:
        return half(half(x))

    assert quarter(4.0) == quarter(4.0) == 1.0
    assert capsys.readouterr().err.count("onward: compiling for this machine, once, kept in ") == 1


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_damaged_files_of_compiled_code_are_replaced(tmp_path: Path, ending: str) -> None:
    given = str(tmp_path / "given")
    run(tmp_path, NUMBA_CACHE_DIR=given)
    files = sorted(Path(given).rglob(f"*{ending}"))
    assert len(files) == 4  # inner and outer, whole and as parts
    for number, file in enumerate(files):
        file.write_bytes(file.read_bytes()[: number * file.stat().st_size // 5])  # the first is empty
    values, told = run(tmp_path, NUMBA_CACHE_DIR=given)
    assert values[:3] == ["10.0", "5.0", "0"]
    assert "is damaged" in told
    assert given in told
    assert told.count("\n") == 1
    values, told = run(tmp_path, NUMBA_CACHE_DIR=given)
    assert (values[:3], told) == (["10.0", "5.0", "1"], "")


DIES = """
import os
from numba.core import caching
calls = []
saves = {name: getattr(caching.IndexDataCacheFile, name) for name in ("_save_index", "_save_data")}
def dying(name):
    def save(self, *given):
        if "outer" in self._index_name and "part" not in self._index_name:
            calls.append(name)
            if len(calls) > 1:
                os._exit(9)  # between what is written first and what is written next
        saves[name](self, *given)
    return save
for name in saves:
    setattr(caching.IndexDataCacheFile, name, dying(name))
"""


def test_a_process_that_dies_between_index_and_code_leaves_no_older_code_to_be_found(tmp_path: Path) -> None:
    given = str(tmp_path / "given")
    loops = tmp_path / "loops.py"
    assert run(tmp_path, NUMBA_CACHE_DIR=given)[0][0] == "10.0"
    newer = LOOPS.replace("def outer(x):", "def outer(x):\n    x = 2.0 * x")
    loops.write_text(newer)
    again = [sys.executable, "-c"]
    env = os.environ | {"NUMBA_CACHE_DIR": given, "PYTHONPATH": f"{SOURCE}{os.pathsep}{tmp_path}"}
    died = subprocess.run([*again, DIES + RUN], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert died.returncode == 9, died.stderr
    found = subprocess.run([*again, RUN], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert found.stdout.split()[0] != "10.0", found.stderr


def test_a_directory_of_numbas_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    for before in ("", READ_ONLY):
        values, told = run(tmp_path, before, NUMBA_CACHE_DIR=str(tmp_path / "taken"))
        assert values[:2] == ["10.0", "5.0"]
        assert f"NUMBA_CACHE_DIR={tmp_path / 'taken'}" in told
        assert told.count("\n") == 1


def test_with_a_numba_that_was_not_tried_parts_are_not_used(tmp_path: Path) -> None:
    later = "import sys, numba\nnumba.__version__ = '0.99.0'\n"
    unused = "import onward.core.compile, sys\nassert 'onward.core.compiled_parts' not in sys.modules\n"
    values, _ = run(tmp_path, later + unused)
    assert values[:2] == ["10.0", "5.0"]


def test_a_part_that_cannot_be_made_is_compiled_as_usual(tmp_path: Path) -> None:
    broken = """
import onward.core.compiled_parts as parts
def fail(*_):
    raise RuntimeError("numba has changed")
parts._PartCompiler.define_pipelines = fail
"""
    values, told = run(tmp_path, broken)
    assert (values[:2], told) == (["10.0", "5.0"], "")


def test_without_a_terminal_long_compiling_is_a_line_of_the_log(tmp_path: Path) -> None:
    values, told = run(tmp_path, "import onward.core.compile_messages as told\ntold.TELL_LOG_AFTER = 0.0\n")
    assert values[0] == "10.0"
    assert told.startswith("onward: compiling for this machine, once")
    assert told.count("\n") == 1
