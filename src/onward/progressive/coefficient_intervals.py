"""A model's coefficients with their intervals: the table, its columns, and what is assumed."""

from typing import Any

import numpy as np

from onward.confidence.assumptions import describe_coefficient_intervals
from onward.core.inference import PLAIN, Inference
from onward.core.known import Known
from onward.progressive.changes import describe_restart
from onward.progressive.coefficient_table import CoefficientTable
from onward.regression import OnlineRegressor


def coefficient_table(
    model: OnlineRegressor, known: Known, inference: Inference = PLAIN, *, is_restarted: bool = False
) -> CoefficientTable:
    """The coefficients of a model with their intervals, and what these assume."""
    columns = coefficient_columns(model, known, inference)
    assumed = describe_coefficients(model, known, inference, is_restarted=is_restarted)
    return CoefficientTable(columns, known.delta, assumed, is_restarted=is_restarted)


def describe_coefficients(
    model: OnlineRegressor, known: Known, inference: Inference = PLAIN, *, is_restarted: bool = False
) -> str:
    """What holds of the intervals of a model's coefficients, in a line; nothing if there are none."""
    anytime = known.sigma is None and model._has_contrasts
    if not (anytime or model._has_sets):
        return ""
    if is_restarted:
        return describe_restart(model.n_seen_, known.delta)
    return describe_coefficient_intervals(
        "anytime" if anytime else "uniform",
        known.delta,
        sigma=known.sigma,
        bounds=known.bounds,
        simultaneous=inference.simultaneous,
        robust=anytime and model.sandwich_ is not None,
        binary=anytime and model.has_binary_targets(),
    )


def coefficient_columns(model: OnlineRegressor, known: Known, inference: Inference = PLAIN) -> dict[str, Any]:
    """The model's `coefficient_table`; without regularisation there are no sets, so that every interval is open.

    Without a known σ the intervals are `anytime` ones; the model's own coefficients then stand beside the estimates, as
    `coefficient`. A model that has no intervals at all has no columns `lower` and `upper`.
    """
    if known.sigma is None and model._has_contrasts:
        table = model.coefficient_table(
            known.delta,
            simultaneous=inference.simultaneous,
            robust=model.sandwich_ is not None,
            tuned_for=inference.tuned_for,
        )
        return {"feature": table.pop("feature"), "coefficient": model._theta()[:, 0], **table}
    if not model._has_sets:
        constant = ["(intercept)"] if model._fitted().state.intercept else []
        return {"feature": [*constant, *known_names(model)], "estimate": model._theta()[:, 0]}
    if model.has_sets():
        return model.coefficient_table(known.delta, known.sigma, known.theta_bound)
    state, names = model.information_, [str(name) for name in model.feature_names_in_]
    theta = state.coefficients()[:, 0] + state.prior[:, 0]
    everywhere = np.full(len(theta), np.inf)
    return {
        "feature": ["(intercept)", *names] if state.intercept else names,
        "estimate": theta,
        "lower": -everywhere,
        "upper": everywhere,
    }


def known_names(model: OnlineRegressor) -> list[str]:
    """The names of a model's features, none before it has learned anything."""
    return [str(name) for name in model.feature_names_in_] if model.__sklearn_is_fitted__() else []
