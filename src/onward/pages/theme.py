"""The page's light and dark theme, and the colours of drawings in each.

Black becomes the page's ink, white its paper, and every line must stand out from both papers. So each colour is a
variable, `var(--c-2a6f97)`, with one value for each theme.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """The two colours that all others are fitted to, and the least contrast to the paper of lines."""

    paper: str
    ink: str
    lines: float


LIGHT = Theme(paper="#fcfcfa", ink="#1d232b", lines=3.0)
DARK = Theme(paper="#14181d", ink="#e6e9ec", lines=4.5)  # thin lines look dimmer on dark paper than they measure

LINE, TEXT = 3.0, 4.5  # the least contrasts that WCAG asks of graphics and of text, level AA


def variable(colour: str) -> str:
    """How the page calls a colour."""
    return f"var(--c-{colour[1:]})"


def colour_declarations(colours: Mapping[str, float], theme: Theme) -> str:
    """The CSS that gives each colour its value in a theme."""
    return "".join(f"--c-{colour[1:]}:{fit_colour(colour, colours[colour], theme)};" for colour in sorted(colours))


def fit_colour(colour: str, least: float, theme: Theme) -> str:
    """The colour as a theme shows it.

    Greys run from ink to paper. Lines and letters go towards the ink until their contrast to the paper is enough, and
    backgrounds towards the paper where they would glare.
    """
    red, green, blue = _levels(colour)
    if red == green == blue:
        colour = _mix(theme.ink, theme.paper, red)
        if least < TEXT:  # a faint grid is meant to be faint
            return colour
    if least == 0:
        return colour if contrast(colour, theme.paper) < 2 else _mix(colour, theme.paper, 0.85)
    enough = max(least, theme.lines)
    shares = (_mix(colour, theme.ink, step / 20) for step in range(21))
    return next((each for each in shares if contrast(each, theme.paper) >= enough), theme.ink)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG, 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _levels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mix(start: str, end: str, share: float) -> str:
    red, green, blue = ((1 - share) * a + share * b for a, b in zip(_levels(start), _levels(end), strict=True))
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def _levels(colour: str) -> tuple[float, float, float]:
    """Red, green and blue of “#rrggbb”, in [0, 1]."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue
