"""The report as a reader meets it: opened in Chromium, on a desk and on a phone, in light and dark."""

from pathlib import Path

import pytest

from tests.experiments.conftest import Written
from tests.pages.browser import Browser
from tests.pages.looking import DESK, NARROW, PHONE, show

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE, NARROW], ids=["desk", "phone", "narrow"])
def test_opens_without_error_request_or_overflow(
    window: Browser, report: Written, tmp_path: Path, size: tuple[int, int, bool], theme: str
) -> None:
    window.requests(), window.messages()
    show(window, report.path, size, theme)
    window.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    window.run("document.querySelector('#with-findings').click()")
    wide, inner = window.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert inner == size[0]
    assert wide <= inner
    boxes = window.run(
        "return [...document.querySelectorAll('figure svg[role=img]')].map((svg) => {"
        "const box = svg.getBoundingClientRect(); const drawn = svg.getBBox();"
        "return [box.width, box.height, drawn.width, drawn.height, svg.checkVisibility()] })"
    )
    assert len(boxes) == sum(len(section.drawings) for section in report.sections)
    assert all(min(box[:4]) > 150 and box[4] for box in boxes)
    window.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000
    assert window.requests() == [report.path.as_uri()]
    assert window.messages() == []


def test_the_first_screen_says_what_came_out(window: Browser, report: Written) -> None:
    show(window, report.path, DESK)
    bottom = window.run("return document.querySelector('.verdicts tr:nth-child(3)').getBoundingClientRect().bottom")
    assert bottom < DESK[1]
    show(window, report.path, PHONE)
    bottom = window.run("return document.querySelector('.counts').getBoundingClientRect().bottom")
    assert bottom < PHONE[1]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_verdict_looks_different(window: Browser, report: Written, theme: str) -> None:
    """By colour, by sign and by the edge of its card; and an undecided one can be read on either theme."""
    show(window, report.path, DESK, theme)
    kinds = ("supported", "partly", "not-supported", "undecided")
    looks = [
        window.run(
            f"const badge = document.querySelector('article.{kind} .verdict'), style = getComputedStyle(badge);"
            f"const card = getComputedStyle(document.querySelector('article.{kind}'));"
            "return [style.color, badge.querySelector('use').getAttribute('href'), card.borderLeftColor,"
            "card.borderLeftStyle, badge.innerText.trim(), badge.getBoundingClientRect().height]"
        )
        for kind in kinds
    ]
    for each in zip(*[look[:3] for look in looks], strict=True):
        assert len(set(each)) == len(kinds)
    assert [look[4] for look in looks] == ["supported", "partly supported", "not supported", "undecided"]
    assert looks[3][3] == "dashed"
    assert len({round(look[5]) for look in looks}) == 1
    ink = window.run("return getComputedStyle(document.body).color")
    assert looks[3][0] == ink  # on nothing but the page itself


def test_paper_is_always_light_and_open(window: Browser, report: Written) -> None:
    show(window, report.path, DESK, "dark")
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    window.command("Emulation.setEmulatedMedia", media="print", features=dark)
    assert window.run("return getComputedStyle(document.body).backgroundColor") == "rgb(252, 252, 250)"
    assert window.run("return getComputedStyle(document.querySelector('.finding')).display") == "block"
    window.run("window.dispatchEvent(new Event('beforeprint'))")
    assert window.run("return document.querySelectorAll('details:not([open])').length") == 0
    window.run("window.dispatchEvent(new Event('afterprint'))")
    assert window.run("return document.querySelectorAll('details[open]').length") == 0
    window.command("Emulation.setEmulatedMedia", media="", features=[])
