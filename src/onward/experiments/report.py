"""The report of a reproduction: one HTML page that opens anywhere, `claims.json`, and the figures' files.

    sections = [Section("figure1", "The terms of the regret", settings, claims, drawings, seconds=4.2)]
    write_report("out/report.html", sections, quick=False, seed=0, seconds=9.1, versions={}, command="make reproduce")
    write_claims("out/claims.json", sections)
    save_drawings("out/figures", sections[0].drawings)

The page is one of `onward.pages`. The same run gives the same bytes.
"""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, get_args

import numpy as np

from onward.experiments.base import Claim, Verdict
from onward.pages import parts
from onward.pages.drawing import Drawing
from onward.pages.files import UNDATED, rendered
from onward.pages.inline import Picture, picture
from onward.pages.numbers import duration
from onward.pages.page import page

TITLE = "The forward algorithm beside ridge: the paper, run again"
DESCRIPTION = "The figures of a paper on the forward algorithm, run again, and what became of its claims."
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_WORDS = {"supported": "supported", "partly": "partly supported", "not supported": "not supported"}


@dataclass(frozen=True)
class Section:
    """A figure of the paper as it came out."""

    name: str  # as on the command line, such as "figure4a"
    title: str
    settings: Mapping[str, Any]
    claims: Sequence[Claim]
    drawings: Sequence[Drawing]
    seconds: float
    remarks: Sequence[str] = ()  # what a reader must know, such as "ran at 25 repeats because ..."

    @property
    def label(self) -> str:
        """What it is called in running text: "Figure 4a"."""
        return re.sub(r"^figure[ _-]?", "Figure ", self.name)


def write_report(
    path: str | os.PathLike[str],
    sections: Sequence[Section],
    *,
    quick: bool,
    seed: int,
    seconds: float,
    versions: Mapping[str, str],
    command: str,
    size: str = "at full size",
    notes: Sequence[str] = (),
) -> None:
    """Write the page.

    Args:
        path: of the file; its folder must exist.
        sections: the figures, in order.
        quick: the run was a reduced one, and every section says so.
        seed: the run's.
        seconds: that the whole run took.
        versions: of what took part: {"onward": "0.1.0", "Python": "3.11.2"}.
        command: that gives this page again.
        size: of the run, in words.
        notes: anything else, a paragraph each.
    """
    _check_names(sections)
    for claim in (claim for section in sections for claim in section.claims):
        if claim.verdict not in VERDICTS:
            raise ValueError(f"{claim.name}: a verdict is one of {', '.join(VERDICTS)}, got {claim.verdict!r}")
    pictures = {each.name: picture(each) for section in sections for each in section.drawings}
    body = Template(_resource("report.html")).substitute(
        title=TITLE,
        summary=_summary(sections, size),
        reduced=_reduced(quick),
        counts=_counts(sections),
        verdicts="".join(_verdict_rows(section) for section in sections),
        contents="".join(f'<li><a href="#{each.name}">{escape(each.label)}</a></li>' for each in sections),
        sections="".join(_section(section, pictures, quick) for section in sections),
        notes="".join(f"<p>{escape(note)}</p>" for note in notes),
        command=escape(command),
        run=parts.pairs({"Seed": str(seed), "Run time, of the last start": duration(seconds), "Size": size}),
        versions=parts.pairs(versions),
    )
    text = page(TITLE, DESCRIPTION, body, pictures.values(), style=_resource("report.css"))
    Path(path).write_text(text, encoding="utf-8", newline="\n")


def write_claims(path: str | os.PathLike[str], sections: Sequence[Section]) -> None:
    """Write every claim with its verdict and numbers as strict JSON; what is not a finite number becomes null."""
    records = [
        {
            "figure": section.name,
            "name": claim.name,
            "claim": claim.says,
            "verdict": claim.verdict,
            "finding": claim.finding,
            "rule": claim.rule,
            "regime": claim.regime,
            "numbers": _strict(claim.numbers),
        }
        for section in sections
        for claim in section.claims
    ]
    text = json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8", newline="\n")


def save_drawings(folder: str | os.PathLike[str], drawings: Iterable[Drawing]) -> list[Path]:
    """Save each drawing as name.png, name.svg and name.pdf, without dates, and say which files these are."""
    saved = []
    for drawing in drawings:
        for kind in UNDATED:
            path = Path(folder) / f"{drawing.name}.{kind}"
            path.write_bytes(rendered(drawing, kind))
            saved.append(path)
    return saved


# The parts of the page


