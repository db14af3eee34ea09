"""Settings shared by all tests."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from xdist.remote import Producer

from onward.core.stopping import SIGNALS
from tests.pages.browser import Browser, NoBrowserError, browser
from tests.scheduling import FileScheduling

# A shell that starts tests in the background has interrupts ignored, and nohup hang-ups; many tests are about them.
for _number in SIGNALS:
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)
_HANDLERS = {number: signal.getsignal(number) for number in SIGNALS}

# Before SciPy is imported: scikit-learn skips one of its checks without it.
os.environ["SCIPY_ARRAY_API"] = "1"

# The first example of a test may wait for the compiler, so the time one takes says nothing.
settings.register_profile("onward", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)  # where a run decides whether a change goes in
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "onward"))


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Signals are handled as in a new process; the command line, run in a fixture or a test, leaves its own."""
    _restore_handlers()
    yield
    _restore_handlers()


def _restore_handlers() -> None:
    for number, handler in _HANDLERS.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def window() -> Iterator[Browser]:
    """Where there is no browser, tests that look at pages are skipped."""
    try:
        with browser() as window:
            yield window
    except NoBrowserError as error:
        pytest.skip(str(error))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling | None:
    """With `--dist loadgroup`, as `make test` has it, files stay together as marked groups do."""
    return FileScheduling(config, log) if config.getvalue("dist") == "loadgroup" else None
