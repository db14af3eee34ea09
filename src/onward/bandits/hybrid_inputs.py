"""What a hybrid model takes: policies that it can choose by, and features of its arms."""

import numpy as np
from numpy.typing import ArrayLike

from onward.bandits.inputs import as_actions
from onward.bandits.memories import Everything
from onward.bandits.policy import Policy
from onward.bandits.rules import EpsilonGreedily, Greedily, Optimistic, Sampling
from onward.core.factor import ORDINARY
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.tables import as_row
from onward.tables.number_arrays import as_array


def check_fits_hybrid(policy: Policy) -> None:
    """Raise ValueError unless a policy can choose by a hybrid model."""
    if not isinstance(policy, Policy) or type(policy).index is not Policy.index:
        raise ValueError(f"policy must be one of onward.bandits, such as LinUCB(), got {brief(policy)}")
    if policy.dimension is not None:
        raise ValueError("policy must not have learned or chosen anything yet, got one that has")
    if not isinstance(policy.memory, Everything) or policy.estimator != "ridge":
        given = f"{policy.memory}, {policy.estimator!r}"
        raise ValueError(f"a hybrid model counts all rewards alike, with ridge: got {given}")
    if isinstance(policy.lam, tuple) or policy.prior_mean is not None:
        raise ValueError("a hybrid model has one lam for all coefficients and no prior mean, got others")
    rule = policy.rule
    if isinstance(rule, Optimistic | Sampling):
        plain = not (isinstance(rule, Optimistic) and (rule.index is not None or rule.clipped))
        if not plain or not (isinstance(rule.width, float) or rule.width == "determinant"):
            raise ValueError(f"the width of a hybrid model is a number or 'determinant', got {rule}")
    elif not isinstance(rule, Greedily | EpsilonGreedily):
        raise ValueError(f"expected a rule that learns, got {rule}")


def as_features(name: str, values: ArrayLike) -> Vector:
    """One row of finite numbers."""
    try:
        row: Vector = as_row(values)[0]
    except ValueError as error:
        raise ValueError(f"{name} must be one row of finite numbers: {error}") from error
    if not (np.abs(row) < ORDINARY).all():
        raise ValueError(f"{name} must hold finite numbers below {ORDINARY:g}, got {np.abs(row).max()}")
    return row


def as_features_of_arms(name: str, values: ArrayLike, n: int) -> Matrix:
    """One row for all arms, or a row for each."""
    given = as_array(values, name, "one row of numbers, or a row for each arm") if isinstance(values, list) else values
    table = as_features(name, given).reshape(1, -1) if np.ndim(given) == 1 else as_actions(given)
    if len(table) not in (1, n) or not table.shape[1]:
        raise ValueError(f"{name} must be one row, or a row for each of {n} arms, got shape {table.shape}")
    if not (np.abs(table) < ORDINARY).all():
        raise ValueError(f"{name} must hold finite numbers below {ORDINARY:g}, got {np.abs(table).max()}")
    return table
