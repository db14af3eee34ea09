"""How often intervals for targets held, and how wide they were, on real data: the table of docs/guarantees.md.

    python tools/interval_widths.py                               print it
    python tools/interval_widths.py --write docs/guarantees.md    put it into the page anew

Each set of `tools/own_data_sets.py` as it is, in one pass of `onward fit` at its defaults for each method, at δ = 0.05.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from onward.core.known import METHODS
from tools.own_data import number, replaced
from tools.own_data_sets import SETS, TARGET, DataSet
from tools.run_onward import onward

FIRST = 20  # rows whose widths are left out: each method is wide, or open, at first


@dataclass(frozen=True)
class Held:
    """How the intervals of a method did on a set."""

    rows: int
    inside: float  # the share of all rows, open intervals included
    width: float  # mean of finite intervals after the first rows
    open: float  # the share of rows after the first with an infinite interval


def measure(data: DataSet, folder: Path) -> dict[str, Held]:
    """What each method came to."""
    path, out = folder / f"{data.name}.csv", folder / "predictions.parquet"
    data.frame().write_csv(path)
    held: dict[str, Held] = {}
    for method in METHODS:
        how = ["--learner", "forward", "--intervals", method]
        onward("fit", str(path), "-t", TARGET, *data.options, *how, "--predictions", str(out), "-q")
        rows = pl.read_parquet(out).drop_nulls("prediction")
        y, lower, upper = (rows[name].to_numpy() for name in ("target", "lower", "upper"))
        width = (upper - lower)[FIRST:]
        finite = np.isfinite(width)
        mean = float(width[finite].mean()) if finite.any() else np.inf
        held[method] = Held(len(y), float(np.mean((lower <= y) & (y <= upper))), mean, float(1 - finite.mean()))
    return held


def table(found: dict[str, dict[str, Held]]) -> str:
    """A line for each set."""
    lines = [
        "| data | rows | conformal: inside | width | t: inside | width | uniform: inside | width | infinite |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, held in found.items():
        cells = [name, f"{held['conformal'].rows:,}"]
        for method in METHODS:
            cells += [f"{held[method].inside:.1%}", number(held[method].width)]
        lines.append(f"| {' | '.join([*cells, format(held['uniform'].open, '.0%')])} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put it into this page")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        made = table({data.name: measure(data, Path(folder)) for data in SETS if data.available})
    if given.write is None:
        print(made)
    else:
        page = given.write.read_text(encoding="utf-8")
        given.write.write_text(replaced(page, {"intervals on real data": made}), encoding="utf-8")


if __name__ == "__main__":
    main()
