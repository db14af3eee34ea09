"""Online linear regression and linear bandits, with guarantees that hold at every round."""

from importlib.metadata import version

from onward.bandits import runs as _runs  # noqa: F401 - so that `load` knows them
from onward.regression import ForwardRegressor, RidgeRegressor
from onward.storage import StorageError, load

__version__ = version("onward")

__all__ = ["ForwardRegressor", "RidgeRegressor", "StorageError", "__version__", "load"]
