from typing import Any

from llvmlite import ir
from numba.core import types

def impl_ret_borrowed(context: Any, builder: ir.IRBuilder, retty: types.Type, ret: ir.Value) -> ir.Value: ...
