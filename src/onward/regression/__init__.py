"""Online ridge and the forward algorithm, as scikit-learn estimators."""

from onward.regression.learners import ForwardRegressor, OnlineRegressor, RidgeRegressor, learner_name

__all__ = ["ForwardRegressor", "OnlineRegressor", "RidgeRegressor", "learner_name"]
