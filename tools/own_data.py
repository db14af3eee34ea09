"""Ridge and forward on real data that come inside Python packages: the tables and the session of docs/own_data.md.

    python tools/own_data.py                        print the tables
    python tools/own_data.py --session              print the session, command by command
    python tools/own_data.py --only diabetes co2    some data sets only
    python tools/own_data.py --write docs/own_data.md    put everything into the page anew

Nothing is downloaded: the files lie inside scikit-learn, river and statsmodels. A set whose package is not installed
is left out, and said to be. Each set is written as CSV twice, as it is and scaled, and read by `onward compare`. Then
`onward fit` is run for every λ and both learners, and must find the same errors.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from tools import own_data_session
from tools.own_data_sets import SETS, TARGET, DataSet
from tools.run_onward import onward

LAMS = tuple(10.0**k for k in range(-6, 5))
SAME = 0.005  # as `onward compare` has it: errors that differ by less than this share are called the same


@dataclass(frozen=True)
class Row:
    """What was found on one file."""

    name: str
    version: str
    found: dict[str, Any]  # what `onward compare --json` printed

    def rmse(self, learner: str) -> list[float]:
        """For each λ."""
        return [float(each["rmse"]) for each in self.found["learners"][learner]["scores"]]


def measure(data: DataSet, version: str, folder: Path) -> Row:
    """Write a version of the data, and run the commands on it."""
    path = folder / f"{data.name}-{version.replace(' ', '-')}.csv"
    (data.frame() if version == "as it is" else data.scaled()).write_csv(path)
    options = [str(path), "--target", TARGET, *data.options]
    row = Row(data.name, version, json.loads(onward("compare", *options, "--json").out))
    for learner in ("ridge", "forward"):
        for lam, expected in zip(LAMS, row.rmse(learner), strict=True):
            fit = json.loads(onward("fit", *options, "--learner", learner, "--lam", repr(lam), "--json").out)
            if not math.isclose(fit["scores"]["rmse"], expected, rel_tol=1e-9):
                raise AssertionError(f"{path.name}, {learner}, λ = {lam:g}: {fit['scores']['rmse']} by fit, {expected}")
    return row


def measured(names: Sequence[str], folder: Path) -> list[Row]:
    """Both versions of each of the sets that are there."""
    return [
        measure(data, version, folder)
        for data in SETS
        if data.name in names and data.available
        for version in ("as it is", "scaled")
    ]


# Tables


def best_and_worst(rows: Sequence[Row]) -> str:
    """A line for each file: errors of the running mean, and of both learners at their best and worst λ."""
    lines = [
        "| data | version | rows | features | running mean | forward: best (λ) | worst (λ) | ridge: best (λ) "
        "| worst (λ) | forward / even / ridge |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|:-:|",
    ]
    for row in rows:
        cells = [row.name, row.version, f"{row.found['rows']['learned']:,}", str(row.found["features"])]
        cells.append(number(row.found["running_mean_rmse"]))
        for learner in ("forward", "ridge"):
            errors = row.rmse(learner)
            cells += [f"{number(pick(errors))} ({LAMS[errors.index(pick(errors))]:g})" for pick in (min, max)]
        lines.append(f"| {' | '.join([*cells, ' / '.join(map(str, score(row)))])} |")
    return "\n".join(lines)


def score(row: Row) -> tuple[int, int, int]:
    """At how many λ forward errs less, neither, ridge."""
    pairs = list(zip(row.rmse("forward"), row.rmse("ridge"), strict=True))
    forward = sum(f < r * (1 - SAME) for f, r in pairs)
    ridge = sum(r < f * (1 - SAME) for f, r in pairs)
    return forward, len(pairs) - forward - ridge, ridge


def ratios(rows: Sequence[Row]) -> str:
    """A line for each file: ridge's error over forward's at each λ; above 1, forward errs less."""
    lines = [f"| data | version | {' | '.join(f'{lam:g}' for lam in LAMS)} |", "|---|---|" + "--:|" * len(LAMS)]
    for row in rows:
        cells = [f"{r / f:.3f}" for f, r in zip(row.rmse("forward"), row.rmse("ridge"), strict=True)]
        lines.append(f"| {row.name} | {row.version} | {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(rows: Sequence[Row]) -> str:
    """All files together, in a few sentences."""
    total = [sum(counts) for counts in zip(*(score(row) for row in rows), strict=True)]
    best = {name: [min(row.rmse(name)) for row in rows] for name in ("forward", "ridge")}
    worst = {name: [max(row.rmse(name)) for row in rows] for name in ("forward", "ridge")}
    beaten = [row for row in rows if any(min(row.rmse(name)) >= row.found["running_mean_rmse"] for name in best)]
    lines = [
        f"- Of {sum(total)} pairs (a file and a λ), forward errs less in {total[0]}, ridge in {total[2]}, and "
        f"{total[1]} are within {SAME:.1%} of each other.",
        f"- With the best λ for each: forward errs less on {_less(best['forward'], best['ridge'])} of {len(rows)} "
        f"files, ridge on {_less(best['ridge'], best['forward'])}.",
        f"- With the worst λ for each: forward errs less on {_less(worst['forward'], worst['ridge'])}, ridge on "
        f"{_less(worst['ridge'], worst['forward'])}. The largest ratio of worst to best error is "
        f"{_largest_spread(worst['forward'], best['forward'])} for forward and "
        f"{_largest_spread(worst['ridge'], best['ridge'])} for ridge.",
    ]
    names = ", ".join(f"{row.name} ({row.version})" for row in beaten)
    if beaten:
        lines.append(f"- No λ makes either better than the running mean on {names}.")
    else:
        lines.append("- On every file some λ makes both better than the running mean.")
    return "\n".join(lines)


def _less(one: Sequence[float], other: Sequence[float]) -> int:
    return sum(a < b * (1 - SAME) for a, b in zip(one, other, strict=True))


def _largest_spread(worst: Sequence[float], best: Sequence[float]) -> str:
    return number(max(w / b for w, b in zip(worst, best, strict=True)))


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.3e}"


def described() -> str:
    """What each set is, and which choices were made."""
    return "\n".join(f"- **{data.name}** ({data.package}). {data.about}" for data in SETS)


# The page


def sections(names: Sequence[str], folder: Path) -> dict[str, str]:
    """What the page holds between its marks, by name."""
    rows = measured(names, folder)
    return own_data_session.sections(folder) | {
        "sets": described(),
        "summary": summary(rows),
        "best and worst": best_and_worst(rows),
        "ratios": ratios(rows),
    }


def replaced(page: str, made: dict[str, str]) -> str:
    """The page with new text between its marks, `<!-- made: NAME -->` and `<!-- end -->`."""
    for name, text in made.items():
        start, end = f"<!-- made: {name} -->\n", "<!-- end -->"
        if page.count(start) != 1:
            raise ValueError(f"expected one place for {name!r} in the page, got {page.count(start)}")
        before, _, after = page.partition(start)
        page = f"{before}{start}{text}\n{end}{after.partition(end)[2]}"
    return page


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[data.name for data in SETS], metavar="NAME", help="some sets")
    parser.add_argument("--session", action="store_true", help="the session instead of the tables")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put everything into this page")
    parser.add_argument("--folder", type=Path, help="keep the files here; without it they vanish")
    given = parser.parse_args(arguments)
    names = given.only or [data.name for data in SETS]
    absent = [data for data in SETS if data.name in names and not data.available]
    for data in absent:
        print(f"{data.name} is left out: {data.package} is not installed", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if given.folder is None else given.folder
        folder.mkdir(parents=True, exist_ok=True)
        if given.write is not None:
            if absent or given.only:
                sys.exit("the page needs all data sets: expected scikit-learn, river and statsmodels, and no --only")
            page = given.write.read_text(encoding="utf-8")
            given.write.write_text(replaced(page, sections(names, folder)), encoding="utf-8")
        elif given.session:
            print("\n\n".join(own_data_session.sections(folder).values()))
        else:
            rows = measured(names, folder)
            print("\n\n".join([best_and_worst(rows), ratios(rows), summary(rows)]))


if __name__ == "__main__":
    main()
