"""Logs from arrays, frames and files, and what is refused there."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from onward.bandits.logs import LoggedData

RNG = np.random.default_rng(0)
RAGGED = [RNG.standard_normal((k, 2)) for k in (3, 1, 2, 4, 2)]
TAKEN, PROPENSITY, REWARD = [2, 0, 1, 3, 0], [0.25, 1.0, 0.5, 0.125, 0.1], [1.0, 0.0, -2.5, 3.0, 0.1]
CONTEXTS = RNG.standard_normal((5, 3))


def assert_same(a: LoggedData, b: LoggedData) -> None:
    assert len(a) == len(b)
    for event in range(len(a)):
        assert_array_equal(a.actions[event], b.actions[event])
    assert_array_equal(a.actions.sizes, b.actions.sizes)
    for name in ("taken", "propensity", "reward"):
        assert_array_equal(getattr(a, name), getattr(b, name))


def ragged() -> LoggedData:
    return LoggedData(RAGGED, TAKEN, PROPENSITY, REWARD)


def long_frame() -> pl.DataFrame:
    rows = []
    for event, actions in enumerate(RAGGED):
        for a, (x, y) in enumerate(actions.tolist()):
            taken = a == TAKEN[event]
            rows.append(
                {
                    "event": f"e{9 - event}",  # not in the order of the alphabet
                    "x": x,
                    "y": y,
                    "taken": taken,
                    "propensity": PROPENSITY[event] if taken else None,
                    "reward": REWARD[event] if taken else None,
                }
            )
    return pl.DataFrame(rows)


def wide_frame() -> pl.DataFrame:
    columns: dict[str, Any] = {f"c{j}": CONTEXTS[:, j] for j in range(3)}
    return pl.DataFrame({"taken": TAKEN, **columns, "reward": REWARD, "propensity": PROPENSITY})


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path


def test_arrays() -> None:
    log = ragged()
    assert repr(log) == "LoggedData(5 events, 1 to 4 actions of 2 features)"
    for event, actions in enumerate(RAGGED):
        assert_array_equal(log.actions[event], actions)
    log.actions[0][:] = 0.0  # a copy: whoever gets it may do what they like
    assert_array_equal(log.actions[0], RAGGED[0])
    assert log.actions[0].flags.c_contiguous
    assert log.actions[0].flags.writeable
    assert_array_equal(log.actions[-1], RAGGED[-1])
    with pytest.raises(ValueError, match="read-only"):
        log.reward[0] = 1.0
    stacked = RNG.standard_normal((2, 3, 4))
    both = LoggedData(stacked, [0, 2], [0.5, 0.5], [1, 2]), LoggedData(list(stacked), [0, 2], [0.5, 0.5], [1, 2])
    assert_same(*both)
    reward = np.array([1.0, 2.0])
    log = LoggedData(stacked, [0, 2], [0.5, 0.5], reward)
    stacked[:], reward[:] = 0.0, 0.0  # nor does the log change with what it was made from
    assert_same(log, both[0])


def test_disjoint_arms_have_blocks_of_their_own() -> None:
    log = LoggedData.disjoint(CONTEXTS, 4, TAKEN, PROPENSITY, REWARD)
    assert (log.actions.dimension, log.actions.sizes.tolist()) == (12, [4] * 5)
    for event in range(5):
        assert_array_equal(log.actions[event], np.kron(np.eye(4), CONTEXTS[event][None, :]))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".pq"])
def test_files_of_both_layouts(tmp_path: Path, suffix: str) -> None:
    wide = LoggedData.disjoint(CONTEXTS, 4, TAKEN, PROPENSITY, REWARD)
    assert_same(LoggedData.read(write(wide_frame(), tmp_path / f"wide{suffix}"), n_arms=4), wide)
    assert_same(LoggedData.read(write(long_frame(), tmp_path / f"long{suffix}")), ragged())
    numbered = long_frame().with_columns(pl.col("taken").cast(pl.Int8))
    assert_same(LoggedData.read(write(numbered, tmp_path / f"numbered{suffix}")), ragged())


def test_rows_of_an_event_may_stand_apart() -> None:
    frame = long_frame()
    # First the first row of each event, then the others, each event's in their order.
    first = frame["event"].is_first_distinct()
    apart = pl.concat([frame.filter(first), frame.filter(~first)])
    assert apart["event"].to_list() != frame["event"].to_list()
    assert_same(LoggedData.from_frame(apart), ragged())
    backwards = LoggedData.from_frame(frame.reverse())
    assert_array_equal(backwards.reward, REWARD[::-1])
    assert_array_equal(backwards.actions[0], RAGGED[-1][::-1])
    assert backwards.taken.tolist() == [len(a) - 1 - t for a, t in zip(RAGGED, TAKEN, strict=True)][::-1]


def test_frames_of_any_kind() -> None:
    wide = LoggedData.disjoint(CONTEXTS, 4, TAKEN, PROPENSITY, REWARD)
    long, wide_columns = long_frame(), wide_frame()
    frames: list[tuple[Any, Any]] = [
        (long, wide_columns),
        (long.lazy(), wide_columns.lazy()),
        (pd.DataFrame(long.to_dict(as_series=False)), pd.DataFrame(wide_columns.to_dict(as_series=False))),
        (long.to_arrow(), wide_columns.to_arrow()),
    ]
    for tall, flat in frames:
        assert_same(LoggedData.from_frame(tall), ragged())
        assert_same(LoggedData.from_frame(flat, n_arms=4), wide)
    # What is null or wrong on rows that were not taken is nobody's business.
    odd = long.with_columns(propensity=pl.when("taken").then("propensity").otherwise(7.0))
    assert_same(LoggedData.from_frame(odd), ragged())


def test_columns_by_other_names_and_some_features_only() -> None:
    renamed = wide_frame().rename({"taken": "arm", "propensity": "p", "reward": "clicks"})
    log = LoggedData.from_frame(
        renamed, n_arms=4, features=["c2", "c0"], taken="arm", propensity="p", reward="clicks", event="nothing"
    )
    assert_same(log, LoggedData.disjoint(CONTEXTS[:, [2, 0]], 4, TAKEN, PROPENSITY, REWARD))
    with_id = wide_frame().with_columns(event=pl.Series(["a"] * 5))  # an id is no feature
    assert LoggedData.from_frame(with_id, n_arms=4).actions.dimension == 12


@pytest.mark.parametrize("names", [["x", "y", "z", "w"], [17, 23, 5, 99]])
def test_arms_of_a_table_by_name(tmp_path: Path, names: list[Any]) -> None:
    named = wide_frame().with_columns(taken=pl.Series([names[place] for place in TAKEN]))
    wide = LoggedData.disjoint(CONTEXTS, 4, TAKEN, PROPENSITY, REWARD, arms=names)
    for log in (
        LoggedData.from_frame(named, n_arms=names),
        LoggedData.read(write(named, tmp_path / "named.csv"), n_arms=tuple(map(str, names))),
    ):
        assert_same(log, wide)
        assert log.arms is not None
        assert list(map(str, log.arms)) == list(map(str, names))
        assert log.columns == ("c0", "c1", "c2")
        assert repr(log) == "LoggedData(5 events, 4 arms of features ['c0', 'c1', 'c2'])"
    with pytest.raises(ValueError, match=r"column 'taken' holds .* in row \d, expected an arm of \['a', 'b'\]"):
        LoggedData.from_frame(named, n_arms=["a", "b"])
    with pytest.raises(ValueError, match="n_arms must be a number, or different names"):
        LoggedData.from_frame(named, n_arms=["a", "a"])


ARRAYS: list[tuple[dict[str, Any], str]] = [
    ({"actions": np.ones((2, 2))}, r"actions must have shape \(n, k, d\) or be a list of n sets, got shape \(2, 2\)"),
    ({"actions": []}, r"taken must have shape \(0,\) as actions hold 0 events"),
    ({"actions": [np.ones((2, 2)), np.ones(2)]}, r"actions of event 1 must have shape \(k, d\), got shape \(2,\)"),
    (
        {"actions": [np.ones((2, 2)), np.ones((2, 3))]},
        "event 1 have 3 features, but those of event 0 have 2",
    ),
    ({"actions": [np.ones((2, 2)), np.ones((0, 2))]}, "actions of event 1 must be at least one"),
    ({"actions": np.full((2, 2, 2), np.nan)}, "actions must hold finite numbers, got nan in event 0"),
    ({"actions": [np.ones((3, 1)), [[1.0], [np.inf]]]}, "actions must hold finite numbers, got inf in event 1"),
    ({"actions": [[["a"]], [["b"]]]}, "actions of event 0 must hold numbers, got text"),
    ({"taken": [0, 2]}, "taken must be the position of an action that was offered, 0 … 1 in event 1, got 2"),
    ({"taken": [-1, 0]}, "0 … 1 in event 0, got -1"),
    ({"taken": [0.5, 0]}, "0 … 1 in event 0, got 0.5"),
    ({"taken": [np.nan, 0]}, "0 … 1 in event 0, got nan"),
    ({"taken": [0]}, r"taken must have shape \(2,\) as actions hold 2 events, got \(1,\)"),
    ({"propensity": [0.5, 0.0]}, r"propensity must hold numbers in \(0, 1\], got 0 in event 1"),
    ({"propensity": [0.5, 1.01]}, r"propensity must hold numbers in \(0, 1\], got 1.01 in event 1"),
    ({"propensity": [np.nan, 0.5]}, r"propensity must hold numbers in \(0, 1\], got nan in event 0"),
    ({"propensity": [[0.5, 0.5]]}, r"propensity must have shape \(2,\)"),
    ({"reward": [1.0, np.inf]}, "reward must hold finite numbers, got inf in event 1"),
    ({"reward": ["a", "b"]}, "reward must hold numbers, got text"),
    ({"reward": [1.0, 2.0, 3.0]}, r"reward must have shape \(2,\) as actions hold 2 events, got \(3,\)"),
]


@pytest.mark.parametrize(("change", "message"), ARRAYS)
def test_bad_arrays(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"actions": np.ones((2, 2, 2)), "taken": [0, 1], "propensity": [0.5, 1], "reward": [1, 2]}
    LoggedData(**good)
    with pytest.raises(ValueError, match=message):
        LoggedData(**(good | change))


def test_empty_logs_and_bad_contexts() -> None:
    with pytest.raises(ValueError, match="a log must hold at least one event, got none"):
        LoggedData([], [], [], [])
    with pytest.raises(ValueError, match=r"contexts must have shape \(n, c\)"):
        LoggedData.disjoint([1.0, 2.0], 2, [0, 1], [1, 1], [1, 1])
    with pytest.raises(ValueError, match="contexts must hold finite numbers, got nan in event 1"):
        LoggedData.disjoint([[1.0], [np.nan]], 2, [0, 1], [1, 1], [1, 1])
    bad: list[Any] = [0, 2.5, True]
    for n_arms in bad:
        with pytest.raises(ValueError, match="n_arms must be a whole number >= 1"):
            LoggedData.disjoint([[1.0]], n_arms, [0], [1], [1])


def put(frame: pl.DataFrame, column: str, row: int, value: Any) -> pl.DataFrame:
    values = frame[column].to_list()
    values[row] = value
    return frame.with_columns(pl.Series(column, values, strict=False))


WIDE: list[tuple[Any, str]] = [
    (lambda f: put(f, "taken", 3, 4), "column 'taken' holds 4 in row 3, expected an arm, 0 … 3"),
    (lambda f: put(f, "taken", 3, None), "column 'taken' holds nothing, or NaN, in row 3, expected an arm"),
    (lambda f: put(f, "propensity", 2, 0.0), r"column 'propensity' holds 0 in row 2, expected a number in \(0, 1\]"),
    (lambda f: put(f, "reward", 1, None), "column 'reward' holds nothing, or NaN, in row 1, expected a finite number"),
    (lambda f: put(f, "c1", 4, float("nan")), "column 'c1' holds"),
    (lambda f: put(f.cast({"c1": pl.String}), "c1", 4, "much"), "column 'c1' holds 'much' in row 4, expected numbers"),
    (
        lambda f: f.drop("reward"),
        r"there is no column 'reward', expected it among .*; reward says how .* \(--reward\)$",
    ),
    (lambda f: f.select("taken", "propensity", "reward"), "expected at least one column of features beside"),
    (lambda f: f.head(0), "a log must hold at least one event, got none"),
]
LONG: list[tuple[Any, str]] = [
    (lambda f: put(f, "taken", 0, True), "the event that begins in row 0 has 2 rows with 'taken' true, expected 1"),
    (lambda f: put(f, "taken", 3, False), "the event that begins in row 3 has 0 rows with 'taken' true, expected 1"),
    (lambda f: put(f.cast({"taken": pl.Int64}), "taken", 1, 2), "column 'taken' holds 2 in row 1, expected true or"),
    (lambda f: put(f, "event", 5, None), "column 'event' holds nothing in row 5, expected an event's name"),
    (lambda f: put(f, "propensity", 3, None), "column 'propensity' holds nothing, or NaN, in row 3, expected a number"),
    (lambda f: put(f, "propensity", 2, 1.5), r"column 'propensity' holds 1.5 in row 2, expected a number in \(0, 1\]"),
    (
        lambda f: f.drop("event"),
        r"there is no column 'event', .*\(--event\), n_arms that each row is an event \(--arms\)$",
    ),
]


@pytest.mark.parametrize("suffix", ["", ".csv", ".parquet"])
@pytest.mark.parametrize(("n_arms", "change", "message"), [(4, *bad) for bad in WIDE] + [(None, *bad) for bad in LONG])
def test_bad_tables_are_told_by_file_column_and_row(
    tmp_path: Path, suffix: str, n_arms: int | None, change: Any, message: str
) -> None:
    frame = change(long_frame() if n_arms is None else wide_frame())
    if not suffix:
        with pytest.raises(ValueError, match=f"^{message}"):
            LoggedData.from_frame(frame, n_arms=n_arms)
        return
    path = write(frame, tmp_path / f"log{suffix}")
    with pytest.raises(ValueError, match=f"^{path}: {message}"):
        LoggedData.read(path, n_arms=n_arms)


def test_bad_files_and_names(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none.csv: there is no such file"):
        LoggedData.read(tmp_path / "none.csv")
    (tmp_path / "log.txt").write_text("a")
    with pytest.raises(ValueError, match=r"log.txt: expected a name that ends in .parquet, .pq, .csv, .jsonl, .ndjs"):
        LoggedData.read(tmp_path / "log.txt")
    for name in ("log.parquet", "log.csv"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(ValueError, match=f"{name}: "):
            LoggedData.read(tmp_path / name)
    with pytest.raises(ValueError, match="must be different columns"):
        LoggedData.from_frame(wide_frame(), n_arms=4, reward="taken")
    with pytest.raises(ValueError, match="n_arms must be"):
        LoggedData.from_frame(wide_frame(), n_arms=0)
    with pytest.raises(ValueError, match="there is no column 'c9'"):
        LoggedData.from_frame(wide_frame(), n_arms=4, features=["c9"])
