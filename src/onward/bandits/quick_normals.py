"""Standard normal numbers of a NumPy generator, drawn in compiled loops: the same numbers, and they can be put back.

A loop that was handed the generator itself would take longer to look at it than to draw from it.
"""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.random import _generator
from numpy.typing import NDArray

from onward.core.types import Vector


class Source(NamedTuple):
    """Where a compiled loop finds the numbers of a generator."""

    rng: np.random.Generator  # kept, because the rest are places in it
    lock: Any  # NumPy's: to be held while numbers are drawn
    words: NDArray[np.uint64]  # its state as it is there: to put numbers back, write what stood there
    bits: int  # the address of its bit generator
    fill: int  # the address of NumPy's own function that draws


def source_of(rng: np.random.Generator) -> Source | None:
    """The source of a generator's numbers; None if NumPy is not laid out here as this module knows it."""
    bits: Any = rng.bit_generator
    if type(bits) is not np.random.PCG64:
        return None
    try:  # as NumPy's manual on extending `numpy.random` calls it
        fill = ctypes.cast(ctypes.CDLL(_generator.__file__).random_standard_normal_fill, ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None
    state = ctypes.c_uint64.from_address(bits.ctypes.state_address).value
    words = np.ctypeslib.as_array((ctypes.c_uint64 * 2).from_address(state))
    if bits.state["state"]["state"] != int(words[0]) | int(words[1]) << 64:
        return None
    return Source(rng, bits.lock, words, bits.ctypes.bit_generator.value, cast(int, fill))


@intrinsic
def _draw_normals(typingctx: Any, bits: Any, fill: Any, out: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[2])(context, builder, args[2])
        integer = context.get_value_type(types.intp)
        kind = ir.FunctionType(ir.VoidType(), [integer, integer, array.data.type])
        builder.call(builder.inttoptr(args[1], kind.as_pointer()), [args[0], array.nitems, array.data])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, out), codegen


draw_normals = cast(Callable[[int, int, Vector], None], _draw_normals)
"""Fill `out` with what `standard_normal` of the generator would give."""
