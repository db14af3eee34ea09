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

from onward.core.types import Matrix, Vector

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


@intrinsic
def _dot_from(typingctx: Any, U: Any, k: Any, v: Any, first: Any) -> Any:
    signature = types.float64(U, types.intp, v, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, vector = (context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 2))
        k, first = args[1], args[3]
        intp = k.type
        columns = cgutils.unpack_tuple(builder, rows.shape)[1]
        row = builder.gep(rows.data, [builder.mul(k, columns)])
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{LANES}f64"
        )
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(CHAINS)]
        for place in sums:
            builder.store(zero, place)

        def load(pointer: Any, j: Any) -> Any:
            return builder.load(builder.bitcast(builder.gep(pointer, [j]), _VECTOR.as_pointer()), align=8)

        def add(j: Any, place: Any, mask: Any = None) -> None:
            u = load(row, j)
            u = u if mask is None else builder.select(mask, u, zero)
            builder.store(builder.call(fused, [u, load(vector.data, j), builder.load(place)]), place)

        before = builder.and_(first, intp(LANES - 1))
        start = builder.sub(first, before)
        undefined = ir.Constant(ir.VectorType(intp, LANES), ir.Undefined)
        spread = builder.shuffle_vector(
            builder.insert_element(undefined, before, _I32(0)),
            undefined,
            ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES),
        )
        lanes = ir.Constant(ir.VectorType(intp, LANES), list(range(LANES)))
        with builder.if_then(builder.icmp_signed("<", start, columns)):
            add(start, sums[0], builder.icmp_signed(">=", lanes, spread))
        start = builder.add(start, intp(LANES))
        step = intp(LANES * CHAINS)
        whole = builder.mul(builder.sdiv(builder.sub(columns, start), step), step)
        middle = builder.add(start, builder.select(builder.icmp_signed(">", whole, intp(0)), whole, intp(0)))
        with cgutils.for_range_slice(builder, start, middle, step, intp) as (j, _):
            for i, place in enumerate(sums):
                add(builder.add(j, intp(LANES * i)), place)
        vectors = builder.and_(columns, intp(-LANES))
        with cgutils.for_range_slice(builder, middle, vectors, intp(LANES), intp) as (j, _):
            add(j, sums[0])
        rest = cgutils.alloca_once(builder, _F64)
        builder.store(_F64(0.0), rest)
        with cgutils.for_range_slice(builder, vectors, columns, intp(1), intp) as (j, _):
            a, b = (builder.load(builder.gep(pointer, [j])) for pointer in (row, vector.data))
            builder.store(builder.fma(a, b, builder.load(rest)), rest)
        total = builder.load(sums[0])
        for place in sums[1:]:
            total = builder.fadd(total, builder.load(place))
        parts = [builder.extract_element(total, _I32(i)) for i in range(LANES)]
        summed = builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))
        return builder.fadd(summed, builder.load(rest))

    return signature, codegen


CHAINS = 4  # sums at once: one alone waits for itself

dot_from = cast(Callable[[Matrix, int, Vector, int], float], _dot_from)
"""Σ U[k, j]·v[j] over columns j ≥ first. Rows of U and v are padded alike with zeros; or first is 0, and d ≥ LANES."""
