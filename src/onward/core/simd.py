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
WIDE = 2 * LANES  # in the middle of a row: processors with vectors of this length take half as many steps

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


@intrinsic
def _rarely(typingctx: Any, condition: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(1), [ir.IntType(1)] * 2)
        expect = cgutils.get_or_insert_function(builder.module, kind, "llvm.expect.i1")
        return builder.call(expect, [args[0], ir.IntType(1)(0)])

    return types.boolean(types.boolean), codegen


rarely = cast(Callable[[bool], bool], _rarely)
"""The condition, which is mostly false: what hangs on it is then a branch apart, and nothing waits for it."""

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

            wide = ir.VectorType(_F64, WIDE)
            pivots = range(2)
            U_rows = [row("U", builder.add(k, intp(i))) for i in pivots]
            R_rows = [row("R", builder.add(g, intp(b))) for b in range(rows)]
            scalars = [row("K", builder.add(g, intp(b))) for b in range(rows)]

            def spread(column: int, vector: Any) -> list[Any]:
                """For each row the number in a column of K, in a whole vector."""
                numbers = [builder.load(builder.gep(pointer, [intp(column)])) for pointer in scalars]
                return [splat(builder, number, vector) for number in numbers]

            def factors(vector: Any) -> tuple[Any, Any]:
                """−p and β of each pivot and row."""
                minus_p = [[builder.fneg(each) for each in spread(2 * i, vector)] for i in pivots]
                return minus_p, [spread(2 * i + 1, vector) for i in pivots] if write else None

            def step(j: Any, minus_p: Any, beta: Any, vector: Any = _VECTOR) -> None:
                """One vector of columns, from j on."""
                fused = vector_fma(builder, vector)

                def at(pointer: Any) -> Any:
                    return builder.bitcast(builder.gep(pointer, [j]), vector.as_pointer())

                u = [builder.load(at(pointer), align=8) for pointer in U_rows]
                for b in range(rows):
                    r = builder.load(at(R_rows[b]), align=8)
                    for i in pivots:
                        r = builder.call(fused, [minus_p[i][b], u[i], r])
                        if write:
                            u[i] = builder.call(fused, [beta[i][b], r, u[i]])
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
            mask = builder.icmp_signed(">=", lanes, splat(builder, before, int_vector))
            zero = ir.Constant(_VECTOR, [0.0] * LANES)
            minus_p, beta = factors(_VECTOR)
            factors_wide = factors(wide)
            with builder.if_then(ragged):

                def masked(numbers: Any) -> Any:
                    return [[builder.select(mask, value, zero) for value in each] for each in numbers]

                step(start, masked(minus_p), masked(beta) if write else None)
            start = builder.select(ragged, builder.add(start, intp(LANES)), start)
            # Wide vectors are counted from the end of the row, so that one never holds halves of two of an earlier
            # sweep, for which it would have to wait. A single one may come before them.
            last = columns("U")
            odd = builder.and_(builder.sub(last, start), intp(LANES))
            with builder.if_then(builder.icmp_signed(">", odd, intp(0))):
                step(start, minus_p, beta)
            with cgutils.for_range_slice(builder, builder.add(start, odd), last, intp(WIDE), intp) as (j, _):
                step(j, *factors_wide, wide)
            return context.get_dummy_value()

        return signature, codegen

    return cast(Sweep, sweep)


GROUP = 4  # rows in one absorbing sweep: two pivots of four rows fill the vector registers

absorb_group = _make_sweep(GROUP, write=True)
absorb_single = _make_sweep(1, write=True)
read_single = _make_sweep(1, write=False)


CHAINS = 4  # sums at once: one alone waits for itself


