"""Processes that tests start: none outlives its test, whatever happens."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def started(command: list[str], **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """A process until the end of the block, where it is killed if it still runs.

    `Popen` itself waits there for as long as it takes: a test that fails would hang instead.
    """
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
