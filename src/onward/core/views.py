"""Parts of a buffer as matrices and as records, at no cost.

`reshape` and `view` look at layouts when they run, some 40 ns each: as long as a short row takes.
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
