"""What is measured in a process of its own: bare reads, river over a file, and `onward fit`.

Run as a script, this file is that process; so it imports nothing before it knows what to do.
"""

import json
import math
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


def read(path: str) -> dict[str, Any]:
    """The bare cost of a file in polars, once its code has been loaded."""
    import polars as pl

    reader = pl.read_parquet if path.endswith(".parquet") else pl.read_csv
    wall, cpu = perf_counter(), process_time()
    rows = len(reader(path))
    return {"wall": perf_counter() - wall, "cpu": process_time() - cpu, "rows": rows}


def river(path: str, learner: str, rows: str) -> dict[str, Any]:
    """Predict and learn the first rows of a CSV file, as river's own guide does it."""
    from river import linear_model, stream

    with open(path, encoding="utf-8") as file:
        *_, target = names = file.readline().strip().split(",")
        file.seek(0)
        model = getattr(linear_model, learner)()
        squared = 0.0
        wall, cpu = perf_counter(), process_time()
        for x, y in islice(stream.iter_csv(file, target=target, converters=dict.fromkeys(names, float)), int(rows)):
            squared += (model.predict_one(x) - y) ** 2
            model.learn_one(x, y)
        wall, cpu = perf_counter() - wall, process_time() - cpu
    return {"wall": wall, "cpu": cpu, "rmse": math.sqrt(squared / int(rows)), "rows": int(rows)}


def fit(tiny: str, *arguments: str) -> dict[str, Any]:
    """Run `onward fit` here, once its code has been loaded by a run on a tiny file."""
    _onward("fit", tiny, *arguments[1:])
    wall, cpu = perf_counter(), process_time()
    _onward("fit", *arguments)
    return {"wall": perf_counter() - wall, "cpu": process_time() - cpu}


def peak(*arguments: str) -> dict[str, Any]:
    """Run `onward fit` here, and say what memory it came to, in MB. Not `ru_maxrss`: Linux hands it down at a fork."""
    from benchmarks.process import peak_memory

    start = perf_counter()
    _onward("fit", *arguments)
    return {"peak_mb": peak_memory(), "seconds": perf_counter() - start}


def _onward(*arguments: str) -> None:
    from onward.cli import main

    sys.argv = ["onward", *arguments]
    try:
        main()
    except SystemExit as done:
        if done.code:
            raise


TASKS: dict[str, Callable[..., dict[str, Any]]] = {"read": read, "river": river, "fit": fit, "peak": peak}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    what, *arguments = sys.argv[1:]
    print(json.dumps(TASKS[what](*arguments)))
