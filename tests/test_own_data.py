"""The page about one's own data says what the commands say now."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tools import interval_widths, own_data, own_data_session
from tools.own_data_sets import SETS, TARGET, DataSet
from tools.run_onward import onward

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "own_data.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[-−+]?\d+)?")
BY_NAME = {data.name: data for data in SETS}


def same(one: str, other: str, tolerance: float = 1e-6) -> bool:
    """The same words, and the same numbers but for what machines differ in."""
    numbers = [[float(each.replace("−", "-")) for each in NUMBER.findall(text)] for text in (one, other)]
    return (
        NUMBER.sub("#", one).split() == NUMBER.sub("#", other).split()
        and len(numbers[0]) == len(numbers[1])
        and bool(np.allclose(numbers[0], numbers[1], rtol=tolerance))
    )


def part_of_page(name: str) -> str:
    found = re.findall(rf"<!-- made: {re.escape(name)} -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own_data")


@pytest.fixture(scope="module")
def session(folder: Path) -> dict[str, str]:
    return own_data_session.sections(folder)


@pytest.mark.parametrize("name", own_data_session.SESSIONS)
def test_the_session_is_what_the_commands_print(name: str, session: dict[str, str]) -> None:
    assert same(session[name], part_of_page(name)), session[name]


def test_going_on_and_merging_give_one_model(folder: Path, session: dict[str, str]) -> None:
    start = ("--start", "one.onward", "--save", "on.onward", "--quiet")
    onward("fit", "second.csv", "--target", "target", *start, folder=folder)
    models = [json.loads(onward("show", name, "--json", folder=folder).out) for name in ("on.onward", "merged.onward")]
    estimates = [[each["estimate"] for each in model["coefficients"]] for model in models]
    assert [model["rows"] for model in models] == [442, 442]
    assert estimates[0] == pytest.approx(estimates[1], rel=1e-8)


def test_the_tables_hold_what_the_tool_finds_on_diabetes(folder: Path) -> None:
    rows = own_data.measured(["diabetes"], folder)
    for made, name in ((own_data.best_and_worst(rows), "best and worst"), (own_data.ratios(rows), "ratios")):
        page = part_of_page(name).splitlines()
        mine = made.splitlines()
        assert page[:2] == mine[:2]
        theirs = [line for line in page if line.startswith("| diabetes |")]
        assert len(theirs) == len(mine[2:]) == 2
        assert all(same(one, other, 1e-3) for one, other in zip(mine[2:], theirs, strict=True)), made


def test_the_table_of_intervals_holds_what_the_tool_finds_on_diabetes(folder: Path) -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "guarantees.md").read_text(encoding="utf-8")
    theirs = next(line for line in page.splitlines() if line.startswith("| diabetes |"))
    made = interval_widths.table({"diabetes": interval_widths.measure(BY_NAME["diabetes"], folder)})
    assert made.splitlines()[0] in page
    assert same(made.splitlines()[2], theirs, 1e-3), made


def test_other_errors_by_fit_are_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_data, "LAMS", tuple(2 * lam for lam in own_data.LAMS))
    with pytest.raises(AssertionError, match="by fit"):
        own_data.measured(["diabetes"], folder)


def test_the_page_describes_the_sets_and_has_a_line_for_each() -> None:
    assert part_of_page("sets") == own_data.described()
    for name in ("best and worst", "ratios"):
        lines = [line.split(" | ")[0].removeprefix("| ") for line in part_of_page(name).splitlines()[2:]]
        assert lines == [data.name for data in SETS for _ in range(2)]


def test_the_summary_counts_the_lines_of_the_table() -> None:
    counts = [line.rsplit(" | ", 1)[1].removesuffix(" |") for line in part_of_page("best and worst").splitlines()[2:]]
    forward, even, ridge = np.sum([[int(each) for each in count.split(" / ")] for count in counts], axis=0)
    assert f"forward errs less in {forward}, ridge in {ridge}, and {even} are" in part_of_page("summary")


@pytest.mark.parametrize("data", SETS, ids=BY_NAME)
def test_a_set_is_a_table_with_its_target_last(data: DataSet) -> None:
    if not data.available:
        pytest.skip(f"{data.package} is not installed")
    frame, scaled = data.frame(), data.scaled()
    assert frame.columns[-1] == TARGET
    assert frame.shape == scaled.shape
    assert frame[TARGET].equals(scaled[TARGET])
    line = next(line for line in part_of_page("best and worst").splitlines() if line.startswith(f"| {data.name} |"))
    rows = len(frame.drop_nulls()) if "skip" in data.options else len(frame)
    assert f"| {rows:,} |" in line
    for column in frame.columns:
        if re.fullmatch(r"lag\d+", column):  # what is known before the target, and nothing later
            lag = int(column.removeprefix("lag"))
            assert frame[column][lag:].equals(frame[TARGET][:-lag], null_equal=True)


def test_scaling_looks_at_the_first_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"a": [1.0, 3.0] * 10 + [100.0], "still": [0.1] * 20 + [5.0], TARGET: [1.0] * 21})
    made = DataSet("made", "numpy", "numpy", "", lambda _: frame).scaled()
    assert made["a"].to_list() == [-1.0, 1.0] * 10 + [98.0]
    assert made["still"].to_list() == pytest.approx([0.0] * 20 + [4.9]), "rounding was taken for a scale"


def test_a_place_that_is_missing_is_said() -> None:
    page = "a\n<!-- made: x -->\nold\n<!-- end -->\nb"
    assert own_data.replaced(page, {"x": "new"}) == page.replace("old", "new")
    with pytest.raises(ValueError, match="'y'"):
        own_data.replaced(page, {"y": "new"})


def test_other_numbers_are_seen() -> None:
    assert same("rmse 61.75 (1e-06)", "rmse  61.75000001 (1e-06)")
    assert not same("rmse 61.75", "rmse 61.76")
    assert not same("rmse 61.75", "mae 61.75")
    assert not same("−1", "1")
