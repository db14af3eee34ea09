"""How every loop of Onward is compiled."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

TRIED = ((0, 68),)
"""The series of numba with whose insides parts were tried; others compile as well, in more time."""

try:
    if tuple(int(part) for part in numba.__version__.split(".")[:2]) not in TRIED:
        raise ImportError(f"parts were not tried with numba {numba.__version__}")
    from onward.core.compiled_parts import new_compiled
except (ImportError, AttributeError, ValueError):

    def new_compiled(function: Any, **options: Any) -> Any:
        """A function that numba compiles when it is called; for this process alone if there is no place for files."""
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            return numba.njit(**options)(function)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on plain arrays, once for each machine.

    The result is cached on disk. Arithmetic is done as written: no fastmath, so that the same rows
    give the same bits in whatever batches they come. Division by zero gives inf, as in NumPy, because
    the check for it would cost more than the division.
    """
    return cast(Callable[P, R], new_compiled(function, error_model="numpy"))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into each of its callers: for steps of a hot loop, where passing arrays would cost more."""
    return cast(Callable[P, R], new_compiled(function, error_model="numpy", forceinline=True))


def unlocked(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a long loop, and let other threads run while it does."""
    return cast(Callable[P, R], new_compiled(function, error_model="numpy", nogil=True))


def spliced(function: Callable[P, R]) -> Callable[P, R]:
    """Write a function's body out in each of its callers: for steps that call much.

    What a function calls is optimised once more with each function around it; what is spliced in is none of its own.
    """
    return cast(Callable[P, R], numba.njit(error_model="numpy", inline="always")(function))
