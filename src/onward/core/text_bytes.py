"""Bytes of a text many at a time, for loops that read numbers: eight as one integer, sixty-four as a mask."""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Text: TypeAlias = NDArray[np.uint8]

BLOCK = 64  # bytes in a mask
_I1, _I8, _I32, _I64, _I128 = (ir.IntType(bits) for bits in (1, 8, 32, 64, 128))
_BYTES = ir.VectorType(_I8, BLOCK)
_NEWLINE = 10


def _pointer(context: Any, builder: Any, kind: Any, text: Any, index: Any, target: Any) -> Any:
    data = context.make_array(kind)(context, builder, text).data
    return builder.bitcast(builder.gep(data, [index]), target.as_pointer())


@intrinsic
def _byte_at(typingctx: Any, text: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], _I8))
        return builder.zext(byte, _I64)

    return types.int64(text, types.intp), codegen


@intrinsic
def _eight_at(typingctx: Any, text: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], _I64), align=1)

    return types.uint64(text, types.intp), codegen


@intrinsic
def _marks_at(typingctx: Any, text: Any, index: Any, separator: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], _BYTES), align=1)
        undefined = ir.Constant(_BYTES, ir.Undefined)
        one = builder.insert_element(undefined, builder.trunc(args[2], _I8), _I32(0))
        separators = builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_I32, BLOCK), [0] * BLOCK))
        newlines = ir.Constant(_BYTES, [_NEWLINE] * BLOCK)
        ends = builder.or_(builder.icmp_unsigned("==", block, separators), builder.icmp_unsigned("==", block, newlines))
        return builder.bitcast(ends, _I64)

    return types.uint64(text, types.intp, types.intp), codegen


@intrinsic
def _zeros_below(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], _I1(0))

    return types.uint64(types.uint64), codegen


@intrinsic
def _zeros_above(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], _I1(0))

    return types.uint64(types.uint64), codegen


@intrinsic
def _wide_product(typingctx: Any, a: Any, b: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.mul(*(builder.zext(each, _I128) for each in args))
        high = builder.trunc(builder.lshr(product, _I128(64)), _I64)
        return context.make_tuple(builder, signature.return_type, [high, builder.trunc(product, _I64)])

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), codegen


@intrinsic
def _as_float(typingctx: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.uint64), codegen


byte_at = cast(Callable[[Text, int], int], _byte_at)
"""text[index], without a look at whether it is there."""

eight_at = cast(Callable[[Text, int], np.uint64], _eight_at)
"""text[index : index + 8] as one integer, the first byte lowest; all of them must be there."""

marks_at = cast(Callable[[Text, int, int], np.uint64], _marks_at)
"""Of the 64 bytes from `index` on, which must be there: a bit for each separator or line feed."""

zeros_below = cast(Callable[[np.uint64], np.uint64], _zeros_below)
"""How many bits are 0 before the lowest that is 1; 64 for 0."""

zeros_above = cast(Callable[[np.uint64], np.uint64], _zeros_above)
"""How many bits are 0 above the highest that is 1; 64 for 0."""

wide_product = cast(Callable[[np.uint64, np.uint64], tuple[np.uint64, np.uint64]], _wide_product)
"""The upper and the lower 64 bits of a product of two 64-bit integers."""

as_float = cast(Callable[[np.uint64], float], _as_float)
"""The float with these bits."""