def _dots(context: Any, builder: Any, row: Any, columns: Any, vectors: list[Any], first: Any) -> list[Any]:
    """Σ row[j]·v[j] over columns j ≥ first, for each of the vectors; each to the same bits as by itself."""
    intp = columns.type
    fused = vector_fma(builder)
    zero = ir.Constant(_VECTOR, [0.0] * LANES)
    sums = [[cgutils.alloca_once(builder, _VECTOR) for _ in range(CHAINS)] for _ in vectors]
    rests = [cgutils.alloca_once(builder, _F64) for _ in vectors]
    for places, rest in zip(sums, rests, strict=True):
        builder.store(_F64(0.0), rest)
        for place in places:
            builder.store(zero, place)

    def add(j: Any, chain: int, mask: Any = None) -> None:
        u = _load(builder, row, j)
        u = u if mask is None else builder.select(mask, u, zero)
        for v, places in zip(vectors, sums, strict=True):
            total = builder.call(fused, [u, _load(builder, v, j), builder.load(places[chain])])
            builder.store(total, places[chain])

    before = builder.and_(first, intp(LANES - 1))
    start = builder.sub(first, before)
    lanes = ir.Constant(ir.VectorType(intp, LANES), list(range(LANES)))
    with builder.if_then(builder.icmp_signed("<", start, columns)):
        add(start, 0, builder.icmp_signed(">=", lanes, splat(builder, before, ir.VectorType(intp, LANES))))
    start = builder.add(start, intp(LANES))
    step = intp(LANES * CHAINS)
    whole = builder.mul(builder.sdiv(builder.sub(columns, start), step), step)
    middle = builder.add(start, builder.select(builder.icmp_signed(">", whole, intp(0)), whole, intp(0)))
    with cgutils.for_range_slice(builder, start, middle, step, intp) as (j, _):
        for chain in range(CHAINS):
            add(builder.add(j, intp(LANES * chain)), chain)
    stop = builder.and_(columns, intp(-LANES))
    with cgutils.for_range_slice(builder, middle, stop, intp(LANES), intp) as (j, _):
        add(j, 0)
    with cgutils.for_range_slice(builder, stop, columns, intp(1), intp) as (j, _):
        a = builder.load(builder.gep(row, [j]))
        for v, rest in zip(vectors, rests, strict=True):
            builder.store(builder.fma(a, builder.load(builder.gep(v, [j])), builder.load(rest)), rest)
    found = []
    for places, rest in zip(sums, rests, strict=True):
        total = builder.load(places[0])
        for place in places[1:]:
            total = builder.fadd(total, builder.load(place))
        found.append(builder.fadd(_sum_of(builder, total), builder.load(rest)))
    return found


def _load(builder: Any, data: Any, j: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(data, [j]), _VECTOR.as_pointer()), align=8)


def splat(builder: Any, value: Any, vector: Any) -> Any:
    """A vector that has the value everywhere."""
    undefined = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(builder.insert_element(undefined, value, _I32(0)), undefined, zeros)


def vector_fma(builder: Any, vector: Any = _VECTOR) -> Any:
    """The function a·b + c of such vectors, rounded once."""
    kind = ir.FunctionType(vector, [vector] * 3)
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{vector.count}f64")


def _sum_of(builder: Any, vector: Any) -> Any:
    parts = [builder.extract_element(vector, _I32(i)) for i in range(LANES)]
    return builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))


def _row_of(context: Any, builder: Any, kind: Any, matrix: Any, i: Any) -> tuple[Any, Any]:
    """Where row i of a matrix begins, and how many columns there are."""
    array = context.make_array(kind)(context, builder, matrix)
    columns = cgutils.unpack_tuple(builder, array.shape)[1]
    return builder.gep(array.data, [builder.mul(i, columns)]), columns


def _data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


