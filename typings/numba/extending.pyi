from collections.abc import Callable
from typing import Any

# What an intrinsic means when compiled code calls it is up to its code generator: cast it to the type it has.
def intrinsic(func: Callable[..., Any], /) -> Callable[..., Any]: ...
