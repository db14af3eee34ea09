"""The explorer as one file: mathematics, drawing and text in a page that asks nobody for anything.

Its mathematics is that of the library, written once more in JavaScript; tests compare the two in a browser, on the same
random numbers.
"""

from importlib.metadata import version

from onward.pages.page import render_page

# In this order: each uses what stands before it.
SCRIPTS = (
    "random.js",
    "factor.js",
    "regression.js",
    "student.js",
    "policies.js",
    "elements.js",
    "charts.js",
    "row_part.js",
    "map_part.js",
    "peeking_part.js",
    "decide_part.js",
    "explorer.js",
)
TABS = (
    ("row", "One new row", "What to say of a row like no other?"),
    ("map", "Noise × λ", "When does forward beat ridge?"),
    ("peeking", "Peeking", "May I look every day?"),
    ("decide", "Decide", "Which arm next?"),
)


def explorer_page() -> str:
    """The page's text, with style and scripts in it."""
    description = (
        "Play with online linear regression and linear bandits: rows, noise, tests that are peeked at, and arms."
    )
    return render_page(
        "explorer/explorer.html", "Onward explorer", description, version=version("onward"), scripts=SCRIPTS, tabs=TABS
    )
