"""docs/errata.md, computed: each printed form fails where the page says so, the right one does not.

Each function of `errata_regression` and `errata_applications` works an erratum through and returns the numbers that its
section of the page shows, by label. The page is compared with them, so it cannot drift.
"""

import re
from pathlib import Path

import pytest

from tests.theorems import errata_applications, errata_regression
from tests.theorems.errata_registry import ERRATA

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
WORKED = (errata_applications, errata_regression)  # which fill ERRATA


def sections() -> dict[int, str]:
    parts = re.split(r"^## (\d+)\. ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def shown(text: str) -> dict[str, str]:
    """label → number, of the tables of a section."""
    cells = re.findall(r"^\| (.+?) \| `(.+?)` \|$", text, flags=re.MULTILINE)
    return dict(cells)


def written(value: float) -> str:
    """As the page writes numbers: four digits that count."""
    return f"{value:.4g}"


@pytest.mark.parametrize("number", range(1, 24))
def test_erratum(number: int) -> None:
    computed = {label: written(value) for label, value in ERRATA[number]().items()}
    assert shown(sections()[number]) == computed


def test_page_has_every_erratum() -> None:
    assert sorted(sections()) == list(range(1, 24)) == sorted(ERRATA)
    for text in sections().values():
        assert "**Printed:**" in text
        assert "**Right:**" in text
        assert "**Why:**" in text
