"""The page at /, as a reader meets it: what the loops do, in a real browser, from a real server."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from selenium.common.exceptions import JavascriptException

from onward.service.access import Access
from onward.service.client import Client
from onward.service.loops_page import loops_page
from onward.service.tokens import hash_token
from tests.pages.browser import Browser
from tests.pages.looking import DESK, NARROW
from tests.pages.reader import Page
from tests.service.caller import make_application
from tests.service.live_server import serving
from tests.service.memory_service import MemoryService

pytestmark = pytest.mark.xdist_group("browser")

BAD = '<img src=x onerror="window.hit=1">'
_TEXT = "return document.body.innerText"


def fill(url: str, token: str | None = None) -> None:
    """Two loops: one that decides, one that looks on; the names are nasty."""
    client = Client(url, token=token)
    client.make_loop("news", policy={"name": "LinUCB", "sigma": 0.5}, reward={"wait": "1h"}, explore=0.2)
    client.make_loop("watched", policy={"name": "LinUCB"}, mode="apprentice")
    actions = [{"id": BAD, "features": {"x": 1.0, "kind": BAD}}, {"id": "b", "features": {"x": 0.2, "kind": "plain"}}]
    for loop in ("news", "watched"):
        asked = [{"context": {"who": BAD, "n": n / 40}, "actions": actions, "event_id": f"e{n}"} for n in range(40)]
        answers = client.decide_many(loop, asked)
        client.rewards(loop, {f"e{n}": float(answers[n]["action"] == "b" or n % 3 == 0) for n in range(38)})
    client.close()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    application = make_application(MemoryService())
    application.pages["loops"] = loops_page(0.3).encode()
    with serving(application) as url:
        fill(url)
        yield url


def visit(window: Browser, url: str, size: tuple[int, int, bool] = DESK, theme: str = "light") -> None:
    window.theme(theme)
    window.resize(size[0], size[1], mobile=size[2])
    window.command("Page.navigate", url="about:blank")
    window.command("Page.navigate", url=url)


def until(window: Browser, script: str, wanted: Any = True) -> None:
    """Wait until a script gives what is wanted."""
    deadline, got = time.monotonic() + 90, None
    while time.monotonic() < deadline:
        try:
            got = window.run(script)
        except JavascriptException:  # between two pages
            got = None
        if got == wanted:
            return
        time.sleep(0.05)
    raise AssertionError(f"{script} gave {got!r}, expected {wanted!r}: {window.run(_TEXT)[:1000]}")


def shown(name: str) -> str:
    one = "document.getElementById('one')"
    return f"return document.getElementById('one-title').textContent === '{name}' && !{one}.hidden"


def test_the_page_is_whole_and_asks_this_server_alone() -> None:
    text = loops_page()
    read = Page(text)
    assert len(set(read.values("id"))) == len(read.values("id"))
    assert "connect-src 'self'" in text
    assert "innerHTML" not in text
    assert read.values("src") == []


@pytest.mark.parametrize(("size", "theme"), [(DESK, "light"), (NARROW, "dark")], ids=["desk", "phone"])
def test_a_loop_is_shown_with_all_that_it_knows(
    window: Browser, url: str, size: tuple[int, int, bool], theme: str
) -> None:
    window.messages(), window.requests()
    visit(window, f"{url}/#news", size, theme)
    until(window, shown("news"))
    until(window, "return document.querySelectorAll('#over-time svg, #calibration svg').length >= 1")
    told = window.run(
        "const one = (id) => document.getElementById(id);"
        "return {tiles: one('tiles').innerText, shares: one('shares').innerText, hit: window.hit ?? null,"
        "decisions: document.querySelectorAll('.decision').length, images: document.images.length,"
        "coefficients: one('coefficients').innerText, wide: document.documentElement.scrollWidth - innerWidth,"
        "nameless: [...document.querySelectorAll('[tabindex=\"0\"], svg, input, button')].filter((each) => "
        "!each.ariaLabel && !each.labels?.length && !each.textContent.trim()).length}"
    )
    assert told["hit"] is None
    assert told["images"] == 0
    assert BAD in told["shares"]  # as text
    assert f"kind={BAD}" in told["coefficients"]
    assert "38" in told["tiles"]
    assert told["decisions"] == 20
    assert told["wide"] <= 0
    assert told["nameless"] == 0
    assert window.messages() == []
    assert [each for each in window.requests() if not each.startswith((url, "data:", "about:"))] == []


def test_why_is_said_and_stays_open_and_focused_while_the_page_asks_again(window: Browser, url: str) -> None:
    visit(window, f"{url}/#news")
    until(window, "return document.querySelectorAll('.decision').length", 20)
    window.run(
        "window.first = document.querySelector('.decision');"
        "const summary = first.querySelector('summary'); summary.click(); summary.focus()"
    )
    until(window, "return !first.isConnected")  # it was drawn anew
    found = window.run(
        "const now = document.querySelector('.decision');"
        "const taken = now.querySelector('tr.taken').innerText;"
        "return [now.open, now.contains(document.activeElement), taken, now.innerText]"
    )
    assert found[:2] == [True, True]
    assert "taken" in found[2]
    assert "±" in found[2]
    assert any(each in found[3] for each in ("the likeliest", "drawn"))


def test_the_address_says_which_loop(window: Browser, url: str) -> None:
    visit(window, f"{url}/")
    until(window, "return document.querySelectorAll('#list a').length", 2)
    assert window.run("return document.getElementById('one').hidden")
    window.run("document.querySelectorAll('#list a')[1].click()")
    until(window, shown("watched"))
    assert "Agreement with the application" in window.run(_TEXT)
    until(window, "return document.activeElement.id", "one-title")
    window.run("location.hash = 'nowhere'")
    until(window, "return document.getElementById('trouble').textContent", "There is no loop nowhere.")
    assert window.run("return document.getElementById('one').hidden")


def test_tokens_empty_servers_and_servers_that_go_away(window: Browser) -> None:
    access = Access(open_without_tokens=False)
    access.renew({hash_token("secret"): frozenset({"admin"})})
    application = make_application(MemoryService(), access)
    application.pages["loops"] = loops_page(0.2).encode()
    use = "document.getElementById('token').value = arguments[0]; document.querySelector('#entry button').click()"
    with serving(application) as url:
        visit(window, f"{url}/")
        until(window, "return !document.getElementById('entry').hidden && document.activeElement.id === 'token'")
        window.run(use, "wrong")
        until(window, "return document.getElementById('trouble').textContent.startsWith('The token was refused')")
        window.run(use, "secret")
        until(window, "return !document.getElementById('empty').hidden && document.getElementById('entry').hidden")
        assert f"curl -X PUT {url}/v1/loops/news" in window.run(_TEXT)
    until(window, "return document.getElementById('trouble').textContent.startsWith('The server does not answer')")
    port = int(url.rpartition(":")[2])
    with serving(application, port):
        until(window, "return document.getElementById('trouble').hidden && !document.body.classList.contains('away')")
        fill(url, "secret")
        until(window, "return document.querySelectorAll('#list a').length", 2)
    window.messages()  # the browser itself notes what was refused and what did not answer
    window.command("Page.navigate", url="about:blank")
