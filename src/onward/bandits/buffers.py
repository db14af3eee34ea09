"""A policy's buffer, seen from Python: made, grown, filled from a regressor's state, and read as one."""

import math
from typing import NamedTuple

import numpy as np

from onward.bandits import memories
from onward.bandits.design import Design
from onward.bandits.functions import CompiledFunction
from onward.bandits.memories import Memory
from onward.bandits.model import Model
from onward.bandits.rules import ESTIMATORS, OF_FORWARD_WIDTHS
from onward.bandits.settings import BY_MULTIPLE, LOG, N_SETTINGS, NO_BIAS, SETTINGS, Head, Status, memory_at, view_head
from onward.bandits.tuning import MOST, N_TUNING
from onward.core import Information
from onward.core.factor import ORDINARY, Factor
from onward.core.lam_words import described, described_lam
from onward.core.types import Matrix, Vector
from onward.core.views import owned

# Where a buffer has these numbers of its settings and its log
SCALE, SCALES = ((SETTINGS.names or ()).index(name) for name in ("scale", "scales"))
OFFERED, LEARNED, CAPACITY = (N_SETTINGS + (LOG.names or ()).index(name) for name in ("offered", "learned", "capacity"))


class PolicySettings(NamedTuple):
    """What a policy tells its buffers: numbers by name, and what there is of each feature."""

    numbers: dict[str, float]
    lam: float | tuple[float, ...] | None
    prior_mean: tuple[float, ...] | None


def policy_settings(design: Design, of_arms: bool = False) -> PolicySettings:
    """The settings of a policy, as numbers; of the arms of `Disjoint`, which itself estimates σ and tunes scales."""
    memory, rule, known = design.memory, design.rule, design.known
    numbers: dict[str, float] = {"scale": 1.0, "scales": 0.0, "gamma": 1.0, "memory": memory.kind, "rule": rule.kind}
    numbers |= {"estimator": ESTIMATORS[design.estimator], "slack": known.slack, "explore": design.explore}
    numbers |= known.settings() | memory.settings() | rule.settings()
    if known.theta_bound is None or numbers.get("width") == BY_MULTIPLE:
        numbers["bias"] = NO_BIAS
    if design.estimator == "forward" and numbers["scales"] and numbers.get("width") != BY_MULTIPLE:
        numbers |= OF_FORWARD_WIDTHS
    if of_arms:
        numbers |= {"scales": 0.0, "scale": 1.0} if numbers["scales"] else {}
        numbers |= {"sigma": 1.0} if pools_noise(design) else {}
    return PolicySettings(numbers, design.lam, design.prior_mean)


def pools_noise(design: Design) -> bool:
    """Whether arms of this design estimate σ together: their widths must be so many σ then."""
    rule, known = design.rule, design.known
    own = isinstance(getattr(rule, "width", None), CompiledFunction) or getattr(rule, "index", None) is not None
    return rule.explores and known.sigma is None and not design.memory.checks and not own


def settings_buffer(settings: PolicySettings) -> Vector:
    """A buffer for no coordinates at all: every action is of the wrong shape."""
    return _with_head(settings, 0, 0, memory_at(0), 1.0)


# λ where none is told, of the squared length of an action: chosen on the first worlds of benchmarks/bandit_defaults.py
USUAL_LAM = 0.03
# Of a feature in smaller units than others λ is no more than so many rewards say of it; 0.3 to 10 do alike
MOST_REWARDS = 3.0
# How much smaller than others a feature that comes once is by chance, squared: normal ones are so one time in a hundred
BY_CHANCE = 1e-4


