"""Results as plain values for machines: what `--json` prints. What is not a finite number becomes null."""

from dataclasses import asdict
from typing import Any

from onward.core.known import Known
from onward.json_values import to_json_values
from onward.progressive.conclusion import Conclusion, conclude
from onward.progressive.results import Comparison, Fit, Scores, coefficient_columns
from onward.progressive.scoring import ModelScores
from onward.regression import OnlineRegressor, learner_name


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
            "seconds": fit.seconds,
            "model": model_record(fit.model, fit.known),
        }
    )


def model_record(model: OnlineRegressor, known: Known) -> dict[str, Any]:
    """A model, with its coefficients."""
    recipe = model.recipe_
    table, state = coefficient_columns(model, known), model.information_
    lams = (state.relative if state.own_units else state.lam)[int(state.intercept) :].tolist()
    gain = {"information_gain": model.information_gain_} if state.regularized else {}  # it is infinite without λ
    return _record(
        {
            "learner": learner_name(model),
            "lam": lams[0] if len(set(lams)) == 1 else lams,  # of each feature
            "fit_intercept": bool(model.fit_intercept),
            "intercept_lam": float(state.lam[0]) if state.intercept else None,
            "units": model.units,
            "rows": model.n_seen_,
            "features": model.n_features_in_,
            "target": None if recipe is None else recipe.target,
            "weight": None if recipe is None else recipe.weight,
            "columns": None if recipe is None else [{"name": c.name, "kind": c.kind} for c in recipe.columns],
            "terms": None if recipe is None else [term.text for term in recipe.terms],
            **gain,
            "regularized_loss": model.regularized_loss_,
            "online_loss": model.online_loss_,
            "intervals": {"delta": known.delta, "sigma": known.sigma, "theta_bound": known.theta_bound},
            "coefficients": [
                {"feature": str(name), "estimate": float(e), "lower": float(low), "upper": float(high)}
                for name, e, low, high in zip(
                    table["feature"], table["estimate"], table["lower"], table["upper"], strict=True
                )
            ],
        }
    )


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
            "intervals": {
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