@intrinsic
def _dot_from(typingctx: Any, U: Any, k: Any, v: Any, first: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, columns = _row_of(context, builder, U, args[0], args[1])
        return _dots(context, builder, row, columns, [_data_of(context, builder, v, args[2])], args[3])[0]

    return types.float64(U, types.intp, v, types.intp), codegen


dot_from = cast(Callable[[Matrix, int, Vector, int], float], _dot_from)
"""Σ U[k, j]·v[j] over columns j ≥ first. Rows of U and v are padded alike with zeros; or first is 0, and d ≥ LANES."""


@intrinsic
def _dot_thrice(typingctx: Any, A: Any, i: Any, v: Any, w: Any) -> Any:
    signature = types.UniTuple(types.float64, 3)(A, types.intp, v, w)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, columns = _row_of(context, builder, A, args[0], args[1])
        vectors = [row, _data_of(context, builder, v, args[2]), _data_of(context, builder, w, args[3])]
        found = _dots(context, builder, row, columns, vectors, columns.type(0))
        return context.make_tuple(builder, signature.return_type, found)

    return signature, codegen


dot_thrice = cast(Callable[[Matrix, int, Vector, Vector], tuple[float, float, float]], _dot_thrice)
"""`dot_from` 0 of row i of A with itself, with v and with w: the same bits, and the row is read once."""


def _solved_four(context: Any, builder: Any, kinds: Any, args: Any) -> None:
    """Overwrite v[k … k+3], for each v after U and k among the arguments, with the solution of Uz = v there."""
    row, columns = _row_of(context, builder, kinds[0], args[0], args[1])
    k, intp = args[1], args[1].type
    rows = [builder.gep(row, [builder.mul(intp(i), columns)]) for i in range(LANES)]
    sides = [_data_of(context, builder, kind, v) for kind, v in zip(kinds[2:], args[2:], strict=True)]
    fused = vector_fma(builder)
    sums = [[cgutils.alloca_once(builder, _VECTOR) for _ in rows] for _ in sides]
    for place in (place for places in sums for place in places):
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), place)
    beyond = builder.add(k, intp(LANES))
    with cgutils.for_range_slice(builder, beyond, columns, intp(LANES), intp) as (j, _):
        right = [_load(builder, v, j) for v in sides]
        for i, pointer in enumerate(rows):
            u = _load(builder, pointer, j)
            for v, places in zip(right, sums, strict=True):
                builder.store(builder.call(fused, [u, v, builder.load(places[i])]), places[i])
    for v, places in zip(sides, sums, strict=True):
        solved: list[Any] = [None] * LANES
        for i in reversed(range(LANES)):
            value = builder.load(builder.gep(v, [builder.add(k, intp(i))]))
            value = builder.fsub(value, _sum_of(builder, builder.load(places[i])))
            for known in reversed(range(i + 1, LANES)):
                u = builder.load(builder.gep(rows[i], [builder.add(k, intp(known))]))
                value = builder.fma(builder.fneg(u), solved[known], value)
            solved[i] = value
        whole: Any = ir.Constant(_VECTOR, ir.Undefined)
        for i, value in enumerate(solved):
            whole = builder.insert_element(whole, value, _I32(i))
        # All at once: a vector that was stored in parts cannot be loaded before all of it has arrived.
        builder.store(whole, builder.bitcast(builder.gep(v, [k]), _VECTOR.as_pointer()), align=8)


@intrinsic
def _solve_four(typingctx: Any, U: Any, k: Any, v: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _solved_four(context, builder, signature.args, args)
        return context.get_dummy_value()

    return types.void(U, types.intp, v), codegen


@intrinsic
def _solve_four_twice(typingctx: Any, U: Any, k: Any, v: Any, w: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _solved_four(context, builder, signature.args, args)
        return context.get_dummy_value()

    return types.void(U, types.intp, v, w), codegen


solve_four = cast(Callable[[Matrix, int, Vector], None], _solve_four)
"""Four rows, from k on, of the unit upper triangular system Uz = v, given z after them. Overwrites v with z there.

k is a multiple of LANES; v is padded with zeros like the rows of U. What waits for another value are four at a time.
"""
solve_four_twice = cast(Callable[[Matrix, int, Vector, Vector], None], _solve_four_twice)
"""`solve_four` for two right-hand sides: the same bits."""
