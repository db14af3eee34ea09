"""Put the tables of claims into docs/findings.md, from the claims.json of a full run.

    python -m tools.findings reproduction/claims.json docs/findings.md

The sentences are those of the report: claims.json holds what `experiments/claim_sentences.txt` made of the claims.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onward.experiments.estimates import TRUSTED
from onward.pages.numbers import format_number
from tools.own_data import replaced


def make_tables(claims: Sequence[dict[str, Any]]) -> dict[str, str]:
    """A Markdown table of the claims of each figure, by its name; figure 3's ratios; and a count of verdicts."""
    tables: dict[str, list[str]] = {}
    for claim in claims:
        head = ["| the claim | verdict | we found | where it holds |", "|---|---|---|---|"]
        cells = (str(claim[key]).replace("|", r"\|") for key in ("statement", "verdict", "finding", "regime"))
        tables.setdefault(claim["figure"], head).append(f"| {' | '.join(cells)} |")
        if claim["id"] == "never-much-worse":
            tables["figure3-ratios"] = _variant_table(claim["numbers"])
    found = Counter(claim["verdict"] for claim in claims if not claim["ours"])
    words = {"supported": "supported", "partly": "in part", "not supported": "not", "undecided": "undecided"}
    said = ", ".join(f"{found[verdict]} {text}" for verdict, text in words.items())
    tables["counts"] = [f"Of {sum(found.values())} claims of the paper: {said}."]
    return {figure: "\n".join(rows) for figure, rows in tables.items()}


def _variant_table(numbers: dict[str, Any]) -> list[str]:
    """OFUL^f's regret over OFUL's: a row for each kind of arms, a column for each index."""
    found: dict[str, dict[str, str]] = {}
    for name, each in numbers.items():
        variant, _, quantity = name.partition(": ")
        if quantity == "regret over OFUL's":
            arms, norm, index = re.split(r", (?![^\[]*\])", variant)  # not within U[0, 200]
            mark = "" if each["top_share"] <= TRUSTED else "≈ "
            value, lower, upper = (format_number(float(f"{each[key]:.2g}")) for key in ("value", "lower", "upper"))
            found.setdefault(f"{arms}, {norm}", {})[index] = f"{mark}{value} [{lower}, {upper}]"
    indices = list(next(iter(found.values())))
    rows = [f"| {arms} | {' | '.join(row[index] for index in indices)} |" for arms, row in found.items()]
    return [f"| | {' | '.join(indices)} |", "|---" * (len(indices) + 1) + "|", *rows]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("claims", type=Path, help="the claims.json of a full run")
    parser.add_argument("page", type=Path, help="with marks <!-- made: figure1 --> … <!-- end -->")
    given = parser.parse_args(arguments)
    page = given.page.read_text(encoding="utf-8")
    tables = make_tables(json.loads(given.claims.read_text(encoding="utf-8")))
    wanted = {figure: table for figure, table in tables.items() if f"<!-- made: {figure} -->" in page}
    given.page.write_text(replaced(page, wanted), encoding="utf-8")


if __name__ == "__main__":
    main()
