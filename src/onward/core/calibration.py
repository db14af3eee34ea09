"""How far the next target may be from its prediction, learned from the errors of the predictions before it. Compiled.

An error is told in units of its own spread, e = (y − ŷ)/√(1/w + q). It says 1/(1 + w q) of what the error of a row with
q = 0 would: where q is large, it is rather λ that has made e small. In these units the next error is expected between
two ends, each of which may be passed by a share α = δ/2 of the errors. The upper one, after errors that say n, is

    m + S·(θ·t_n + 0.3·α·E/f + 0.06·(1 + |θ|)·(|E| − 2)₊²·sign E) + 17·P·(E/32)⁶·sign E

the part before the last + held within ±15·P, where


- m and S are the location and the mean absolute deviation of the errors: of five memories, each weighted by how likely
  it has made the errors (a density ∝ (1 + |e − m|/6S)⁻⁸/S; the weights are shared out a little at every row, after
  Herbster and Warmuth 1998).
- θ is the (1 − α)-quantile of (e − m)/S by stochastic approximation, its steps 1/(n·f) with f the density there, which
  is estimated as well (Tierney 1983). It begins at that of a Gaussian law.
- t_n is by how much the t quantile is above the Gaussian one, as long as n is small.
- E is the number of errors beyond the end so far, less the share α of them that there should be: so that every error
  too many makes the share that is aimed at 0.3·α less. While θ is right, E stays within ±3 or so. Beyond ±2 the square
  moves the end on, in units of S: so a law that has changed its shape, for which θ and f are wrong, is made up for long
  before they are learned anew. E = ±32 moves the end beyond all errors: the integrator of Angelopoulos, Candès and
  Tibshirani 2023, which holds E within ±33 on whatever sequence.
- P is the largest error so far, those long ago counting less: that of row i at row t, i/t of its size.

The lower end is the same for −e. Of several δ, the largest comes first, and each interval is widened to hold the one
before it. E counts the errors beyond the ends as they are then: so it is these whose share tends to δ. A smaller δ can
then be behind by as much as all before it together: E ≥ −33·(2k + 1) for the one after k others.
"""

import math
from typing import NamedTuple

import numpy as np

from onward.core.calibration_lanes import (
    GROUP,
    PLACES,
    TABLE,
    end_of,
    groups_of,
    learn_ends,
    load_lanes,
    note_target,
    put_ends,
    put_inflation,
    store_lanes,
)
from onward.core.compile import compiled, inlined, unlocked
from onward.core.types import Matrix, Records, Vector
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "47b50ec11280942c"  # other files whose code is compiled into this one: see tools/digests.py

HEADER = np.dtype(
    [
        ("count", "f8"),  # how many δ
        ("rows", "f8"),  # errors so far
        ("learned", "f8"),  # n, what they say together
        ("peak", "f8"),  # P
    ]
)
N_HEADER = 4
_as_header = records_of(HEADER)

FEWEST = 2.0  # rows whose errors an interval needs
LOCATION_RATES = np.array([0.0, 0.0, 0.0, 0.03, 0.3])  # of the memories; where 0, the location is 0
SCALE_RATES = np.array([0.0, 0.01, 0.05, 0.01, 0.03])  # at least 3/(n + 3): so the first errors are soon forgotten
MEMORIES = len(SCALE_RATES)
SHARED = 0.001  # of the weights, shared out at every row
UNBIASED = 20.0  # errors until locations are learned: those of a learner that knows little are no sign of a shift
FREEDOM = 5.0 / 9.0  # of n errors, of which later ones count more, the freedom is 5n/9 + 1/2
SLOWEST = 1.0 / 5000.0  # the least rate of a quantile
PRIOR = 50.0  # errors that its start counts for
LARGEST = 1e290  # a larger error is not learned: its multiples would overflow
MEAN_DEVIATION = math.sqrt(0.5 * math.pi)  # the deviation of a Gaussian law over its mean absolute deviation


class Calibration(NamedTuple):
    """Views of a calibration's buffer. The last axis of what is known of ends is (upper, lower)."""

    header: Records
    weight: Vector  # (memories,)
    location: Vector  # (memories,): m
    scale: Vector  # (memories,): S
    delta: Vector  # (δ,), the largest first
    inflation: Matrix  # (δ, table + 2): t_n for n = 0, 1, …; then what it is computed from
    quantile: Matrix  # (δ, 2): θ
    density: Matrix  # (δ, 2): f
    excess: Matrix  # (δ, 2): E


@compiled
def calibration_size(count: int) -> int:
    """Numbers in the buffer."""
    return N_HEADER + 3 * MEMORIES + count * (1 + TABLE + 2 + 6)


