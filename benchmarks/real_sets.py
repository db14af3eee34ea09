"""Online errors on real data: our learners beside other libraries', one command.

    python benchmarks/real_sets.py                              the eleven sets of docs/own_data.md, and those held out
    python benchmarks/real_sets.py --only diabetes jobs         some sets
    python benchmarks/real_sets.py --rows 3000                  the first rows of each, the same for all
    python benchmarks/real_sets.py --write docs/own_data.md     put the tables into the page anew

Nothing is downloaded: the data lie inside scikit-learn, river, statsmodels and vega-datasets (`pip install
"onward[bench]"`). Every row is predicted before its target is seen, and all rows count; since the first ones favour
whoever knows the mean, errors from row 50 on are kept apart, too. *Pairs* are forward and ridge at λ = 10⁻⁶ … 10⁴ on
the features as they are; the best of them is known in hindsight only. *Online peers* are those that learn a row at a
time, the running mean among them; RidgeCV, which keeps all rows, is the expensive yardstick. The held-out sets are for
testing defaults, never for choosing them.
"""

import argparse
import json
import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script, find the folder as a package

from benchmarks import real_sets_tables as tables
from benchmarks.peers import CONTENDERS, Contender, Row, Vector, vw_text
from benchmarks.timing import machine, one_thread, versions
from onward.json_values import to_json_values
from tools.held_out_sets import HELD_OUT
from tools.own_data import replaced
from tools.own_data_sets import SETS, TARGET, DataSet

OUT = Path(__file__).parent / "results" / "real_sets.json"
LATER = 50  # rows after which the first ones, in which nothing is known yet, are over
LIBRARIES = ("onward", "scikit-learn", "river", "vowpalwabbit", "statsmodels", "vega-datasets", "numpy")


@dataclass(frozen=True)
class Encoded:
    """A data set as all learners see it."""

    rows: Sequence[Row]
    y: Vector


def encode(data: DataSet, most_rows: int | None = None) -> Encoded:
    """Numbers as they are, and a 0/1 feature for each level; rows with missing values are left out where it says so."""
    frame = data.frame()
    if "skip" in data.options:
        frame = frame.drop_nulls()
    frame = frame[:most_rows]
    levels = [name for name in frame.columns if name != TARGET and not frame[name].dtype.is_numeric()]
    numbers = [name for name in frame.columns if name != TARGET and name not in levels]
    values = np.array([frame[name].cast(float) for name in numbers]).reshape(-1, len(frame)).T
    words = list(zip(*(frame[name] for name in levels), strict=True)) if levels else [()] * len(frame)
    place: dict[str, int] = {}
    for each in words:
        for name, level in zip(levels, each, strict=True):
            place.setdefault(f"{name}={level}", len(numbers) + len(place))
    rows, seen = [], dict[str, float]()
    for x, each in zip(values, words, strict=True):
        here = [f"{name}={level}" for name, level in zip(levels, each, strict=True)]
        seen |= dict.fromkeys(here, 0.0)
        whole = np.concatenate([x, np.zeros(len(place))])
        whole[[place[name] for name in here]] = 1.0
        named = dict(zip(numbers, x.tolist(), strict=True))
        text = vw_text(named, dict(zip(levels, each, strict=True)))
        rows.append(Row(whole, named | seen | dict.fromkeys(here, 1.0), text))
    return Encoded(rows, frame[TARGET].to_numpy().astype(np.float64))


# Errors


@dataclass(frozen=True)
class Errors:
    """Of one learner on one set. Infinite where it failed, and then why."""

    rmse: float
    later: float
    seconds: float
    failed: str | None = None


