"""A page as text: well-formed, self-contained, and the same every time."""

import re

import pytest
from jinja2 import UndefinedError

from onward.pages.inline import make_picture
from onward.pages.numbers import format_duration, format_number
from onward.pages.page import TEMPLATES, check_names, render_page
from tests.pages.conftest import Shown
from tests.pages.made_up import AWKWARD, two_panels
from tests.pages.reader import Page


def test_the_reader_of_pages_can_fail() -> None:
    for broken in ("<p><b></p></b>", "<p>", "</p>"):
        with pytest.raises(AssertionError):
            Page(broken)


def test_a_page_is_whole(shown: Shown) -> None:
    text = shown.path.read_text(encoding="utf-8")
    read = Page(text)
    ids = read.values("id")
    assert len(set(ids)) == len(ids)
    assert ("title", AWKWARD) in read.texts  # as it is, not as markup
    assert ("td", AWKWARD) in read.texts
    assert read.values("src") == []
    assert {value for value in read.values("href") if not value.startswith("#")} == {"data:,"}
    assert not re.search(r"(?i)https?://", text)
    for drawing in shown.drawings.values():
        assert ("figcaption", drawing.caption) in read.texts
        assert ("desc", drawing.alternative) in read.texts


def test_every_colour_has_a_value_in_both_themes(shown: Shown) -> None:
    text = shown.path.read_text(encoding="utf-8")
    used = set(re.findall(r"var\(--c-([0-9a-f]{6})\)", text)) | set(re.findall(r'"colour":"(\w+)"', text))
    light, dark = (set(re.findall(r"--c-(\w+):", line)) for line in text.split("@media screen", 2)[:2])
    assert len(used) > 8
    assert used <= light
    assert used <= dark


def test_same_bytes_again() -> None:
    def written() -> str:
        return render_page("pages/page.html", "title", "description", [make_picture(two_panels())])

    assert written() == written()


def test_a_template_that_asks_for_what_it_was_not_given_fails() -> None:
    with pytest.raises(UndefinedError, match="'quick' is undefined"):
        TEMPLATES.from_string("{{ quick }}").render()


def test_numbers_are_written_for_reading() -> None:
    values = [0.123456, -2.0, 12_345, 1e-7, float("nan"), float("-inf"), None, True, [1, (2, 3)]]
    wanted = ["0.1235", "−2", "12,345", "1e−07", "no value", "−∞", "none", "yes", "1, (2, 3)"]
    assert [format_number(each) for each in values] == wanted
    assert [format_duration(each) for each in (0.04, 59.7, 431.2, 7300)] == [
        "0.0 s",
        "1 min 0 s",
        "7 min 11 s",
        "2 h 1 min",
    ]


def test_names_are_plain_and_unique() -> None:
    check_names("drawing", ["a", "b-1"])
    with pytest.raises(ValueError, match="every drawing needs a name of its own, got 'a' 2 times"):
        check_names("drawing", ["a", "a"])
    with pytest.raises(ValueError, match=r"name of a drawing begins with a letter .*, got '1<'"):
        check_names("drawing", ["1<"])


def test_tables_are_text_with_some_cells_marked() -> None:
    table = TEMPLATES.get_template("pages/parts.html").module.table  # type: ignore[attr-defined]
    read = Page(table(["name", "a", "b"], [[AWKWARD, "1", "2"], ["x", "3", AWKWARD]], [(0, 2)]))
    assert [text for tag, text in read.texts if tag == "th"] == ["name", "a", "b", AWKWARD, "x"]
    assert [text for tag, text in read.texts if tag == "td"] == ["1", "3", AWKWARD]
    assert [text for tag, text in read.texts if tag == "strong"] == ["2"]
