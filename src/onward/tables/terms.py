"""Terms: features that are made of columns, such as log(x), lag(y, 1), a:b or weekday(when), and how they are written.

What is computed is in `term_values`.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from onward.core.shown import brief, shortened

FunctionName = Literal["log", "sqrt", "square"]
CycleName = Literal["hour", "weekday", "month"]
_FUNCTIONS: tuple[str, ...] = get_args(FunctionName)
_CYCLES: tuple[str, ...] = get_args(CycleName)
_PLAIN = re.compile(r"[^`():,^\s](?:[^`():,^]*[^`():,^\s])?")
_TOKEN = re.compile(r"`[^`]+`|[():,^]|[^`():,^]+")
_FORMS = "log(x), sqrt(x), square(x) or x^2, lag(x, k), hour(t), weekday(t), month(t), a:b, spline(x, lo, hi, k), "
_FORMS += "random(n, gamma, a, b, …)"

# A term may come from a file: what it is made of is walked through by recursion, and its features are made at once.
_LONGEST = 20_000  # characters of a term
_DEEPEST = 30  # functions inside each other
_MOST_FACTORS = 100
_MOST_DIRECTIONS = 200_000  # of random features: one for each of them and each column


@dataclass(frozen=True)
class Name:
    """The value of a column."""

    column: str

    @property
    def text(self) -> str:
        """As it is written in a term: in backquotes where a letter of it means something else there."""
        return self.column if _PLAIN.fullmatch(self.column) else f"`{self.column}`"


@dataclass(frozen=True)
class Function:
    """A function of a number; of what it is not defined for, a missing value."""

    name: FunctionName
    inner: "Number"

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.name}({self.inner.text})"


@dataclass(frozen=True)
class Lag:
    """The value of so many rows before."""

    inner: "Number"
    rows: int

    @property
    def text(self) -> str:
        """As it is written."""
        return f"lag({self.inner.text}, {self.rows})"


Number = Name | Function | Lag
"""What has one number in each row."""


@dataclass(frozen=True)
class Product:
    """The product of two or more; with a category in it, a feature for each of its levels."""

    factors: tuple[Number, ...]

    @property
    def text(self) -> str:
        """As it is written."""
        return ":".join(factor.text for factor in self.factors)


@dataclass(frozen=True)
class Cycle:
    """Where a moment (UTC) lies in the day, the week or the year, as the sine and cosine of an angle."""

    name: CycleName
    inner: Name

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.name}({self.inner.text})"


@dataclass(frozen=True)
class Spline:
    """Cubic B-splines on a uniform grid from `low` to `high`; outside, a value counts as the nearer end."""

    inner: Number
    low: float
    high: float
    count: int

    @property
    def text(self) -> str:
        """As it is written."""
        return f"spline({self.inner.text}, {_number_text(self.low)}, {_number_text(self.high)}, {self.count})"


@dataclass(frozen=True)
class RandomFeatures:
    """Random Fourier features [Rahimi & Recht 2007]: their inner products are about exp(−γ‖x − x'‖²).

    The directions are drawn by the term's text alone, so they are the same on every machine.
    """

    count: int
    gamma: float
    inners: tuple[Number, ...]

    @property
    def text(self) -> str:
        """As it is written."""
        arguments = [str(self.count), _number_text(self.gamma), *(each.text for each in self.inners)]
        return f"random({', '.join(arguments)})"


Term = Function | Lag | Product | Cycle | Spline | RandomFeatures
"""What makes features of columns."""


def parse_term(text: str) -> Term:
    """The term that a text stands for; ValueError if it stands for none."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        came = f"{len(text):,} characters" if isinstance(text, str) else brief(text)
        raise ValueError(f"a term must be text of at most {_LONGEST:,} characters, got {came}")
    try:
        parser = _Parser(text)
        made = parser.product()
        parser.end()
    except ValueError as error:
        raise ValueError(f"the term {brief(text)} cannot be read: {error}; expected {_FORMS}") from error
    if isinstance(made, Name):
        raise ValueError(f"the term {brief(text)} is a column: name it in features; expected {_FORMS}")
    return made


def split_terms(values: Sequence[str] | None) -> list[str]:
    """Terms that may come one by one or with commas between them; a comma inside parentheses is part of a term."""
    found = []
    for value in values or []:
        depth, part = 0, ""
        for token in re.findall(r"`[^`]*`|.", value, re.DOTALL):
            depth += (token == "(") - (token == ")")
            if token == "," and depth == 0:
                found.append(part)
                part = ""
            else:
                part += token
        found.append(part)
    return [each.strip() for each in found]


def columns_in(term: Term | Number) -> list[str]:
    """The columns that a term is made of."""
    return [each.column for each in _parts(term) if isinstance(each, Name)]


def columns_at_once(term: Term | Number) -> list[str]:
    """The columns of which a term needs the value of the row itself."""
    if isinstance(term, Lag):
        return []
    if isinstance(term, Name):
        return [term.column]
    return [column for each in _inners(term) for column in columns_at_once(each)]


def lags_in(term: Term | Number) -> list[Lag]:
    """The lags in a term."""
    return [each for each in _parts(term) if isinstance(each, Lag)]


def _parts(term: Term | Number) -> Iterator[Term | Number]:
    yield term
    for each in _inners(term):
        yield from _parts(each)


def _inners(term: Term | Number) -> tuple[Number, ...]:
    match term:
        case Product(factors):
            return factors
        case RandomFeatures(inners=inners):
            return inners
        case Name():
            return ()
    return (term.inner,)


class _Parser:
    """Reads a term token by token."""

    def __init__(self, text: str) -> None:
        found = _TOKEN.findall(text)
        self._tokens: list[str] = [token for token in map(str.strip, found) if token]
        self._place = 0  # of the next token
        self._depth = 0  # of the functions that are open
        if "".join(found) != text:
            raise ValueError("a backquote is not closed")

    def end(self) -> None:
        if self._next() is not None:
            raise ValueError(f"got {brief(self._next())} after its end")

    def product(self) -> Term | Name:
        first = self._factor()
        if self._next() != ":":
            return first
        factors = [_number(first)]
        while self._next() == ":":
            self._take(":")
            factors.append(_number(self._factor()))
            if len(factors) > _MOST_FACTORS:
                raise ValueError(f"a product has at most {_MOST_FACTORS} factors")
        return Product(tuple(factors))

    def _factor(self) -> Term | Name:
        token = self._take_any()
        if token in "():,^":
            raise ValueError(f"got {brief(token)} where a column or a function should be")
        if self._next() == "(" and not token.startswith("`"):
            return self._call(token)
        name = Name(token.strip("`"))
        if self._next() == "^":
            self._take("^")
            power = self._take_any()
            if power != "2":
                raise ValueError(f"got the power {brief(power)}, and only 2 is known")
            return Function("square", name)
        return name

    def _call(self, function: str) -> Term:
        self._take("(")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} functions stand inside each other")
        arguments: list[Term | Name] = []
        while self._next() != ")":
            if arguments:
                self._take(",")
            arguments.append(self.product())
        self._take(")")
        self._depth -= 1
        return _make_call(function, arguments)

    def _next(self) -> str | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _take(self, token: str) -> None:
        if self._next() != token:
            raise ValueError(f"got {brief(self._next() or 'its end')} where {token!r} should be")
        self._place += 1

    def _take_any(self) -> str:
        token = self._next()
        if token is None:
            raise ValueError("it ends too early")
        self._place += 1
        return token


