"""The engine: the compiled loops and the state that they act on."""

from onward.core.state import Information

__all__ = ["Information"]
