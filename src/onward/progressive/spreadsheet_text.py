"""Text in CSV files for people: what a spreadsheet would take for a formula is written so that it is none.

A text that begins with = + - @, a tab or a line break gets an apostrophe in front, unless it is a number; so does one
that already has apostrophes there, so that to take one away always gives the text back. JSON lines and Parquet hold
texts as they are.
"""

import re

import polars as pl

FORMULA = r"^'*[=+\-@\t\r\n]"
NUMBER = r"^[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?$"
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def quote_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an apostrophe before each text, and each name of a column, that a spreadsheet would compute."""
    texts = [name for name, dtype in frame.schema.items() if isinstance(dtype, _TEXTS)]
    quoted = frame.with_columns(_quoted(pl.col(name).cast(pl.String)).alias(name) for name in texts) if texts else frame
    names = [f"'{name}" if re.match(FORMULA, name) and not re.match(NUMBER, name) else name for name in frame.columns]
    return quoted if names == frame.columns else quoted.rename(dict(zip(frame.columns, names, strict=True)))


def _quoted(text: pl.Expr) -> pl.Expr:
    formula = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    return pl.when(formula).then(pl.lit("'") + text).otherwise(text)
