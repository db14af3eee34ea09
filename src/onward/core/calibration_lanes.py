"""The ends of intervals at several δ, side by side: eight places for upper ends, then eight for lower ones.

What an end is, and what an error says of it, is the same arithmetic for each: so it is written as loops over lanes of
one length that lie one after the other in a buffer, which the compiler makes vectors of. Of more than eight δ there are
several groups. See calibration.py for what the numbers are.
"""

import math

from onward.core.compile import inlined
from onward.core.types import Matrix, Vector
from onward.core.views import part

COMPILED_FROM = "e5759992b142072d"  # other files whose code is compiled into this one: see tools/digests.py

PLACES = 8
LANES = 2 * PLACES
_SIDE, _ALPHA, _LEAST_EXCESS, _OVER_LEAST, _FIRST, _SECOND = (LANES * row for row in range(6))  # which stay
_QUANTILE, _DENSITY, _EXCESS = (LANES * row for row in range(6, 9))
_INFLATION, _OVER_DENSITY, _END, _BEYOND, _COUNTED = (LANES * row for row in range(9, 14))  # made for each row
GROUP = LANES * 14

REGAIN = 0.3  # by which part of α a miss too many lowers the share that is aimed at
USUAL_EXCESS = 2.0  # |E| beyond which the law has rather changed
PUSH = 0.06  # by which part of 1 + |θ| the square beyond it moves an end, in units of S
MOST_EXCESS = 32.0  # |E| from which on an end lies beyond all errors
REACH = 15.0  # times P: no further is an end while E = 0
TABLE = 40  # t_n is looked up for so many errors, then computed


@inlined
def groups_of(count: int) -> int:
    """How many groups hold so many δ."""
    return (count + PLACES - 1) // PLACES


@inlined
def load_lanes(
    lanes: Vector, delta: Vector, inflation: Matrix, quantile: Matrix, density: Matrix, excess: Matrix
) -> None:
    """Overwrites lanes (groups · GROUP,) with what is known of each end; lanes of no δ hold numbers that do no harm."""
    for at in range(lanes.shape[0]):
        lanes[at] = 1.0
    for place in range(delta.shape[0]):
        group = part(lanes, place // PLACES * GROUP, (place // PLACES + 1) * GROUP)
        for side in range(2):
            lane = side * PLACES + place % PLACES
            group[_SIDE + lane] = 1.0 - 2.0 * side
            group[_ALPHA + lane] = 0.5 * delta[place]
            group[_LEAST_EXCESS + lane] = -(MOST_EXCESS + 1.0) * (2.0 * place + 1.0)
            group[_OVER_LEAST + lane] = 4.0 / delta[place]
            group[_FIRST + lane], group[_SECOND + lane] = inflation[place, TABLE], inflation[place, TABLE + 1]
            group[_QUANTILE + lane], group[_DENSITY + lane] = quantile[place, side], density[place, side]
            group[_EXCESS + lane] = excess[place, side]


@inlined
def store_lanes(lanes: Vector, quantile: Matrix, density: Matrix, excess: Matrix) -> None:
    """Overwrites the matrices (δ, 2) with what has been learned."""
    for place in range(quantile.shape[0]):
        group = part(lanes, place // PLACES * GROUP, (place // PLACES + 1) * GROUP)
        for side in range(2):
            lane = side * PLACES + place % PLACES
            quantile[place, side], density[place, side] = group[_QUANTILE + lane], group[_DENSITY + lane]
            excess[place, side] = group[_EXCESS + lane]


@inlined
def put_inflation(group: Vector, first: int, inflation: Matrix, n: float, least: float) -> None:
    """t_n, the t quantile over the Gaussian one, at the δ of a group; `least` is 1 over the freedom of n errors."""
    for lane in range(LANES):
        group[_INFLATION + lane] = 1.0 + least * (group[_FIRST + lane] + least * group[_SECOND + lane])
    if n < TABLE - 1.0:
        below = int(n)
        for place in range(first, min(first + PLACES, inflation.shape[0])):
            lower, upper = inflation[place, below], inflation[place, below + 1]
            for side in range(2):
                group[_INFLATION + side * PLACES + place - first] = lower + (n - below) * (upper - lower)


@inlined
def put_ends(group: Vector, m: float, S: float, peak: float, made_up: float) -> None:
    """How far from 0 the next error may be on each side; where `made_up` is 0, as if E were, else it is 1.

    1/f stands beside, f no less than that of a law with a very long tail: in a gap of the law, steps must end.
    """
    for lane in range(LANES):
        quantile, E = group[_QUANTILE + lane], made_up * group[_EXCESS + lane]
        away = abs(quantile) + 1.0
        over_density = min(1.0 / group[_DENSITY + lane], away * group[_OVER_LEAST + lane])
        unusual = max(abs(E) - USUAL_EXCESS, 0.0)
        moved = REGAIN * group[_ALPHA + lane] * E * over_density + math.copysign(PUSH * away * unusual * unusual, E)
        end = group[_SIDE + lane] * m + S * (quantile * group[_INFLATION + lane] + moved)
        end = min(max(end, -REACH * peak), REACH * peak)
        share = min(abs(E) / MOST_EXCESS, 1.0 + 1.0 / MOST_EXCESS)
        push = share * share * share
        group[_END + lane] = end + math.copysign((REACH + 2.0) * peak * push * push, E)
        group[_OVER_DENSITY + lane] = over_density


@inlined
def end_of(lanes: Vector, place: int, side: int) -> float:
    """What `put_ends` has put at one δ on a side."""
    return float(lanes[place // PLACES * GROUP + _END + side * PLACES + place % PLACES])


@inlined
def note_target(lanes: Vector, place: int, y: float, lower: float, upper: float) -> None:
    """By how much a target lay beyond the ends at one δ, for `learn_ends`."""
    at = place // PLACES * GROUP + place % PLACES
    counted = 0.0 if lower == upper and y == lower else 1.0  # an interval of one point says nothing of shares
    lanes[at + _BEYOND], lanes[at + _BEYOND + PLACES] = y - upper, lower - y
    lanes[at + _COUNTED], lanes[at + _COUNTED + PLACES] = counted, counted


@inlined
def learn_ends(group: Vector, z: float, rate: float) -> None:
    """What a target that was noted, and its error z = (e − m)/S, say of the ends: of θ and f at a rate."""
    for lane in range(LANES):
        alpha, quantile, density = group[_ALPHA + lane], group[_QUANTILE + lane], group[_DENSITY + lane]
        missed = 1.0 if group[_BEYOND + lane] > 0.0 else 0.0
        E = group[_EXCESS + lane] + group[_COUNTED + lane] * (missed - alpha)
        group[_EXCESS + lane] = min(max(E, group[_LEAST_EXCESS + lane]), MOST_EXCESS + 1.0)
        beyond, at = group[_SIDE + lane] * z, quantile * group[_INFLATION + lane]
        width = 0.25 * (abs(quantile) + 0.5)
        near = 0.5 / width if abs(beyond - at) < width else 0.0
        group[_DENSITY + lane] = density + rate * (near - density)
        step = rate * group[_OVER_DENSITY + lane] * ((1.0 if beyond > at else 0.0) - alpha)
        group[_QUANTILE + lane] = quantile + step
