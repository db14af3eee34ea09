"""Signals whose exception something swallows end a command all the same."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onward import fit
from onward.core import stopping
from onward.core.stopping import (
    SIGNALS,
    StoppedError,
    StopSignals,
    forget_signals,
    raise_stop,
    raise_unheeded,
    unheeded,
)
from tests.cli.conftest import Run
from tests.processes import started


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget_signals()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_was_swallowed_is_remembered_until_the_next_command(number: int) -> None:
    with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else StoppedError):
        raise_stop(number, None)
    assert unheeded() == number
    with pytest.raises(StoppedError) as stopped:
        raise_unheeded()
    assert stopped.value.number == number
    with StopSignals() as stop:  # before it waits for the first row
        assert stop.number == number
        assert stop.descriptor is not None
        assert os.read(stop.descriptor, 1)
    forget_signals()
    raise_unheeded()
    with StopSignals() as stop:
        assert stop.number is None


def test_an_error_that_was_made_of_a_signal_is_said_as_a_stop(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def load(*_: object) -> None:
        stopping._arrived.append(signal.SIGTERM)
        raise ImportError("numba._devicearray failed to import")

    monkeypatch.setattr("onward.storage.read", load)
    (tmp_path / "m").write_bytes(b"")
    assert run("show", tmp_path / "m") == (143, "", "onward: stopped\n")


SWALLOWING = """
import os, sys

number = int(sys.argv.pop(1))

class Swallowed:
    def __del__(self):  # in which exceptions are ignored, as in callbacks of libraries
        os.kill(os.getpid(), number)

class Finder:
    def find_spec(self, name, *_):
        if name in ("onward.progressive.fitting", "onward.progressive.predicting"):
            Swallowed()

from onward.cli import main
sys.meta_path.insert(0, Finder())
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="named pipes of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_command_that_was_told_to_stop_while_it_started_does_not_wait(
    tmp_path: Path, command: str, number: int
) -> None:
    data, pipe = tmp_path / "d.csv", tmp_path / "pipe.csv"
    data.write_text("x,y\n1,2\n2,3\n3,5\n")
    fit(data, "y", save=tmp_path / "m")
    os.mkfifo(pipe)
    words = {
        "fit": ["fit", pipe, "-t", "y", "-q"],
        "predict": ["predict", tmp_path / "m", pipe, "--json", "-o", tmp_path / "p.jsonl"],
    }
    script = [sys.executable, "-c", SWALLOWING, str(int(number)), *map(str, words[command])]
    with started(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(60) == 128 + number
        assert process.stderr is not None
        assert process.stderr.read().endswith(b"onward: stopped\n")
