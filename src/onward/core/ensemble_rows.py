"""What rows do to an ensemble: each is predicted by all experts, weighed, and learned.

The order of the arithmetic depends on the rows alone, never on how they come in batches.
"""

import numpy as np

from onward.core.aggregation import NEAR, WAYS, combine, learn_errors, new_weights, weigh
from onward.core.compile import compiled, inlined
from onward.core.ensemble import (
    EVEN,
    FLAT,
    Ensemble,
    factor_of,
    mixture_of,
    n_experts,
    view_ensemble,
)
from onward.core.factor import Factor, absorb_row, new_scratch, read_row, rotate, scale_past
from onward.core.simd import fma
from onward.core.tiles import absorb_rows, regularize
from onward.core.types import Matrix, Vector
from onward.core.views import as_matrix

COMPILED_FROM = "28d367ea02121e0c"  # other files whose code is compiled into this one: see tools/digests.py

BLOCK = 256  # rows whose experts' predictions are made before they are weighed: few enough to stay in the cache
FEW_ROWS = 4  # from so many rows in a run on, a tile pays
ROOM = 1.0  # a prediction leaves the interval of the targets seen by at most so many times its length
SHORTEST = 1e-100  # a column that varies less has not varied: its square would have no digits
GROWS_BY = 1.5  # a scale that grows at all grows by so much
LONGER = 1.0 + 1e-9  # it grows for what is longer in any unit, not for a last digit


@inlined
def _new_scale(x: float, low: float, high: float, scale: float) -> float:
    """The scale of a column once x is in it."""
    length = max(high, x) - min(low, x)
    return max(length, GROWS_BY * scale) if length > LONGER * scale and length > SHORTEST else scale


@inlined
def _rescale(factor: Factor, column: int, lam: float, old: float, new: float, scratch: Matrix, more: Matrix) -> None:
    """Regularise a column by its new scale. Overwrites the factor, scratch and `more`."""
    k = column + 1
    if old == 0.0:
        factor.D[k] = lam * (EVEN * (new * new))  # nothing was known of it
        return
    scratch[:] = 0.0
    more[:] = 0.0
    scratch[0, k] = 1.0
    absorb_row(factor, scratch, 0.0, lam * (EVEN * (new * new - old * old)), k, False, more)


@inlined
def _begin(factor: Factor, x: Vector, y: Vector, w: float) -> None:
    """Learn the first row: the constant alone is known."""
    factor.D[0] = w
    for j in range(x.shape[0]):
        factor.D[j + 1] = FLAT
        factor.U[0, j + 1] = x[j]
    for h in range(y.shape[0]):
        factor.c[0, h] = y[h]


@inlined
def _restore(buffer: Vector, ensemble: Ensemble, memory: int, scale: Vector, scratch: Matrix) -> None:
    """Bring a memory's factors back to their size, and give λ back what it has lost."""
    share = 1.0 / ensemble.growth[memory]
    weights = np.zeros(scale.shape[0] + 1)
    for j in range(scale.shape[0]):
        weights[j + 1] = EVEN * (scale[j] * scale[j])
    for place in range(ensemble.lams.shape[0]):
        factor = factor_of(buffer, ensemble, memory, place)
        scale_past(factor, share, weights)
        for j in range(scale.shape[0]):
            if scale[j] == 0.0:
                factor.D[j + 1] = FLAT
        regularize(factor, weights, ensemble.lams[place] * (1.0 - share), scratch)
    ensemble.growth[memory] = 1.0
    ensemble.since[memory] = 0.0


@inlined
def _absorb_run(
    factor: Factor, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector, scratch: Matrix, more: Matrix
) -> None:
    """Absorb rows that follow each other; overwrites the factor, p and q."""
    n, m = Y.shape
    if n >= FEW_ROWS:
        absorb_rows(factor, X, Y, w, True, p, q)
        counts = factor.counts[0]  # the ensemble counts for all of its factors
        counts.seen = 0.0
        counts.counted = 0.0
        counts.peak = 0.0
        return
    for i in range(n):
        scratch[:] = 0.0
        scratch[0, 0] = 1.0
        for j in range(X.shape[1]):
            scratch[0, j + 1] = X[i, j]
        for h in range(1, m):
            more[0, h] = 0.0
            more[1, h] = Y[i, h]
        p[i, 0], q[i] = absorb_row(factor, scratch, Y[i, 0], w[i], 0, True, more)
        for h in range(1, m):
            p[i, h] = more[0, h]


