"""Looking over the explorer: text that is faint, fields without a name, what is too wide, and the order of focus."""

from typing import Any

from tests.pages.browser import Browser

_LOOK = """
const seen = (e) => e.checkVisibility({visibilityProperty: true, opacityProperty: true});
const rgb = (text) => {
  const numbers = text.match(/[\\d.]+(e-\\d+)?/g).map(Number);
  const size = text.startsWith('color(') ? 255 : 1;
  return [...numbers.slice(0, 3).map((each) => size * each), numbers[3] ?? 1];
};
const linear = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const light = (colour) => {
  const [r, g, b] = colour.slice(0, 3).map((each) => linear(each / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (e) => {
  for (let at = e; at; at = at.parentElement) {
    const colour = rgb(getComputedStyle(at).backgroundColor);
    if (colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const faint = [];
for (const e of document.querySelectorAll('body *')) {
  const text = [...e.childNodes].filter((each) => each.nodeType === 3).map((each) => each.textContent.trim()).join('');
  if (!text || !seen(e) || e.closest('script, style, :disabled')) continue;
  const style = getComputedStyle(e), svg = e instanceof SVGElement, arm = e.closest('.arm')?.querySelector('.body');
  const back = arm ? rgb(getComputedStyle(arm).fill) : behind(svg ? e.closest('svg').parentElement : e);
  const [a, b] = [light(rgb(svg ? style.fill : style.color)), light(back)].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) faint.push([text.slice(0, 30), e.tagName, (a + 0.05) / (b + 0.05)]);
}
const named = (e) => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.labels?.length
  || (!e.matches('input, select') && e.textContent.trim());
const fields = [...document.querySelectorAll('button, input, select, [tabindex], svg, [role=button]')];
const nameless = fields.filter((e) => seen(e) && !named(e)).map((e) => e.outerHTML.slice(0, 80));
const width = arguments[0]; // not innerWidth: on a phone that grows with what is too wide
const wide = document.documentElement.scrollWidth > width;
const over = [...document.querySelectorAll('main *')].filter((e) => seen(e) && !e.closest('.scroller, pre, svg'))
  .filter((e) => e.getBoundingClientRect().right > width + 1).map((e) => e.outerHTML.slice(0, 80));
return {faint, nameless, 'too wide': wide ? ['the page', ...over] : over};
"""

_FOCUS = """
const able = [...document.querySelectorAll('button, input, select, summary, [tabindex]')].filter((e) =>
  e.checkVisibility() && !e.disabled && e.tabIndex >= 0);
const name = (e) => `${e.tagName} ${e.id || e.dataset.arm || e.textContent.trim().slice(0, 20)} ${able.indexOf(e)}`;
const marked = (e) => getComputedStyle(e).outlineStyle !== 'none'
  || e.matches('.arm') && getComputedStyle(e.querySelector('.body')).strokeWidth === '4px';
"""


def look_over(window: Browser, width: int) -> Any:
    """Text with a contrast below 4.5, fields without a name, and what is wider than that: lists."""
    return window.run(_LOOK, width)


def focus_order(window: Browser) -> tuple[list[str], list[str]]:
    """What can have the focus, in the page's order; and what the Tab key comes to, where the focus can be seen."""
    wanted = window.run(_FOCUS + "document.activeElement.blur(); return able.map(name)")
    window.run(_FOCUS + "able[0].focus()")
    found = [window.run(_FOCUS + "return name(document.activeElement)")]
    for _ in wanted[1:]:
        for kind in ("rawKeyDown", "keyUp"):
            window.command("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        found.append(
            window.run(_FOCUS + "const e = document.activeElement; return name(e) + (marked(e) ? '' : ' unseen')")
        )
    return wanted, found
