"""Arguments for public methods: good ones, extreme ones (1e-300 to 1e300), and wrong ones."""

import datetime
import math
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

HUGE = 10**400
ODD_VALUES: tuple[Callable[[], Any], ...] = (
    *(lambda: None, lambda: math.nan, lambda: math.inf, lambda: -math.inf, lambda: HUGE, lambda: -1, lambda: "x"),
    *(
        lambda: "1.5",
        lambda: True,
        lambda: 1j,
        lambda: b"1",
        lambda: [],
        lambda: {},
        lambda: (1.0, 2.0),
        lambda: object(),
    ),
    *(
        lambda: np.float32(1.5),
        lambda: np.int8(3),
        lambda: np.array(2.0),
        lambda: np.array([1.0]),
        lambda: Decimal("1.5"),
    ),
    *(
        lambda: Fraction(1, 3),
        lambda: datetime.date(2026, 1, 1),
        lambda: np.datetime64("NaT"),
        lambda: pd.NA,
        lambda: pd.NaT,
    ),
    *(
        lambda: 2**64,
        lambda: 0,
        lambda: -0.0,
        lambda: 5e-324,
        lambda: np.nan * np.ones(3),
        lambda: lambda: 1,
        lambda: ...,
    ),
)


class Arguments:
    """Makes arguments for things with d features; `wild` is the share of those that are extreme or wrong."""

    def __init__(self, seed: int, d: int = 3) -> None:
        self.rng = random.Random(seed)
        self.numpy = np.random.default_rng(seed % 2**63)
        self.d = d
        self.wild = self.rng.choice((0.0, 0.05, 0.3))
        self.extreme = self.rng.random() < 0.3  # values of all sizes; those that are learned then matter
        self.typed = self.rng.random() < 0.3  # whether wrong types are among what is wrong

    def _is_wild(self) -> bool:
        return self.rng.random() < self.wild

    def number(self) -> Any:
        """A reward, a target."""
        if self._is_wild() and self.typed:
            return self.rng.choice(ODD_VALUES)()
        if self._is_wild():
            return self.rng.choice((math.nan, math.inf, 1e300, -1e300, 1e-300, 1e200, 5e-324, 1e154))
        return float(self.numpy.standard_normal()) * self.scale()

    def scale(self) -> float:
        """1, or of any size."""
        return (
            10.0 ** self.rng.choice((-300, -160, -100, -8, 8, 100, 150, 155, 300))
            if self.extreme and self.rng.random() < 0.2
            else 1.0
        )

    def share(self) -> Any:
        """A weight, a probability."""
        if self._is_wild():
            return self.rng.choice((0.0, -1.0, 2.0, math.nan, 1e-300, 1e300)) if not self.typed else self.number()
        return self.rng.choice((1.0, 0.5, 0.25))

    def count(self) -> Any:
        """A small whole number."""
        if self._is_wild():
            return self.rng.choice((0, -1, 10**9, 2**63, 1.5, "3", None, True, math.nan, HUGE))
        return self.rng.randint(1, 4)

    def vector(self, d: int | None = None) -> Any:
        """A row."""
        return self._array((self.d if d is None else d,))

    def matrix(self, k: int | None = None, d: int | None = None) -> Any:
        """Rows: actions, or X."""
        return self._array((self.rng.randint(1, 5) if k is None else k, self.d if d is None else d))

    def _array(self, shape: tuple[int, ...]) -> Any:
        good = self.numpy.standard_normal(shape) * self.scale()
        if self.extreme and self.rng.random() < 0.1:
            good = good * 10.0 ** self.numpy.uniform(-300, 300, shape)
        if not self._is_wild():
            return good if self.rng.random() < 0.7 else good.tolist()
        if not self.typed:
            return self.rng.choice(_wrong_numbers(good))
        return self.rng.choice(_wrong_types(good))()

    def key(self) -> Any:
        """What a decision is known by; few, so that some are there."""
        if self._is_wild():
            return self.rng.choice((1.5, math.nan, (1, 2), [], {}, b"k", HUGE, "", "k" * 300, frozenset(), object()))
        return self.rng.choice((None, "a", "b", 1, 2))

    def arm(self) -> Any:
        """The name of an arm."""
        if self._is_wild():
            return self.rng.choice(("no", 99, -1, None, [], {}, math.nan, (1,), b"x", True, 1.0, "x" * 300))
        return self.rng.choice(("x", "y", 3))

    def names(self) -> Any:
        """Features by name."""
        row: dict[Any, Any] = {"a": self.number(), "kind": self.rng.choice(("u", "v"))}
        if self._is_wild():
            row |= self.rng.choice(
                ({"b": self.number()}, {1: 1.0}, {"kind": 2.0}, {None: 1.0}, {"a": "text"}, {"": 1.0})
            )
        if self._is_wild() and self.typed:
            return self.rng.choice((None, [], "a", pd.Series(row), list(row.items()), {}, {"a": None}, {"a": [1.0]}, 3))
        return row

    def mask(self, k: int) -> Any:
        """Which actions can be taken."""
        if self._is_wild():
            return self.rng.choice(
                ([], [False] * k, [True] * (k + 1), [0.5] * k, "x", [None] * k, k, [[True]], range(99))
            )
        return self.rng.choice((None, None, [True] * k, [True] + [False] * (k - 1)))

    def times(self, n: int) -> Any:
        """Times that do not fall, mostly."""
        if self._is_wild():
            return self.rng.choice(
                ([math.nan] * n, [0.0] * n, list(range(n + 1)), "x", [None] * n, [1e300] * n, [-1e300] * n)
            )
        return None


