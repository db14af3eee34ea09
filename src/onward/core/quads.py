"""Four vectors side by side, as the rows of a (d, 4) matrix: written with vectors.

The compiler does not see that four sums in a loop are one of vectors. A value is the same as if each were on its own.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from onward.core.types import Matrix, Vector

QUAD = 4
_F64 = ir.DoubleType()
_I32 = ir.IntType(32)
_VECTOR = ir.VectorType(_F64, QUAD)


class _Code:
    """What both loops are written with: arrays of these kinds."""

    def __init__(self, context: Any, builder: Any, kinds: Any, args: Any) -> None:
        self.builder = builder
        self._arrays = [
            context.make_array(kind)(context, builder, value) for kind, value in zip(kinds, args, strict=True)
        ]
        self.rows = cgutils.unpack_tuple(builder, self._arrays[0].shape)[0]
        self._fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{QUAD}f64"
        )

    def each_row(self) -> Any:
        """A loop over the rows of the first argument, with its index."""
        intp = self.rows.type
        return cgutils.for_range_slice(self.builder, intp(0), self.rows, intp(1), intp)

    def number(self, array: int, index: Any) -> Any:
        """An element of one of the arguments."""
        return self.builder.load(self.builder.gep(self._arrays[array].data, [index]))

    def quad(self, array: int, index: Any) -> Any:
        """Where the four numbers of a row lie."""
        at = self.builder.gep(self._arrays[array].data, [self.builder.mul(index, index.type(QUAD))])
        return self.builder.bitcast(at, _VECTOR.as_pointer())

    def load(self, place: Any) -> Any:
        return self.builder.load(place, align=8)

    def store(self, value: Any, place: Any) -> None:
        self.builder.store(value, place, align=8)

    def spread(self, value: Any) -> Any:
        """A number four times."""
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        one = self.builder.insert_element(undefined, value, _I32(0))
        return self.builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_I32, QUAD), [0] * QUAD))

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return self.builder.call(self._fused, [a, b, c])


def _as_vector(builder: Any, numbers: Any) -> Any:
    """Four numbers as a vector. Never in memory: what is stored in parts cannot be loaded before all have come."""
    vector: Any = ir.Constant(_VECTOR, ir.Undefined)
    for i, number in enumerate(numbers):
        vector = builder.insert_element(vector, number, _I32(i))
    return vector


@intrinsic
def _read_quads(typingctx: Any, B: Any, r: Any, inverse: Any, out: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature.args, args)
        sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(2)]
        for place in sums:
            builder.store(ir.Constant(_VECTOR, [0.0] * QUAD), place)
        with code.each_row() as (j, _):
            over, values = code.number(2, j), code.load(code.quad(0, j))
            along = code.spread(builder.fmul(code.number(1, j), over))
            builder.store(code.fma(along, values, builder.load(sums[0])), sums[0])
            scaled = builder.fmul(code.spread(over), values)
            builder.store(code.fma(scaled, values, builder.load(sums[1])), sums[1])
        for i, place in enumerate(sums):
            code.store(builder.load(place), code.quad(3, code.rows.type(i)))
        return context.get_dummy_value()

    return types.void(B, r, inverse, out), codegen


@intrinsic
def _move_quads(typingctx: Any, B: Any, r: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature.args[:2], args[:2])
        steps = _as_vector(builder, args[2:])
        with code.each_row() as (j, _):
            place = code.quad(0, j)
            code.store(code.fma(steps, code.spread(code.number(1, j)), code.load(place)), place)
        return context.get_dummy_value()

    return types.void(B, r, *[types.float64] * QUAD), codegen


read_quads = cast(Callable[[Matrix, Vector, Vector, Matrix], None], _read_quads)
"""read_quads(B, r, inverse, out) overwrites out[0] with Σ_j (r_j/D_j) B[j] and out[1] with Σ_j B[j]²/D_j, of 1/D."""

move_quads = cast(Callable[[Matrix, Vector, float, float, float, float], None], _move_quads)
"""move_quads(B, r, *steps) adds steps·r_j to B[j], for each j."""
