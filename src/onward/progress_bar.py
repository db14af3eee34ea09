"""The progress bar of long work, on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def open_progress_bar(
    label: str, *details: str, percent: bool = False, transient: bool = False
) -> "Iterator[Progress]":
    """A bar with the time that has passed and the time left, for the tasks that are added to it.

    Args:
        label: before the bar, such as "{task.description}".
        *details: after it, such as "{task.fields[rate]} rows/s".
        percent: show the share that is done, not how many of how many.
        transient: the bar goes away when the work is over.
    """
    from rich import progress
    from rich.console import Console

    columns: list[progress.ProgressColumn] = [
        progress.TextColumn(label),
        progress.BarColumn(),
        progress.TaskProgressColumn() if percent else progress.MofNCompleteColumn(),
        *(progress.TextColumn(detail) for detail in details),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
    ]
    with progress.Progress(*columns, console=Console(stderr=True), transient=transient) as bar:
        yield bar