def _wrong_numbers(good: Any) -> list[Any]:
    """Arrays of floats that are not what is wanted: NaN, infinite, of another shape."""
    holed = good.copy()
    holed.flat[0] = math.nan
    infinite = good.copy()
    infinite.flat[-1] = -math.inf
    return [
        *(holed, infinite, good[..., :-1], np.concatenate([good, good], axis=-1), good[None], good.reshape(-1)),
        *(good * 1e300, good * 1e-300, np.full_like(good, 1e154), np.full_like(good, 1e308), np.zeros_like(good)),
        *(np.empty(0), np.empty((0, good.shape[-1])), np.empty((3, 0)), good[..., 0], good.T),
    ]


def _wrong_types(good: Any) -> list[Callable[[], Any]]:
    """What is no array of floats."""
    flat = good.reshape(-1)
    return [
        lambda: None,
        lambda: "text",
        lambda: good.astype(object),
        lambda: good.astype(str),
        lambda: good.astype(complex) + 1j,
        lambda: good > 0,
        lambda: good.astype(np.float32),
        lambda: [[1.0, 2.0], [3.0]],
        lambda: {"a": 1.0},
        lambda: [None] * len(flat),
        lambda: [HUGE] * len(flat),
        lambda: np.array(3.0),
        lambda: 3,
        lambda: scipy.sparse.csr_matrix(np.atleast_2d(good)),
        lambda: np.matrix(np.atleast_2d(good)),
        lambda: np.array(["2026-01-01"] * len(flat), dtype="datetime64[D]"),
        lambda: np.array([pd.NaT] * len(flat), dtype=object),
        lambda: np.array([pd.NA] * len(flat), dtype=object),
        lambda: np.ma.masked_array(good, good > 0),
        lambda: pd.DataFrame(np.atleast_2d(good)),
        lambda: pd.DataFrame(
            np.atleast_2d(good), columns=["a", 1, None][: np.atleast_2d(good).shape[1]] if flat.size == 3 else None
        ),
        lambda: pd.Series(flat),
        lambda: iter(flat.tolist()),
        lambda: good[..., ::-1],
        lambda: np.asfortranarray(good),
        lambda: np.ascontiguousarray(good).data,
        lambda: object(),
    ]
