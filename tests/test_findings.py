"""The tables of docs/findings.md are made from claims.json."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from onward.experiments import FIGURES
from tools import findings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "findings.md"


README = PAGE.parent.parent / "README.md"
VERDICTS = ("supported", "partly", "not supported", "undecided")


def read_tables() -> list[tuple[str, str]]:
    """Every claim on the page, with its verdict."""
    text = PAGE.read_text(encoding="utf-8")
    found = []
    for name in FIGURES:
        (table,) = re.findall(rf"<!-- made: {name} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
        rows = table.splitlines()
        assert rows[:2] == ["| the claim | verdict | we found | where it holds |", "|---|---|---|---|"]
        for row in rows[2:]:
            _, statement, verdict, finding, regime, _ = (cell.strip() for cell in re.split(r"(?<!\\)\|", row))
            assert statement
            assert regime
            assert verdict in VERDICTS
            assert finding.endswith(".")
            assert ("Undecided between" in finding) == (verdict == "undecided")
            found.append((statement, verdict))
    return found


def test_the_page_has_tables_of_claims() -> None:
    found = read_tables()
    assert len(found) >= 18
    text = PAGE.read_text(encoding="utf-8")
    (ratios,) = re.findall(r"<!-- made: figure3-ratios -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert len(ratios.splitlines()) == 6
    assert len(re.findall(r"[\d.,]+ \[[\d.,]+, [\d.,]+\]", ratios)) == 12


def test_verdicts_are_counted_alike_everywhere() -> None:
    found = [verdict for statement, verdict in read_tables() if not statement.startswith("Our")]
    counts = [found.count(verdict) for verdict in VERDICTS]
    said = "{} supported, {} in part, {} not, {} undecided".format(*counts)
    assert f"Of {len(found)} claims of the paper: {said}." in PAGE.read_text(encoding="utf-8")
    readme = " ".join(README.read_text(encoding="utf-8").split())
    assert f"its {len(found)} claims, {said}" in readme.replace(" are supported", " supported")


def test_tables_are_put_where_their_marks_are(tmp_path: Path) -> None:
    claim: dict[str, Any] = {"figure": "figure1", "id": "x", "statement": "|θ*| = 1.", "ours": False}
    claim |= {"verdict": "partly", "finding": "Ratio: 2.", "regime": "σ = 1"}
    (tmp_path / "claims.json").write_text(json.dumps([claim]), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("# Page\n<!-- made: figure1 -->\nearlier\n<!-- end -->\nrest\n", encoding="utf-8")
    findings.main([str(tmp_path / "claims.json"), str(page)])
    text = page.read_text(encoding="utf-8")
    assert "| \\|θ*\\| = 1. | partly | Ratio: 2. | σ = 1 |\n<!-- end -->\nrest\n" in text
    assert "earlier" not in text
    twice = "<!-- made: figure1 -->\n<!-- end -->\n" * 2
    page.write_text(twice, encoding="utf-8")
    with pytest.raises(ValueError, match="expected one place for 'figure1' in the page, got 2"):
        findings.main([str(tmp_path / "claims.json"), str(page)])
    assert page.read_text(encoding="utf-8") == twice
