"""What a page was made with."""

import os
import platform
from importlib import metadata

LIBRARIES = ("numpy", "scipy", "numba", "polars", "matplotlib", "scikit-learn", "joblib")


def library_versions() -> dict[str, str]:
    """Of Onward, of Python and of the libraries that take part, and the machine."""
    cores = os.cpu_count()
    return {
        "onward": metadata.version("onward"),
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}, {cores} cores",
    }
