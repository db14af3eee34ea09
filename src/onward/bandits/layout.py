"""The compiled policies: what each knows is one array of numbers, and so are its settings.

Policies differ along three axes, each a number among the settings: the *estimator* that reads the shared factorisation,
the *memory* that says which rewards count how much, and the *rule* that turns what is known into a choice.

A policy's memory is flat: a header, then its models. A model is a few counts and a factor G = UᵀDU, Uθ = c, as in
`onward.core`. So policies can be copied, saved, stacked (one for each arm) and played in a compiled loop alike.

| memory | after the header |
|---|---|
| everything | a model |
| discounted | a model of V, and a second factor, of Ṽ |
| window | a model, then a ring of the rows that it holds, each with its reward |
| restarts | a model, then the change points |
| detecting | models, each with a ring of its failures |
"""

from onward.core.compile import compiled, inlined
from onward.core.simd import padded
from onward.core.types import Matrix, Vector

COMPILED_FROM = "7fb8ae840c13490e"  # other files whose code is compiled into this one: see tools/digests.py

# Settings
(
    ESTIMATOR,
    MEMORY,
    RULE,
    WIDTH,
    BIAS,
    LAM,
    SIGMA,
    THETA_BOUND,
    DELTA,
    SCALE,
    ACTION_BOUND,  # inf: the largest norm offered so far counts
    DIMENSION,  # of the actions as they were given; the factor's may be smaller, if they were projected to their span
    GAMMA,
    WINDOW,
    EPSILON,
    SLACK,  # of a detector: how far noise alone takes a reward from its mean
    FAILURE_DELTA,
    TOLERANCE,
) = range(18)
N_SETTINGS = 18

RIDGE, FORWARD = range(2)
EVERYTHING, DISCOUNTED, SLIDING, RESTARTING, DETECTING = range(5)
OPTIMISTIC, SAMPLING, GREEDY, EPSILON_GREEDY, UNIFORM_AT_RANDOM = range(5)
BY_DETERMINANT, BY_TRACE, BY_CONSTANTS, AS_PRINTED = range(4)
TIGHT, AS_IN_PAPER, NO_BIAS = range(3)

# The header of a memory
(
    LEARNED,  # rewards, over all restarts
    COUNTED,  # those of them that change points count: not a warm start's
    OFFERED,  # the largest ‖x‖²
    NEXT,  # where the next row of a window goes; the next change point
    HELD,  # rows in a window; models of a detector
    REMOVED,  # rows taken out of a window since its factor was made ...
    WORN,  # ... and by how much the worst rounding since then may have grown
    CAPACITY,  # room for rows, models or change points
    COORDINATES,  # of the factors
    FLOOR,  # no eigenvalue of G is smaller, as long as nothing is forgotten; 0 if that is not known
) = range(10)
HEADER = 10
# The head of a model
(
    ROWS,  # rewards that count; of discounted ones, Σ γ^2(t−s)
    SQUARES,  # their Σ‖x‖², discounted like them
    PEAK,  # the largest ‖x‖² learned
    AGE,  # of a detector's model: rounds, and failures among the last
    FAILED,
) = range(5)
HEAD = 5

# What a call says if it did nothing
DONE, NOT_FINITE, TOO_LONG, NONE_AVAILABLE, FULL, SEVERAL = 0, -1, -2, -3, -4, -5


# Where things are


padded_to = inlined(padded)


@inlined
def factor_size(d: int) -> int:
    """Numbers in a factor: U, D, c, and the loss."""
    return d * padded_to(d) + 2 * d + 1


@inlined
def model_size(d: int) -> int:
    """Numbers in a model."""
    return HEAD + factor_size(d)


@inlined
def factor(memory: Vector, at: int, d: int) -> tuple[Matrix, Vector, Matrix]:
    """U, D and c of the factor that begins at `at`: views."""
    width = padded_to(d)
    end = at + d * width
    return memory[at:end].reshape(d, width), memory[end : end + d], memory[end + d : end + 2 * d].reshape(d, 1)


@inlined
def slot_size(settings: Vector, d: int) -> int:
    """Numbers in what there can be many of: a row of a window, or a model of a detector with its failures."""
    return d + 1 if settings[MEMORY] == SLIDING else model_size(d) + int(settings[WINDOW])


@inlined
def slots_at(settings: Vector, d: int) -> int:
    """Where the rows of a window, or the models of a detector, begin."""
    return HEADER + (model_size(d) if settings[MEMORY] == SLIDING else 0)


@compiled
def memory_size(settings: Vector, d: int, capacity: int) -> int:
    """Numbers in a memory. The capacity is that of ring, pool or list of change points, where there is one."""
    kind = settings[MEMORY]
    if kind in (SLIDING, DETECTING):
        return slots_at(settings, d) + capacity * slot_size(settings, d)
    extra = factor_size(d) if kind == DISCOUNTED else 0
    return HEADER + model_size(d) + extra + (capacity if kind == RESTARTING else 0)


@compiled
def begin(settings: Vector, memory: Vector, d: int) -> None:
    """Forget everything but how many rewards came and how long an action can be. Overwrites the memory."""
    at = slots_at(settings, d) if settings[MEMORY] == DETECTING else HEADER
    clear(memory, at, d, settings[LAM])
    if settings[MEMORY] == DISCOUNTED:
        second = HEADER + model_size(d)
        clear(memory, second - HEAD, d, settings[LAM], HEAD)
    memory[HELD] = 1.0 if settings[MEMORY] == DETECTING else 0.0
    memory[REMOVED] = 0.0
    memory[WORN] = 1.0
    memory[FLOOR] = 0.0
    if settings[MEMORY] != RESTARTING:
        memory[NEXT] = 0.0


@compiled
def clear(memory: Vector, at: int, d: int, lam: float, keep: int = 0) -> None:
    """A model, or (with `keep` = its head) a factor only, that knows nothing."""
    memory[at + keep : at + model_size(d)] = 0.0
    _, D, _ = factor(memory, at + HEAD, d)
    D[:] = lam
