"""The explorer: one page on which to play with rows, noise, tests and arms. It needs no server and no network."""

from onward.explorer.explorer_page import explorer_page

__all__ = ["explorer_page"]