@compiled
def _grow_scales(ensemble: Ensemble, X: Matrix, w: Vector, scales: Matrix, grown: Vector) -> None:
    """The scales as of each row, itself included, and whether one has grown there. Overwrites all but X and w."""
    low, high, scale = ensemble.low, ensemble.high, ensemble.scale
    began = ensemble.header[0].counted > 0.0
    for i in range(X.shape[0]):
        grown[i] = 0.0
        if w[i] > 0.0:
            for j in range(X.shape[1]):
                x = X[i, j]
                if not began:
                    low[j] = x
                    high[j] = x
                    continue
                if x < low[j] or x > high[j]:
                    new = _new_scale(x, low[j], high[j], scale[j])
                    low[j] = min(low[j], x)
                    high[j] = max(high[j], x)
                    if new != scale[j]:
                        scale[j] = new
                        grown[i] = 1.0
            began = True
        for j in range(X.shape[1]):
            scales[i, j] = scale[j]


@compiled
def _absorb_block(
    buffer: Vector,
    memory: int,
    X: Matrix,
    Y: Matrix,
    w: Vector,
    before: Vector,
    scales: Matrix,
    grown: Vector,
    growth: Vector,
    total: Vector,
    mean: Matrix,
    p: Matrix,
    q: Matrix,
) -> None:
    """Absorb rows into all factors of a memory; `before` are the scales from before the block.

    Overwrites the factors, `before`, and for each row what was known of it: the growth it comes with, Σ w and the mean
    of the targets so far, and p (λ, rows · m) and q (λ, rows).
    """
    ensemble = view_ensemble(buffer)
    n, m = Y.shape
    L, period, step = ensemble.lams.shape[0], ensemble.periods[memory], 1.0 / ensemble.gammas[memory]
    scratch, more, weighted = new_scratch(X.shape[1] + 1), np.zeros((2, max(m, 1))), np.empty(n)
    i, began = 0, ensemble.header[0].counted > 0.0
    while i < n and not began:
        growth[i], total[i], mean[i] = 1.0, 0.0, 0.0
        for place in range(L):
            q[place, i] = 0.0
            for h in range(m):
                p[place, i * m + h] = 0.0
            if w[i] > 0.0:
                _begin(factor_of(buffer, ensemble, memory, place), X[i], Y[i], w[i])
        if w[i] > 0.0:
            began = True
            ensemble.since[memory] = 1.0
        i += 1
    while i < n:
        if grown[i] != 0.0:
            for j in range(X.shape[1]):
                if scales[i, j] != before[j]:
                    for place in range(L):
                        lam = ensemble.lams[place] * ensemble.growth[memory]
                        factor = factor_of(buffer, ensemble, memory, place)
                        _rescale(factor, j, lam, before[j], scales[i, j], scratch, more)
                    before[j] = scales[i, j]
        first, size, count = i, ensemble.growth[memory], ensemble.since[memory]
        while i < n and (i == first or grown[i] == 0.0):
            growth[i] = size * step
            weighted[i] = w[i] * growth[i]
            if w[i] > 0.0:
                size = growth[i]
                count += 1.0
            i += 1
            if period > 0.0 and count >= period:
                break
        factor = factor_of(buffer, ensemble, memory, 0)
        weight, last_share, last_beta = factor.D[0], 1.0, 0.0
        for t in range(first, i):
            total[t] = weight
            beta, share, _, weight, _ = rotate(1.0, weighted[t], weight)
            for h in range(m):
                mean[t, h] = factor.c[0, h] if t == first else fma(last_share, mean[t - 1, h], last_beta * Y[t - 1, h])
            last_share, last_beta = share, beta
        for place in range(L):
            _absorb_run(
                factor_of(buffer, ensemble, memory, place),
                X[first:i],
                Y[first:i],
                weighted[first:i],
                as_matrix(p[place, first * m : i * m], i - first, m),
                q[place, first:i],
                scratch,
                more,
            )
        ensemble.growth[memory] = size
        ensemble.since[memory] = count
        if period > 0.0 and count >= period:
            _restore(buffer, ensemble, memory, before, scratch)


