"""What a user is told of compiling: that it takes time, where its results are kept, and what was damaged."""

import gc
import logging
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

TELL_AFTER, TELL_LOG_AFTER = 1.0, 3.0  # seconds of compiling before it is told, on a terminal and elsewhere

log = logging.getLogger("onward")


class Told:
    """What was told already, each once in a process."""

    directory: Path | None = None
    warned = said = damaged = False
    since: float | None = None  # when the outermost compiling began

    @classmethod
    def warn(cls, text: str) -> None:
        """Warn of where compiled code is kept."""
        if not cls.warned:
            cls.warned = True
            warnings.warn_explicit(text, RuntimeWarning, "onward", 0)  # one line: nobody's code is to blame

    @classmethod
    def of_damage(cls, path: str, error: Exception) -> None:
        """Warn of a file of compiled code that cannot be read; once, as such files come in numbers."""
        if not cls.damaged:
            cls.damaged = True
            text = f"{path} is damaged ({type(error).__name__}), or what it names: compiled again and replaced"
            warnings.warn_explicit(text, RuntimeWarning, "onward", 0)

    @classmethod
    def what_is_done(cls, path: Any) -> None:
        """Tell that code is being compiled, if that takes long; later where nobody sits at a terminal."""
        if cls.said or cls.since is None:
            return
        watched = sys.stderr is not None and sys.stderr.isatty()
        if time.perf_counter() - cls.since < (TELL_AFTER if watched else TELL_LOG_AFTER):
            return
        cls.said = True
        kept = f"kept in {path}" if path else "for this process"
        text = f"onward: compiling for this machine, once, {kept}"
        if watched:
            print(text, file=sys.stderr)
            log.info(text)
        else:
            log.warning(text)  # on standard error unless logging is set up otherwise


class Compiling:
    """While the outermost function is compiled: it is timed, and garbage is looked for less often.

    A compiler makes many objects that all live on: a seventh of its time went into looking at them again and again.
    """

    _lock = threading.Lock()
    _inside = 0  # how many compile now, in this thread or others
    _threshold = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            Compiling._inside += 1
            if Compiling._inside == 1:
                Told.since = time.perf_counter()
                Compiling._threshold = gc.get_threshold()
                if self._threshold[0]:  # 0: it is off
                    gc.set_threshold(20_000, 20, 100)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            Compiling._inside -= 1
            if not Compiling._inside:
                Told.since = None
                gc.set_threshold(*self._threshold)
