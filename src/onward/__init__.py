"""Online linear regression and linear bandits, with guarantees that hold at every round."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onward.core.known import Known as Known
    from onward.progressive.comparing import compare as compare
    from onward.progressive.fitting import fit as fit
    from onward.progressive.results import Comparison as Comparison
    from onward.progressive.results import Fit as Fit

    __version__: str
    from onward.regression import AutoRegressor as AutoRegressor
    from onward.regression import ForwardRegressor as ForwardRegressor
    from onward.regression import RidgeRegressor as RidgeRegressor
    from onward.regression.online_pipeline import OnlinePipeline as OnlinePipeline
    from onward.regression.random_features import RandomFeatures as RandomFeatures
    from onward.storage import StorageError as StorageError
    from onward.storage import load as load
    from onward.tables.errors import DataError as DataError
    from onward.tables.streams import stream as stream
    from onward.tables.table import Table as Table

__all__ = [
    "AutoRegressor",
    "Comparison",
    "DataError",
    "Fit",
    "ForwardRegressor",
    "Known",
    "OnlinePipeline",
    "RandomFeatures",
    "RidgeRegressor",
    "StorageError",
    "Table",
    "__version__",
    "compare",
    "fit",
    "load",
    "stream",
]

# Imported when first asked for: the compiler alone takes long, and the command line's help needs none of it.
_HOMES = {
    "AutoRegressor": "onward.regression",
    "Comparison": "onward.progressive.results",
    "DataError": "onward.tables.errors",
    "Fit": "onward.progressive.results",
    "ForwardRegressor": "onward.regression",
    "Known": "onward.core.known",
    "OnlinePipeline": "onward.regression.online_pipeline",
    "RandomFeatures": "onward.regression.random_features",
    "RidgeRegressor": "onward.regression",
    "StorageError": "onward.storage",
    "Table": "onward.tables.table",
    "compare": "onward.progressive.comparing",
    "fit": "onward.progressive.fitting",
    "load": "onward.storage",
    "stream": "onward.tables.streams",
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
