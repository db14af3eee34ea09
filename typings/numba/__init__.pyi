from collections.abc import Callable
from typing import Any

from numba.core import config as config
from numba.core.decorators import njit as njit
from numba.core.typing.templates import Signature
from numba.np.numpy_support import from_dtype as from_dtype

__version__: str

# Its own `address` may be None, as it is before it compiles.
class _CFunc:
    address: int

def cfunc(signature: Signature, *, error_model: str) -> Callable[[Callable[..., Any]], _CFunc]: ...
