"""Whether numbers from a file can be a policy's buffer: compiled code takes what it is given, and looks at nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from onward.bandits import memories
from onward.bandits.buffers import PolicySettings, acting, head_in
from onward.bandits.hybrid_factor import N_PIVOT
from onward.bandits.memories import Detecting, Discounted, Everything, Memory, Restarting, Window, detecting, window
from onward.bandits.model import Model
from onward.bandits.settings import N_LOG, N_SETTINGS, SETTINGS, UNIFORM_AT_RANDOM, memory_at
from onward.bandits.tuning import MOST, N_TUNING, TUNING, WAITING
from onward.core.checks import positive
from onward.core.factor import Factor
from onward.core.row_memory import check_made_of
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.core.views import owned

_MOST_COUNT = 2.0**52  # floats count to twice that: what is loaded can go on
LARGEST = 1e150  # of what squares are taken of


def check_whole(name: str, value: Any, most: float = _MOST_COUNT) -> int:
    """A number from 0 to so many, which may come as 3.0; ValueError if it is none."""
    if isinstance(value, str | bool) or not (0 <= value <= most and value == int(value)):
        raise ValueError(f"{name} must be a whole number from 0 to {most:g}, got {brief(value)}")
    return int(value)


def check_columns(columns: Any, d: int) -> None:
    """ValueError unless features have different names, one each, or none at all; d = 0: before the first choice."""
    if columns is not None and not (
        isinstance(columns, list)
        and all(isinstance(name, str | int) for name in columns)
        and len(set(columns)) == len(columns)
        and (not d or len(columns) == d)
    ):
        raise ValueError(f"expected a name for each of {d} features, got {brief(columns)}")


def checked_arms(arms: Any) -> list[Any]:
    """The names of arms in a file, never a number of arms to make; ValueError if they are none."""
    if not isinstance(arms, list):
        raise ValueError(f"expected the names of arms in a list, got {brief(arms)}")
    return arms


def lam_in(saved: Vector, d: int) -> Vector:
    """λ in a buffer from a file, whose settings nobody has looked at."""
    lam = saved[N_SETTINGS + N_LOG :][:d]
    if not (lam > 0).all():
        raise ValueError(f"lam must be numbers > 0, got {lam}")
    return lam


def check_size(settings: PolicySettings, memory: Memory, saved: Vector, d: int) -> None:
    """ValueError if a buffer from a file is too small for d coordinates: before anything of that size is made."""
    if saved.ndim != 1 or d < 1 or d * d > len(saved):
        raise ValueError(f"buffer of {saved.shape} numbers, expected more for {d} features")
    tuning = N_TUNING if settings.numbers["scales"] else 0
    least = memory_at(d) + memory.size(d, memory.first_capacity()) + tuning
    if len(saved) < least:
        raise ValueError(f"buffer of {saved.shape} numbers, expected at least {least}")


def check_buffer(settings: PolicySettings, memory: Memory, buffer: Vector, d: int) -> None:
    """ValueError if a buffer of the right size, with this policy's settings, holds what no policy has."""
    head = head_in(buffer)
    log = head.log[0]
    for name in ("learned", "counted"):
        check_whole(name, log[name])
    if not 0 <= log["offered"] < LARGEST:
        raise ValueError(f"the largest action must have a squared length that is a number, got {log['offered']}")
    lam = head.lam
    if not (np.isfinite(lam).all() and (lam > 0).all()):
        raise ValueError(f"lam must be numbers > 0, got {lam}")
    if settings.lam is not None and not np.array_equal(lam, np.broadcast_to(settings.lam, lam.shape)):
        raise ValueError(f"lam of a buffer is {lam}, expected {settings.lam}")
    if not np.allclose(head.scales, lam.max() / lam, rtol=1e-9, atol=0.0):
        raise ValueError(f"scales of a buffer are {head.scales}, expected those of lam {lam}")
    prior = np.zeros(d) if settings.prior_mean is None else np.array(settings.prior_mean)
    if not np.array_equal(head.prior, prior):
        raise ValueError(f"the prior mean of a buffer is {head.prior}, expected {prior}")
    memory.check(buffer, d)
    _CHECKS[type(memory)](memory, buffer, d)
    if settings.numbers["scales"]:
        check_tuning(buffer[-N_TUNING:])


