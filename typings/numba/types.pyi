from numba.core.types import Array as Array
from numba.core.types import Type as Type
from numba.core.types import boolean as boolean
from numba.core.types import float64 as float64
from numba.core.types import int64 as int64
from numba.core.types import intp as intp
from numba.core.types import uint64 as uint64
from numba.core.types import void as void

def UniTuple(dtype: Type, count: int) -> Type: ...  # a class without types
