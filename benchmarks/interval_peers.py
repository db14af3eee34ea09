"""Online intervals for targets beside MAPIE's and crepes', on real data: a table of docs/guarantees.md.

    pip install mapie crepes
    python benchmarks/interval_peers.py                                print it
    python benchmarks/interval_peers.py --write docs/guarantees.md     put it into the page anew

Every row is given an interval for δ = 0.05 before its target is seen. MAPIE and crepes are used as their documentation
has it for rows that come one after the other:

- MAPIE's `TimeSeriesRegressor` by EnbPI and by ACI, with 10 models on blocks of rows (`BlockBootstrap`), as in its
  tutorial: after each row `update`, and for ACI `adapt_conformal_inference` with γ = 0.05; without `optimize_beta`,
  which after 60 rows asks for quantiles that there are not, so that intervals are infinite or an error is raised.
- crepes' `WrapRegressor`: three quarters of the rows to fit, one quarter to calibrate, then `predict_int(online=True)`.

Their model is scikit-learn's RidgeCV on standardised features. It is fitted to the first 60 rows, and anew whenever the
rows have become half as many again: they have no learner that goes on. Ours goes on with every row. Since that makes a
difference, our rule is also run on the predictions of the same RidgeCV, fitted as often, and on nothing else. Rows
count from the 61st on, to the 2,000th of a longer set.
"""

import argparse
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from benchmarks.real_sets import encode
from onward import AutoRegressor
from onward.confidence import ConformalIntervals
from onward.core.types import Matrix, Vector
from tools.own_data import number, replaced
from tools.own_data_sets import SETS

DELTA = 0.05
FIRST = 60  # rows that a model is fitted to first
GROWTH = 1.5  # times as many rows, and it is fitted anew
MOST_ROWS = 2000

Ends = Matrix  # (n, 2)


@dataclass(frozen=True)
class Contender:
    """Whose intervals, and what must be installed for them."""

    name: str
    package: str
    ends: Callable[[Matrix, Vector], Ends]  # of the rows from the 61st on

    @property
    def available(self) -> bool:
        """Whether it is installed."""
        return importlib.util.find_spec(self.package) is not None


def stretches(n: int) -> Iterator[tuple[int, int]]:
    """From which row until which each fitted model is used."""
    start = FIRST
    while start < n:
        stop = min(n, int(GROWTH * start))
        yield start, stop
        start = stop


def model() -> Any:
    """What MAPIE and crepes wrap."""
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))


def mapie_ends(X: Matrix, y: Vector, method: str) -> Ends:
    """By MAPIE's `TimeSeriesRegressor`."""
    from mapie.regression import TimeSeriesRegressor
    from mapie.subsample import BlockBootstrap

    parts = []
    for start, stop in stretches(len(y)):
        cv = BlockBootstrap(n_resamplings=10, n_blocks=10, overlapping=False, random_state=59)
        made = TimeSeriesRegressor(model(), method=method, cv=cv, agg_function="mean")
        made.fit(X[:start], y[:start])
        how: dict[str, Any] = {"ensemble": True, "optimize_beta": False}
        level: dict[str, Any] = {"confidence_level": 1 - DELTA}
        for t in range(start, stop):
            x, target = X[t : t + 1], y[t : t + 1]
            _, ends = made.predict(x, **how, **level, allow_infinite_bounds=method == "aci")
            parts.append(ends[0, :, 0])
            if method == "aci":
                made.adapt_conformal_inference(x, target, gamma=0.05, **how, **level)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # it announces a change of its own at every row
                made.update(x, target, ensemble=True)
    return np.array(parts)


def crepes_ends(X: Matrix, y: Vector) -> Ends:
    """By crepes' online calibration."""
    from crepes import WrapRegressor

    parts = []
    for start, stop in stretches(len(y)):
        half = 3 * start // 4
        made = WrapRegressor(model())
        made.fit(X[:half], y[:half])
        made.calibrate(X[half:start], y[half:start])
        parts.append(made.predict_int(X[start:stop], y=y[start:stop], confidence=1 - DELTA, online=True))
    return np.concatenate(parts)


def own_ends_on_ridge(X: Matrix, y: Vector) -> Ends:
    """By our rule, on what the same model predicts."""
    predictions = [model().fit(X[:start], y[:start]).predict(X[start:stop]) for start, stop in stretches(len(y))]
    found = np.concatenate(predictions)
    return np.hstack(ConformalIntervals(DELTA).track(found, np.zeros(len(found)), y[FIRST:]))


def own_ends(X: Matrix, y: Vector) -> Ends:
    """By what `onward fit` does without a setting."""
    predictions, leverages = AutoRegressor().predict_then_learn(X, y, return_leverage=True)
    return np.hstack(ConformalIntervals(DELTA).track(predictions, leverages, y))[FIRST:]


CONTENDERS = (
    Contender("MAPIE EnbPI", "mapie", lambda X, y: mapie_ends(X, y, "enbpi")),
    Contender("MAPIE ACI", "mapie", lambda X, y: mapie_ends(X, y, "aci")),
    Contender("crepes online", "crepes", crepes_ends),
    Contender("ours on RidgeCV", "onward", own_ends_on_ridge),
    Contender("ours on auto", "onward", own_ends),
)


def measure(X: Matrix, y: Vector, contenders: Sequence[Contender]) -> list[str]:
    """For each contender the share of rows inside and the mean width of finite intervals, as cells of the table."""
    cells = []
    for contender in contenders:
        lower, upper = contender.ends(X, y).T
        inside, width = np.mean((lower <= y[FIRST:]) & (y[FIRST:] <= upper)), upper - lower
        finite = np.isfinite(width)
        infinite = 1 - finite.mean()
        more = f" ({infinite:.0%} infinite)" if infinite >= 0.005 else ""
        cells += [f"{inside:.1%}", f"{number(float(width[finite].mean()))}{more}"]
    return cells


def table(contenders: Sequence[Contender], names: Sequence[str], tell: Callable[[str], None]) -> str:
    """A line for each set."""
    heads = ["data", "rows", *(head for each in contenders for head in (f"{each.name}: inside", "width"))]
    lines = [f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}"]
    for data in SETS:
        if data.available and (not names or data.name in names):
            tell(data.name)
            encoded = encode(data, MOST_ROWS)
            X = np.array([row.x for row in encoded.rows])
            cells = [data.name, f"{len(X) - FIRST:,}", *measure(X, encoded.y, contenders)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="SET", help="some sets")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put it into this page")
    given = parser.parse_args(arguments)
    missing = sorted({each.package for each in CONTENDERS if not each.available})
    if missing:
        print(f"not installed, and left out: {', '.join(missing)}", file=sys.stderr)
        if given.write is not None:
            raise SystemExit(1)  # the page shall not lose its columns
    there = [each for each in CONTENDERS if each.available]
    made = table(there, given.only, lambda name: print(name, file=sys.stderr))
    if given.write is None:
        print(made)
    else:
        page = given.write.read_text(encoding="utf-8")
        given.write.write_text(replaced(page, {"intervals beside others": made}), encoding="utf-8")


if __name__ == "__main__":
    main()
