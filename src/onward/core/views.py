"""Parts of a buffer as vectors, matrices and records, at no cost.

`reshape` and `view` look at layouts when they run, some 40 ns each: as long as a short row takes. And every slice
counts itself among those that hold the buffer, with an instruction that the other cores must see.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from onward.core.types import Matrix, Records, Vector


def _viewed(context: Any, builder: Any, source: Any, result: Any, array: Any, shape: list[Any]) -> Any:
    """An array of type `result` over the memory of `array`, without a look at whether it fits."""
    before, after = context.make_array(source)(context, builder, array), context.make_array(result)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(result.dtype))
    intp = context.get_value_type(types.intp)
    strides = [intp(size)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    context.populate_array(
        after,
        data=builder.bitcast(before.data, after.data.type),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=intp(size),
        meminfo=before.meminfo,
    )
    return impl_ret_borrowed(context, builder, result, after._getvalue())


@intrinsic
def _part(typingctx: Any, buffer: Any, first: Any, last: Any) -> Any:
    result = types.Array(buffer.dtype, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole, part = context.make_array(signature.args[0])(context, builder, args[0]), context.make_array(result)
        out = part(context, builder)
        intp, size = context.get_value_type(types.intp), context.get_abi_sizeof(context.get_data_type(result.dtype))
        context.populate_array(
            out,
            data=builder.gep(whole.data, [args[1]]),
            shape=cgutils.pack_array(builder, [builder.sub(args[2], args[1])]),
            strides=cgutils.pack_array(builder, [intp(size)]),
            itemsize=intp(size),
            meminfo=None,
        )
        return out._getvalue()

    return result(buffer, types.intp, types.intp), codegen


part = cast(Callable[[Vector, int, int], Vector], _part)
"""buffer[first:last], which does not keep the buffer alive: for use while something else does. See `owned`."""


def owned(buffer: Vector, views: Any) -> Any:
    """Views of a buffer that compiled code has given, alone or in named tuples, as ones that keep it alive."""
    if isinstance(views, tuple):
        return type(views)(*(owned(buffer, view) for view in views))
    start, here = buffer.__array_interface__["data"][0], views.__array_interface__["data"][0]
    first = (here - start) // buffer.itemsize
    return buffer[first : first + views.nbytes // buffer.itemsize].view(views.dtype).reshape(views.shape)


@intrinsic
def _as_matrix(typingctx: Any, part: Any, rows: Any, columns: Any) -> Any:
    result = types.Array(part.dtype, 2, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _viewed(context, builder, signature.args[0], result, args[0], [args[1], args[2]])

    return result(part, types.intp, types.intp), codegen


as_matrix = cast(Callable[[Vector, int, int], Matrix], _as_matrix)
"""A contiguous part of a buffer as a matrix of so many rows and columns."""


def records_of(dtype: np.dtype[np.void]) -> Callable[[Vector], Records]:
    """Build what shows the beginning of a part of a buffer as one record of this type."""
    result = types.Array(from_dtype(dtype), 1, "C")

    @intrinsic
    def as_record(typingctx: Any, part: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            one = context.get_value_type(types.intp)(1)
            return _viewed(context, builder, signature.args[0], result, args[0], [one])

        return result(part), codegen

    return cast(Callable[[Vector], Records], as_record)
