"""Numbers of delimited text, straight to the rows of a matrix. Compiled.

Sixty-four bytes at a time tell where fields end, so a field is read while the next are being found. Up to eight
characters are one integer whose digits are added up in three multiplications; longer ones go digit by digit, eight of
them at once. A number is w·10^q with w an integer, and is rounded correctly: w and 10^|q| that are floats themselves
need one multiplication or division (Clinger 1990); others go by 128 bits of 5^q (Lemire 2021, Number parsing at a
gigabyte per second), which tell all numbers of up to 19 digits.

What is no plain number (1.5, -3, 2e-7) is not guessed at: the text is then read another way, as a whole.
"""

import math

import numpy as np

from onward.core.compile import inlined, unlocked
from onward.core.simd import rarely
from onward.core.text_bytes import (
    BLOCK,
    Text,
    as_float,
    byte_at,
    eight_at,
    marks_at,
    wide_product,
    zeros_above,
    zeros_below,
)
from onward.core.types import Indices, Matrix

COMPILED_FROM = "6f4abba13d401d0a"  # other files whose code is compiled into this one: see tools/digests.py

U = np.uint64
OTHER = -1  # told instead of a number of rows: something else stands there than plain numbers
_NEWLINE, _RETURN, _MINUS, _PLUS, _POINT, _ZERO = (int(each) for each in b"\n\r-+.0")
_EXACT = 22  # 10^22 is the largest power of ten that is a float
_TENS = np.array([10.0**k for k in range(_EXACT + 1)])
_WHOLE_TENS = np.array([10**k for k in range(9)], dtype=np.uint64)
_LARGEST_WHOLE = 2**53  # integers up to it are floats
_MOST_DIGITS = 19  # that 64 bits can hold
_LOWEST, _HIGHEST = -330, 308  # q that is looked up; beyond, numbers are 0, infinite, or less exact


def _power_of_five(q: int) -> tuple[int, int]:
    """The first 128 bits of 5^q, upper and lower 64: rounded up for −27 ≤ q < 0, where 5^−q has 64 bits at most."""
    power: int = 5 ** abs(q)
    length = power.bit_length()
    if q >= 0:
        bits = power << 128 - length if length < 128 else power >> length - 128
    elif q >= -27:
        bits = (1 << length + 127) // power + 1
    else:
        bits = (1 << 2 * length + 128) // power + 1
        bits >>= bits.bit_length() - 128
    return bits >> 64, bits & (2**64 - 1)


_FIVES = np.array([_power_of_five(q) for q in range(_LOWEST, _HIGHEST + 1)], dtype=np.uint64)


@inlined
def _digits_of(block: np.uint64) -> np.uint64:
    """Eight bytes as their distance from the letter 0: digits are 0 to 9, the first lowest."""
    return block ^ U(0x3030303030303030)


@inlined
def _not_digits(digits: np.uint64) -> np.uint64:
    """0 if all eight are digits; else the lowest bit that is 1 is the highest of the first that is none."""
    return ((digits + U(0x7676767676767676)) | digits) & U(0x8080808080808080)


@inlined
def _number_of(digits: np.uint64) -> np.uint64:
    """The number that eight digits are, the first of them lowest."""
    pairs = digits * U(10) + (digits >> U(8))
    first = (pairs & U(0x000000FF000000FF)) * U(0x000F424000000064)
    second = ((pairs >> U(16)) & U(0x000000FF000000FF)) * U(0x0000271000000001)
    return (first + second) >> U(32)


@inlined
def _short_number(text: Text, first: int, end: int) -> tuple[np.uint64, np.uint64, bool]:
    """w, −q and whether it is one, of 1 to 8 characters without a sign; `end` is 8 or more."""
    length = U(end - first)
    before = U(64) - U(8) * length
    digits = (_digits_of(eight_at(text, end - 8)) >> before) << before  # what stands before counts as the digit 0
    unlike_point = digits ^ U(0x1E1E1E1E1E1E1E1E)
    point = (unlike_point - U(0x0101010101010101)) & ~unlike_point & U(0x8080808080808080)
    places, fits = U(0), True
    if point != U(0):
        at = zeros_below(point) >> U(3)
        below = (U(1) << (at << U(3))) - U(1)
        above = ~(below | (U(0xFF) << (at << U(3))))
        digits = ((digits & below) << U(8)) | (digits & above)
        places, fits = U(7) - at, bool(length > U(1))
    return _number_of(digits), places, fits and _not_digits(digits) == U(0)


@inlined
def _add_digits(text: Text, at: int, end: int, w: np.uint64) -> tuple[np.uint64, int]:
    """w with the digits from `at` on put behind it, modulo 2⁶⁴; and where they end."""
    while at < end:
        if at + 8 > text.shape[0]:
            digit = byte_at(text, at) - _ZERO
            if digit < 0 or digit > 9:
                break
            w = w * U(10) + U(digit)
            at += 1
            continue
        digits = _digits_of(eight_at(text, at))
        found = min(zeros_below(_not_digits(digits)) >> U(3), U(end - at))
        if found == U(0):
            break
        w = w * _WHOLE_TENS[found] + _number_of(digits << (U(64) - U(8) * found))
        at += int(found)
        if found < U(8):
            break
    return w, at


