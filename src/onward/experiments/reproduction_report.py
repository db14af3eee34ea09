"""The report of a reproduction: one HTML page that opens anywhere, `claims.json`, and the figures' files.

    sections = [Section("figure1", "The terms of the regret", settings, claims, drawings, seconds=4.2)]
    write_report("out/report.html", sections, quick=False, seed=0, seconds=9.1, versions={}, command="make reproduce")
    write_claims("out/claims.json", sections)
    save_drawings("out/figures", sections[0].drawings)

The page is one of `onward.pages`. The same run gives the same bytes.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onward.atomic_files import write_atomically
from onward.experiments.claims import VERDICT_WORDS, Claim
from onward.json_values import to_json_values
from onward.pages.drawing import Drawing
from onward.pages.image_files import UNDATED, render_image
from onward.pages.inline import make_picture
from onward.pages.page import check_names, render_page

TITLE = "The forward algorithm beside ridge: the paper, run again"
DESCRIPTION = "The figures of a paper on the forward algorithm, run again, and what became of its claims."


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
    of_paper: bool = True  # or of ours
    source: str = ""  # whose claims they are, if not the paper's nor ours

    @property
    def label(self) -> str:
        """What it is called in running text: "Figure 4a", or what its title begins with if it has another name."""
        found, replaced = re.subn(r"^figure[ _-]?", "Figure ", self.name)
        return found if replaced else self.title.partition(":")[0]

    @property
    def heading(self) -> str:
        """Its label and title."""
        return self.title if self.title.startswith(self.label) else f"{self.label}: {self.title}"

    def anchor(self, claim: Claim) -> str:
        """The id of a claim on the page."""
        return f"{self.name}--{claim.id}"


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
    check_names("section", [section.name for section in sections])
    check_names("claim", [section.anchor(claim) for section in sections for claim in section.claims])
    pictures = [make_picture(drawing) for section in sections for drawing in section.drawings]
    found = Counter(claim.verdict for section in sections for claim in section.claims if not claim.ours)
    text = render_page(
        "experiments/reproduction_report.html",
        TITLE,
        DESCRIPTION,
        pictures,
        sections=sections,
        counts={verdict: found[verdict] for verdict in VERDICT_WORDS},
        verdict_words=VERDICT_WORDS,
        quick=quick,
        seed=seed,
        seconds=seconds,
        versions=versions,
        command=command,
        size=size,
        notes=notes,
    )
    write_atomically(path, text.encode())


def write_claims(path: str | os.PathLike[str], sections: Sequence[Section]) -> None:
    """Write every claim with its verdict and numbers as strict JSON; what is not a finite number becomes null."""
    records = [
        {
            "figure": section.name,
            "id": claim.id,
            "statement": claim.statement,
            "ours": claim.ours,
            "verdict": claim.verdict,
            "finding": claim.finding,
            "rule": claim.rule.words,
            "undecided": [condition.record() for condition in claim.rule.open_conditions()],
            "regime": claim.regime,
            "numbers": claim.records,
        }
        for section in sections
        for claim in section.claims
    ]
    text = json.dumps(to_json_values(records), indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, f"{text}\n".encode())


def save_drawings(folder: str | os.PathLike[str], drawings: Iterable[Drawing]) -> list[Path]:
    """Save each drawing as name.png, name.svg and name.pdf, without dates, and say which files these are."""
    saved = []
    for drawing in drawings:
        for kind in UNDATED:
            path = Path(folder) / f"{drawing.name}.{kind}"
            write_atomically(path, render_image(drawing, kind))
            saved.append(path)
    return saved
