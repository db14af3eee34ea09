"""Look at a built site as its readers do: in Chromium, on a desk and on a phone, light and dark, without a network.

    python -m tools.docs_check docs/_build/html                        # every page; exit status 1 if anything is wrong
    python -m tools.docs_check docs/_build/html --shots FOLDER         # and a picture of each page

Dead links and anchors are found in the files. In the browser every page is looked at for errors on the console, requests
that leave the site, text of too little contrast (WCAG 2, AA), things without a name or a description, a page that is wider
than a phone, and an order of focus that is not that of the page. At the end the search is asked.
"""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

SIZES = {"desk": (1280, 900), "phone": (390, 844)}
THEMES = ("light", "dark")
FOCUS_PAGES = ("index.html", "start/one_csv.html", "pictures/index.html", "api/index.html", "api/command_line.html")
TABS = 40

# What a page says of itself: a list of complaints.
LOOK = r"""
const said = [], short = e => (e.outerHTML || "").replace(/\s+/g, " ").slice(0, 120);
const rgb = text => { const n = (text.match(/[\d.]+/g) || []).map(Number); return n.length < 4 ? [...n.slice(0, 3), 1] : n; };
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const backdrop = e => { const layers = [];
  for (let at = e; at; at = at.parentElement) { const c = rgb(getComputedStyle(at).backgroundColor); layers.push(c); if (c[3] === 1) break; }
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]); };
const shown = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getClientRects().length;
const seen = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || seen.has(e) || !shown(e) || e.closest("script,style,noscript,[disabled]")) continue;
  seen.add(e);
  const style = getComputedStyle(e), behind = backdrop(e), front = over(rgb(style.color), behind);
  const [a, b] = [light(front), light(behind)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (large ? 3 : 4.5)) said.push(`contrast ${ratio.toFixed(2)}: ${style.color} on ${behind.map(Math.round)}: ${short(e)}`);
}
const name = e => (e.getAttribute("aria-label") || e.title || e.textContent.trim() || e.placeholder
  || [...e.querySelectorAll("img[alt]")].map(i => i.alt).join("") || [...(e.labels || [])].map(l => l.textContent).join("")
  || (e.getAttribute("aria-labelledby") && document.getElementById(e.getAttribute("aria-labelledby"))?.textContent) || "").trim();
for (const e of document.querySelectorAll("a[href],button,input:not([type=hidden]),select,textarea,iframe,summary"))
  if (shown(e) && !name(e)) said.push(`without a name: ${short(e)}`);
for (const e of document.querySelectorAll("img")) {
  if (!e.hasAttribute("alt")) said.push(`without alt: ${short(e)}`);
  if (e.complete && !e.naturalWidth) said.push(`picture that does not load: ${short(e)}`);
}
for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) said.push(`tabindex above 0: ${short(e)}`);
if (!document.documentElement.lang) said.push("the page names no language");
if (!document.title) said.push("the page has no title");
if (document.querySelectorAll("h1").length !== 1) said.push(`${document.querySelectorAll("h1").length} headings of the first level`);
let level = 0;
for (const e of document.querySelectorAll("article h1,article h2,article h3,article h4,article h5")) {
  if (+e.tagName[1] > level + 1) said.push(`a heading that skips a level: ${short(e)}`);
  level = +e.tagName[1];
}
const pictures = [...document.querySelectorAll("img[class*=sphx-glr]")];
if (document.querySelector(".sphx-glr-download") && pictures.length !== 1) said.push(`${pictures.length} pictures of one script`);
const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
for (const id of new Set(ids.filter((each, n) => ids.indexOf(each) !== n))) said.push(`two elements have the id ${id}`);
if (/ object at 0x[0-9a-f]/.test(document.body.textContent)) said.push("the address of an object in memory");
const dashes = document.body.innerText.match(/(^|[\s(])[–—][a-z][\w-]*/);
if (dashes) said.push(`an option whose hyphens became a dash: ${dashes[0].trim()}`);
for (const e of document.querySelectorAll("dl.field-list > dt"))
  if (/^Type/.test(e.textContent)) said.push(`a sentence taken for a type: ${short(e.nextElementSibling)}`);
const frame = document.querySelector("iframe.explorer");
if (frame && frame.clientHeight < 1000) said.push(`the explorer scrolls in a frame of ${frame.clientHeight} px`);
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth + 1) {
  const wide = [...document.querySelectorAll("article *")].find(e => e.getBoundingClientRect().right > root.clientWidth + 1);
  said.push(`wider than the screen: ${root.scrollWidth} of ${root.clientWidth} px${wide ? ": " + short(wide) : ""}`);
}
return said;
"""

FOCUS = r"""
const e = document.activeElement, before = window.lastFocus;
window.lastFocus = e;
// An arrow of the sidebar has a box, what holds it has none; the link of a card is as large as the card.
const own = e.getBoundingClientRect();
const seen = own.width && own.height ? e : e.closest(".sd-card") ?? e.firstElementChild ?? e, style = getComputedStyle(seen);
// The mark may be a frame around all of a card, drawn after its link.
const marked = [style, getComputedStyle(seen, "::after"), getComputedStyle(seen, "::before")].some(each =>
  each.outlineStyle !== "none" || each.boxShadow !== "none") || style.borderStyle !== "none";
const after = !before || !before.isConnected || before === document.body
  || (before.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
const box = seen.getBoundingClientRect();
return {at: e === document.body ? "" : e.outerHTML.slice(0, 100), marked, after, visible: box.width > 0 && box.height > 0};
"""


