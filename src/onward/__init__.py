"""Online linear regression and linear bandits, with guarantees that hold at every round."""

from importlib.metadata import version

from onward import storage
from onward.regression import ForwardRegressor, RidgeRegressor
from onward.storage import StorageError, load

storage.at_home_in("onward.bandits", "policy", "disjoint policy", "runs")  # so that only those who play wait for it

__version__ = version("onward")

__all__ = ["ForwardRegressor", "RidgeRegressor", "StorageError", "__version__", "load"]
