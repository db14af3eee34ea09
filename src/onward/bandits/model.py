"""A model: a factor with what makes choosing quick, its coefficients and how small an eigenvalue of G can be."""

from typing import NamedTuple

import numpy as np

from onward.bandits.settings import Head
from onward.core.compile import compiled, inlined
from onward.core.factor import (
    Factor,
    absorb_one,
    aligned,
    clear,
    count_row,
    factor_size,
    padded_to,
    view_factor,
)
from onward.core.solving import solve
from onward.core.types import Matrix, Records, Vector
from onward.core.views import part, records_of

COMPILED_FROM = "a9e226f57bf53b0f"  # other files whose code is compiled into this one: see tools/digests.py

MODEL = np.dtype(
    [
        ("floor", "f8"),  # no eigenvalue of G is smaller
        ("look_at", "f8"),  # after so many rows it is worth finding the smallest eigenvalue anew
        ("solved", "f8"),  # 1 if theta is up to date
        ("failed", "f8"),  # of a detector's model: failures among its last rewards
        ("skip", "f8"),  # for so many choices all actions are read, because lately nearly all were
    ]
)
N_MODEL = 5
_as_model = records_of(MODEL)
LOOK_AGAIN = 1.3  # the smallest eigenvalue is found anew after so many times as many rows


class Model(NamedTuple):
    """Views of a buffer."""

    about: Records
    theta: Vector  # (padded d,): the coefficients
    factor: Factor


@inlined
def model_size(d: int) -> int:
    """Numbers in a model."""
    return aligned(N_MODEL + padded_to(d)) + aligned(factor_size(d, 1))


@inlined
def factor_at(at: int, d: int) -> int:
    """Where the factor begins of the model that begins at `at`."""
    return at + aligned(N_MODEL + padded_to(d))


@inlined
def view_model(buffer: Vector, at: int, d: int) -> Model:
    """The model that begins at `at`."""
    theta = at + N_MODEL
    return Model(
        _as_model(part(buffer, at, theta)),
        part(buffer, theta, theta + padded_to(d)),
        view_factor(buffer, factor_at(at, d), d, 1),
    )


@compiled
def clear_model(head: Head, model: Model) -> None:
    """Know nothing."""
    about = model.about[0]
    about.floor = head.settings[0].lam_least
    about.look_at = 2.0 * model.factor.D.shape[0]
    about.solved = 1.0
    about.failed = 0.0
    about.skip = 0.0
    model.theta[:] = 0.0
    clear(model.factor, head.lam)


@compiled
def learn_row(model: Model, x: Vector, y: float, square: float, scratch: Matrix) -> None:
    """Learn the reward y of an action x with ‖x‖² = `square`. Overwrites scratch."""
    count_row(model.factor, 1.0, square)
    absorb_one(model.factor, x, y, 1.0, scratch)
    model.about[0].solved = 0.0


@inlined
def solved(model: Model) -> Vector:
    """The coefficients, padded."""
    if model.about[0].solved == 0.0:
        solve(model.factor, model.theta)
        model.about[0].solved = 1.0
    return model.theta


@compiled
def raise_floor(model: Model) -> None:
    """Find the smallest eigenvalue of G, for a memory that only adds rows to it: it never falls."""
    D, U, d = model.factor.D, model.factor.U, model.factor.D.shape[0]
    G = np.zeros((d, d))
    for k in range(d):
        for i in range(k, d):
            multiple = D[k] * (U[k, i] if i > k else 1.0)
            G[i, k] += multiple
            for j in range(k + 1, i + 1):
                G[i, j] += multiple * U[k, j]
    for i in range(d):
        for j in range(i):
            G[j, i] = G[i, j]
    values = np.linalg.eigvalsh(G)
    model.about[0].floor = max(model.about[0].floor, values[0] - 1e-12 * values[d - 1])
    model.about[0].look_at = LOOK_AGAIN * model.factor.counts[0].counted