def usual_lam(actions: Matrix) -> float | Vector:
    """λ where none is told: a share of how long the actions are that come first, squared, so that units do not count.

    It is small beside a reward or two, and what keeps estimates from running wild while there are few. One for each
    feature, where some are so small that chance does not explain it: λ of the long ones would hide these for ever.
    """
    each = np.square(actions)
    squares = each.sum(axis=1)
    squares = squares[squares > 0]
    if not len(squares):
        return USUAL_LAM
    lam = USUAL_LAM * float(np.median(squares))
    rows = np.count_nonzero(each, axis=0)
    come, n = rows > 0, np.maximum(rows, 1)
    means = each.sum(axis=0) / n
    usual = float(np.median(squares)) / max(1.0, float(np.median(np.count_nonzero(each, axis=1))))
    small = come & (means < BY_CHANCE ** (1.0 / n) * usual) & (MOST_REWARDS * means < lam)
    if not small.any():
        return min(max(lam, 1e-15), 1e15)
    out = np.where(small, MOST_REWARDS * means, lam)
    out[~come] = out[come].min()  # nothing is known of their units: too small a λ costs a try, too large a one all
    return np.clip(out, 1e-15, 1e15)


def fresh_buffer(
    settings: PolicySettings, memory: Memory, d: int, given: int, lam: float | Vector = USUAL_LAM
) -> Vector:
    """A buffer that knows nothing, for d coordinates of actions that were given with as many or more of them.

    `lam` is what counts where the policy was told none.
    """
    capacity = memory.first_capacity()
    start = memory_at(d)
    tuning = N_TUNING if settings.numbers["scales"] else 0
    buffer = _with_head(settings, d, given, start + memory.size(d, capacity) + tuning, lam)
    head_in(buffer).log["capacity"] = capacity
    memory.write(buffer[start : len(buffer) - tuning], d)
    memories.begin(buffer)
    return buffer


def _with_head(settings: PolicySettings, d: int, given: int, size: int, lam: float | Vector) -> Vector:
    buffer = np.zeros(size)
    named = buffer[:N_SETTINGS].view(SETTINGS)
    named["coordinates"], named["dimension"] = d, given
    head = head_in(with_settings(settings, buffer))
    if d:
        head.lam[:] = lam if settings.lam is None else settings.lam
        note_lam(buffer)
        head.scales[:] = float(named["lam_most"][0]) / head.lam
    if settings.prior_mean is not None and d:
        head.prior[:] = settings.prior_mean
        named["has_prior"] = bool(head.prior.any())
    return buffer


def note_lam(buffer: Vector) -> None:
    """Note the least and the largest λ among the settings."""
    named, lam = buffer[:N_SETTINGS].view(SETTINGS), head_in(buffer).lam
    least, most = float(lam.min()), float(lam.max())
    named["lam_least"], named["lam_most"], named["even"] = least, most, least == most


def with_settings(settings: PolicySettings, buffer: Vector) -> Vector:
    """A buffer of another process, or of a file, as one that can be written to and has the settings of this policy."""
    own = np.require(buffer, requirements=["W"])
    head = own[:N_SETTINGS].view(SETTINGS)
    for name, value in (settings.numbers | scales_begun(settings, own)).items():
        head[name] = value
    return own


def scales_begun(settings: PolicySettings, buffer: Vector) -> dict[str, float]:
    """The scales that a buffer was begun with, where they are tuned: those of earlier versions go on with their own."""
    least, number = float(buffer[SCALE]), float(buffer[SCALES])
    goes_on = settings.numbers["scales"] and number in range(2, MOST + 1) and 0.0 < least <= 1.0
    return {"scale": least, "scales": number} if goes_on else {}


def head_in(buffer: Vector) -> Head:
    """The head of a policy's buffer: views."""
    head: Head = owned(buffer, view_head(buffer))
    return head


def grown(memory: Memory, buffer: Vector) -> Vector:
    """The buffer with room for more rows or models."""
    log, d = head_in(buffer).log, len(head_in(buffer).lam)
    old = int(log["capacity"][0])
    capacity = memory.grown_capacity(old)
    more = np.zeros(memory.size(d, capacity) - memory.size(d, old))
    end = len(buffer) - (N_TUNING if buffer[:N_SETTINGS].view(SETTINGS)["scales"][0] else 0)
    larger = np.concatenate([buffer[:end], more, buffer[end:]])
    head_in(larger).log["capacity"] = capacity
    return larger


