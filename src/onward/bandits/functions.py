"""Widths and indices of one's own: numba functions of plain numbers that compiled policies call by their address.

    @index_function
    def ucb(estimate, leverage, square, radius, rounds):
        return estimate + 0.5 * math.sqrt(leverage)

    Policy(rule=Optimistic(index=ucb))

Where a policy is saved its functions are known by their names and what they do: to load it, define them first.
"""

import hashlib
from collections.abc import Callable
from typing import Any, cast

import numba
from llvmlite import ir
from numba import cloudpickle, types
from numba.extending import intrinsic

WIDTH_ARGUMENTS = ("gain", "rounds", "dimension", "lam", "sigma", "delta")
INDEX_ARGUMENTS = ("estimate", "leverage", "square", "radius", "rounds")

_defined: dict[tuple[str, str], "CompiledFunction"] = {}


class CompiledFunction:
    """A function of plain numbers, compiled, that Python can call as well."""

    def __init__(self, kind: str, function: Callable[..., float], arguments: tuple[str, ...]) -> None:
        count = function.__code__.co_argcount if hasattr(function, "__code__") else -1
        if count != len(arguments):
            raise ValueError(
                f"the {kind} must be a function of {len(arguments)} numbers ({', '.join(arguments)}), got {function!r}"
            )
        self.kind, self.python = kind, function
        self.name = f"{function.__name__} {_digest(function)}"
        compile_ = numba.cfunc(types.float64(*[types.float64] * count), error_model="numpy")
        self._compiled = compile_(function)  # kept, because the address is its own
        self.address = self._compiled.address
        _defined[kind, self.name] = self

    def __call__(self, *numbers: float) -> float:
        """What it gives for these numbers, computed in Python."""
        return float(self.python(*numbers))

    def __repr__(self) -> str:
        return self.python.__name__

    def __deepcopy__(self, memo: Any) -> "CompiledFunction":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.kind, cloudpickle.dumps(self.python))


def width_function(function: Callable[..., float]) -> CompiledFunction:
    """A width of one's own: what the noise can do to the estimate, in the norm of G.

    Args:
        function: of `gain` (the information gain I), `rounds` (rewards that count), `dimension`, `lam` (the largest λ),
            `sigma` and `delta`, all floats.

    Returns:
        What `Optimistic(width=…)` and the policies take; it can be called, too.

    Raises:
        ValueError: if the function has other arguments.

    Example:
        >>> import math
        >>> from onward.bandits import OFUL, width_function
        >>> @width_function
        ... def slow(gain, rounds, dimension, lam, sigma, delta):
        ...     return sigma * math.sqrt(math.log(1.0 + rounds))
        >>> slow(0.0, 0.0, 2.0, 1.0, 1.0, 0.05)
        0.0
        >>> policy = OFUL(width=slow, sigma=1.0, theta_bound=1.0)
    """
    return CompiledFunction("width", function, WIDTH_ARGUMENTS)


def index_function(function: Callable[..., float]) -> CompiledFunction:
    """An index of one's own: what an action is worth to the rule that takes the largest.

    Args:
        function: of `estimate` (the ridge estimate xᵀθ, the prior mean's part included), `leverage` (xᵀG⁻¹x), `square`
            (‖x‖²), `radius` (scale times the width of the noise) and `rounds` (rewards that count), all floats.

    Returns:
        What `Optimistic(index=…)` and the policies take; it can be called, too.

    Raises:
        ValueError: if the function has other arguments.

    Example:
        >>> from onward.bandits import OFUL, index_function
        >>> @index_function
        ... def halfway(estimate, leverage, square, radius, rounds):
        ...     return estimate + 0.5 * radius * leverage**0.5
        >>> halfway(1.0, 4.0, 1.0, 1.0, 0.0)
        2.0
        >>> policy = OFUL(index=halfway, sigma=1.0, theta_bound=1.0)
    """
    return CompiledFunction("index", function, INDEX_ARGUMENTS)


def find_function(kind: str, name: str) -> CompiledFunction:
    """The function of that name, or an error that says what to do."""
    if (kind, name) not in _defined:
        raise ValueError(
            f"this policy has a {kind} of its own, {name.split()[0]!r}: define it with @{kind}_function first, "
            "with the same body"
        )
    return _defined[kind, name]


def _unpickled(kind: str, pickled: bytes) -> CompiledFunction:
    return (width_function if kind == "width" else index_function)(cloudpickle.loads(pickled))


def _digest(function: Callable[..., float]) -> str:
    """What tells functions of one name apart: their code, and the values that they have from outside."""
    code = function.__code__
    outside = [cell.cell_contents for cell in function.__closure__ or ()]
    outside += [function.__globals__.get(name) for name in code.co_names if name in function.__globals__]
    numbers = [value for value in outside if isinstance(value, int | float)]
    return hashlib.sha256(repr((code.co_code, code.co_consts, code.co_names, numbers)).encode()).hexdigest()[:12]


def _make_call(count: int) -> Callable[..., float]:
    """A call of the function of so many numbers at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        pointer = builder.inttoptr(args[0], ir.FunctionType(double, [double] * count).as_pointer())
        return builder.call(pointer, args[1:])

    signature = types.float64(types.int64, *[types.float64] * count)
    if count == len(WIDTH_ARGUMENTS):

        @intrinsic
        def call6(typingctx: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
            return signature, codegen

        return cast(Callable[..., float], call6)

    @intrinsic
    def call5(typingctx: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        return signature, codegen

    return cast(Callable[..., float], call5)


call_width, call_index = _make_call(len(WIDTH_ARGUMENTS)), _make_call(len(INDEX_ARGUMENTS))
