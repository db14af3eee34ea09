"""Online linear regression and linear bandits, with guarantees that hold at every round."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from onward.regression import ForwardRegressor as ForwardRegressor
    from onward.regression import RidgeRegressor as RidgeRegressor
    from onward.storage import StorageError as StorageError
    from onward.storage import load as load

__all__ = ["ForwardRegressor", "RidgeRegressor", "StorageError", "__version__", "load"]

# Imported when first asked for: the compiler alone takes long, and the command line's help needs none of it.
_HOMES = {
    "ForwardRegressor": "onward.regression",
    "RidgeRegressor": "onward.regression",
    "StorageError": "onward.storage",
    "load": "onward.storage",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("onward")
    if name not in _HOMES:
        raise AttributeError(f"module 'onward' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
