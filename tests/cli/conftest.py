"""What tests of the command line share."""

import os
import select
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

Run = Callable[..., tuple[int, str, str]]
Stream = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: exit code, standard output, standard error."""
    from onward import cli

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["onward", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        captured = capfd.readouterr()
        assert isinstance(exit.value.code, int)
        return exit.value.code, captured.out, captured.err

    return call


@pytest.fixture
def stream(run: Run, monkeypatch: pytest.MonkeyPatch) -> Stream:
    """Run the command line in this process, with texts that arrive at its standard input one after the other."""

    def call(texts: Sequence[str], *arguments: object) -> tuple[int, str, str]:
        source, sink = os.pipe()
        ended = threading.Event()

        def write() -> None:
            with open(sink, "wb", buffering=0) as pipe:
                for text in texts:
                    pipe.write(text.encode())
                    while select.select([source], [], [], 0.0)[0] and not ended.wait(0.01):
                        pass  # not yet read
                    ended.wait(0.05)  # so that it is read alone

        with open(source, encoding="utf-8") as standard_input, ThreadPoolExecutor(1) as pool:
            monkeypatch.setattr(sys, "stdin", standard_input)
            writing = pool.submit(write)
            try:
                found = run(*arguments)
            finally:
                ended.set()
            writing.result()
        return found

    return call
