"""Rows side by side: a triangle meets one coordinate of each in a vector, for reading many rows against one factor.

What is done to one row is done to all of them at once, in the order in which it is done to one alone, so the results
are the same to the last bit; and what is added up stays in the registers meanwhile.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from onward.core.simd import LANES, splat, vector_fma
from onward.core.types import Matrix, Vector

COMPILED_FROM = "fe7bc45c174f4b11"  # other files whose code is compiled into this one: see tools/digests.py

ACROSS = 8  # rows that stand side by side, as columns of Z
BLOCK = 4  # rows of a triangle that meet them at once, from the last to the first
PIVOTS = 6  # pivots that meet them at once: they fill the registers of processors with vectors of 4 numbers

Across = Callable[[Matrix, int, Matrix, Matrix], None]
Eliminate = Callable[[Matrix, int, Matrix, Vector, Matrix, Matrix, Vector], None]

_F64 = ir.DoubleType()
_I32 = ir.IntType(32)
_WIDE = ir.VectorType(_F64, ACROSS)
_VECTOR = ir.VectorType(_F64, LANES)


@intrinsic
def _lay_side_by_side(typingctx: Any, R: Any, Z: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, columns = (context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1))
        width = cgutils.unpack_tuple(builder, rows.shape)[1]
        intp = width.type

        def at(data: Any, place: Any) -> Any:
            return builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())

        def shuffled(a: Any, b: Any, *places: int) -> Any:
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, LANES), list(places)))

        # Squares of four rows and four columns are turned over in the registers.
        with cgutils.for_range_slice(builder, intp(0), width, intp(LANES), intp) as (j, _):
            for first in range(0, ACROSS, LANES):
                places = [builder.add(builder.mul(width, intp(first + b)), j) for b in range(LANES)]
                r = [builder.load(at(rows.data, place), align=8) for place in places]
                even = [shuffled(r[b], r[b + 1], 0, 4, 2, 6) for b in (0, 2)]
                odd = [shuffled(r[b], r[b + 1], 1, 5, 3, 7) for b in (0, 2)]
                turned = [shuffled(*pair, *half) for half in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in (even, odd)]
                for i, vector in enumerate(turned):
                    place = builder.add(builder.mul(builder.add(j, intp(i)), intp(ACROSS)), intp(first))
                    builder.store(vector, at(columns.data, place), align=8)
        return context.get_dummy_value()

    return types.void(R, Z), codegen


lay_side_by_side = cast(Callable[[Matrix, Matrix], None], _lay_side_by_side)
"""Overwrite Z (padded d, ACROSS) with the columns of R (ACROSS, padded d)."""


def _make_eliminate(pivots: int) -> Eliminate:
    """Build the step of `pivots` pivots of a factor, from pivot k on, over ACROSS rows x that are columns of Z.

    Rows k … of Z become what is left of each x at those pivots, z with Uᵀz = x, given that those before them are. What
    they add to q = xᵀG⁻¹x and to p of the first target is added to Q and to P[0]; `inverse` holds 1/D.
    """

    @intrinsic
    def eliminate(typingctx: Any, U: Any, k: Any, Z: Any, inverse: Any, c: Any, P: Any, Q: Any) -> Any:
        signature = types.void(U, types.intp, Z, inverse, c, P, Q)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            triangle, columns, inverses, coefficients, known, leverage = (
                context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 2, 3, 4, 5, 6)
            )
            k = args[1]
            intp = k.type
            width = cgutils.unpack_tuple(builder, triangle.shape)[1]
            targets = cgutils.unpack_tuple(builder, coefficients.shape)[1]
            fused = vector_fma(builder, _WIDE)
            places = [builder.add(k, intp(i)) for i in range(pivots)]

            def at(data: Any, row: Any) -> Any:
                return builder.bitcast(builder.gep(data, [builder.mul(row, intp(ACROSS))]), _WIDE.as_pointer())

            def spread(data: Any, place: Any) -> Any:
                return splat(builder, builder.load(builder.gep(data, [place])), _WIDE)

            def above(row: Any, place: Any) -> Any:
                return spread(triangle.data, builder.add(builder.mul(row, width), place))

            left = [cgutils.alloca_once(builder, _WIDE) for _ in range(pivots)]
            for slot, place in zip(left, places, strict=True):
                builder.store(builder.load(at(columns.data, place), align=8), slot)
            with cgutils.for_range_slice(builder, intp(0), k, intp(1), intp) as (j, _):
                minus = builder.fneg(builder.load(at(columns.data, j), align=8))
                for slot, place in zip(left, places, strict=True):
                    builder.store(builder.call(fused, [minus, above(j, place), builder.load(slot)]), slot)
            p, q = (builder.load(at(data, intp(0)), align=8) for data in (known.data, leverage.data))
            minus_z: list[Any] = []
            for slot, place in zip(left, places, strict=True):
                z = builder.load(slot)
                for minus, before in zip(minus_z, places, strict=False):
                    z = builder.call(fused, [minus, above(before, place), z])
                minus_z.append(builder.fneg(z))
                builder.store(z, at(columns.data, place), align=8)
                q = builder.call(fused, [builder.fmul(z, spread(inverses.data, place)), z, q])
                p = builder.call(fused, [z, spread(coefficients.data, builder.mul(place, targets)), p])
            for vector, data in ((p, known.data), (q, leverage.data)):
                builder.store(vector, at(data, intp(0)), align=8)
            return context.get_dummy_value()

        return signature, codegen

    return cast(Eliminate, eliminate)


eliminate_pivots = _make_eliminate(PIVOTS)
eliminate_pivot = _make_eliminate(1)


def _make_across(rows: int, solves: bool) -> Across:
    """Build the step of `rows` rows of a unit upper triangle, from row k on, over ACROSS columns of Z side by side.

    If it `solves`, rows k … of Z become z with Uz = Z, given that those after them are solved. Otherwise row i of `out`
    becomes row k + i of UZ. Each column is summed by itself: first over what comes after the rows, then among them.
    """

    @intrinsic
    def across(typingctx: Any, U: Any, k: Any, Z: Any, out: Any) -> Any:
        signature = types.void(U, types.intp, Z, out)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            triangle, columns, result = (
                context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 2, 3)
            )
            k = args[1]
            intp = k.type
            width = cgutils.unpack_tuple(builder, triangle.shape)[1]
            last = cgutils.unpack_tuple(builder, columns.shape)[0]
            fused = vector_fma(builder, _WIDE)
            places = [builder.add(k, intp(i)) for i in range(rows)]
            U_rows = [builder.gep(triangle.data, [builder.mul(place, width)]) for place in places]

            def at(data: Any, row: Any) -> Any:
                return builder.bitcast(builder.gep(data, [builder.mul(row, intp(ACROSS))]), _WIDE.as_pointer())

            def spread(i: int, j: Any, negative: bool) -> Any:
                u = builder.load(builder.gep(U_rows[i], [j]))
                return splat(builder, builder.fneg(u) if negative else u, _WIDE)

            sums = [cgutils.alloca_once(builder, _WIDE) for _ in range(rows)]
            for place in sums:
                builder.store(ir.Constant(_WIDE, [0.0] * ACROSS), place)
            with cgutils.for_range_slice(builder, builder.add(k, intp(rows)), last, intp(1), intp) as (j, _):
                z = builder.load(at(columns.data, j), align=8)
                for i, place in enumerate(sums):
                    builder.store(builder.call(fused, [spread(i, j, False), z, builder.load(place)]), place)
            z = [builder.load(at(columns.data, place), align=8) for place in places]
            for i in reversed(range(rows)):
                beyond = builder.load(sums[i])
                value = builder.fsub(z[i], beyond) if solves else builder.fadd(z[i], beyond)
                for known in reversed(range(i + 1, rows)):
                    value = builder.call(fused, [spread(i, places[known], solves), z[known], value])
                if solves:
                    z[i] = value
                    builder.store(value, at(columns.data, places[i]), align=8)
                else:
                    builder.store(value, at(result.data, intp(i)), align=8)
            return context.get_dummy_value()

        return signature, codegen

    return cast(Across, across)


solve_block = _make_across(BLOCK, solves=True)
solve_row = _make_across(1, solves=True)
times_block = _make_across(BLOCK, solves=False)
times_row = _make_across(1, solves=False)