def check_tuning(record: Vector) -> None:
    """ValueError if a record of scales holds what none has."""
    n = len(TUNING.names or ())
    about, gains, choices = record[:n].view(TUNING)[0], record[n : n + MOST], record[n + MOST :].reshape(WAITING, -1)
    check_whole("next choice", about["next"], WAITING - 1)
    check_whole("rewards", about["rewards"])
    if not ((np.abs(record) < LARGEST).all() and about["spread"] >= 0):
        raise ValueError("a record of scales must hold numbers, with a spread that is not negative")
    # Gains are sums of as many terms as rewards, whose squares add up to their spread but for the share of a scale.
    if not (np.abs(gains) <= 1e6 * np.sqrt((about["rewards"] + 1.0) * about["spread"]) + 1e-150).all():
        raise ValueError(f"gains of scales are {gains}, which a spread of {about['spread']:g} does not allow")
    waits, chances = choices[:, 2], choices[:, 3:]
    if not (np.isin(waits, (0.0, 1.0)).all() and (chances >= 0).all() and (choices[waits == 1.0, 4] > 0).all()):
        raise ValueError(f"choices that wait must have chances, got gains of {gains}")
    waiting = choices[waits == 1.0]  # no scale is taken so seldom that its term is a thousandth of its square
    if not (np.square(waiting[:, 5:] - 1.0) <= 1e3 * waiting[:, 3:4] + 1e-30).all():
        raise ValueError("chances of choices that wait must add up to their spread")


def checked_record(record: Vector, fresh: Vector) -> Vector:
    """What arms share, from a file; ValueError if it cannot be what became of a fresh record."""
    check_tuning(record)
    own, new = (each[: len(TUNING.names or ())].view(TUNING)[0] for each in (record, fresh))
    # Scales of earlier versions go on.
    begun = new["scales"] and own["scales"] in range(2, MOST + 1) and 0.0 < own["least"] <= 1.0
    for name in ("pools",) if begun else ("scales", "least", "pools"):
        if own[name] != new[name]:
            raise ValueError(f"{name} of what arms share is {own[name]}, expected {new[name]}")
    return np.require(record, requirements=["W"])


def check_factor(factor: Factor) -> None:
    """ValueError if pivots are not positive, or what is computed from a factor would overflow."""
    d = len(factor.D)
    U, D, c = np.triu(factor.U[:, :d], 1), factor.D, factor.c
    if not (np.isfinite(factor.U).all() and np.isfinite(D).all() and np.isfinite(c).all() and (D > 0).all()):
        raise ValueError("a factor must be of finite numbers, with pivots > 0")
    if factor.U[:, d:].any() or not (np.abs(factor.U) < LARGEST).all():
        raise ValueError(f"behind the {d} columns of a triangle there must be zeros, and no number above {LARGEST:g}")
    with np.errstate(over="ignore", invalid="ignore"):
        squares, moments = float(D @ np.square(c[:, 0])), D @ np.square(U)
        theta = solve_triangular(U, c[:, 0], unit_diagonal=True, check_finite=False)
        left = solve_triangular(U, np.ones(d), trans=1, unit_diagonal=True, check_finite=False)
        leverage = float(np.square(left) @ (1.0 / D))
    sizes = np.concatenate([[squares, leverage], moments, np.square(theta)])
    if not (sizes < LARGEST**2 / (1 + d)).all():
        raise ValueError("a factor must have coefficients and leverages that double precision can hold")
    loss = float(factor.loss[0])
    if not (loss < LARGEST**2 and loss >= -1e-6 * squares):
        raise ValueError(f"the loss of a factor must be a number >= 0, got {loss}")
    counts = factor.counts[0]
    if not (0 <= counts["seen"] < _MOST_COUNT and 0 <= counts["counted"] < _MOST_COUNT):
        raise ValueError(f"the rows of a factor must be counts, got {counts['seen']} and {counts['counted']}")
    if not 0 <= counts["peak"] < LARGEST:
        raise ValueError(f"the largest row of a factor must have a squared length, got {counts['peak']}")


def plain_lam(lam: Vector) -> float | list[float]:
    """λ of each feature as a file has it: one number where all are alike, as before there were others; 0 for none."""
    if not len(lam):
        return 0.0
    return float(lam[0]) if (lam == lam[0]).all() else [float(each) for each in lam]


