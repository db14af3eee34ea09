import re
from pathlib import Path

import polars as pl
import pytest

import onward
from onward import RidgeRegressor
from onward.progressive.spreadsheet_text import FORMULA, quote_formulas

HOSTILE: list[str | None]
HOSTILE = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "'=1",
    "''-x",
    "-",
    "=",
    "-inf",
]
HARMLESS = ["Rome", "a=b", "", "'quoted", "-5", "+1.5", "-1e-9", "-,5", "3,5", " =1", None]


def test_formulas_are_quoted_and_numbers_are_not() -> None:
    frame = pl.DataFrame({"text": HOSTILE + HARMLESS, "number": [-1.5] * len(HOSTILE + HARMLESS)})
    quoted = quote_formulas(frame)
    assert quoted["text"].to_list() == [f"'{text}" for text in HOSTILE] + HARMLESS
    assert quoted["number"].equals(frame["number"])


def test_taking_one_apostrophe_away_gives_each_text_back() -> None:
    frame = pl.DataFrame({"text": HOSTILE + HARMLESS})
    back = []
    for text in quote_formulas(frame)["text"].to_list():
        quoted = text is not None and text.startswith("'") and re.match(FORMULA, text)
        back.append(text[1:] if quoted else text)
    assert back == HOSTILE + HARMLESS


def test_categories_and_names_of_columns_are_texts_too() -> None:
    quoted = quote_formulas(pl.DataFrame({"=a": pl.Series(["=x", "y"], dtype=pl.Categorical)}))
    assert quoted.columns == ["'=a"]
    assert quoted.to_series().to_list() == ["'=x", "y"]


@pytest.mark.parametrize(("ending", "expected"), [(".csv", "'=1+1"), (".jsonl", "=1+1"), (".parquet", "=1+1")])
def test_kept_columns_are_quoted_in_csv_alone(tmp_path: Path, ending: str, expected: str) -> None:
    table, out = tmp_path / "table.csv", tmp_path / f"predictions{ending}"
    table.write_text("id,x,y\n=1+1,1,2\n-7,2,4\n", encoding="utf-8")
    how = onward.Table("y", exclude=("id",), keep=("id",))
    onward.fit(table, how, RidgeRegressor(), predictions=out)
    read = {".csv": lambda: pl.read_csv(out, infer_schema=False), ".jsonl": lambda: pl.read_ndjson(out)}
    frame = read.get(ending, lambda: pl.read_parquet(out))()
    assert frame["id"].to_list() == [expected, "-7"]
    assert float(frame["prediction"][0]) == 0.0
