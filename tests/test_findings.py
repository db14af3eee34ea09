"""The tables of docs/findings.md are made from claims.json."""

import json
import re
from pathlib import Path

import pytest

from onward.experiments import FIGURES
from tools import findings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "findings.md"


def test_the_page_has_tables_of_claims() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in FIGURES.keys() - {"figure3"}:  # its claims stand below a table of all variants
        (table,) = re.findall(rf"<!-- made: {name} -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
        rows = table.splitlines()
        assert rows[:2] == ["| the claim | verdict | we found |", "|---|---|---|"]
        for row in rows[2:]:
            _, statement, verdict, finding, _ = re.split(r"(?<!\\)\|", row)
            assert statement.strip()
            assert verdict.strip() in ("supported", "partly", "not supported")
            assert finding.strip().endswith(".")


def test_tables_are_put_where_their_marks_are(tmp_path: Path) -> None:
    claim = {"figure": "figure1", "id": "x", "statement": "|θ*| = 1.", "verdict": "partly", "finding": "Ratio: 2."}
    (tmp_path / "claims.json").write_text(json.dumps([claim]), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("# Page\n<!-- made: figure1 -->\nold\n<!-- end -->\nrest\n", encoding="utf-8")
    findings.main([str(tmp_path / "claims.json"), str(page)])
    text = page.read_text(encoding="utf-8")
    assert "| \\|θ*\\| = 1. | partly | Ratio: 2. |\n<!-- end -->\nrest\n" in text
    assert "old" not in text
    twice = "<!-- made: figure1 -->\n<!-- end -->\n" * 2
    page.write_text(twice, encoding="utf-8")
    with pytest.raises(ValueError, match="expected one place for 'figure1' in the page, got 2"):
        findings.main([str(tmp_path / "claims.json"), str(page)])
    assert page.read_text(encoding="utf-8") == twice
