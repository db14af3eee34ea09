"""/: what the loops do, as a page that asks the server it came from, and nobody else."""

from importlib.metadata import version

from onward.pages.page import render_page


def loops_page(every: float = 3.0) -> str:
    """The page's text.

    Args:
        every: so many seconds it waits before it asks the server again.
    """
    description = "What the decision loops of this server do, and what they have learned."
    return render_page(
        "service/loops_page.html", "Decision loops", description, version=version("onward"), every=int(1000 * every)
    )