def state_in(settings: PolicySettings, buffer: Vector) -> Information:
    """A copy of the state of the model that chooses now."""
    head, model = head_in(buffer), acting(buffer)
    state = Information(len(head.lam), 1, head.lam, prior=head.prior[:, None])
    copy_factor(state.factor, model.factor)
    rows = model.factor.counts["counted"][0] if settings.numbers["gamma"] == 1.0 else head.log["learned"][0]
    state.tally = np.array([rows, rows, model.factor.counts["peak"][0]])
    return state


def take_state(settings: PolicySettings, memory: Memory, buffer: Vector, state: Information) -> Vector:
    """A new buffer that knows what a regressor's state knows; the log of what was offered goes on."""
    if not memory.takes_states:
        raise ValueError("a window needs rows, not a model: give them to learn_many")
    if state.memory is not None:
        raise ValueError("cannot start from a model that forgets: expected one of which all rows count alike")
    d = state.n_features
    lam = state.lam if settings.lam is None else np.broadcast_to(np.array(settings.lam), (d,))
    if (state.n_targets, state.intercept) != (1, False) or not np.array_equal(lam, state.lam):
        raise ValueError(
            f"cannot start from this model: expected targets, intercept, lam of 1, False, {described(lam)}, "
            f"got {state.n_targets}, {state.intercept}, {described_lam(state)}"
            + ("; fit it with fit_intercept=False, and give actions a constant feature if need be" * state.intercept)
        )
    mean = np.zeros(d) if settings.prior_mean is None else np.array(settings.prior_mean)
    if not np.array_equal(mean, state.prior[:, 0]):
        raise ValueError(
            f"cannot start from a model with another prior: expected {mean.tolist()}, got {state.prior[:, 0].tolist()}"
        )
    if not (lam > 0).all():
        raise ValueError(f"cannot start from a model with lam of 0: expected a number > 0, got {described(lam)}")
    fresh = fresh_buffer(settings, memory, d, d, lam)
    log, before = head_in(fresh).log, head_in(buffer).log
    model = acting(fresh)
    copy_factor(model.factor, state.factor)
    model.about["solved"] = 0.0
    model.factor.counts["seen"] = model.factor.counts["counted"] = state.counted
    log["learned"], log["counted"] = state.rows, before["counted"]
    log["offered"] = max(state.peak, before["offered"][0])
    if memory.has_second:  # all rows are as old as the last one
        second: Factor = owned(fresh, memories.second_in(fresh))
        second.U[:], second.D[:] = state.U, state.D
    if memory.checks:
        model.factor.counts["seen"] = 0.0  # it has checked none of them
    return fresh


def copy_factor(to: Factor, origin: Factor) -> None:
    """Copy one factor into another of the same size."""
    to.U[:], to.D[:], to.c[:], to.loss[:], to.counts[:] = origin.U, origin.D, origin.c, origin.loss, origin.counts


def acting(buffer: Vector) -> Model:
    """The model that chooses now: views."""
    model: Model = owned(buffer, memories.model_in(buffer))
    return model


def refusal(status: int, actions: Matrix, bound: float | None) -> ValueError:
    """What is wrong with actions that the loops refuse."""
    largest = ORDINARY / math.sqrt(actions.shape[1])
    small = np.abs(actions) < largest
    if not small.all():
        i, j = np.argwhere(~small)[0]
        return ValueError(f"actions must hold finite numbers below {largest:.1g}, got {actions[i, j]} in row {i}")
    norms = np.sqrt(np.einsum("ij,ij->i", actions, actions))
    row = int(np.argmax(norms))
    words = {"bound": math.inf if bound is None else bound, "norm": norms[row], "row": row, "most": ORDINARY}
    return ValueError(Status(status).message.format(**words))
