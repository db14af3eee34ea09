"""The report as text: well-formed, complete, self-contained, and the same every time."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from onward.experiments.base import Drawing, Line, Panel
from onward.experiments.inline import DARK, LIGHT, LINE, TEXT, contrast, fitted, picture
from onward.experiments.readings import MOST_POINTS, readings
from onward.experiments.report import Section, save_drawings, write_claims, write_report
from tests.experiments.conftest import Written
from tests.experiments.made_up import AWKWARD, VERSIONS

VOID = {"meta", "link", "input"}


class Page(HTMLParser):
    """A page read into pieces; a tag that does not match fails."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []  # innermost tag, text
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag}: {attrs}"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} ends, but nothing is open"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))

    def values(self, attribute: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(attribute))]


@pytest.fixture(scope="module")
def text(report: Written) -> str:
    return report.path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_reader_of_pages_can_fail() -> None:
    for broken in ("<p><b></p></b>", "<p>", "</p>"):
        with pytest.raises(AssertionError):
            Page(broken)


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
            assert said.count(claim.says) >= 2  # on the first screen and with its figure
            for part in (claim.finding, claim.rule, claim.regime):
                assert part in said
        for drawing in section.drawings:
            assert drawing.caption in said
            assert ("desc", drawing.alternative) in page.texts
        for remark in section.remarks:
            assert remark in said
    assert AWKWARD in said  # as it is, not as markup
    for value in (*VERSIONS.values(), "onward reproduce --out out --seed 7", "7 min 11 s", "<i>Made up</i>", "100,000"):
        assert value in said
    assert "8 supported, 4 partly supported, 3 not supported" in said
    assert "1.1 [1.02, 1.31], 100 repeats" in said
    assert ("html", {"lang": "en"}) in page.tags


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
        assert list(record) == ["figure", "name", "claim", "verdict", "finding", "rule", "regime", "numbers"]
        assert (record["figure"], record["name"], record["claim"]) == (figure, claim.name, claim.says)
        assert (record["verdict"], record["finding"]) == (claim.verdict, claim.finding)
        assert (record["rule"], record["regime"]) == (claim.rule, claim.regime)
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
        _write(path, [replace(section, claims=[replace(section.claims[0], name="two words")])])
    drawing = _drawing(Line("y", np.arange(3.0), np.arange(4.0)))
    with pytest.raises(ValueError, match=r"line 'y' has \(3,\) values of x, but \(4,\) of y"):
        _write(path, [replace(section, drawings=[drawing])])
    assert not path.exists()


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_readings_lie_where_the_axes_put_them(scale: str) -> None:
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    drawing = _drawing(Line("y", x, x, x - 1, x + 1), xscale=scale, xlim=(1, 1000), yscale=scale, ylim=(0.1, 1000))
    (panel,) = readings(drawing, (0.0, 0.0, 360.0, 288.0))
    # Symlog is linear up to 2, with 10/9 of the slope there, and logarithmic beyond.
    bent = np.where(x <= 2, 10 / 9 * x, 2 * (10 / 9 + np.log10(np.maximum(x, 2) / 2)))
    wanted = {"linear": (x - 1) / 999, "log": np.log10(x) / 3, "symlog": (bent - bent[0]) / np.ptp(bent)}[scale]
    assert np.allclose(panel["grids"][0]["at"], wanted, atol=1e-4)
    assert panel["grids"][0]["x"] == x.tolist()
    assert panel["lines"][0]["y"] == x.tolist()
    assert panel["lines"][0]["lower"] == [0, 9, 99, 999]
    assert panel["lines"][0]["upper"] == [2, 11, 101, 1001]
    assert panel["lines"][0]["colour"] == "2a6f97"
    assert panel["box"] == [0.1, 0.15, 0.8, 0.6]  # from the top, as pages count


def test_readings_without_value_or_place() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0, 50.0])
    y = np.array([1.0, math.nan, 0.0, math.inf, 1.0])
    drawing = _drawing(Line("y", x, y), xlim=(0, 4), yscale="log", ylim=(0.1, 10))
    (line,) = readings(drawing, (0.0, 0.0, 360.0, 288.0))[0]["lines"]
    assert line["y"] == [1, None, 0, None]  # what lies beyond the axes cannot be pointed at
    assert line["at"] == [0.5, None, None, None]


def test_readings_of_long_lines_are_thinned_evenly_on_the_axis() -> None:
    x = np.arange(1.0, 100_001.0)
    drawing = _drawing(Line("y", x, 2 * x), xscale="log", xlim=(1, 1e5), ylim=(0, 2e5))
    (panel,) = readings(drawing, (0.0, 0.0, 360.0, 288.0))
    kept, at = np.array(panel["grids"][0]["x"]), np.array(panel["grids"][0]["at"])
    assert MOST_POINTS / 2 < len(kept) <= MOST_POINTS
    assert kept[0] == 1
    assert kept[-1] == 100_000
    assert np.array_equal(panel["lines"][0]["y"], 2 * kept)
    late = np.diff(at[at > 0.5])
    assert late.max() < 2 / MOST_POINTS


def test_colours_stand_out_from_both_papers() -> None:
    for colour in ("#1f77b4", "#ff7f0e", "#2a6f97", "#c1552d", "#ffff00", "#00008b"):
        assert contrast(fitted(colour, LINE, LIGHT), LIGHT.paper) >= 3
        assert contrast(fitted(colour, LINE, DARK), DARK.paper) >= 4.5
        assert contrast(fitted(colour, TEXT, LIGHT), LIGHT.paper) >= 4.5
    assert contrast("#ffff00", LIGHT.paper) < 1.2  # so it had to change
    assert fitted("#2a6f97", TEXT, LIGHT) == "#2a6f97"  # and this had not
    assert (fitted("#000000", LINE, DARK), fitted("#ffffff", LINE, DARK)) == (DARK.ink, DARK.paper)
    assert contrast(fitted("#aaaaaa", TEXT, LIGHT), LIGHT.paper) >= 4.5 > contrast("#aaaaaa", LIGHT.paper)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_pictures_name_their_colours_but_keep_those_of_cells(report: Written, text: str) -> None:
    lines, cells = (picture(drawing) for drawing in report.sections[1].drawings)
    assert not re.search(r"(fill|stroke): #", lines.svg)
    assert "stroke: var(--c-1f77b4)" in lines.svg
    assert {"#1f77b4", "#ffffff", "#666666"} <= set(lines.colours)
    assert lines.colours["#666666"] == TEXT
    assert "fill: #67001f" in cells.svg  # the darkest red of the map
    assert "#67001f" not in cells.colours
    assert "<image" not in cells.svg
    texts = re.findall(r'<g id="figure2-map-own-colours-\d+" fill="#000">', cells.svg)
    assert len(texts) == 35
    sizes = [len(svg) for svg in re.findall(r'<svg role="img".*?</svg>', text)]
    assert len(sizes) == 6
    assert max(sizes) < 400_000


def _write(path: Path, sections: list[Section], *, quick: bool = True) -> None:
    write_report(path, sections, quick=quick, seed=0, seconds=1.0, versions={"onward": "0"}, command="make reproduce")


def _drawing(line: Line, **axes_settings: Any) -> Drawing:
    figure = Figure(figsize=(5, 4))
    axes = figure.add_axes((0.1, 0.25, 0.8, 0.6))
    if len(line.x) == len(line.y):
        axes.plot(line.x, line.y, color="#2a6f97")
    axes.set(**axes_settings)
    return Drawing("drawing", "title", figure, "caption", "alternative", [Panel(axes, [line])])
