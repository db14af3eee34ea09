"""Coefficients with their intervals, as a value that shows itself."""

import math
from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

from onward.pages.numbers import format_number
from onward.pages.plain_tables import html_paragraphs, html_table, text_table

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

FEW = 20  # coefficients that are shown at once
_WIDTH = 100  # of a paragraph in a terminal
_OPEN = {
    True: "∞: too little is known for an end. More rows help, but not where columns are sums of others, as levels "
    "beside a constant are: there, ask for contrasts.",
    False: "∞: too little is known for an end; more rows help, or a known sigma and theta_bound.",
}
_HEADS = {  # of the columns that are shown; e-values, of which p-values are 1 over them, are in the frame alone
    "feature": "feature",
    "coefficient": "coefficient",
    "estimate": "estimate",
    "standard_error": "std. error",
    "lower": "lower",
    "upper": "upper",
    "p_value": "p-value",
}


class CoefficientTable(Mapping[str, Any]):
    """Columns by name: `feature`, `estimate`, and `lower` and `upper` of a model that has intervals.

    Those of `anytime` intervals are `coefficient`, the model's own, `estimate`, that of least squares, around which the
    intervals lie, `standard_error`, `lower`, `upper`, `e_value`, `log_e_value` and `p_value`.

    Attributes:
        delta: the probability with which intervals may fail.
        assumed: what holds of them, and what is assumed for it.
        is_restarted: whether the model started anew on the way, so that it is not about all rows.
    """

    def __init__(
        self, columns: Mapping[str, Any], delta: float, assumed: str = "", *, is_restarted: bool = False
    ) -> None:
        self._columns = dict(columns)
        self.delta, self.assumed, self.is_restarted = delta, assumed, is_restarted

    @property
    def heads(self) -> dict[str, str]:
        """The columns that are shown, with what stands above them."""
        return {name: head for name, head in _HEADS.items() if name in self}

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def to_frame(self) -> "pl.DataFrame":
        """A row for each coefficient."""
        import polars as pl

        return pl.DataFrame({"feature": [str(name) for name in self["feature"]]} | dict(list(self.items())[1:]))

    def plot(self) -> "Figure":
        """A picture of the coefficients with their intervals."""
        from onward.progressive.coefficient_drawing import draw_coefficients

        return draw_coefficients(self)

    def rows(self, most: int = FEW) -> tuple[list[list[str]], list[str]]:
        """The first coefficients as texts, and what is to be said below them."""
        total = len(self["feature"])
        shown = total if total <= most + 5 else most  # to leave out a handful would save nothing
        rows = [
            [str(self["feature"][row]), *(_shown(float(self[name][row])) for name in list(self.heads)[1:])]
            for row in range(shown)
        ]
        notes = [f"and {total - shown:,} more; to_frame() has them all"] if shown < total else []
        if any("∞" in cell for row in rows for cell in row[1:]):
            notes.append(_OPEN[self.one_by_one])
        return rows, [*self.remarks, *notes]

    @property
    def remarks(self) -> list[str]:
        """What the columns are, and what holds of the intervals."""
        which = "the rows since the restart" if self.is_restarted else "all rows"
        beside = [f"Estimates are those of least squares on {which}, coefficients the model's own."]
        return [*(beside if "coefficient" in self else []), *([self.assumed] if self.assumed else [])]

    @property
    def one_by_one(self) -> bool:
        """Whether each coefficient has an interval of its own, not one from a set of all."""
        return "p_value" in self

    def __str__(self) -> str:
        rows, notes = self.rows()
        table = text_table(list(self.heads.values()), rows)
        return "\n".join(["Coefficients", table, *(fill(note, _WIDTH) for note in notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows, notes = self.rows()
        return html_table("Coefficients", list(self.heads.values()), rows) + html_paragraphs(notes)


def _shown(value: float) -> str:
    return "–" if math.isnan(value) else format_number(value)
