"""What is done where a value lacks or is infinite: the data are refused, the row is left out, or 0 counts."""

from collections import Counter

import numpy as np

from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.tables.errors import RowError
from onward.tables.levels import Flags
from onward.tables.readers import Piece
from onward.tables.recipe import Missing
from onward.tables.terms import columns_in, parse_term

_CHOOSE = "choose what to do with missing values (--missing): skip the row, or count them as zero"


class MissingValues:
    """Looks after missing values by a rule, and counts them.

    Its methods take the flags of rows that are `kept`, and take those away that are left out.

    Attributes:
        skipped: reason → rows that were left out.  filled: column or term → missing values that counted as 0.
    """

    def __init__(self, rule: Missing, *, skips_bad: bool = False) -> None:
        """`skips_bad`: a row that would be refused is left out instead."""
        self.rule = rule
        self._skips_bad = skips_bad
        self.skipped: Counter[str] = Counter()
        self.filled: Counter[str] = Counter()

    def require(self, column: str, values: Vector, piece: Piece, kept: Flags) -> None:
        """A column of numbers that cannot be made up, such as the target."""
        self._look(column, values, piece, kept, fill=False)

    def fill(self, column: str, values: Vector, piece: Piece, kept: Flags) -> None:
        """A column of numbers. Overwrites those that count as 0."""
        self._look(column, values, piece, kept, fill=self.rule == "zero")

    def fill_term(self, term: str, values: Matrix, unknown: Flags | None, piece: Piece, kept: Flags) -> None:
        """The features of a term, (n, k), and where they are not known yet. Overwrites those that count as 0."""
        if unknown is not None and self.rule != "zero":  # nobody can help it: no error, whatever the rule
            rows = kept & unknown
            if rows.any():
                self.skipped[f"{term} is not known yet"] += int(np.count_nonzero(rows))
            kept &= ~unknown
        finite = np.isfinite(values)
        if finite.all():
            return
        worst = np.where(finite.all(axis=1), 0.0, np.where(np.isnan(values).any(axis=1), np.nan, np.inf))
        missing = np.isnan(worst)
        self._look(term, worst, piece, kept, fill=self.rule == "zero", is_term=True)
        if self.rule == "zero":
            values[missing] = 0.0

    def check_levels(self, column: str, piece: Piece, kept: Flags) -> None:
        """A column of categories, in which nothing can stand for a missing one."""
        missing = kept & piece.frame[column].is_null().to_numpy()
        if not missing.any():
            return
        if self.rule == "error":
            row = int(np.flatnonzero(missing)[0])
            self.refuse(
                f"{piece.where(row)}, column {brief(column)}: the value is missing, expected a category; {_CHOOSE}", row
            )
        if self.rule != "zero":
            self.leave_out(f"{column} is missing", missing, kept)
        else:
            self.filled[column] += int(np.count_nonzero(missing))

    def refuse(self, message: str, row: int) -> None:
        """RowError for a row of a piece, unless such rows are left out."""
        if not self._skips_bad:
            raise RowError(message, row)

    def leave_out(self, reason: str, rows: Flags, kept: Flags) -> None:
        """Take rows away, and count them."""
        self.skipped[reason] += int(np.count_nonzero(rows))
        kept &= ~rows

    def _look(self, name: str, values: Vector, piece: Piece, kept: Flags, *, fill: bool, is_term: bool = False) -> None:
        infinite = kept & np.isinf(values)
        if infinite.any() and self.rule != "skip":
            row = int(np.flatnonzero(infinite)[0])
            self.refuse(f"{_place(name, piece, row, is_term)}: got {values[row]}, expected a finite number", row)
        missing = kept & np.isnan(values)
        if missing.any() and self.rule == "error":
            row = int(np.flatnonzero(missing)[0])
            place = _place(name, piece, row, is_term)
            self.refuse(f"{place}: the value is missing, expected a number; {_CHOOSE}", row)
        if fill:
            self.filled[name] += int(np.count_nonzero(missing))
            values[missing] = 0.0
            missing = np.zeros_like(missing)
        for what, rows in (("missing", missing), ("infinite", infinite)):
            if rows.any():
                self.leave_out(f"{name} is {what}", rows, kept)


def _place(name: str, piece: Piece, row: int, is_term: bool) -> str:
    """Where a value stands; of a term, with what it is made of."""
    if not is_term:
        return f"{piece.where(row)}, column {brief(name)}"
    columns = [each for each in columns_in(parse_term(name)) if piece.has(each)]
    made_of = ", ".join(f"{each} = {piece.shown(each, row)}" for each in columns)
    return f"{piece.where(row)}, term {name}" + (f" ({made_of})" if made_of else "")
