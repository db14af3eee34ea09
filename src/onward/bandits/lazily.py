"""Choosing among many coordinates without reading every action: exactly the same choice, sooner.

An action's estimate is cheap once θ is known, and its leverage is at most ‖x‖² over the smallest eigenvalue of G, which
only grows. So most actions are seen to be worse than the best one without their leverage being read. Compiled.
"""

import math

import numpy as np

from onward.bandits.layout import (
    ACTION_BOUND,
    AS_PRINTED,
    ESTIMATOR,
    EVERYTHING,
    FLOOR,
    FORWARD,
    HEAD,
    HEADER,
    MEMORY,
    OFFERED,
    OPTIMISTIC,
    RESTARTING,
    ROWS,
    RULE,
    SCALE,
    SQUARES,
    WIDTH,
    factor,
)
from onward.bandits.reading import (
    COLUMNS,
    ESTIMATE,
    INDEX,
    NORMS,
    best_of,
    dot,
    judged,
    noise_width,
    norms,
    radii_for,
)
from onward.core.compile import compiled, inlined
from onward.core.kernel import read_one
from onward.core.simd import dot_from
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW

COMPILED_FROM = "c64b2c87a21cb32b"  # other files whose code is compiled into this one: see tools/digests.py

SLACK = 1e-9  # of its size, by how much an upper bound is raised for rounding ...
WORST_CONDITION = 1e8  # ... which is enough unless G is worse conditioned than this


@inlined
def can_be_lazy(settings: Vector, memory: Vector, n: int, d: int) -> bool:
    """Whether it is known how small a leverage must be, and worth asking."""
    floor = memory[FLOOR]
    plain = settings[RULE] == OPTIMISTIC and settings[WIDTH] != AS_PRINTED
    kept = settings[MEMORY] == EVERYTHING or settings[MEMORY] == RESTARTING
    return bool(plain and kept and n > 2 and d > FEW and floor * WORST_CONDITION > memory[HEADER + SQUARES])


@compiled
def choose_lazily(settings: Vector, memory: Vector, actions: Matrix, scratch: Matrix) -> tuple[int, int]:
    """`reading.choose` where all actions are available: the same choice. Overwrites the scratch, and notes the norms.

    The index of an action that was not read is −inf.
    """
    n, d = actions.shape
    longest = judged(settings, norms(actions, scratch))
    if longest < 0.0:
        return int(longest), 0
    memory[OFFERED] = max(memory[OFFERED], longest)
    bound = settings[ACTION_BOUND] * settings[ACTION_BOUND]
    counted = bound if bound < np.inf else memory[OFFERED]
    U, D, c = factor(memory, HEADER + HEAD, d)
    noise = settings[SCALE] * noise_width(settings, D, memory[HEADER + ROWS], memory[HEADER + SQUARES], counted)
    index, estimate, radii, limit = scratch[INDEX], scratch[ESTIMATE], scratch[NORMS], scratch[COLUMNS]
    for i in range(n):
        limit[i] = radii[i] / memory[FLOOR]
    radii_for(settings, noise, radii)
    forward = settings[ESTIMATOR] == FORWARD
    theta = _coefficients(U, c)
    for i in range(n):
        p, most = dot(actions[i], theta, 0, d), limit[i]
        if forward:
            best, width = max(p, p / (1.0 + most)), radii[i] * math.sqrt(most / (1.0 + most))
        else:
            best, width = p, radii[i] * math.sqrt(most)
        limit[i] = best + width + SLACK * (abs(p) + width)
        index[i] = -np.inf
    largest = -np.inf
    while True:
        i = 0
        for j in range(1, n):
            if limit[j] > limit[i]:
                i = j
        if limit[i] < largest or limit[i] == -np.inf:
            break
        p, q = read_one(actions[i], False, U, D, c)
        if forward:
            kept = 1.0 / (1.0 + q)
            estimate[i] = p * kept
            index[i] = estimate[i] + radii[i] * math.sqrt(q * kept)
        else:
            estimate[i] = p
            index[i] = p + radii[i] * math.sqrt(q)
        largest = max(largest, index[i])
        limit[i] = -np.inf
    return best_of(index)


@inlined
def _coefficients(U: Matrix, c: Matrix) -> Vector:
    """θ, the solution of Uθ = c."""
    theta = np.zeros(U.shape[1])
    for k in range(U.shape[0] - 1, -1, -1):
        theta[k] = c[k, 0] - dot_from(U, k, theta, k + 1)
    return theta
