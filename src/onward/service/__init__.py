"""Decisions and predictions as a service: loops whose state is a fold over a log, kept in a database, over HTTP."""

from onward.core.extras import missing_extra

try:
    from onward.service.client import Client, ServiceError
    from onward.service.configuration import FeatureRule, LoopConfig, ModelConfig, RewardRule
    from onward.service.entries import Action
    from onward.service.loop import Loop
    from onward.service.outcomes import Answer, Ranked
    from onward.service.regression_model import Model, Prediction
    from onward.service.request_errors import RequestError
except ModuleNotFoundError as error:
    raise missing_extra("onward.service", error, "serve") from None

__all__ = [
    "Action",
    "Answer",
    "Client",
    "FeatureRule",
    "Loop",
    "LoopConfig",
    "Model",
    "ModelConfig",
    "Prediction",
    "Ranked",
    "RequestError",
    "RewardRule",
    "ServiceError",
]
