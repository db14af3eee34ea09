"""What a pass does when the relation that it learns changes."""

from collections.abc import Hashable, Sequence
from typing import Literal, cast, get_args

from onward.confidence import Change
from onward.core.words import counted
from onward.regression import OnlineRegressor

OnChange = Literal["warn", "restart", "ignore"]
SHOWN = 4  # changes that a sentence names: of more, how many


def checked_on_change(value: str) -> OnChange:
    """What to do on a change; ValueError if it is none of what can be done."""
    if value not in get_args(OnChange):
        raise ValueError(f"on_change must be one of {', '.join(get_args(OnChange))}, got {value!r}")
    return cast(OnChange, value)


def forget(model: OnlineRegressor, names: Sequence[Hashable]) -> None:
    """Let a model of one target start anew, with the same settings, features and recipe."""
    model._commit(model._new_state(len(names), 1, True, list(names)))
    model._fitted().open = True
    model.anchors_ = model.sandwich_ = None


def describe_restart(rows: int, delta: float) -> str:
    """What holds of intervals for coefficients after a restart, in place of what they would assume without."""
    return (
        f"Only the {counted(rows, 'row')} since the restart are in it. As the restart depends on the targets, neither "
        f"the probability {1 - delta:g} of the intervals nor p-values are proven."
    )


def describe_changes(changes: Sequence[Change], delta: float, on_change: OnChange = "warn") -> str:
    """Changes as a sentence or two; empty without any."""
    if not changes:
        return ""
    if len(changes) == 1:
        noticed = f"noticed at row {changes[0].noticed:,}; false alarm probability {delta:g}"
        said = f"The relation seems to have changed at about row {changes[0].row:,} ({noticed})."
    else:
        rows = [f"{change.row:,}" for change in changes[:SHOWN]]
        last = f"at {len(changes) - SHOWN:,} more" if len(changes) > SHOWN else rows.pop()
        said = (
            f"The relation seems to have changed {counted(len(changes), 'time')}, at about rows {', '.join(rows)} and "
            f"{last} (the last noticed at row {changes[-1].noticed:,}; false alarm probability {delta:g} for each)."
        )
    if on_change == "restart":
        said += f" The model started anew after row {changes[-1].noticed:,}."
    return said
