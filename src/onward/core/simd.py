"""Fused multiply-add, and the sweep: the innermost loop of the factorisation, written with vectors.

The compiler's own vectoriser leaves a factor of two or more on the table here: it cannot prove that the
rows do not overlap, and it peels short loops into single elements. So the sweep is spelled out in LLVM
vectors, for any processor. `fma` rounds once and is exactly specified, so a value does not depend on
which of the sweeps computed it.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from onward.core.types import Matrix

LANES = 4  # doubles in a vector; processors with narrower ones split it

_F64 = ir.DoubleType()
_I32 = ir.IntType(32)
_VECTOR = ir.VectorType(_F64, LANES)


def padded(columns: int) -> int:
    """The length of a stored row that holds `columns` values: a whole number of vectors, at least one."""
    return max(1, -(-columns // LANES)) * LANES


@intrinsic
def _fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


fma = cast(Callable[[float, float, float], float], _fma)
"""a·b + c, rounded once."""

Sweep = Callable[[Matrix, int, Matrix, int, Matrix, int], None]


def _make_sweep(rows: int, write: bool) -> Sweep:
    """Build the sweep of two pivots over `rows` rows.

    sweep(U, k, R, g, K, first) does, for every column j ≥ first, row b = g … g+rows−1 and pivot i = k, k+1,
    with p = K[b, 2(i−k)] and β = K[b, 2(i−k)+1]:

        R[b, j] ← R[b, j] − p·U[i, j]
        U[i, j] ← U[i, j] + β·R[b, j]        (only if `write`)

    Each column is loaded once for all rows and both pivots. Overwrites R, and U if `write`. Both must be
    C-contiguous with rows of `padded` length whose padding is zero: it stays zero.
    """

    @intrinsic
    def sweep(typingctx: Any, U: Any, k: Any, R: Any, g: Any, K: Any, first: Any) -> Any:
        signature = types.void(U, types.intp, R, types.intp, K, types.intp)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = {
                name: context.make_array(signature.args[i])(context, builder, args[i])
                for name, i in (("U", 0), ("R", 2), ("K", 4))
            }
            k, g, first = args[1], args[3], args[5]
            intp = k.type

            def columns(name: str) -> Any:
                return cgutils.unpack_tuple(builder, arrays[name].shape)[1]

            def row(name: str, index: Any) -> Any:
                return builder.gep(arrays[name].data, [builder.mul(index, columns(name))])

            def splat(value: Any, vector: Any) -> Any:
                undefined = ir.Constant(vector, ir.Undefined)
                one = builder.insert_element(undefined, value, _I32(0))
                zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
                return builder.shuffle_vector(one, undefined, zeros)

            vector_fma = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{LANES}f64"
            )
            pivots = range(2)
            U_rows = [row("U", builder.add(k, intp(i))) for i in pivots]
            R_rows = [row("R", builder.add(g, intp(b))) for b in range(rows)]
            minus_p, beta = {}, {}
            for b in range(rows):
                scalars = row("K", builder.add(g, intp(b)))
                for i in pivots:
                    p = builder.load(builder.gep(scalars, [intp(2 * i)]))
                    minus_p[b, i] = splat(builder.fneg(p), _VECTOR)
                    if write:
                        beta[b, i] = splat(builder.load(builder.gep(scalars, [intp(2 * i + 1)])), _VECTOR)

            def step(j: Any, minus_p: dict[Any, Any], beta: dict[Any, Any]) -> None:
                """One vector of columns, from j on."""

                def at(pointer: Any) -> Any:
                    return builder.bitcast(builder.gep(pointer, [j]), _VECTOR.as_pointer())

                u = [builder.load(at(pointer), align=8) for pointer in U_rows]
                for b in range(rows):
                    r = builder.load(at(R_rows[b]), align=8)
                    for i in pivots:
                        r = builder.call(vector_fma, [minus_p[b, i], u[i], r])
                        if write:
                            u[i] = builder.call(vector_fma, [beta[b, i], r, u[i]])
                    builder.store(r, at(R_rows[b]), align=8)
                if write:
                    for i in pivots:
                        builder.store(u[i], at(U_rows[i]), align=8)

            # The first vector may begin before `first`: there p and β are masked to zero, which leaves those
            # columns as they are. (Single stores beside it would stall the vector loads that follow.)
            before = builder.and_(first, intp(LANES - 1))
            start = builder.sub(first, before)
            ragged = builder.icmp_signed(">", before, intp(0))
            int_vector = ir.VectorType(intp, LANES)
            lanes = ir.Constant(int_vector, list(range(LANES)))
            mask = builder.icmp_signed(">=", lanes, splat(before, int_vector))
            zero = ir.Constant(_VECTOR, [0.0] * LANES)
            with builder.if_then(ragged):
                step(
                    start,
                    {key: builder.select(mask, value, zero) for key, value in minus_p.items()},
                    {key: builder.select(mask, value, zero) for key, value in beta.items()},
                )
            start = builder.select(ragged, builder.add(start, intp(LANES)), start)
            with cgutils.for_range_slice(builder, start, columns("U"), intp(LANES), intp) as (j, _):
                step(j, minus_p, beta)
            return context.get_dummy_value()

        return signature, codegen

    return cast(Sweep, sweep)


GROUP = 4  # rows in one absorbing or reading sweep: two pivots of four rows fill the vector registers

absorb_group = _make_sweep(GROUP, write=True)
absorb_single = _make_sweep(1, write=True)
read_group = _make_sweep(GROUP, write=False)
read_single = _make_sweep(1, write=False)