def predict_online(contender: Contender, data: Encoded) -> tuple[Vector, str | None]:
    """A fresh learner's predictions, each made before it is told the target; NaN from where it fails, and why."""
    model = contender.start()
    predictions = np.full(len(data.y), np.nan)
    for t, (row, y) in enumerate(zip(data.rows, data.y.tolist(), strict=True)):
        try:
            predictions[t] = model.predict(row)
            if not math.isfinite(predictions[t]):
                return predictions, f"row {t + 1}: it predicts {predictions[t]}"
            model.learn(row, y)
        except (ArithmeticError, ValueError) as error:  # gradient descent may run away
            return predictions, f"row {t + 1}: {error}"
    return predictions, None


def measure_one(contender: Contender, data: Encoded) -> Errors:
    start = perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of those who run away
        predictions, failed = predict_online(contender, data)
    seconds = perf_counter() - start
    if failed is not None:
        return Errors(math.inf, math.inf, seconds, failed)
    squares = (predictions - data.y) ** 2
    return Errors(math.sqrt(squares.mean()), math.sqrt(squares[LATER:].mean()), seconds)


@dataclass(frozen=True)
class Measured:
    """All learners on one set."""

    name: str
    held_out: bool
    rows: int
    features: int
    errors: dict[str, Errors]

    def rmse(self, key: str, later: bool = False) -> float:
        return self.errors[key].later if later else self.errors[key].rmse

    def best(self, part: str, later: bool = False) -> tuple[str, float]:
        """Who errs least of those who play this part, and how much."""
        keys = [each.key for each in CONTENDERS if each.part == part and each.key in self.errors]
        return min(((key, self.rmse(key, later)) for key in keys), key=lambda pair: pair[1])


def measure(data: DataSet, contenders: Sequence[Contender], most_rows: int | None = None) -> Measured:
    encoded = encode(data, most_rows)
    with one_thread():
        errors = {contender.key: measure_one(contender, encoded) for contender in contenders}
    return Measured(data.name, data in HELD_OUT, len(encoded.y), len(encoded.rows[0].x), errors)


# The command


def main(arguments: Sequence[str] | None = None) -> None:
    everything = (*SETS, *HELD_OUT)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[each.name for each in everything], metavar="NAME")
    parser.add_argument("--rows", type=int, help="the first rows of each set")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help="where to write every number, as JSON")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into this page")
    given = parser.parse_args(arguments)
    if given.rows is not None and given.rows <= LATER:
        parser.error(f"--rows: expected more than {LATER}, after which errors are counted once more, got {given.rows}")
    console = Console(width=200)
    wanted = [each for each in everything if given.only is None or each.name in given.only]
    notes = [f"{each.name} is left out: {each.package} is not installed" for each in wanted if not each.available]
    notes += [f"{each.title} is left out: {each.missing}" for each in CONTENDERS if each.missing]
    contenders = [each for each in CONTENDERS if not each.missing]
    for note in notes:
        console.print(note)
    left_out = [each.name for each in wanted if not each.available]
    left_out += [each.title for each in CONTENDERS if each.missing and each.part != "ours"]
    if given.write is not None and (left_out or given.only or given.rows):
        sys.exit('the page needs all sets and peers (pip install "onward[bench]"), and neither --only nor --rows')
    start = perf_counter()
    jobs = (delayed(measure)(data, contenders, given.rows) for data in wanted if data.available)
    found: list[Measured] = list(Parallel(n_jobs=given.jobs)(jobs))
    seconds = perf_counter() - start
    tables.show(console, found)
    console.print(f"\n{seconds:.0f} s in all.")
    record = {"machine": machine(), "versions": versions(LIBRARIES), "notes": notes, "rows": given.rows}
    record |= {"sets": [asdict(each) for each in found], "seconds": seconds}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(to_json_values(record), indent=2) + "\n", encoding="utf-8")
    console.print(f"Every number: {given.out}")
    if given.write is not None:
        page = given.write.read_text(encoding="utf-8")
        given.write.write_text(replaced(page, tables.sections(found, versions(LIBRARIES))), encoding="utf-8")


if __name__ == "__main__":
    main()
