"""The report as text: well-formed, complete, self-contained, and the same every time."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward.experiments.reproduction_report import Section, save_drawings, write_claims, write_report
from onward.pages.drawing import Line
from tests.experiments.conftest import Written
from tests.experiments.made_up import VERSIONS
from tests.pages.made_up import AWKWARD, drawing_of
from tests.pages.reader import Page


@pytest.fixture(scope="module")
def text(report: Written) -> str:
    return report.path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_ids_are_unique_and_references_lead_somewhere(page: Page) -> None:
    ids = page.values("id")
    assert len(set(ids)) == len(ids)
    references = [value[1:] for value in page.values("href") if value.startswith("#")]
    references += re.findall(r"url\(#([^)]+)\)", " ".join(page.values("clip-path") + page.values("style")))
    references += " ".join(page.values("aria-labelledby")).split() + page.values("for")
    assert len(references) > 100
    assert set(references) <= set(ids)


def test_asks_nobody_for_anything(text: str, page: Page) -> None:
    assert not re.search(r"(?i)(https?:)?//[a-z]", re.sub(r"(?m)^ *//.*$", "", text))
    assert "@import" not in text
    loaded = page.values("src") + [value for value in page.values("href") if not value.startswith("#")]
    assert loaded == ["data:,"]
    assert "url(" not in re.sub(r"url\(#", "", text)


def test_headings_are_in_order(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) == 1


def test_says_everything(report: Written, page: Page) -> None:
    said = "\n".join(text for _, text in page.texts)
    for section in report.sections:
        assert section.title in said
        for claim in section.claims:
            assert said.count(claim.statement) >= 2  # on the first screen and with its figure
            for part in (claim.finding, claim.effect, claim.rule.words, claim.regime):
                assert part in said
        for drawing in section.drawings:
            assert drawing.caption in said
            assert ("desc", drawing.alternative) in page.texts
        for remark in section.remarks:
            assert remark in said
    assert AWKWARD in said  # as it is, not as markup
    for value in (*VERSIONS.values(), "onward reproduce --out out --seed 7", "7 min 11 s", "<i>Made up</i>", "100,000"):
        assert value in said
    assert "6 supported, 3 partly supported, 3 not supported, 3 undecided" in said
    assert "1.1 [1.02, 1.31], 100 repeats" in said
    assert ("html", {"lang": "en"}) in page.tags


def test_an_undecided_claim_is_of_its_own_kind(report: Written, page: Page, text: str) -> None:
    kinds = {value for value in page.values("class") if value.startswith("verdict ")}
    assert kinds == {f"verdict {kind}" for kind in ("supported", "partly", "not-supported", "undecided")}
    for kind in ("supported", "partly", "not-supported", "undecided"):
        assert f"sign-{kind}" in page.values("id")
        assert f".verdict.{kind} {{" in text
        assert f"article.{kind} {{" in text


def test_a_section_of_ours_is_no_figure_of_the_paper(report: Written, tmp_path: Path) -> None:
    first = replace(report.sections[0], drawings=[])
    claims = [replace(claim, ours=True) for claim in first.claims]
    ours = replace(first, name="sharp", title="Sharp forward: figures 3 and 4b", of_paper=False, claims=claims)
    assert (first.label, ours.label, ours.heading) == ("Figure 1", "Sharp forward", "Sharp forward: figures 3 and 4b")
    _write(tmp_path / "page.html", [first, ours])
    said = " ".join((tmp_path / "page.html").read_text().split())
    assert "We ran 1 figure of the paper again" in said
    assert "held 3 of its claims" in said
    assert ("What the paper says of it, and" in said, "What we say of it, and" in said) == (True, True)


def test_a_reduced_run_says_so_in_every_section(report: Written, text: str, tmp_path: Path) -> None:
    section = replace(report.sections[0], drawings=[])
    assert text.count("Reduced run:") == len(report.sections) + 1
    _write(tmp_path / "full.html", [section], quick=False)
    assert "Reduced run:" not in (tmp_path / "full.html").read_text()


def test_same_bytes_again(report: Written, tmp_path: Path) -> None:
    section = report.sections[0]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        _write(tmp_path / name / "report.html", [section])
        write_claims(tmp_path / name / "claims.json", [section])
        saved = save_drawings(tmp_path / name, section.drawings)
        assert [path.name for path in saved] == ["figure1.png", "figure1.svg", "figure1.pdf"]
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 5
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_claims_are_strict_json(report: Written, tmp_path: Path) -> None:
    def never(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    write_claims(tmp_path / "claims.json", report.sections)
    records = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"), parse_constant=never)
    claims = [(section.name, claim) for section in report.sections for claim in section.claims]
    assert len(records) == len(claims) == 15
    for record, (figure, claim) in zip(records, claims, strict=True):
        assert " ".join(record) == "figure id statement ours verdict finding rule undecided regime numbers"
        assert (record["figure"], record["id"], record["statement"]) == (figure, claim.id, claim.statement)
        assert (record["verdict"], record["finding"]) == (claim.verdict, claim.finding)
        assert (record["rule"], record["regime"]) == (claim.rule.words, claim.regime)
        open_one = {"of": "ratio", "side": "below", "line": 1.0, "holds": None}
        assert record["undecided"] == ([open_one] if claim.verdict == "undecided" else [])
        assert record["numbers"]["by_lam"] == {
            "1e-05": {"slope": -0.98, "spread": None},
            "10": {"slope": None, "spread": 3},
        }
        assert record["numbers"]["grid"] == [0.1, 1.0, 12_345_678]
        assert record["numbers"]["decided"] is True


def test_refuses_what_it_cannot_write(report: Written, tmp_path: Path) -> None:
    section = report.sections[0]
    odd = replace(section.claims[0], numbers={"when": object()})
    with pytest.raises(TypeError, match=r"expected plain values .*, got object"):
        write_claims(tmp_path / "claims.json", [replace(section, claims=[odd])])
    path = tmp_path / "report.html"
    with pytest.raises(ValueError, match="every section needs a name of its own, got 'figure1' 2 times"):
        _write(path, [replace(section, drawings=[])] * 2)
    with pytest.raises(ValueError, match=r"name of a claim begins with a letter .*, got 'figure1--two words'"):
        _write(path, [replace(section, claims=[replace(section.claims[0], id="two words")])])
    drawing = drawing_of(Line("y", np.arange(3.0), np.arange(4.0)))
    with pytest.raises(ValueError, match=r"line 'y' has \(3,\) values of x, but \(4,\) of y"):
        _write(path, [replace(section, drawings=[drawing])])
    assert not path.exists()


def test_files_are_written_wholly_or_not_at_all(
    report: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = replace(report.sections[0], drawings=report.sections[0].drawings[:1])
    for name in ("report.html", "claims.json", "figure1.png"):
        (tmp_path / name).write_text("earlier")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    for write in (
        lambda: _write(tmp_path / "report.html", [section]),
        lambda: write_claims(tmp_path / "claims.json", [section]),
        lambda: save_drawings(tmp_path, section.drawings),
    ):
        with pytest.raises(OSError, match="No space left"):
            write()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("report.html", "claims.json", "figure1.png"), "earlier"
    )


def _write(path: Path, sections: list[Section], *, quick: bool = True) -> None:
    write_report(path, sections, quick=quick, seed=0, seconds=1.0, versions={"onward": "0"}, command="make reproduce")