@inlined
def _say(
    ensemble: Ensemble,
    target: int,
    w: float,
    known: Matrix,
    mean: Matrix,
    p: Matrix,
    q: Matrix,
    said: Vector,
    leverages: Vector,
) -> None:
    """What each expert says of a row: overwrites `said`, and `leverages` if it is the first target.

    known: growth and Σ w of each memory (2, M); mean (M, m); p (M·L, m), q (M·L, 1).
    """
    L, M, H = ensemble.lams.shape[0], ensemble.gammas.shape[0], ensemble.fading.shape[0]
    low, high = ensemble.bounds[0, target], ensemble.bounds[1, target]
    room = ROOM * (high - low)
    for memory in range(M):
        grown, rest, middle = known[0, memory], 1.0 / known[1, memory], mean[memory, target]
        weight = w * grown
        for place in range(L):
            e = memory * L + place
            centred = q[e, 0] - rest
            centred = centred if centred > 0.0 else 0.0
            ridge = p[e, target]
            said[2 * e] = ridge
            said[2 * e + 1] = middle + (ridge - middle) / (1.0 + weight * centred)
            if target == 0:
                leverages[2 * e] = grown * q[e, 0]
                leverages[2 * e + 1] = grown * q[e, 0]
    for h in range(H):
        said[2 * L * M + h] = ensemble.mean[h, target]
        if target == 0:
            leverages[2 * L * M + h] = 1.0 / ensemble.weight[h]
    least, most = low - room, high + room
    for k in range(2 * L * M + H):
        each = said[k]
        each = least if each < least else each
        said[k] = most if each > most else each


@inlined
def _learn_means(ensemble: Ensemble, y: Vector, w: float) -> None:
    """Let the running means, the interval of the targets and the counts know of a row with a weight."""
    header, first = ensemble.header[0], ensemble.header[0].counted == 0.0
    for h in range(ensemble.fading.shape[0]):
        ensemble.weight[h] = fma(ensemble.fading[h], ensemble.weight[h], w)
        for target in range(y.shape[0]):
            ensemble.mean[h, target] += w * (y[target] - ensemble.mean[h, target]) / ensemble.weight[h]
    for target in range(y.shape[0]):
        ensemble.bounds[0, target] = y[target] if first else min(ensemble.bounds[0, target], y[target])
        ensemble.bounds[1, target] = y[target] if first else max(ensemble.bounds[1, target], y[target])
    header.counted += 1.0


@compiled
def learn_ensemble(buffer: Vector, X: Matrix, Y: Matrix, w: Vector, predictions: Matrix, leverages: Vector) -> None:
    """Predict each row, then learn it. Overwrites the buffer, predictions (n, m) and leverages (n,)."""
    ensemble = view_ensemble(buffer)
    L, M, H = ensemble.lams.shape[0], ensemble.gammas.shape[0], ensemble.fading.shape[0]
    n, m = Y.shape
    size, K = min(n, BLOCK), n_experts(L, M, H)
    p, q = np.empty((M * L, size * m)), np.empty((M * L, size))
    growth, total, mean = np.empty((M, size)), np.empty((M, size)), np.empty((M, size * m))
    scales, grown, before = np.empty((size, X.shape[1])), np.empty(size), np.empty(X.shape[1])
    weights = new_weights(K)
    wide = weights.experts.shape[1]
    ones, scratch, ways = np.ones(wide), np.zeros((2, wide)), np.zeros(WAYS)
    said, spread = np.zeros(wide), np.zeros(wide)
    known, middle, p_row, q_row = np.empty((2, M)), np.empty((M, m)), np.empty((M * L, m)), np.empty((M * L, 1))
    header = ensemble.header[0]
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        stop = start + rows
        initial = ensemble.scale.copy()
        _grow_scales(ensemble, X[start:stop], w[start:stop], scales, grown)
        for memory in range(M):
            before[:] = initial
            _absorb_block(
                buffer,
                memory,
                X[start:stop],
                Y[start:stop],
                w[start:stop],
                before,
                scales,
                grown,
                growth[memory],
                total[memory],
                as_matrix(mean[memory], size, m),
                p[memory * L : (memory + 1) * L],
                q[memory * L : (memory + 1) * L],
            )
        for i in range(rows):
            weight = w[start + i]
            if header.counted > 0.0:
                for memory in range(M):
                    known[0, memory] = growth[memory, i]
                    known[1, memory] = total[memory, i]
                    for h in range(m):
                        middle[memory, h] = mean[memory, i * m + h]
                for e in range(M * L):
                    q_row[e, 0] = q[e, i]
                    for h in range(m):
                        p_row[e, h] = p[e, i * m + h]
                for h in range(m):
                    _say(ensemble, h, weight, known, middle, p_row, q_row, said, spread)
                    mixture = mixture_of(buffer, ensemble, h)
                    weigh(mixture, weights, ones)
                    if h == 0:
                        leverages[start + i] = combine(weights, spread, ways)
                    prediction = combine(weights, said, ways)
                    predictions[start + i, h] = prediction
                    if weight > 0.0:
                        y = Y[start + i, h]
                        near = NEAR * (max(ensemble.bounds[1, h], y) - min(ensemble.bounds[0, h], y))
                        learn_errors(mixture, said, ways, prediction, y, weight, near, ones, scratch)
            else:
                leverages[start + i] = np.inf
                predictions[start + i] = 0.0
            if weight > 0.0:
                for h in range(m):
                    error = predictions[start + i, h] - Y[start + i, h]
                    ensemble.online_loss[h] += weight * (error * error)
                _learn_means(ensemble, Y[start + i], weight)
            header.seen += 1.0


