"""The benchmark runs, at a size at which its times mean nothing, and what it compares is comparable."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import learners, process, report
from benchmarks.methods import (
    AUTO,
    AUTO_DICT,
    AUTO_ROW,
    AUTOS,
    BATCH,
    DICT,
    GRAM,
    METHODS,
    NUMPY,
    ONE_ROW,
    PADASIP,
    PRIOR,
    RIVER,
    TWO,
    VARIANTS,
    Method,
    as_arrays,
    forward_with_prior,
    one_by_one,
)
from benchmarks.timing import Task, Timing, interleaved, rows_within

TINY = learners.Settings(
    stream_values=90,
    rounds=2,
    block_seconds=1e-4,
    loss_rows=20,
    memory_chunks=3,
    start_repeats=0,
)


def installed() -> list[Method]:
    return [method for method in METHODS if method.available]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.key))
def test_every_method_runs_in_pieces_as_in_one(method: Method) -> None:
    pytest.importorskip(method.needs)
    if not method.predicts:
        pytest.skip("it only multiplies")
    X, y = learners.make_stream(3, TINY)
    at_once = method.start(3)(*method.prepare(X, y))
    assert np.shape(at_once) == y.shape
    assert np.array_equal(learners.predict_online(method, X, y), at_once)


@pytest.mark.parametrize("d", [2, 3])
def test_a_comparison_times_all_and_finds_them_equal(d: int) -> None:
    result = learners.compare(d, METHODS, TINY)
    keys = {method.key for method in installed()}
    assert set(result.timings) == keys
    assert set(result.missing) == {method.key for method in (*METHODS, *AUTOS) if not method.available}
    assert set(result.autos) == {method.key for method in AUTOS if method.available}
    assert all(timing.best > 0 and len(timing.seconds) == 2 for timing in result.timings.values())
    assert result.timings[BATCH].rows == result.timings[GRAM].rows == result.rows == 90 // d
    assert set(result.losses) == keys - {GRAM}
    assert set(result.variants) == {DICT, PRIOR, TWO}
    assert all(timing.best > 0 and len(timing.seconds) == 2 for timing in result.variants.values())
    assert result.ratio(TWO, ONE_ROW) == result.variants[TWO].best / result.timings[ONE_ROW].best
    own = {DICT, PRIOR, TWO, AUTO, AUTO_ROW, AUTO_DICT}
    assert set(result.differences) == keys & {ONE_ROW, NUMPY, RIVER, PADASIP} | own
    assert max(result.differences.values()) < 1e-10


def test_differences_are_seen() -> None:
    X, y = learners.make_stream(2, TINY)
    right = learners.predict_online(METHODS[0], X, y)
    found = learners.differences({BATCH: right, NUMPY: right, RIVER: right}, X, y)
    assert found[NUMPY] == 0
    assert found[RIVER] > 1e-3, "forward was taken for ridge"


def test_variants_that_differ_are_seen() -> None:
    X, y = learners.make_stream(2, TINY)
    assert max(learners.variant_differences(VARIANTS, X, y).values()) < 1e-10
    no_second = replace(VARIANTS[2], prepare=as_arrays)
    other_prior = replace(VARIANTS[0], start=one_by_one(forward_with_prior))
    found = learners.variant_differences([no_second, other_prior], X, y)
    assert found[TWO] > 1e-3, "the second target was not looked at"
    assert found[DICT] > 1e-3, "a prior was taken for none"


def test_a_method_over_its_limit_is_left_out_with_a_reason() -> None:
    loops = [method for method in METHODS if method.key in (BATCH, ONE_ROW, NUMPY)]
    none_in_time = learners.compare(2, loops, replace(TINY, row_limit=0.0))
    assert set(none_in_time.timings) == {BATCH}
    assert set(none_in_time.missing) == {ONE_ROW, NUMPY, DICT, PRIOR, TWO} | {method.key for method in AUTOS}
    assert all("a row takes" in why for why in none_in_time.missing.values() if why != "not installed")
    assert len(report.reasons([none_in_time])) == 5 + len(AUTOS)
    assert not learners.compare(200, loops[:1], TINY, variants=()).autos


def test_the_clock_starts_after_the_first_row() -> None:
    learned: list[int] = []
    counted = Method("counted", "", lambda d: lambda rows, targets: learned.append(len(rows)), lambda X, y: (X, y))
    X, y = learners.make_stream(2, TINY)
    timed = learners.block_task(counted, X[:7], y[:7])()
    assert learned == [1]
    timed()
    assert learned == [1, 6]


def test_tasks_take_turns() -> None:
    order: list[str] = []

    def task(name: str) -> Task:
        return lambda: lambda: order.append(name)

    seconds = interleaved({"a": task("a"), "b": task("b")}, rounds=3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert [len(times) for times in seconds.values()] == [3, 3]


def test_rows_within_stays_between_one_and_most() -> None:
    def task_of(n: int) -> Task:
        return lambda: lambda: sum(range(1000 * n))

    assert rows_within(1e-9, task_of, most=50)[0] == 1
    assert rows_within(10.0, task_of, most=50)[0] == 50


def test_the_best_round_is_quoted() -> None:
    timing = Timing(rows=10, seconds=[3e-5, 1e-5, 2e-5])
    assert (timing.best, timing.median) == pytest.approx((1.0, 2.0))


def test_targets_follow_the_times() -> None:
    def at(d: int, **best: float) -> learners.Comparison:
        return learners.Comparison(d, 1, 1, {key: Timing(1, [1e-6 * time]) for key, time in best.items()})

    rows = {"batch": 0.01, "numpy": 9, "one_row": 2, "river": 21, "dict": 3.4, "prior": 5.9, "two": 5.9}
    autos = {"constant": 0.1, "auto": 3.9, "auto_row": 14.9, "auto_dict": 14.9, "river_scaled": 15}
    met = [at(5, **rows, **autos), at(100, batch=1, numpy=30, gram=0.2)]
    rows = {"batch": 0.1, "numpy": 9, "one_row": 2, "river": 19, "dict": 3.2, "prior": 6.1, "two": 6.1}
    autos = {"constant": 0.1, "auto": 4.1, "auto_row": 15.1, "auto_dict": 15.1, "river_scaled": 15}
    missed = [at(5, **rows, **autos), at(100, batch=1, numpy=9, gram=0.1)]
    assert [target.met for target in report.targets(met)] == [True, None] + [True] * 7 + [None] + [True] * 2
    assert [target.met for target in report.targets(missed)] == [False, None] + [False] * 7 + [None] + [False] * 2
    assert [target.met for target in report.targets([])] == [None] * 11
    for most, expected in ((2.4, True), (2.6, False)):
        twenty = report.targets([at(20, constant=0.1, auto=most)])
        assert [target.met for target in twenty if "AutoRegressor in batches at d = 20" in target.says] == [expected]


def test_memory_is_measured_in_its_own_process() -> None:
    found = process.memory(3, early=2, chunk_rows=1000, d=3)
    assert (found["early_rows"], found["rows"]) == (2000, 3000)
    if found["peak_mb"] is not None:
        assert 1 < found["early_peak_mb"] <= found["peak_mb"]


def test_the_command_prints_and_writes_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(learners, "QUICK", TINY)
    out = tmp_path / "new" / "out.json"
    learners.main(["--quick", "--dims", "2", "3", "--out", str(out), "--seed", "7"])
    record = json.loads(out.read_text(encoding="utf-8"))
    assert [comparison["d"] for comparison in record["comparisons"]] == [2, 3]
    assert record["settings"]["seed"] == 7
    assert record["versions"]["numpy"] == np.__version__
    assert record["memory"]["rows"] == 300_000
    assert set(record["comparisons"][0]["ratio_to_onward_batch"]) == {method.key for method in installed()}
    assert set(record["comparisons"][0]["variants"]) == {DICT, PRIOR, TWO}
    assert "one thread" in (text := capsys.readouterr().out)
    assert all(
        word in text
        for word in ("µs a row", "other circumstances", "Mean squared online error", "peak memory", "targets")
    )