@inlined
def view_calibration(buffer: Vector) -> Calibration:
    """The calibration in a buffer. The only place that knows where things are."""
    header = _as_header(part(buffer, 0, N_HEADER))
    n = int(header[0].count)
    weight = N_HEADER
    location = weight + MEMORIES
    scale = location + MEMORIES
    delta = scale + MEMORIES
    inflation = delta + n
    quantile = inflation + n * (TABLE + 2)
    density = quantile + 2 * n
    excess = density + 2 * n
    return Calibration(
        header,
        part(buffer, weight, location),
        part(buffer, location, scale),
        part(buffer, scale, delta),
        part(buffer, delta, inflation),
        as_matrix(part(buffer, inflation, quantile), n, TABLE + 2),
        as_matrix(part(buffer, quantile, density), n, 2),
        as_matrix(part(buffer, density, excess), n, 2),
        as_matrix(part(buffer, excess, excess + 2 * n), n, 2),
    )


@compiled
def begin(buffer: Vector, delta: Vector, z: Vector, density: Vector, inflation: Matrix) -> None:
    """Know nothing. z is the Gaussian quantile of each δ, and `density` the Gaussian density there."""
    buffer[:] = 0.0
    buffer[0] = delta.shape[0]
    calibration = view_calibration(buffer)
    for k in range(MEMORIES):
        calibration.weight[k] = 1.0 / MEMORIES
    for k in range(delta.shape[0]):
        calibration.delta[k] = delta[k]
        for j in range(TABLE + 2):
            calibration.inflation[k, j] = inflation[k, j]
        for side in range(2):
            calibration.quantile[k, side] = z[k] * MEAN_DEVIATION
            calibration.density[k, side] = density[k] / MEAN_DEVIATION


@compiled
def put_deltas(buffer: Vector, out: Vector) -> None:
    """The δ of a calibration. Overwrites out (δ,)."""
    calibration = view_calibration(buffer)
    for k in range(out.shape[0]):
        out[k] = calibration.delta[k]


@inlined
def _mixed(calibration: Calibration) -> tuple[float, float]:
    """m and S."""
    m, S = 0.0, 0.0
    for k in range(MEMORIES):
        m += calibration.weight[k] * calibration.location[k]
        S += calibration.weight[k] * calibration.scale[k]
    return m, S


@inlined
def _least(n: float) -> float:
    """1 over the freedom of errors that say n."""
    return 1.0 / (FREEDOM * n + 0.5)


@inlined
def _loaded(calibration: Calibration) -> Vector:
    """What is known of ends, as lanes: a buffer of its own."""
    lanes = np.empty(groups_of(calibration.delta.shape[0]) * GROUP)
    load_lanes(
        lanes, calibration.delta, calibration.inflation, calibration.quantile, calibration.density, calibration.excess
    )
    return lanes


@inlined
def _put_ends(
    calibration: Calibration,
    lanes: Vector,
    prediction: float,
    spread: float,
    makes_up: bool,
    lower: Vector,
    upper: Vector,
) -> None:
    """Overwrites lower and upper (δ,) with the ends at each δ, each interval widened to hold the one before it.

    They make up for misses so far, or are as if there were none too many. Overwrites the lanes.
    """
    count, header = calibration.delta.shape[0], calibration.header[0]
    if not (header.rows >= FEWEST and spread < math.inf and math.isfinite(prediction)):
        for k in range(count):
            lower[k], upper[k] = -math.inf, math.inf
        return
    m, S = _mixed(calibration)
    n = header.learned
    least = _least(n)
    for g in range(groups_of(count)):
        group = part(lanes, g * GROUP, (g + 1) * GROUP)
        put_inflation(group, g * PLACES, calibration.inflation, n, least)
        put_ends(group, m, S, header.peak, 1.0 if makes_up else 0.0)
    for k in range(count):
        high = prediction + spread * end_of(lanes, k, 0)
        low = prediction - spread * end_of(lanes, k, 1)
        if k == 0 and low > high:
            low = high = 0.5 * (low + high)
        upper[k] = high if k == 0 else max(high, upper[k - 1])
        lower[k] = low if k == 0 else min(low, lower[k - 1])