class Page(HTMLParser):
    """The ids of a page, where it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids |= {value for key in ("id", "name") if (value := found.get(key))}
        if tag == "a" and (target := found.get("href")):
            self.links.append(target)
        elif (
            tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload") and (target := found.get("href"))
        ) or (target := found.get("src")):
            self.loads.append(target)


def html_files(site: Path) -> list[Path]:
    """The pages of a site; what is in _static are parts that the theme is made of."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts]


def dead_links(site: Path) -> Iterator[str]:
    """Links and files of a site that lead nowhere, and what it would load from elsewhere."""
    pages = {path: Page(path.read_text("utf-8")) for path in html_files(site)}
    for path, page in pages.items():
        where = path.relative_to(site)
        for target in page.loads:
            if urlsplit(target).netloc:
                yield f"{where}: loads {target} from elsewhere"
        for target in [*page.links, *page.loads]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            if not file.exists():
                yield f"{where}: {target} leads nowhere"
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].ids:
                yield f"{where}: {target} has no such place"


def browser() -> Any:
    """Chromium without a window, which tells of its console and its requests."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if not program or not driver:
        raise SystemExit("expected Chromium and chromedriver on this machine, found none: `make browser` installs them")
    options = ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return Chrome(options=options, service=ChromeService(driver))


def _resize(driver: Any, size: str) -> None:
    width, height = SIZES[size]
    told = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", told)
    if driver.find_elements("css selector", "iframe.explorer"):
        time.sleep(0.3)  # a frame tells of its new height when it is drawn


def look(driver: Any, site: Path, page: Path, shots: Path | None) -> Iterator[str]:
    """What is wrong with a page, in all sizes and themes."""
    name = page.relative_to(site).as_posix()
    driver.get(page.as_uri())
    yield from _logged(driver, name)
    for theme in THEMES:
        driver.execute_script(
            "document.documentElement.dataset.theme = document.documentElement.dataset.mode = arguments[0]", theme
        )
        for size in SIZES:
            _resize(driver, size)
            yield from (f"{name} ({size}, {theme}): {said}" for said in driver.execute_script(LOOK))
            if shots is not None:
                driver.save_screenshot(str(shots / f"{name.replace('/', '--')[:-5]}.{size}.{theme}.png"))
    yield from _logged(driver, name)


def _logged(driver: Any, name: str) -> Iterator[str]:
    for entry in driver.get_log("browser"):
        if "[PST]" not in entry["message"]:  # the theme notes there which of its parts a page lacks
            yield f"{name}: console: {entry['message']}"
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        url = (
            message["params"].get("request", {}).get("url", "")
            if message["method"] == "Network.requestWillBeSent"
            else ""
        )
        if url and urlsplit(url).scheme not in ("file", "data", "blob", "about"):
            yield f"{name}: asks {url}"


def focus_order(driver: Any, site: Path, name: str) -> Iterator[str]:
    """Whether the key Tab goes through a page in its order, and shows where it is."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    driver.get((site / name).as_uri())
    _resize(driver, "desk")
    for step in range(TABS):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        found = driver.execute_script(FOCUS)
        if not found["at"]:
            return
        for wrong, why in (("after", "goes back"), ("marked", "is not shown"), ("visible", "has no size")):
            if not found[wrong]:
                yield f"{name}: focus {why} at step {step + 1}: {found['at']}"


def search(driver: Any, site: Path, words: str, expected: str) -> Iterator[str]:
    """Whether the search, which needs no server, finds a page."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(f"{(site / 'search.html').as_uri()}?q={words}")
    found = "return [...document.querySelectorAll('#search-results a')].map(a => a.href)"
    try:
        WebDriverWait(driver, 10).until(lambda each: any(expected in link for link in each.execute_script(found)))
    except Exception:
        yield f"search for {words!r} does not find {expected}: {driver.execute_script(found)[:5]}"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Check a built site, in its files and in Chromium.")
    parser.add_argument("site", type=Path)
    parser.add_argument("--shots", type=Path, help="folder for pictures of the pages")
    parser.add_argument("--only", default="", help="only pages whose path contains this")
    options = parser.parse_args()
    site = options.site.resolve()
    pages = [page for page in html_files(site) if options.only in page.relative_to(site).as_posix()]
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    driver, wrong = browser(), set[str]()
    try:
        for said in complaints(driver, site, pages, options.shots):
            if said not in wrong:
                print(said, flush=True)
            wrong.add(said)
    finally:
        driver.quit()
    print(f"{len(pages)} pages, each in {len(SIZES) * len(THEMES)} ways: {len(wrong)} complaints")
    return 1 if wrong else 0


def complaints(driver: Any, site: Path, pages: list[Path], shots: Path | None) -> Iterator[str]:
    """All that is wrong with a site, as it is found."""
    yield from dead_links(site)
    for done, page in enumerate(pages):
        if done % 50 == 49:
            print(f"{done + 1} of {len(pages)} pages", file=sys.stderr, flush=True)
        yield from look(driver, site, page, shots)
    for name in FOCUS_PAGES:
        yield from focus_order(driver, site, name)
    yield from search(driver, site, "ForwardRegressor", "ForwardRegressor.html")
    yield from search(driver, site, "peeking", "ab_tests.html")


if __name__ == "__main__":
    sys.exit(main())
