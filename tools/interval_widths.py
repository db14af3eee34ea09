"""How often intervals for targets held, and how wide they were, on real data: the table of docs/guarantees.md.

    python tools/interval_widths.py                               print it
    python tools/interval_widths.py --write docs/guarantees.md    put it into the page anew

Each set of `tools/own_data_sets.py` as it is, in passes of `onward fit` at δ = 0.05: the default learner, auto, with
conformal intervals, and forward with each method. Widths count from the 20th row on: each method is wide, or open, at
first. "÷ uniform" is the mean width of forward's conformal intervals over that of its uniform ones, on the same rows:
those where the uniform ones are finite.
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
from onward.core.types import Vector
from tools.own_data import number, replaced
from tools.own_data_sets import SETS, TARGET, DataSet
from tools.run_onward import onward

FIRST = 20  # rows whose widths are left out
AUTO = "auto, conformal"


@dataclass(frozen=True)
class Held:
    """How the intervals of a method did on a set."""

    rows: int
    inside: float  # the share of all rows, open intervals included
    widths: Vector  # after the first rows

    @property
    def finite(self) -> Vector:
        """The widths of finite intervals."""
        return self.widths[np.isfinite(self.widths)]

    @property
    def width(self) -> float:
        """Their mean."""
        return float(self.finite.mean()) if len(self.finite) else np.inf


def measure_one(path: Path, data: DataSet, learner: str, method: str) -> Held:
    """What a learner's intervals by one method came to, on a set that was written to a file."""
    out = path.with_name("predictions.parquet")
    how = ["--learner", learner, "--intervals", method, "--predictions", str(out), "-q"]
    onward("fit", str(path), "-t", TARGET, *data.options, *how)
    rows = pl.read_parquet(out).drop_nulls("prediction")
    y, lower, upper = (rows[name].to_numpy() for name in ("target", "lower", "upper"))
    return Held(len(y), float(np.mean((lower <= y) & (y <= upper))), (upper - lower)[FIRST:])


def measure(data: DataSet, folder: Path) -> dict[str, Held]:
    """What auto's intervals, and forward's by each method, came to."""
    path = folder / f"{data.name}.csv"
    data.frame().write_csv(path)
    found = {AUTO: measure_one(path, data, "auto", "conformal")}
    return found | {method: measure_one(path, data, "forward", method) for method in METHODS}


def ratio(narrow: Held, wide: Held) -> float:
    """The mean width of the first over that of the second, on the rows where the second is finite."""
    both = np.isfinite(wide.widths)
    return float(narrow.widths[both].mean() / wide.widths[both].mean()) if both.any() else 0.0


def table(found: dict[str, dict[str, Held]]) -> str:
    """A line for each set."""
    heads = ["data", "rows", "auto: conformal", "width"]
    heads += [part for method in METHODS for part in (f"forward: {method}", "width")]
    heads += ["infinite", "conformal ÷ uniform"]
    lines = [f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}"]
    for name, held in found.items():
        cells = [name, f"{held['conformal'].rows:,}"]
        for method in (AUTO, *METHODS):
            cells += [f"{held[method].inside:.1%}", number(held[method].width)]
        wide = held["uniform"]
        cells += [format(1 - len(wide.finite) / len(wide.widths), ".0%"), f"{ratio(held['conformal'], wide):.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
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