@inlined
def _extends(ensemble: Ensemble, x: Vector) -> bool:
    """Whether a row lets a scale grow."""
    for j in range(x.shape[0]):
        if _new_scale(x[j], ensemble.low[j], ensemble.high[j], ensemble.scale[j]) != ensemble.scale[j]:
            return True
    return False


@inlined
def _extend(buffer: Vector, ensemble: Ensemble, x: Vector, scratch: Matrix, more: Matrix) -> None:
    """Let the scales grow by a row, in all factors."""
    for j in range(x.shape[0]):
        new = _new_scale(x[j], ensemble.low[j], ensemble.high[j], ensemble.scale[j])
        if new != ensemble.scale[j]:
            for memory in range(ensemble.gammas.shape[0]):
                for place in range(ensemble.lams.shape[0]):
                    lam = ensemble.lams[place] * ensemble.growth[memory]
                    factor = factor_of(buffer, ensemble, memory, place)
                    _rescale(factor, j, lam, ensemble.scale[j], new, scratch, more)
            ensemble.scale[j] = new


@compiled
def read_ensemble(buffer: Vector, X: Matrix, w: Vector, predictions: Matrix, leverages: Vector) -> None:
    """Predict each row as if it came next, with a weight. Overwrites predictions (n, m) and leverages (n,)."""
    ensemble = view_ensemble(buffer)
    L, M, H = ensemble.lams.shape[0], ensemble.gammas.shape[0], ensemble.fading.shape[0]
    n, m = predictions.shape
    if ensemble.header[0].counted == 0.0:
        predictions[:] = 0.0
        leverages[:] = np.inf
        return
    K = n_experts(L, M, H)
    weights = new_weights(K)
    wide = weights.experts.shape[1]
    ones, ways, said, spread = np.ones(wide), np.zeros(WAYS), np.zeros(wide), np.zeros(wide)
    known, mean, p, q = np.empty((2, M)), np.empty((M, m)), np.empty((M * L, m)), np.empty((M * L, 1))
    scratch, more = new_scratch(X.shape[1] + 1), np.zeros((2, m))
    for memory in range(M):
        factor = factor_of(buffer, ensemble, memory, 0)
        known[0, memory] = ensemble.growth[memory] * (1.0 / ensemble.gammas[memory])
        known[1, memory] = factor.D[0]
        for h in range(m):
            mean[memory, h] = factor.c[0, h]
    copy = buffer[:0].copy()
    for i in range(n):
        read, used = buffer, ensemble
        if w[i] > 0.0 and _extends(ensemble, X[i]):
            if copy.shape[0] == 0:
                copy = buffer.copy()
            else:
                copy[:] = buffer
            read, used = copy, view_ensemble(copy)
            _extend(read, used, X[i], scratch, more)
        for e in range(M * L):
            scratch[:] = 0.0
            scratch[0, 0] = 1.0
            for j in range(X.shape[1]):
                scratch[0, j + 1] = X[i, j]
            more[:] = 0.0
            p[e, 0], q[e, 0] = read_row(factor_of(read, used, e // L, e % L), scratch, more)
            for h in range(1, m):
                p[e, h] = more[0, h]
        for h in range(m):
            _say(ensemble, h, w[i], known, mean, p, q, said, spread)
            weigh(mixture_of(buffer, ensemble, h), weights, ones)
            if h == 0:
                leverages[i] = combine(weights, spread, ways)
            predictions[i, h] = combine(weights, said, ways)
