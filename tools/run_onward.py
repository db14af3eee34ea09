"""Run the command line in this process, as a shell would, and keep what it says: a new process takes seconds."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from onward.cli import main


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def onward(*arguments: str, stdin: str = "", folder: Path | None = None, expected: int = 0) -> Said:
    """Run `onward ARGUMENTS` in a folder; RuntimeError if its exit code is not the expected one."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code = 0
    with _placed(folder), _as_arguments(arguments, stdin), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as done:
            code = done.code if isinstance(done.code, int) else int(done.code is not None)
    said = Said(code, *(_text(each) for each in (out, err)))
    if said.code != expected:
        raise RuntimeError(f"onward {' '.join(arguments)} ended with {said.code}, expected {expected}:\n{said.err}")
    return said


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@contextmanager
def _placed(folder: Path | None) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(before if folder is None else folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _as_arguments(arguments: tuple[str, ...], stdin: str) -> Iterator[None]:
    before = sys.argv, sys.stdin
    sys.argv = ["onward", *arguments]
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    try:
        yield
    finally:
        sys.argv, sys.stdin = before
