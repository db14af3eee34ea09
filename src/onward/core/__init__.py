"""The engine: the compiled loops and the state that they act on.

The state is imported when it is first asked for: it loads the compiler, which checks and values do without.
"""

from typing import TYPE_CHECKING, Any

from onward.core.too_extreme import TooExtremeError as TooExtremeError

if TYPE_CHECKING:
    from onward.core.state import Information as Information
    from onward.core.trace import Trace as Trace

__all__ = ["Information", "TooExtremeError", "Trace"]


def __getattr__(name: str) -> Any:
    if name not in ("Information", "Trace"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("onward.core.trace" if name == "Trace" else "onward.core.state"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