@inlined
def _learn(
    calibration: Calibration, lanes: Vector, error: float, share: float, y: float, lower: Vector, upper: Vector
) -> None:
    """Learn an error, whose ends were these, and which says the given share of what one can say."""
    header, count = calibration.header[0], calibration.delta.shape[0]
    n = header.learned
    m, S = _mixed(calibration)
    if header.rows >= FEWEST:
        z, rate = 0.0, 0.0
        if S > 0.0:
            z, rate = (error - m) / S, share * max(1.0 / (n + PRIOR), SLOWEST)
        for k in range(count):
            note_target(lanes, k, y, lower[k], upper[k])
        for g in range(groups_of(count)):
            learn_ends(part(lanes, g * GROUP, (g + 1) * GROUP), z, rate)
    header.peak = max(header.peak * (header.rows / (header.rows + 1.0)), abs(error))
    header.rows += 1.0
    header.learned = n + share
    rate, total = 3.0 * share / (n + 3.0 * share), 0.0
    for k in range(MEMORIES):
        away, scale = abs(error - calibration.location[k]), calibration.scale[k]
        if scale > 0.0:
            # Relative to what both together say, so that all weights stay near 1; S ≥ weight·scale, so none vanishes.
            likely = (6.0 * S + abs(error - m)) / (6.0 * scale + away) * (scale / S)
            likely *= likely
            likely *= likely
            calibration.weight[k] *= 1.0 + share * (min(likely * likely * (S / scale), 1e100) - 1.0)
        total += calibration.weight[k]
        calibration.scale[k] += max(rate, SCALE_RATES[k] * share) * (away - scale)
        if n >= UNBIASED:
            calibration.location[k] += LOCATION_RATES[k] * share * (error - calibration.location[k])
    for k in range(MEMORIES):
        part_of_all = calibration.weight[k] / total if total > 0.0 else 1.0 / MEMORIES
        calibration.weight[k] = (1.0 - SHARED) * part_of_all + SHARED / MEMORIES


@inlined
def _spread(leverage: float, weight: float) -> float:
    """√(1/w + q); infinite for a row of weight 0 or of which nothing is known."""
    return math.sqrt(1.0 / weight + leverage) if weight > 0.0 and leverage >= 0.0 else math.inf


@inlined
def _learn_row(
    calibration: Calibration,
    lanes: Vector,
    prediction: float,
    leverage: float,
    weight: float,
    spread: float,
    y: float,
    lower: Vector,
    upper: Vector,
) -> None:
    """Learn the error of a row, if it has one that says anything."""
    error, share = (y - prediction) / spread, 1.0 / (1.0 + weight * leverage)
    if spread < math.inf and abs(error) < LARGEST and share > 0.0:
        _learn(calibration, lanes, error, share, y, lower, upper)


@compiled
def put_intervals(
    buffer: Vector, predictions: Vector, leverages: Vector, w: Vector, lower: Matrix, upper: Matrix
) -> None:
    """Intervals of rows that are not learned: they make up for no misses. Overwrites lower and upper (n, δ)."""
    calibration = view_calibration(buffer)
    lanes, count = _loaded(calibration), calibration.delta.shape[0]
    for i in range(predictions.shape[0]):
        low, high = part(lower, i * count, (i + 1) * count), part(upper, i * count, (i + 1) * count)
        _put_ends(calibration, lanes, predictions[i], _spread(leverages[i], w[i]), False, low, high)


@unlocked
def track_rows(
    buffer: Vector, predictions: Vector, leverages: Vector, y: Vector, w: Vector, lower: Matrix, upper: Matrix
) -> None:
    """The interval of each row before its error is learned. Overwrites the buffer, lower and upper (n, δ)."""
    calibration = view_calibration(buffer)
    lanes, count = _loaded(calibration), calibration.delta.shape[0]
    for i in range(predictions.shape[0]):
        low, high = part(lower, i * count, (i + 1) * count), part(upper, i * count, (i + 1) * count)
        spread = _spread(leverages[i], w[i])
        _put_ends(calibration, lanes, predictions[i], spread, True, low, high)
        _learn_row(calibration, lanes, predictions[i], leverages[i], w[i], spread, y[i], low, high)
    store_lanes(lanes, calibration.quantile, calibration.density, calibration.excess)


@compiled
def put_interval(buffer: Vector, prediction: float, leverage: float, weight: float, ends: Matrix) -> None:
    """The interval of the next row, as `track_rows` has it: overwrites ends (2, δ) with lower and upper."""
    calibration = view_calibration(buffer)
    _put_ends(calibration, _loaded(calibration), prediction, _spread(leverage, weight), True, ends[0], ends[1])


@compiled
def learn_error(buffer: Vector, prediction: float, leverage: float, y: float, weight: float) -> bool:
    """Learn the error of one row, as `track_rows` does; False for a target or a weight that is none."""
    if not (math.isfinite(y) and 0.0 <= weight < math.inf):
        return False
    calibration = view_calibration(buffer)
    lanes = _loaded(calibration)
    ends, spread = np.empty((2, calibration.delta.shape[0])), _spread(leverage, weight)
    _put_ends(calibration, lanes, prediction, spread, True, ends[0], ends[1])
    _learn_row(calibration, lanes, prediction, leverage, weight, spread, y, ends[0], ends[1])
    store_lanes(lanes, calibration.quantile, calibration.density, calibration.excess)
    return True
