"""The engine: the compiled loops and the state that they act on."""

from onward.core.state import Information, TooExtremeError

__all__ = ["Information", "TooExtremeError"]
