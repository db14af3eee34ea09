"""Online ridge, the forward algorithm, and what chooses between them, as scikit-learn estimators."""

from onward.regression.auto import AutoRegressor
from onward.regression.learners import ForwardRegressor, OnlineRegressor, RidgeRegressor, learner_name

__all__ = ["AutoRegressor", "ForwardRegressor", "OnlineRegressor", "RidgeRegressor", "learner_name"]
