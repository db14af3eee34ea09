"""Two buffers as one that has learned the rewards of both: exact where all rewards count alike."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from onward.bandits.buffers import PolicySettings, acting, copy_factor, head_in, state_in
from onward.bandits.design import Design
from onward.bandits.memories import Everything
from onward.bandits.tuning import MOST, N_TUNING, TUNING
from onward.core.another_lam import with_lam
from onward.core.types import Vector


def check_mergeable(mine: Design, theirs: Design) -> None:
    """Raise ValueError unless policies of these designs can be merged."""
    if not isinstance(mine.memory, Everything) or not isinstance(theirs.memory, Everything):
        other = mine.memory if not isinstance(mine.memory, Everything) else theirs.memory
        raise ValueError(f"cannot merge: expected policies that count all rewards alike, got one with {other}")
    for name in Design._fields:
        if getattr(mine, name) != getattr(theirs, name):
            raise ValueError(
                f"cannot merge: expected policies of one design, got {name} {getattr(mine, name)!r} here and "
                f"{getattr(theirs, name)!r} there"
            )


def check_apart(mine: object, theirs: object) -> None:
    """Raise ValueError if these are one policy: all that it has learned would count twice."""
    if mine is theirs:
        raise ValueError("cannot merge a policy into itself: expected another one, which learned other rewards")


def check_same(name: str, mine: Any, theirs: Any) -> None:
    """Raise ValueError unless both policies have this alike."""
    if mine != theirs:
        raise ValueError(f"cannot merge: this policy has {name} {mine!r}, the other has {theirs!r}")


def joined(settings: PolicySettings, mine: Vector, theirs: Vector, places: Sequence[int] | None = None) -> Vector:
    """A buffer that has learned what both have; `places` are those of the other's coordinates here."""
    buffer, state = mine.copy(), state_in(settings, mine)
    model, log, other = acting(buffer), head_in(buffer).log, head_in(theirs).log
    if acting(theirs).factor.counts["seen"][0] > 0:
        there = state_in(settings, theirs)
        here = state.lam if places is None else state.lam[list(places)]
        if not np.array_equal(there.lam, here):  # where none was told, each has its own
            there = with_lam(there, here)
        state.merge(there, places)
        copy_factor(model.factor, state.factor)
    model.about["solved"] = 0.0
    for name in ("learned", "counted"):
        log[name] += other[name]
    if settings.numbers["scales"]:
        join_tuning(buffer[-N_TUNING:], theirs[-N_TUNING:])
    log["offered"] = np.maximum(log["offered"], other["offered"])
    return buffer


def join_tuning(mine: Vector, theirs: Vector) -> None:
    """Add what the scales have gained there. Choices that wait for their rewards there stay there."""
    n = len(TUNING.names or ())
    here, there = mine[:n].view(TUNING), theirs[:n].view(TUNING)
    rewards = here["rewards"] + there["rewards"]
    if rewards[0] > 0:
        here["mean"] = (here["rewards"] * here["mean"] + there["rewards"] * there["mean"]) / rewards
    here["rewards"] = rewards
    here["spread"] += there["spread"]
    mine[n : n + MOST] += theirs[n : n + MOST]
