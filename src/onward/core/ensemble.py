"""The state of an ensemble: factors over several λ and memories, running means, and the weights of them all.

Everything is one buffer. An expert is a learner whose predictions are weighed. For each memory (all rows, or rows whose
weight halves every so many) and each λ there is a factor with an unregularised constant first, which serves two
experts: ridge, and forward, which draws ridge's prediction towards the mean. So the state is the core's one `Factor`
many times, and nothing else.

*Own units.* λ of a feature is λ·s²/12, with s the length of the interval that its values have covered, the row to be
predicted included: the variance of values spread evenly over it. So neither a column's unit nor its zero matters, a 0/1
column has the same scale however rare its ones are, and a value far outside of what was seen raises λ before it can do
harm. s only grows, and when it grows, by half at least: so λ is added to, seldom, and never taken away.

*Fading.* A factor whose rows fade is kept at `growth` times its size: each row counts more than the one before by
1/γ, which is the same. Every `period` rows it is brought back to its size, and λ is given back what it has lost since.
"""

from typing import NamedTuple

import numpy as np

from onward.core.aggregation import Mixture, mixture_size, view_mixture
from onward.core.compile import compiled, inlined
from onward.core.factor import Factor, aligned, factor_size, view_factor
from onward.core.types import Matrix, Records, Vector
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "8bb637b9ad591358"  # other files whose code is compiled into this one: see tools/digests.py

ENSEMBLE = np.dtype(
    [
        ("coordinates", "f8"),  # d, the constant included
        ("targets", "f8"),  # m
        ("lams", "f8"),  # L
        ("memories", "f8"),  # M
        ("means", "f8"),  # H, running means among the experts
        ("seen", "f8"),  # rows learned
        ("counted", "f8"),  # those of them with a weight: the others change nothing
        ("extreme", "f8"),  # 1 once a row was not ordinary: from then on, what comes of a row must be looked at
    ]
)
N_ENSEMBLE = 8
FLAT = 2.0**500  # pivot of a column that has not varied yet, as if all were known of it; exact in products and ratios
EVEN = 1.0 / 12.0  # the variance of values spread evenly over an interval of length 1
_as_header = records_of(ENSEMBLE)


class Ensemble(NamedTuple):
    """Views of the buffer, but for the factors and mixtures: see `factor_of` and `mixture_of`."""

    header: Records
    lams: Vector  # (L,): λ, in the features' own units
    gammas: Vector  # (M,): how much a row counts after one more; 1 if it does not fade
    periods: Vector  # (M,): rows after which λ is given back what it lost; 0 for never
    growth: Vector  # (M,): by how much the memory's factors are larger than they should be
    since: Vector  # (M,): rows since they were not
    fading: Vector  # (H,): γ of each running mean
    weight: Vector  # (H,): Σ w of its rows, fading
    mean: Matrix  # (H, m)
    low: Vector  # (features,): least value of each column
    high: Vector
    scale: Vector  # (features,): the length s that is used; 0 while the column has not varied
    bounds: Matrix  # (2, m): the least and the greatest target
    online_loss: Vector  # (m,): Σ w (ŷ − y)²


@inlined
def n_experts(L: int, M: int, H: int) -> int:
    """Ridge and forward of each factor, and the running means: in this order."""
    return 2 * L * M + H


@inlined
def _mixtures_at(d: int, m: int, L: int, M: int, H: int) -> int:
    return N_ENSEMBLE + L + 4 * M + 2 * H + H * m + 3 * (d - 1) + 3 * m


@inlined
def _factors_at(d: int, m: int, L: int, M: int, H: int) -> int:
    return aligned(_mixtures_at(d, m, L, M, H) + m * mixture_size(n_experts(L, M, H)))


@compiled
def ensemble_size(d: int, m: int, L: int, M: int, H: int) -> int:
    """Numbers in the buffer of an ensemble."""
    return _factors_at(d, m, L, M, H) + L * M * aligned(factor_size(d, m))


@inlined
def view_ensemble(buffer: Vector) -> Ensemble:
    """The ensemble in a buffer. With the two functions below, the only place that knows where things are."""
    header = _as_header(part(buffer, 0, N_ENSEMBLE))
    sizes = header[0]
    d, m = int(sizes.coordinates), int(sizes.targets)
    L, M, H = int(sizes.lams), int(sizes.memories), int(sizes.means)
    gammas = N_ENSEMBLE + L
    fading = gammas + 4 * M
    mean = fading + 2 * H
    low = mean + H * m
    bounds = low + 3 * (d - 1)
    loss = bounds + 2 * m
    return Ensemble(
        header,
        part(buffer, N_ENSEMBLE, gammas),
        part(buffer, gammas, gammas + M),
        part(buffer, gammas + M, gammas + 2 * M),
        part(buffer, gammas + 2 * M, gammas + 3 * M),
        part(buffer, gammas + 3 * M, fading),
        part(buffer, fading, fading + H),
        part(buffer, fading + H, mean),
        as_matrix(part(buffer, mean, low), H, m),
        part(buffer, low, low + d - 1),
        part(buffer, low + d - 1, low + 2 * (d - 1)),
        part(buffer, low + 2 * (d - 1), bounds),
        as_matrix(part(buffer, bounds, loss), 2, m),
        part(buffer, loss, loss + m),
    )


@inlined
def mixture_of(buffer: Vector, ensemble: Ensemble, target: int) -> Mixture:
    """What is known of the experts from their errors in a target."""
    sizes = ensemble.header[0]
    d, m, L = int(sizes.coordinates), int(sizes.targets), int(sizes.lams)
    M, H = int(sizes.memories), int(sizes.means)
    K = n_experts(L, M, H)
    return view_mixture(buffer, _mixtures_at(d, m, L, M, H) + target * mixture_size(K), K)


@inlined
def factor_of(buffer: Vector, ensemble: Ensemble, memory: int, lam: int) -> Factor:
    """The factor of a memory and a λ, by their places."""
    sizes = ensemble.header[0]
    d, m, L = int(sizes.coordinates), int(sizes.targets), int(sizes.lams)
    M, H = int(sizes.memories), int(sizes.means)
    at = _factors_at(d, m, L, M, H) + (memory * L + lam) * aligned(factor_size(d, m))
    return view_factor(buffer, at, d, m)


# What Python looks at


@compiled
def ensemble_in(buffer: Vector) -> Ensemble:
    """`view_ensemble`, for Python."""
    return view_ensemble(buffer)


@compiled
def mixture_in(buffer: Vector, target: int) -> Mixture:
    """`mixture_of`, for Python."""
    return mixture_of(buffer, view_ensemble(buffer), target)


@compiled
def factor_in(buffer: Vector, memory: int, lam: int) -> Factor:
    """`factor_of`, for Python."""
    return factor_of(buffer, view_ensemble(buffer), memory, lam)
