"""λ as a reader would say it."""

from onward.core.state_view import StateView
from onward.core.types import Vector


def described(lam: Vector) -> str:
    """λ of each coordinate as a reader would say it: one number if they are the same, a range if they are many."""
    if len(lam) and (lam == lam[0]).all():
        return f"{lam[0]:g}"
    if len(lam) > 8:
        return f"{lam.min():g} to {lam.max():g}"
    return f"[{', '.join(f'{value:g}' for value in lam)}]"


def described_lam(state: StateView) -> str:
    """λ of a state as a reader would say it: that of the features alone, if the constant has none."""
    if state.own_units:
        return f"{described(state.relative[1:])} of the variance"
    free = state.intercept and state.n_features > 0 and state.lam[0] == 0.0
    return described(state.lam[1:] if free else state.lam)
