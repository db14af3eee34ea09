"""Put the tables of claims into docs/findings.md, from the claims.json of a full run.

    python -m tools.findings reproduction/claims.json docs/findings.md

The sentences are those of the report: claims.json holds what `experiments/claim_sentences.txt` made of the claims.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.own_data import replaced


def make_tables(claims: Sequence[dict[str, Any]]) -> dict[str, str]:
    """A Markdown table of the claims of each figure, by its name."""
    tables: dict[str, list[str]] = {}
    for claim in claims:
        rows = tables.setdefault(claim["figure"], ["| the claim | verdict | we found |", "|---|---|---|"])
        cells = (str(claim[key]).replace("|", r"\|") for key in ("statement", "verdict", "finding"))
        rows.append(f"| {' | '.join(cells)} |")
    return {figure: "\n".join(rows) for figure, rows in tables.items()}


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