def _make_call(function: str, arguments: Sequence[Term | Name]) -> Term:
    """A call of a function, with its arguments checked."""
    match function, arguments:
        case ("log" | "sqrt" | "square") as name, [inner]:
            return Function(name, _number(inner))
        case "lag", [inner, rows]:
            return Lag(_number(inner), _whole("the rows of a lag", rows, 1, 1_000_000))
        case ("hour" | "weekday" | "month") as name, [Name() as column]:
            return Cycle(name, column)
        case "spline", [inner, low, high, count]:
            made = Spline(_number(inner), _value(low), _value(high), _whole("the splines", count, 4, 10_000))
            if not made.low < made.high:
                raise ValueError(f"the grid must go up, got from {made.low:g} to {made.high:g}")
            return made
        case "random", [count, gamma, first, *rest]:
            width = _value(gamma)
            if not width > 0:
                raise ValueError(f"gamma must be positive, got {width:g}")
            inners = tuple(_number(each) for each in (first, *rest))
            drawn = _whole("the random features", count, 1, 10_000)
            if drawn * len(inners) > _MOST_DIRECTIONS:
                raise ValueError(
                    f"random features times columns must be at most {_MOST_DIRECTIONS:,}, got {drawn:,} times "
                    f"{len(inners):,}"
                )
            return RandomFeatures(drawn, width, inners)
    known = function in (*_FUNCTIONS, *_CYCLES, "lag", "spline", "random")
    named = brief(function)
    raise ValueError(f"{named} has other arguments" if known else f"there is no function {named}")


def _number(term: Term | Name) -> Number:
    if isinstance(term, Name | Function | Lag):
        return term
    raise ValueError(f"{shortened(term.text)} is no single number in each row")


def _value(argument: Term | Name) -> float:
    try:
        value = float(argument.column if isinstance(argument, Name) else "")
    except ValueError as error:
        raise ValueError(f"got {brief(argument.text)} where a number should be") from error
    if not math.isfinite(value):
        raise ValueError(f"got {value} where a finite number should be")
    return value


def _whole(what: str, argument: Term | Name, least: int, most: int) -> int:
    value = _value(argument)
    if not (value == int(value) and least <= value <= most):
        raise ValueError(f"{what} must be a whole number from {least} to {most:,}, got {shortened(argument.text)}")
    return int(value)


def _number_text(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
