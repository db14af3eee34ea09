"""The cost model says what it should of simple cases, and the benchmark runs, at a size at which times mean nothing."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import scaling
from benchmarks.scaling_model import Costs, learned, makespan, predicted, share

PLAIN = Costs(read=1e-6, reduce=3e-6, learn=3e-6, merge=0.0, task=0.0)
TINY = scaling.Settings(
    rows=3000,
    file_rows=1000,
    row_dims=(20,),
    state_dims=(20,),
    values=400,
    rounds=1,
    tasks=4,
    memory_rows=(500,),
    dask=False,
)


def test_tasks_go_to_whoever_is_free() -> None:
    assert makespan([3.0, 1.0, 1.0, 1.0], 2) == 3.0
    assert makespan([1.0, 1.0, 1.0], 2) == 2.0
    assert makespan([], 5) == 0.0


@pytest.mark.parametrize("workers", [1, 2, 3, 10, 100])
def test_many_chunks_cost_what_the_formulas_say(workers: int) -> None:
    rows, chunks = 1e9, 10_000 * workers
    one_pass = rows * (PLAIN.read + PLAIN.learn)
    assert learned(rows, chunks, workers, PLAIN) == pytest.approx(one_pass / workers, rel=1e-3)
    assert predicted(rows, chunks, workers, PLAIN) == pytest.approx(share(workers) * one_pass, rel=1e-3)


def test_every_cost_counts() -> None:
    for name in ("read", "reduce", "learn", "write", "join", "fill", "merge", "task", "busy"):
        more = Costs(**(vars(PLAIN) | {name: 2.0}))
        dearer = learned(1e6, 40, 2, more) > learned(1e6, 40, 2, PLAIN)
        assert dearer == (name not in ("learn", "write", "join")), name
        assert predicted(1e6, 40, 2, more, file=True) > predicted(1e6, 40, 2, PLAIN, file=True), name
    assert predicted(1e6, 40, 2, Costs(**(vars(PLAIN) | {"join": 2.0}))) == predicted(1e6, 40, 2, PLAIN)


@pytest.mark.xdist_group("cluster")
def test_it_runs(tmp_path: Path) -> None:
    shown = StringIO()
    found = scaling.measure(TINY, tmp_path, Console(file=shown, width=150))
    assert set(json.loads(json.dumps(found))) == set(found)
    assert set(found["seconds"]) == {fit.name for fit in scaling.FITS} == set(found["expected"])
    assert all(len(each) == 1 and each[0] > 0 for each in found["seconds"].values())
    assert found["constants"]["file"]["read"] > 0
    assert [each["rows"] for each in found["memory"]] == [500, 500]
    assert len(found["targets"]) == 3 + sum(fit.workers > 0 for fit in scaling.FITS)
    for word in ("model only, 2 workers", "with predictions, 1 worker", "to predict and learn", "peak after"):
        assert word in shown.getvalue()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
