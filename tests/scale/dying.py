"""Tasks whose workers die. A module of its own, so that workers need to import nothing else for them."""

import os
import signal
from pathlib import Path


def dies_once(flag: Path) -> str:
    """The worker is killed the first time, if the flag's name asks for it."""
    if flag.suffix == ".dies" and not flag.exists():
        flag.touch()
        dies(flag)
    return flag.stem


def dies(flag: Path) -> str:
    """The worker is killed each time."""
    os.kill(os.getpid(), signal.SIGKILL)
    return flag.stem
