"""Online ridge, the forward algorithm, and what chooses between them, as scikit-learn estimators."""

from onward.regression.auto import LEARNERS, AutoRegressor
from onward.regression.auto import describe_leaning as describe_leaning
from onward.regression.learners import ForwardRegressor, OnlineRegressor, RidgeRegressor, learner_name

__all__ = [
    "LEARNERS",
    "AutoRegressor",
    "ForwardRegressor",
    "OnlineRegressor",
    "RidgeRegressor",
    "learner_name",
]
