"""Settings shared by all tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.pages.browser import Browser, NoBrowserError, browser

# Before SciPy is imported: scikit-learn skips one of its checks without it.
os.environ["SCIPY_ARRAY_API"] = "1"

# The first example of a test may wait for the compiler, so the time one takes says nothing.
settings.register_profile("onward", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)  # where a run decides whether a change goes in
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "onward"))


@pytest.fixture(scope="session")
def window() -> Iterator[Browser]:
    """Where there is no browser, tests that look at pages are skipped."""
    try:
        with browser() as window:
            yield window
    except NoBrowserError as error:
        pytest.skip(str(error))
