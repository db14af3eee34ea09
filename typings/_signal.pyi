from collections.abc import Callable
from types import FrameType

SIGINT: int

_Handler = Callable[[int, FrameType | None], object] | int | None

def getsignal(signalnum: int, /) -> _Handler: ...
def signal(signalnum: int, handler: _Handler, /) -> _Handler: ...
