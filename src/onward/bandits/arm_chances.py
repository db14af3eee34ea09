"""The chances of arms that know nothing of each other, under a rule that samples: an integral. Compiled."""

import math

import numpy as np

from onward.bandits.chances import add_floor
from onward.bandits.choosing_arms import read_arms
from onward.bandits.pruning import Mask
from onward.bandits.settings import view_head
from onward.core.compile import compiled, inlined
from onward.core.types import Matrix, Vector

COMPILED_FROM = "051e95783ed55351"  # other files whose code is compiled into this one: see tools/digests.py

REACH = 7.0  # beyond so many deviations an arm's law has ended
PANEL = 2.0  # deviations of the narrowest arm that one set of nodes covers
NODES, WEIGHTS = np.polynomial.legendre.leggauss(7)


@inlined
def _below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@compiled
def best_of_normal(means: Vector, deviations: Vector, available: Mask) -> Vector:
    """The chance of each of independent normal variables to be the largest available one; those that are sure share.

    P_a = ∫ f_a(y) Π_b≠a F_b(y) dy, in panels no wider than the narrowest law that has not ended there.
    """
    n = means.shape[0]
    out, sure, ties, low, high = np.zeros(n), -np.inf, 0.0, -np.inf, -np.inf
    for a in range(n):
        if available.shape[0] == 0 or available[a]:
            low = max(low, means[a] - REACH * deviations[a])
            high = max(high, means[a] + REACH * deviations[a])
            if deviations[a] == 0.0 and means[a] >= sure:
                ties = ties + 1.0 if means[a] == sure else 1.0
                sure = means[a]
    places, count = np.empty(n, dtype=np.int64), 0
    for a in range(n):
        free = available.shape[0] == 0 or available[a]
        if free and deviations[a] > 0.0 and means[a] + REACH * deviations[a] > low:
            places[count] = a
            count += 1
    if ties > 0.0:
        product = 1.0
        for i in range(count):
            product *= _below((sure - means[places[i]]) / deviations[places[i]])
        for a in range(n):
            if (available.shape[0] == 0 or available[a]) and deviations[a] == 0.0 and means[a] == sure:
                out[a] = product / ties
    y, below = low, np.empty(count)
    while y < high and count > 0:
        width = np.inf
        for i in range(count):
            a = places[i]
            if y < means[a] + REACH * deviations[a]:
                width = min(width, PANEL * deviations[a])
        width = min(width, high - y)
        if not y + width > y:
            break
        for j in range(NODES.shape[0]):
            node, product = y + 0.5 * width * (1.0 + NODES[j]), 1.0
            for i in range(count):
                below[i] = _below((node - means[places[i]]) / deviations[places[i]])
                product *= below[i]
            if product > 0.0:
                for i in range(count):
                    a = places[i]
                    z = (node - means[a]) / deviations[a]
                    density = math.exp(-0.5 * z * z) / (deviations[a] * math.sqrt(2.0 * math.pi))
                    out[a] += 0.5 * width * WEIGHTS[j] * density * product / below[i]
        y += width
    total = out.sum()
    for a in range(n):
        out[a] /= total
    return out


@compiled
def arm_chances(buffers: Matrix, arms: Matrix, context: Matrix, available: Mask, factor: float) -> Vector:
    """The chance of each arm in a context (1, d), its deviation taken `factor` times; the floor included."""
    read = read_arms(buffers, arms, np.zeros(arms.shape[0]), context)
    out = best_of_normal(read[1], factor * read[2], available)
    add_floor(view_head(buffers[0]), available, out)
    return out
