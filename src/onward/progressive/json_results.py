"""Results as plain values for machines: what `--json` prints. What is not a finite number becomes null."""

from dataclasses import asdict
from typing import Any

from onward.core.inference import PLAIN, Inference
from onward.core.known import Known
from onward.json_values import to_json_values
from onward.progressive.coefficient_intervals import coefficient_columns, describe_coefficients
from onward.progressive.conclusion import Conclusion, conclude
from onward.progressive.contrasts import contrast_record, describe_contrasts, find_contrasts, why_left_out
from onward.progressive.results import Comparison, Fit, Scores
from onward.progressive.scoring import ModelScores
from onward.regression import AutoRegressor, OnlineRegressor, learner_name
from onward.regression.half_life import memory_record


def fit_record(fit: Fit) -> dict[str, Any]:
    """A pass and its model."""
    return _record(
        {
            "data": fit.source,
            "target": fit.target,
            "rows": {"read": fit.read, "learned": fit.scores.rows, "skipped": dict(fit.skipped)},
            "filled": dict(fit.filled),
            "scores": scores_record(fit.scores),
            "intervals": {"method": fit.method, "delta": fit.known.delta},
            "changes": None if fit.changes is None else [asdict(change) for change in fit.changes],
            **contrasts_record(fit.model, fit.known, fit.inference, is_restarted=fit.is_restarted),
            "seconds": fit.seconds,
            "model": model_record(fit.model, fit.known, fit.inference, is_restarted=fit.is_restarted),
        }
    )


def contrasts_record(
    model: OnlineRegressor, known: Known, inference: Inference, *, is_restarted: bool = False
) -> dict[str, Any]:
    """The contrasts that are asked for, and what holds of their intervals."""
    about = {
        "method": "anytime",
        "delta": known.delta,
        "null": 0.0,
        "rows": model.n_seen_,
        "simultaneous": inference.simultaneous,
        "robust": model.sandwich_ is not None,
        "tuned_for": inference.tuned_for,
        "assumed": describe_contrasts(model, known, inference, is_restarted=is_restarted),
        "left_out": why_left_out(model, inference),
    }
    return _record(
        {
            "contrasts": [contrast_record(each) for each in find_contrasts(model, known, inference)],
            "contrast_intervals": about if inference.contrasts else None,
        }
    )


def model_record(
    model: OnlineRegressor, known: Known, inference: Inference = PLAIN, *, is_restarted: bool = False
) -> dict[str, Any]:
    """A model, with its coefficients."""
    recipe = model.recipe_
    table = coefficient_columns(model, known, inference)
    return _record(
        {
            "learner": learner_name(model),
            **(_ensemble_record(model) if isinstance(model, AutoRegressor) else _state_record(model)),
            "rows": model.n_seen_,
            "features": model.n_features_in_,
            "target": None if recipe is None else recipe.target,
            "weight": None if recipe is None else recipe.weight,
            "time": None if recipe is None or recipe.time is None else recipe.time.name,
            "columns": None if recipe is None else [{"name": c.name, "kind": c.kind} for c in recipe.columns],
            "terms": None if recipe is None else [term.text for term in recipe.terms],
            "online_loss": model.online_loss_,
            "intervals": {
                "method": "anytime" if "p_value" in table else "uniform",
                "delta": known.delta,
                "null": 0.0 if "p_value" in table else None,
                "rows": model.n_seen_,
                "sigma": known.sigma,
                "theta_bound": known.theta_bound,
                "simultaneous": inference.simultaneous or "p_value" not in table,
                "robust": model.sandwich_ is not None and "p_value" in table,
                "assumed": describe_coefficients(model, known, inference, is_restarted=is_restarted),
            }
            if "lower" in table
            else None,  # those of coefficients
            "coefficients": [
                {
                    "feature": str(row[0]),
                    **{name: float(value) for name, value in zip(list(table)[1:], row[1:], strict=True)},
                }
                for row in zip(*table.values(), strict=True)
            ],
        }
    )


def _state_record(model: OnlineRegressor) -> dict[str, Any]:
    state = model.information_
    lams = (state.relative if state.own_units else state.lam)[int(state.intercept) :].tolist()
    gain = {"information_gain": model.information_gain_} if state.regularized else {}  # it is infinite without λ
    return {
        "lam": lams[0] if len(set(lams)) == 1 else lams,  # of each feature
        "fit_intercept": bool(model.fit_intercept),
        "intercept_lam": float(state.lam[0]) if state.intercept else None,
        "units": model.units,
        "memory": memory_record(state.memory),
        **gain,
        "regularized_loss": model.regularized_loss_,
    }


def _ensemble_record(model: AutoRegressor) -> dict[str, Any]:
    """Whom it leans on; of several targets, for the first."""
    columns = model.experts_
    return {
        "lams": [float(lam) for lam in model.lams],
        "half_lives": [None if half is None else float(half) for half in model.half_lives],
        "leans_on": model.leaning_,
        "experts": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """A grid of λ, and what it says."""
    said: Conclusion = conclude(comparison)
    return _record(
        {
            "data": comparison.source,
            "target": comparison.target,
            "rows": {
                "read": comparison.read,
                "learned": said.rows,
                "skipped": dict(comparison.skipped),
            },
            "filled": dict(comparison.filled),
            "features": comparison.n_features,
            "lams": comparison.lams,
            "learners": {
                name: {
                    "scores": [None if each is None else scores_record(each) for each in values],
                    "best_lam": said.learners[name].best_lam,
                    "worst_lam": said.learners[name].worst_lam,
                    "worst_over_best_rmse": said.learners[name].spread,
                }
                for name, values in comparison.scores.items()
            },
            "auto": None
            if comparison.auto is None
            else {"scores": scores_record(comparison.auto), "leans_on": comparison.auto_leaning},
            "running_mean_rmse": said.mean_rmse,
            "conclusion": said.text,
            "notes": comparison.notes,
            "seconds": comparison.seconds,
        }
    )


def score_record(scored: ModelScores) -> dict[str, Any]:
    """How well a model predicts rows that it does not learn."""
    known = scored.known
    return _record(
        {
            "data": scored.source,
            "target": scored.target,
            "rows": {"read": scored.read, "scored": scored.rows, "skipped": dict(scored.skipped)},
            "filled": dict(scored.filled),
            "unknown_levels": dict(scored.unknown),
            "rmse": scored.rmse,
            "mae": scored.mae,
            "r2": scored.r2,
            "intervals": None
            if scored.method is None
            else {
                "method": scored.method,
                "delta": known.delta,
                "sigma": known.sigma,
                "theta_bound": known.theta_bound,
                "inside": scored.inside,
                "open": scored.open,
                "coverage": scored.coverage,
            },
        }
    )


def scores_record(scores: Scores) -> dict[str, Any]:
    """Online scores, and those of the running mean."""
    return {
        "rmse": scores.rmse,
        "mae": scores.mae,
        "r2": scores.r2,
        "running_mean": {"rmse": scores.mean_rmse, "mae": scores.mean_mae},
    }


def _record(values: dict[str, Any]) -> dict[str, Any]:
    return {name: to_json_values(value) for name, value in values.items()}
