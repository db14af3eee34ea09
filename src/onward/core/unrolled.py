"""Absorbing rows of few coordinates: no loop is left but that over the rows, and the factor stays close at hand.

Several rows are on their way at a time, each at another pivot, so that none waits for another's division. A row's
operations are those of the tiles, in the same order, so the results are the same to the last bit.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from onward.core.types import Matrix, Vector

TAKEN_OVER = 2.0**-10  # of a pivot that keeps less than this, a row makes U anew: five bits are lost at most
FEW = 5  # beyond so many coordinates the factor no longer fits into the registers

Unrolled = Callable[
    [int, int, Matrix, Matrix, Vector, bool, Matrix, Vector, Matrix, Vector, float, Matrix, Vector], float
]

_F64 = ir.DoubleType()


def make_unrolled(d: int) -> Unrolled:
    """Build `absorb_rows` from row `first` on, for d coordinates, one target and no empty pivots.

    It takes the largest w‖x‖² so far, as `peak`, and returns it; -1, and the factor as it was, if a row may have taken
    a pivot over: see `factor.absorb_value`.
    """

    @intrinsic
    def unrolled(
        typingctx: Any,
        first: Any,
        stop: Any,
        X: Any,
        Y: Any,
        w: Any,
        intercept: Any,
        U: Any,
        D: Any,
        c: Any,
        loss: Any,
        peak: Any,
        p: Any,
        q: Any,
    ) -> Any:
        names = ("first", "stop", "X", "Y", "w", "intercept", "U", "D", "c", "loss", "peak", "p", "q")
        signature = types.float64(types.intp, types.intp, X, Y, w, intercept, U, D, c, loss, types.float64, p, q)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = {
                name: context.make_array(kind)(context, builder, value)
                for name, kind, value in zip(names, signature.args, args, strict=True)
                if name not in ("first", "stop", "intercept", "peak")
            }
            intp = context.get_value_type(types.intp)
            rows, columns = args[1], cgutils.unpack_tuple(builder, arrays["X"].shape)[1]
            row_of_U = cgutils.unpack_tuple(builder, arrays["U"].shape)[1]
            constant = builder.trunc(args[5], ir.IntType(1))

            def element(name: str, index: Any) -> Any:
                return builder.gep(arrays[name].data, [index])

            def variable(value: Any) -> Any:
                """A number that changes from row to row. The compiler keeps it in a register."""
                slot = cgutils.alloca_once(builder, _F64)
                builder.store(value, slot)
                return slot

            def divided(value: Any) -> Any:
                return builder.fdiv(_F64(1.0), value)

            def above(k: int, j: int) -> Any:
                return element("U", builder.add(builder.mul(intp(k), row_of_U), intp(j)))

            pivots = range(d)
            D_ = [variable(builder.load(element("D", intp(k)))) for k in pivots]
            inverse = [variable(divided(builder.load(slot))) for slot in D_]
            c_ = [variable(builder.load(element("c", intp(k)))) for k in pivots]
            U_ = {(k, j): variable(builder.load(above(k, j))) for k in pivots for j in range(k + 1, d)}
            total = variable(builder.load(element("loss", intp(0))))
            largest = variable(args[10])
            one = variable(_F64(1.0))
            lead = builder.zext(constant, intp)

            # A row on its way: what is left of it, a, q, p and ρ, as they come to pivot k.
            way = [[variable(_F64(0.0)) for _ in range(d + 4)] for _ in range(d)]

            def enter(i: Any) -> None:
                """Load row i. With an intercept, coordinate 0 is the constant and the row's values follow it."""
                x = builder.gep(arrays["X"].data, [builder.sub(builder.mul(i, columns), lead)])
                pointers = [builder.gep(x, [intp(j)]) for j in pivots]
                pointers[0] = builder.select(constant, one, pointers[0])
                r = [builder.load(pointer) for pointer in pointers]
                w, squares = builder.load(element("w", i)), _F64(0.0)
                for value in r:
                    squares = builder.fma(value, value, squares)
                squares = builder.fmul(w, squares)
                larger = builder.fcmp_ordered(">", squares, builder.load(largest))
                builder.store(builder.select(larger, squares, builder.load(largest)), largest)
                for slot, value in zip(
                    way[0], [*r, w, _F64(0.0), _F64(0.0), builder.load(element("Y", i))], strict=True
                ):
                    builder.store(value, slot)

            def pass_pivot(k: int, i: Any) -> None:
                """Row i meets pivot k, and goes on to the next or, behind the last, out."""
                *r, a, leverage, known, rho = (builder.load(slot) for slot in way[k])
                D_k, c_k = builder.load(D_[k]), builder.load(c_[k])
                leverage = builder.fma(builder.fmul(r[k], builder.load(inverse[k])), r[k], leverage)
                ar = builder.fmul(a, r[k])
                D_new = builder.fma(ar, r[k], D_k)
                reciprocal = divided(D_new)
                beta = builder.fmul(ar, reciprocal)
                a = builder.fmul(builder.fmul(a, D_k), reciprocal)
                builder.store(D_new, D_[k])
                builder.store(reciprocal, inverse[k])
                share = builder.fmul(D_k, reciprocal)
                share = builder.select(builder.fcmp_unordered("!=", D_new, D_k), share, _F64(1.0))
                minus_r = builder.fneg(r[k])
                known = builder.fma(r[k], c_k, known)
                builder.store(builder.fma(share, c_k, builder.fmul(beta, rho)), c_[k])
                rho = builder.fma(minus_r, c_k, rho)
                for j in range(k + 1, d):
                    u = builder.load(U_[k, j])
                    r[j] = builder.fma(minus_r, u, r[j])
                    builder.store(builder.fma(beta, r[j], u), U_[k, j])
                if k + 1 < d:
                    for slot, value in zip(way[k + 1], [*r, a, leverage, known, rho], strict=True):
                        builder.store(value, slot)
                else:
                    builder.store(known, element("p", i))
                    builder.store(leverage, element("q", i))
                    builder.store(builder.fma(builder.fmul(a, rho), rho, builder.load(total)), total)

            def step(s: Any, guarded: bool) -> None:
                """Row s meets pivot 0, the row before it pivot 1, and so on: the last first, to make room."""
                for k in reversed(pivots):
                    i = builder.sub(s, intp(k))
                    if not guarded:
                        if k == 0:
                            enter(i)
                        pass_pivot(k, i)
                        continue
                    inside = builder.and_(builder.icmp_signed(">=", i, args[0]), builder.icmp_signed("<", i, rows))
                    with builder.if_then(inside):
                        if k == 0:
                            enter(i)
                        pass_pivot(k, i)

            def smaller(a: Any, b: Any) -> Any:
                return builder.select(builder.icmp_signed("<", a, b), a, b)

            # At first the way fills, at last it empties; in between every pivot has a row.
            filled = smaller(builder.add(args[0], intp(d - 1)), rows)
            for start, stop, guarded in (
                (args[0], filled, True),
                (filled, rows, False),
                (rows, builder.add(rows, intp(d - 1)), True),
            ):
                with cgutils.for_range_slice(builder, start, stop, intp(1), intp) as (s, _):
                    step(s, guarded)

            # Pivots only grow, or only shrink: one that has not grown so much by all rows has not by one.
            kept = ir.IntType(1)(1)
            for k in pivots[:-1]:
                least = builder.fmul(builder.load(D_[k]), _F64(2.0 * TAKEN_OVER))
                kept = builder.and_(kept, builder.fcmp_ordered(">", builder.load(element("D", intp(k))), least))
            with builder.if_then(kept, likely=True):
                for k in pivots:
                    builder.store(builder.load(D_[k]), element("D", intp(k)))
                    builder.store(builder.load(c_[k]), element("c", intp(k)))
                    for j in range(k + 1, d):
                        builder.store(builder.load(U_[k, j]), above(k, j))
                builder.store(builder.load(total), element("loss", intp(0)))
            return builder.select(kept, builder.load(largest), _F64(-1.0))

        return signature, codegen

    return cast(Unrolled, unrolled)
