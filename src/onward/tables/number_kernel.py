"""Numbers and dates of delimited text, straight to the rows of a matrix. Compiled.

Sixty-four bytes at a time tell where fields end, so a field is read while the next are being found. Up to eight
characters are one integer whose digits are added up in three multiplications; longer ones go digit by digit, eight of
them at once. A number is w·10^q with w an integer, and is rounded correctly: w and 10^|q| that are floats themselves
need one multiplication or division (Clinger 1990); others go by 128 bits of 5^q (Lemire 2021, Number parsing at a
gigabyte per second), which tell all numbers of up to 19 digits.

Dates and times are those of ISO 8601, without a zone or in UTC. Spaces around a value do not count, and a text such as
NA stands for a missing one. What is neither that nor plain (1.5, -3, 2e-7, 2026-01-31) is not guessed at: the text is
then read another way, as a whole.
"""

import math

import numpy as np

from onward.core.compile import compiled, inlined, unlocked
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
from onward.core.types import Indices, Matrix, Words

COMPILED_FROM = "7cfdab3e5def36f5"  # other files whose code is compiled into this one: see tools/digests.py

U = np.uint64
OTHER = -1  # told instead of a number of rows: something else stands there than plain numbers
_NEWLINE, _RETURN, _MINUS, _PLUS, _POINT, _ZERO, _SPACE = (int(each) for each in b"\n\r-+.0 ")
_HYPHEN, _COLON, _T, _Z = (int(each) for each in b"-:TZ")
NUMBER, TIME = 0, 1  # what a column holds
_DAY = 86_400_000_000  # µs
_YEARS = 1 / (365.2425 * _DAY)  # a µs; as `kinds` has it, which loads polars
_BEFORE_MONTH = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365])  # days, but for leap years
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


@compiled
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
def _pair(text: Text, at: int) -> int:
    """The number that two digits are; 100 or more if they are none."""
    tens, ones = byte_at(text, at) - _ZERO, byte_at(text, at + 1) - _ZERO
    return 10 * tens + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else 100


@compiled
def _time(text: Text, first: int, end: int) -> tuple[float, bool]:
    """A date such as 2026-01-31, or a moment such as 2026-01-31T12:00, 2026-01-31 12:00:00.5 or 2026-01-31T12:00:00Z.

    In years since 2000; and whether it is one.
    """
    length = end - first
    if length < 10 or byte_at(text, first + 4) != _HYPHEN or byte_at(text, first + 7) != _HYPHEN:
        return 0.0, False
    century, year = _pair(text, first), _pair(text, first + 2)
    month, day = _pair(text, first + 5), _pair(text, first + 8)
    if century > 99 or year > 99 or not 1 <= month <= 12 or day < 1:
        return 0.0, False
    year += 100 * century
    leaps = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if year < 1 or day > _BEFORE_MONTH[month] - _BEFORE_MONTH[month - 1] + (leaps and month == 2):
        return 0.0, False
    past = year - 1
    days = 365 * (year - 2000) + past // 4 - past // 100 + past // 400 - 484  # leap years before 2000
    days += _BEFORE_MONTH[month - 1] + (leaps and month > 2) + day - 1
    if length == 10:
        return (days * _DAY) * _YEARS, True
    between, at = byte_at(text, first + 10), first + 16
    if length < 16 or (between != _SPACE and between != _T) or byte_at(text, first + 13) != _COLON:
        return 0.0, False
    hour, minute, second, micros = _pair(text, first + 11), _pair(text, first + 14), 0, 0
    if at < end:
        if length < 19 or byte_at(text, at) != _COLON:
            return 0.0, False
        second = _pair(text, at + 1)
        at += 3
        if at < end and byte_at(text, at) == _POINT:
            fraction, stop = _add_digits(text, at + 1, end, U(0))
            digits = stop - at - 1
            if not 1 <= digits <= 6:
                return 0.0, False
            micros, at = int(fraction) * int(_WHOLE_TENS[6 - digits]), stop
        if at + 1 == end and byte_at(text, at) == _Z:
            at += 1
    if at != end or hour > 23 or minute > 59 or second > 59:
        return 0.0, False
    return (days * _DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros) * _YEARS, True


@compiled
def _odd_field(text: Text, first: int, end: int, kind: int, marks: Words) -> tuple[float, bool]:
    """A time, or a number with spaces around it, a sign before it, or neither; and whether it is that. NaN for none."""
    while first < end and byte_at(text, first) == _SPACE:
        first += 1
    while first < end and byte_at(text, end - 1) == _SPACE:
        end -= 1
    if end - first <= 8:
        word = U(0)
        for at in range(first, end):
            word |= U(byte_at(text, at)) << U(8 * (at - first))
        for mark in marks:
            if word == mark:
                return math.nan, True
    if kind == TIME:
        return _time(text, first, end)
    negative = byte_at(text, first) == _MINUS
    first += negative or byte_at(text, first) == _PLUS
    value, fits = _long_number(text, first, end)
    return (-value if negative else value), fits


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
def read_numbers(
    text: Text, separator: int, kinds: Indices, places: Indices, marks: Words, X: Matrix, others: Matrix
) -> int:
    """How many rows lines of numbers are; `OTHER` if anything is none. Overwrites X (n, p) and others (m, n).

    Field j of a line goes to column places[j] of X, or, if that is p or more, to row places[j] − p of `others`; nowhere
    if it is negative: then it is not looked at. It holds what kinds[j] says; one of `marks`, which are bytes, is NaN.
    The last line ends with a line feed, and there is no quote.
    """
    n, columns, p = text.shape[0], places.shape[0], X.shape[1]
    row, column, first, start = 0, 0, 0, 0
    while start < n:
        ends = U(0)
        if start + BLOCK <= n:
            ends = marks_at(text, start, separator)
        else:
            for at in range(start, n):
                byte = byte_at(text, at)
                ends |= (U(byte == separator) | U(byte == _NEWLINE)) << U(at - start)
        while ends != U(0):
            end = start + int(zeros_below(ends))
            ends &= ends - U(1)
            is_last = byte_at(text, end) == _NEWLINE
            if rarely(column == columns or row == X.shape[0]):
                return OTHER
            place = places[column]
            if place >= 0:
                stop = end
                if is_last and stop > first and byte_at(text, stop - 1) == _RETURN:
                    stop -= 1
                negative = byte_at(text, first) == _MINUS
                at = first + negative
                value, fits = math.nan, False
                if 0 < stop - at <= 8 and stop >= 8 and kinds[column] == NUMBER:
                    w, decimals, fits = _short_number(text, at, stop)
                    value = float(w) / _TENS[decimals]
                    value = -value if negative else value
                if rarely(not fits):
                    value, fits = _odd_field(text, first, stop, kinds[column], marks)
                    if not fits or (columns == 1 and math.isnan(value)):  # which may be a blank line
                        return OTHER
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
