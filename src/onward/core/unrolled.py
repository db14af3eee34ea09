"""Absorbing rows of few coordinates: the whole factor stays in registers, and no loop is left but that over the rows.

The operations are those of the tiles, in the same order, so the results are the same to the last bit.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from onward.core.types import Matrix, Vector

FEW = 5  # beyond so many coordinates the factor no longer fits into the registers

Unrolled = Callable[[int, Matrix, Matrix, Vector, bool, Matrix, Vector, Matrix, Vector, float, Matrix, Vector], float]

_F64 = ir.DoubleType()


def make_unrolled(d: int) -> Unrolled:
    """Build `absorb_rows` from row `first` on, for d coordinates, one target and no empty pivots.

    It takes the largest w‖x‖² so far, as `peak`, and returns it.
    """

    @intrinsic
    def unrolled(
        typingctx: Any,
        first: Any,
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
        names = ("first", "X", "Y", "w", "intercept", "U", "D", "c", "loss", "peak", "p", "q")
        signature = types.float64(types.intp, X, Y, w, intercept, U, D, c, loss, types.float64, p, q)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = {
                name: context.make_array(kind)(context, builder, value)
                for name, kind, value in zip(names, signature.args, args, strict=True)
                if name not in ("first", "intercept", "peak")
            }
            intp = context.get_value_type(types.intp)
            rows, columns = cgutils.unpack_tuple(builder, arrays["X"].shape)
            row_of_U = cgutils.unpack_tuple(builder, arrays["U"].shape)[1]
            constant = builder.trunc(args[4], ir.IntType(1))

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
            largest = variable(args[9])
            one = variable(_F64(1.0))
            lead = builder.zext(constant, intp)

            with cgutils.for_range_slice(builder, args[0], rows, intp(1), intp) as (i, _):
                # With an intercept, coordinate 0 is the constant and the row's values follow it.
                x = builder.gep(arrays["X"].data, [builder.sub(builder.mul(i, columns), lead)])
                pointers = [builder.gep(x, [intp(j)]) for j in pivots]
                pointers[0] = builder.select(constant, one, pointers[0])
                r = [builder.load(pointer) for pointer in pointers]
                squares = _F64(0.0)
                for value in r:
                    squares = builder.fma(value, value, squares)
                squares = builder.fmul(builder.load(element("w", i)), squares)
                larger = builder.fcmp_ordered(">", squares, builder.load(largest))
                builder.store(builder.select(larger, squares, builder.load(largest)), largest)

                a, leverage, known = builder.load(element("w", i)), _F64(0.0), _F64(0.0)
                rho = builder.load(element("Y", i))
                for k in pivots:
                    D_k, c_k = builder.load(D_[k]), builder.load(c_[k])
                    leverage = builder.fma(builder.fmul(r[k], builder.load(inverse[k])), r[k], leverage)
                    ar = builder.fmul(a, r[k])
                    D_new = builder.fma(ar, r[k], D_k)
                    reciprocal = divided(D_new)
                    beta = builder.fmul(ar, reciprocal)
                    a = builder.fmul(builder.fmul(a, D_k), reciprocal)
                    builder.store(D_new, D_[k])
                    builder.store(reciprocal, inverse[k])
                    kept = builder.fmul(D_k, reciprocal)
                    kept = builder.select(builder.fcmp_unordered("!=", D_new, D_k), kept, _F64(1.0))
                    minus_r = builder.fneg(r[k])
                    known = builder.fma(r[k], c_k, known)
                    builder.store(builder.fma(kept, c_k, builder.fmul(beta, rho)), c_[k])
                    rho = builder.fma(minus_r, c_k, rho)
                    for j in range(k + 1, d):
                        u = builder.load(U_[k, j])
                        r[j] = builder.fma(minus_r, u, r[j])
                        builder.store(builder.fma(beta, r[j], u), U_[k, j])
                builder.store(known, element("p", i))
                builder.store(leverage, element("q", i))
                builder.store(builder.fma(builder.fmul(a, rho), rho, builder.load(total)), total)

            for k in pivots:
                builder.store(builder.load(D_[k]), element("D", intp(k)))
                builder.store(builder.load(c_[k]), element("c", intp(k)))
                for j in range(k + 1, d):
                    builder.store(builder.load(U_[k, j]), above(k, j))
            builder.store(builder.load(total), element("loss", intp(0)))
            return builder.load(largest)

        return signature, codegen

    return cast(Unrolled, unrolled)
