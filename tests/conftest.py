"""Settings shared by all tests."""

import os

from hypothesis import settings

# Before SciPy is imported: scikit-learn skips one of its checks without it.
os.environ["SCIPY_ARRAY_API"] = "1"

# The first example of a test may wait for the compiler, so the time one takes says nothing.
settings.register_profile("onward", deadline=None)
settings.load_profile("onward")