def check_hybrid(own: Matrix, shared: Matrix, sums: Vector, sizes: tuple[int, int], slots: int, told: Any) -> Vector:
    """λ of each feature, as `plain_lam` gave it; ValueError if no hybrid model has such pivots and sums with it."""
    d, k = sizes
    if not d:
        if own.size or shared.size or k or sums.any():
            raise ValueError("a hybrid model that has not begun must know nothing")
        return np.empty(0)
    fits = own.ndim == 2 and own.shape[1] == d + k + N_PIVOT and len(own) >= d * slots and len(own) % d == 0
    if not fits or shared.shape != (k, k + N_PIVOT) or sums.shape != (4,):
        raise ValueError(f"factors of {own.shape} and {shared.shape} do not fit {d} and {k} features")
    if isinstance(told, list) and len(told) != d + k:
        raise ValueError(f"lam of {len(told)} features does not fit {d} and {k}")
    lam = np.array([positive("lam", each) for each in (told if isinstance(told, list) else [told] * (d + k))])
    check_whole("rewards", sums[0])
    squares = 0.0
    for pivots, least in ((own, np.tile(lam[:d], len(own) // d)), (shared, lam[d:])):
        with np.errstate(over="ignore"):
            sizes_of = pivots[:, :1] * np.square(pivots[:, 1:])
        if not (np.abs(pivots) < LARGEST).all() or not (pivots[:, 0] > 1 / LARGEST).all():
            raise ValueError("pivots of a hybrid model must be numbers > 0, and its triangle finite")
        if not ((least > 1 / LARGEST) & (least <= (1 + 1e-6) * pivots[:, 0])).all():
            raise ValueError(f"no pivot of a hybrid model can be below its lam, got {pivots[:, 0].min()} with {lam}")
        if not (sizes_of < LARGEST).all():
            raise ValueError("a hybrid model must have numbers whose squares double precision can hold")
        squares += float(sizes_of[:, 0].sum())
    loss, total, gain = sums[1:].tolist()
    if not (-1e-6 * squares <= loss < LARGEST and 0 <= total < LARGEST and abs(gain) < LARGEST):
        raise ValueError(f"the loss, squares and gain of a hybrid model must be numbers, got {loss}, {total}, {gain}")
    return lam


def _check_model(model: Model) -> None:
    check_factor(model.factor)
    about = model.about[0]
    if not 0 <= about["floor"] <= (1 + 1e-6) * model.factor.D.min():
        raise ValueError(f"no eigenvalue can be at least {about['floor']}, where a pivot is {model.factor.D.min()}")
    if not 0 <= about["look_at"] < np.inf:
        raise ValueError(f"look_at must be a number of rows, got {about['look_at']}")
    check_whole("skip", about["skip"])
    if about["solved"] != 0.0:  # else they are solved for anew
        d = len(model.factor.D)
        U, D = np.triu(model.factor.U[:, :d], 1) + np.eye(d), model.factor.D
        theta = solve_triangular(U, model.factor.c[:, 0], unit_diagonal=True, check_finite=False)
        # Two ways to solve differ by as many digits as rows of unlike size have cost.
        slack = 1e-6 + 1e-14 * float((D @ np.square(U)).max() / D.min())
        close = np.abs(model.theta[:d] - theta) <= slack * (np.abs(model.theta[:d]) + np.abs(theta).max())
        if about["solved"] != 1.0 or not (close.all() and (np.abs(model.theta) < LARGEST).all()):
            raise ValueError(f"the coefficients of a model are {model.theta[:d]}, but its factor has {theta}")
        if model.theta[d:].any():
            raise ValueError(f"behind {d} coefficients there must be zeros, got {model.theta[d:]}")


def _check_everything(memory: Memory, buffer: Vector, d: int) -> None:
    _check_model(acting(buffer))


def _check_discounted(memory: Memory, buffer: Vector, d: int) -> None:
    _check_model(acting(buffer))
    second: Factor = owned(buffer, memories.second_in(buffer))
    check_factor(second)
    if not second.counts["counted"][0] <= 1.0:
        raise ValueError(f"the share of λ in a second factor must be at most 1, got {second.counts['counted'][0]}")


def _check_window(memory: Memory, buffer: Vector, d: int) -> None:
    assert isinstance(memory, Window)
    _check_model(acting(buffer))
    ring = owned(buffer, window.memory_in(buffer, d, int(head_in(buffer).log["capacity"][0]))).ring
    header = ring.header[0]
    n, following = int(header["n_stored"]), int(header["next_slot"])
    if following != n and n < memory.window:
        raise ValueError(f"a window of {n} rows cannot have its next one at {following}")
    if not 1.0 <= header["rounding_growth"] < np.inf or not (np.abs(ring.rows[:n]) < LARGEST).all():
        raise ValueError("the rows of a window must be finite, and their rounding cannot have shrunk")
    rows = ring.rows[:n]
    if buffer[:N_SETTINGS].view(SETTINGS)["rule"][0] != UNIFORM_AT_RANDOM:  # which learns nothing
        check_made_of(rows[:, :d], rows[:, d:], np.ones(n), head_in(buffer).lam, acting(buffer).factor)


def _check_detecting(memory: Memory, buffer: Vector, d: int) -> None:
    assert isinstance(memory, Detecting)
    for m in range(int(detecting.header_of(buffer, d)["n_models"][0])):
        watched = owned(buffer, detecting.memory_in(buffer, d, float(memory.window), m))
        _check_model(watched.model)
        age, failures = int(watched.model.factor.counts["seen"][0]), watched.failures
        failed = failures[:age].sum() if age < memory.window else failures.sum()
        if not np.isin(failures, (0.0, 1.0)).all() or watched.model.about["failed"][0] != failed:
            raise ValueError(f"failures of a detector's model must be 0 or 1, and {failed:g} in all")


_CHECKS: dict[type[Memory], Callable[[Memory, Vector, int], None]] = {
    Everything: _check_everything,
    Discounted: _check_discounted,
    Window: _check_window,
    Restarting: _check_everything,
    Detecting: _check_detecting,
}
