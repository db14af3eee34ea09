"""Names that come from data, made fit for a figure: of one line, not too long, in letters that the font has."""

import functools
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

MOST_LETTERS = 28
NAMELESS = "(no name)"


def make_labels(names: Sequence[str], most: int = MOST_LETTERS) -> list[str]:
    """Short names, each unlike the others: what is too long loses its middle, and equal ones are numbered."""
    cut = [_short(" ".join(name.split()) or NAMELESS, most) for name in names]
    counts, seen, told_apart = Counter(cut), Counter[str](), []
    for name in cut:
        seen[name] += 1
        told_apart.append(f"{name} ({seen[name]})" if counts[name] > 1 else name)
    return told_apart


def make_drawable(text: str) -> str:
    """The text for matplotlib: `$` is no formula, and a letter that its font lacks is a `?`."""
    font = _font()
    return "".join(each if font.get_char_index(ord(each)) else "?" for each in text).replace("$", r"\$")


def _short(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    end = (most - 1) // 3
    return f"{name[: most - 1 - end]}…{name[-end:]}"


@functools.cache
def _font() -> "FT2Font":
    from matplotlib.font_manager import findfont, get_font  # here, so that what does not draw does not wait for it

    return get_font(findfont("DejaVu Sans"))
