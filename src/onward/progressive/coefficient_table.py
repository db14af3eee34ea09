"""Coefficients with their intervals, as a value that shows itself."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onward.pages.numbers import format_number
from onward.pages.plain_tables import html_paragraphs, html_table, text_table

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

FEW = 20  # coefficients that are shown at once
_COLUMNS = ("feature", "estimate", "lower", "upper")


class CoefficientTable(Mapping[str, Any]):
    """Columns `feature`, `estimate`, `lower` and `upper` by name.

    The intervals hold for all features at every row with probability at least 1 − delta. Those of a model that forgets
    are NaN: it has none, and none are shown.
    """

    def __init__(self, columns: Mapping[str, Any], delta: float) -> None:
        self._columns = {name: columns[name] for name in _COLUMNS}
        self.delta = delta

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def to_frame(self) -> "pl.DataFrame":
        """A row for each coefficient."""
        import polars as pl

        columns = {"feature": [str(name) for name in self["feature"]]} | dict(list(self.items())[1:])
        return pl.DataFrame(columns).with_columns(pl.col("lower", "upper").fill_nan(None))

    def plot(self) -> "Figure":
        """A picture of the coefficients with their intervals."""
        from onward.progressive.coefficient_drawing import draw_coefficients

        return draw_coefficients(self)

    def rows(self, most: int = FEW) -> tuple[list[list[str]], list[str]]:
        """The first coefficients as texts, and what is to be said below them."""
        total = len(self["feature"])
        shown = total if total <= most + 5 else most  # to leave out a handful would save nothing
        rows = [
            [str(self["feature"][row]), *(format_number(float(self[c][row])) for c in self.shown[1:])]
            for row in range(shown)
        ]
        notes = [f"and {total - shown:,} more; to_frame() has them all"] if shown < total else []
        if any("∞" in cell for row in rows for cell in row[1:]):
            notes.append("∞: too little is known for an end; more rows help, or a known sigma and theta_bound.")
        return rows, notes

    def __str__(self) -> str:
        rows, notes = self.rows()
        return "\n".join([self._title(), text_table(self.shown, rows), *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows, notes = self.rows()
        return html_table(self._title(), self.shown, rows) + html_paragraphs(notes)

    @property
    def shown(self) -> Sequence[str]:
        """The columns that are shown."""
        return _COLUMNS if has_intervals(self) else _COLUMNS[:2]

    def _title(self) -> str:
        if not has_intervals(self):
            return "Coefficients"
        return (
            f"Coefficients, with intervals that hold for all of them at every row with probability {1 - self.delta:g}"
        )


def has_intervals(columns: Mapping[str, Any]) -> bool:
    """Whether coefficients have intervals, open ones or others."""
    return not all(math.isnan(float(end)) for end in columns["lower"])
