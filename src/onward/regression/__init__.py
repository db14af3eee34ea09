"""Online ridge and the forward algorithm, as scikit-learn estimators."""

from onward.regression.learners import ForwardRegressor, OnlineRegressor, RidgeRegressor

__all__ = ["ForwardRegressor", "OnlineRegressor", "RidgeRegressor"]