@inlined
def _exponent(text: Text, at: int, end: int) -> tuple[int, bool]:
    """The exponent that stands between `at` and `end`, with its sign; and whether it is one."""
    negative = at < end and byte_at(text, at) == _MINUS
    if negative or (at < end and byte_at(text, at) == _PLUS):
        at += 1
    w, stop = _add_digits(text, at, end, U(0))
    return -int(w) if negative else int(w), stop == end and 1 <= end - at <= 4


@unlocked
def _long_number(text: Text, first: int, end: int) -> tuple[float, bool]:
    """A number without a sign, and whether it is one that can be told here."""
    w, at = _add_digits(text, first, end, U(0))
    count, q = at - first, 0
    if at < end and byte_at(text, at) == _POINT:
        w, stop = _add_digits(text, at + 1, end, w)
        q = at + 1 - stop
        count, at = count - q, stop
    if count == 0:
        return 0.0, False
    if count > _MOST_DIGITS:  # zeros in front are not among those that 64 bits must hold
        place = first
        while place < at and (byte_at(text, place) == _ZERO or byte_at(text, place) == _POINT):
            count -= byte_at(text, place) == _ZERO
            place += 1
        if count > _MOST_DIGITS:
            return 0.0, False
    if at < end:
        letter = byte_at(text, at) | 32
        exponent, fits = _exponent(text, at + 1, end)
        if letter != ord("e") or not fits:
            return 0.0, False
        q += exponent
    if w == U(0):
        return 0.0, True
    if w <= U(_LARGEST_WHOLE) and -_EXACT <= q <= _EXACT:
        return (float(w) * _TENS[q] if q >= 0 else float(w) / _TENS[-q]), True
    if q < _LOWEST or q > _HIGHEST:
        return 0.0, False
    return _rounded(w, q)


@inlined
def _rounded(w: np.uint64, q: int) -> tuple[float, bool]:
    """w·10^q rounded to the nearest float, ties to the even one, for w > 0; False if it is not a normal one."""
    shift = zeros_above(w)
    w = w << shift
    upper, lower = wide_product(w, _FIVES[q - _LOWEST, 0])
    if upper & U(0x1FF) == U(0x1FF):  # the 64 bits below may carry
        more, _ = wide_product(w, _FIVES[q - _LOWEST, 1])
        lower += more
        if lower < more:
            upper += U(1)
    if lower == U(0xFFFFFFFFFFFFFFFF) and (q < -27 or q > 55):
        return 0.0, False
    top = upper >> U(63)
    mantissa = upper >> (top + U(9))
    exponent = ((217706 * q) >> 16) + 63 + int(top) - int(shift) + 1023
    if exponent <= 0:
        return 0.0, False
    # Half way between two floats: 5^q is known exactly there, and the even one is taken.
    if lower <= U(1) and -4 <= q <= 23 and mantissa & U(3) == U(1) and mantissa << (top + U(9)) == upper:
        mantissa -= U(1)
    mantissa = (mantissa + (mantissa & U(1))) >> U(1)
    if mantissa == U(1 << 53):
        mantissa = U(1 << 52)
        exponent += 1
    if exponent >= 2047:
        return 0.0, False
    return as_float((mantissa - U(1 << 52)) | (U(exponent) << U(52))), True


@unlocked
def read_numbers(text: Text, separator: int, places: Indices, X: Matrix, others: Matrix) -> int:
    """How many rows lines of numbers are; `OTHER` if anything is none. Overwrites X (n, p) and others (m, n).

    Field j of a line goes to column places[j] of X, or, if that is p or more, to row places[j] − p of `others`; nowhere
    if it is negative: then it is not looked at. An empty field is NaN. The last line ends with a line feed; all bytes
    are below 128, and none is a quote.
    """
    n, columns, p = text.shape[0], places.shape[0], X.shape[1]
    row, column, first, start = 0, 0, 0, 0
    while start < n:
        ends = U(0)
        if start + BLOCK <= n:
            ends, beyond = marks_at(text, start, separator)
            if rarely(beyond != U(0)):
                return OTHER
        else:
            for at in range(start, n):
                byte = byte_at(text, at)
                if byte >= 128:
                    return OTHER
                ends |= (U(byte == separator) | U(byte == _NEWLINE)) << U(at - start)
        while ends != U(0):
            end = start + int(zeros_below(ends))
            ends &= ends - U(1)
            is_last = byte_at(text, end) == _NEWLINE
            if rarely(column == columns or row == X.shape[0]):
                return OTHER
            place = places[column]
            if place >= 0:
                at, stop = first, end
                negative = byte_at(text, at) == _MINUS
                at += negative
                if is_last and stop > first and byte_at(text, stop - 1) == _RETURN:
                    stop -= 1
                value, fits = math.nan, False
                if 0 < stop - at <= 8 and stop >= 8:
                    w, decimals, fits = _short_number(text, at, stop)
                    value = float(w) / _TENS[decimals]
                if rarely(not fits):
                    value, fits = _long_number(text, at, stop) if stop > first else (math.nan, columns > 1)
                    if not fits:  # the field of a single column is empty where the line is blank
                        return OTHER
                value = -value if negative else value
                if place < p:
                    X[row, place] = value
                else:
                    others[place - p, row] = value
            first = end + 1
            column += 1
            if is_last:
                if rarely(column != columns):
                    return OTHER
                column = 0
                row += 1
        start += BLOCK
    return row if column == 0 else OTHER