def _summary(sections: Sequence[Section], size: str) -> str:
    claims = [claim for section in sections for claim in section.claims if not claim.ours]
    found = Counter(claim.verdict for claim in claims)
    results = ", ".join(f"{found[verdict]} {_WORDS[verdict]}" for verdict in VERDICTS)
    figures = "1 figure" if len(sections) == 1 else f"{len(sections)} figures"
    return (
        "Ouhamma, Maillard and Perchet (<cite>Stochastic Online Linear Regression: the Forward Algorithm to Replace "
        "Ridge</cite>, 2021) argue that the forward algorithm, which shrinks each prediction of ridge regression by "
        "its own leverage, does as well as online ridge, depends far less on the regularisation λ, and makes linear "
        f"bandits more robust. We ran {figures} of the paper again {escape(size)} and held {len(claims)} of its "
        "claims to "
        f"rules fixed in code: <strong>{results}</strong>."
    )


def _counts(sections: Sequence[Section]) -> str:
    found = Counter(claim.verdict for section in sections for claim in section.claims if not claim.ours)
    return "".join(
        f'<li class="{_key(verdict)}"><span class="number">{found[verdict]}</span> {_badge(verdict)}</li>'
        for verdict in VERDICTS
    )


def _verdict_rows(section: Section) -> str:
    """The rows of the table on the first screen, the figure beside the first of them."""
    rows = []
    for number, claim in enumerate(section.claims):
        figure = f'<a href="#{section.name}">{escape(section.label)}</a>'
        first = f'<th scope="rowgroup" rowspan="{len(section.claims)}">{figure}</th>' if number == 0 else ""
        rows.append(
            f'<tr>{first}<td class="claim"><a href="#{_anchor(section, claim)}">{escape(claim.says)}</a>'
            f'<span class="effect">{escape(claim.short)}</span>'
            f'<span class="finding">{escape(claim.finding)}</span></td>'
            f'<td class="outcome">{_badge(claim.verdict)}<span class="where">{figure}</span></td></tr>'
        )
    return f"<tbody>{''.join(rows)}</tbody>" if rows else ""


def _section(section: Section, pictures: Mapping[str, Picture], quick: bool) -> str:
    title = section.title if section.title.startswith(section.label) else f"{section.label}: {section.title}"
    remarks = "".join(f'<p class="remark">{escape(remark)}</p>' for remark in section.remarks)
    drawings = "".join(parts.figure(each, pictures[each.name]) for each in section.drawings)
    claims = "".join(_claim(section, claim) for claim in section.claims)
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-heading">'
        f'<h2 id="{section.name}-heading">{escape(title)}</h2>{_reduced(quick)}{remarks}{drawings}'
        f"<h3>What the paper says of it, and what came out</h3>{claims or '<p>No claims.</p>'}"
        f"<details><summary>Every setting</summary>{parts.values(section.settings)}</details>"
        f'<p class="time">Computing time, over all processes: {duration(section.seconds)}</p></section>'
    )


def _claim(section: Section, claim: Claim) -> str:
    numbers = f"<details><summary>Numbers</summary>{parts.values(claim.numbers)}</details>" if claim.numbers else ""
    return (
        f'<article class="claim {_key(claim.verdict)}" id="{_anchor(section, claim)}">'
        f"<h4>{escape(claim.says)}</h4><div><p>{_badge(claim.verdict)}</p><p>{escape(claim.finding)}</p></div>"
        f"<dl><div><dt>Holds</dt><dd>{escape(claim.regime)}</dd></div>"
        f"<div><dt>Rule</dt><dd>{escape(claim.rule)}</dd></div></dl>{numbers}</article>"
    )


def _badge(verdict: str) -> str:
    """The verdict as a sign and in words: colour comes third."""
    key = _key(verdict)
    sign = f'<svg aria-hidden="true" viewBox="0 0 16 16"><use href="#sign-{key}"></use></svg>'
    return f'<span class="verdict {key}">{sign}{_WORDS[verdict]}</span>'


def _reduced(quick: bool) -> str:
    if not quick:
        return ""
    return (
        '<p class="reduced"><strong>Reduced run:</strong> fewer repeats, and where the remarks say so fewer '
        "rounds, than the paper’s. "
        "It shows that everything works; its verdicts are not those of the reproduction.</p>"
    )


# Names and values


def _key(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _anchor(section: Section, claim: Claim) -> str:
    return f"{section.name}--{claim.name}"


def _check_names(sections: Sequence[Section]) -> None:
    parts.check_names(
        {
            "section": [section.name for section in sections],
            "drawing": [drawing.name for section in sections for drawing in section.drawings],
            "claim": [_anchor(section, claim) for section in sections for claim in section.claims],
        }
    )


def _strict(value: Any) -> Any:
    """The value as strict JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"expected plain values (numbers, text, lists, mappings), got {type(value).__name__}: {value!r}")


def _resource(name: str) -> str:
    return files("onward.experiments").joinpath(name).read_text(encoding="utf-8")
