"""What long runs of the harnesses found, each as a case of its own."""

import copy
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

import onward
from onward import AutoRegressor, ForwardRegressor, OnlinePipeline, RandomFeatures, RidgeRegressor, load, storage
from onward.bandits import (
    Disjoint,
    DLinUCB,
    Greedy,
    Hybrid,
    LinTS,
    LinUCB,
    LoggedData,
    MetaOFUL,
    Named,
    NamedArms,
    OracleRestart,
    Random,
    SpectralBandit,
    SquareCB,
    SWLinUCB,
)
from onward.bandits.buffers import LEARNED
from onward.core import TooExtremeError
from onward.tables import DataError, Table, columnar, lines, stream
from onward.tables.errors import RowError
from tests.fuzz.forging import pack, unpack
from tests.fuzz.sample_files import data
from tests.fuzz.using import use


def _rows(path: Path, **how: Any) -> list[Any]:
    return list(stream(path, Table("y", **how)))


def _refusal(path: Path, content: bytes, **how: Any) -> str:
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        _rows(path, **how)
    return str(caught.value).removeprefix(str(path))


# Tables


def test_an_error_is_one_line_of_bounded_length_whatever_the_names(tmp_path: Path) -> None:
    said = _refusal(tmp_path / "t.tsv", ("x" * 5000 + "\tq\n1\t2\n").encode())
    assert len(said) < 900
    assert "there is no column 'y'" in said
    assert said.isprintable()
    assert _refusal(tmp_path / "t.tsv", b'a\ty\n"1"2\t3\n').isprintable()  # the csv module says a tab is lacking


def test_an_error_of_a_row_comes_back_from_another_process() -> None:
    again = pickle.loads(pickle.dumps(RowError("t.csv, line 3: the value is missing", 2)))
    assert (type(again), again.row, str(again)) == (RowError, 2, "t.csv, line 3: the value is missing")


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (b"1,2,3\n" * 100 + b'"1,2,3\n' + b"1,2,3\n" * 120_000, 102),  # a quote is left open before many lines
        (b'1,"a"b,3\n' * 60_000, 2),  # no row can be read
        (b"1,2,3\n" * 50_000 + b'1,"a"b,3\n' * 60_000, 50_002),
    ],
)
def test_rows_that_cannot_be_read_are_named_in_time(tmp_path: Path, rows: bytes, line: int) -> None:
    # A search line by line would take minutes
    assert f"line {line}:" in _refusal(tmp_path / "t.csv", b"a,b,y\n" + rows)


def test_half_a_letter_in_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"y": 1, "a": "\\ud83d\\ude00"}\n{"y": 2, "a": "v"}\n')
    assert len(_rows(path, categorical=["a"])) == 2
    said = _refusal(path, b'{"y": 1, "a": "u"}\n{"y": 2, "a": "\\ud800"}\n', categorical=["a"])
    assert said == ", line 2: half of a pair of surrogates, expected Unicode text"


def test_missing_values_without_their_bits_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    table = pa.table({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    whole, lying = (struct.pack("<qq", 3, nulls) for nulls in (0, 1))  # rows of a column, and how many lack
    path.write_bytes(path.read_bytes().replace(whole, lying, 1))
    with pytest.raises(DataError, match="too small"):
        _rows(path, missing="skip")


@pytest.mark.parametrize("blank", ["", "  ", "\u00a0", "\t\u2003"])  # tables 1795066064383
def test_a_row_without_an_end_after_a_blank_line_is_read(tmp_path: Path, blank: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a,y\n{blank}\n1,2", encoding="utf-8")
    assert [block.y.tolist() for block in _rows(path)] == [[2.0]]


@pytest.mark.parametrize("blank", ["", "  ", "\u00a0"])
def test_blank_lines_before_a_long_first_row_tell_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank: str
) -> None:  # tables 1795067893981: its quote was taken for one that is left open
    monkeypatch.setattr(lines, "CHUNK", 50_000)
    path, long = tmp_path / "t.csv", "\n" * 300_000
    path.write_text(f'a,y\n{blank}\n"{long}",1\n2,3\n', encoding="utf-8")
    assert np.concatenate([block.y for block in _rows(path, missing="zero")]).tolist() == [1, 3]


@pytest.mark.parametrize("blank", ["\n", "  \n\n", "\ufeff\n"])
def test_blank_lines_before_a_long_first_object_tell_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank: str
) -> None:  # there were said to be no rows
    monkeypatch.setattr(lines, "CHUNK", 50_000)
    path = tmp_path / "t.jsonl"
    text = '{"c": "' + "x" * 300_000 + '", "a": 1, "y": 2}\n{"c": "v", "a": 2, "y": 3}\n'
    path.write_text(blank + text, encoding="utf-8")
    assert np.concatenate([block.y for block in _rows(path, features=["a"])]).tolist() == [2, 3]


@pytest.mark.parametrize("size", [1 << 20, 25_081])
def test_a_first_row_longer_than_the_sample_is_told_by_as_much_whatever_the_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:  # tables 1795126096940, 1795126119696
    monkeypatch.setattr(lines, "CHUNK", size)
    path = tmp_path / "t.csv"
    path.write_text("Q,y\n" + "9" * 300_000 + ",1\n" + "1,2\n" * 300 + "word,2\n" * 300)
    assert "got inf, expected a finite number" in _refusal(path, path.read_bytes())
    path.write_bytes(b'a,y\n"' + b"x" * 300_500 + b'\x93",1\n"' + b"x" * 900 + b'\x93",1\n2,3\n')
    assert np.concatenate([block.y for block in _rows(path, bad_rows="skip")]).tolist() == [3]


def test_a_last_row_without_an_end_after_a_quoted_blank_one_is_read(tmp_path: Path) -> None:  # tables 1795126125987
    path = tmp_path / "t.tsv"
    path.write_text('a\tb\ty\r\n"\t"\r\n0.5\t1.5\t2')
    (block,) = _rows(path)
    assert block.X.tolist() == [[0.5, 1.5]]


def test_a_mark_of_the_byte_order_within_a_file_is_no_part_of_a_number(tmp_path: Path) -> None:  # 1795126127102
    path = tmp_path / "t.csv"
    path.write_text("a,y\n\ufeff1,2\n" + "3,4\n" * 9)
    assert "got '\\ufeff1', expected a number" in _refusal(path, path.read_bytes())


def test_a_level_of_minus_zero_in_json_is_that_of_zero(tmp_path: Path) -> None:  # tables 1795067888463
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 0, "y": 1}\n{"a": -0.0, "y": 2}\n{"a": -0, "y": 3}\n{"a": 0.0, "y": 4}\n')
    (block,) = _rows(path, categorical=["a"])
    assert [block.names, block.X.tolist()] == [["a=0"], [[1.0]] * 4]
    path.write_text('{"a": "-0", "y": 1}\n{"a": -0.0, "y": 2}\n')  # a text is taken as it is written
    assert [block.names for block in _rows(path, categorical=["a"])][-1] == ["a=-0", "a=0"]


@pytest.mark.parametrize("said", [b"nbme", b"na\x9ee"])  # tables 1795067909061
def test_what_a_row_group_of_parquet_calls_its_columns_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"name": np.arange(9000.0) // 3000, "y": np.ones(9000)}),
        path,
        compression="zstd",
        use_dictionary=False,
    )
    data = path.read_bytes()
    place = data.rfind(b"name")  # the schema comes before the row groups
    path.write_bytes(data[:place] + said + data[place + 4 :])
    assert sum(len(block.y) for block in _rows(path)) == 9000
    monkeypatch.setattr(columnar, "LARGEST_PAGES", 10)  # that is told of its pages all the same
    with pytest.raises(DataError, match="compressed pages of the columns take"):
        _rows(path, features=["name"])


def test_a_parquet_column_that_contradicts_what_is_counted_of_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"  # tables 886739: pyarrow ended the process
    pq.write_table(pa.table({"x": [1.0, 2.0], "name": [1.0, 2.0], "y": [1.0, 2.0]}), path, row_group_size=1)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\x25\x02\x18\x04name", b"\x25\x00\x18\x04name", 1))  # it is no longer optional
    assert "cannot be read on as Parquet (" in _refusal(path, path.read_bytes())
    assert sum(len(block.y) for block in _rows(path, features=["x"])) == 2


def test_infinite_values_are_left_out_where_bad_rows_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,2\ninf,3\n,4\n")
    (block,) = _rows(path, missing="zero", bad_rows="skip")
    assert block.X.tolist() == [[1.0], [0.0]]
    assert block.rows.tolist() == [0, 2]


# Calls


def _refuses(thing: Any, call: Callable[[Any], Any], words: str) -> None:
    before = thing.to_bytes()
    with pytest.raises(ValueError, match=words):
        call(thing)
    assert thing.to_bytes() == before


def test_what_is_refused_leaves_no_names_behind() -> None:
    frame = pd.DataFrame([[1.0, 2.0], [2.0, 1.0]], columns=["a", "b"])
    _refuses(Greedy(seed=1), lambda policy: policy.rank(frame, None), "k must be a whole number")
    _refuses(SquareCB(seed=1), lambda policy: policy.choose(frame, [True]), "available must have shape")
    _refuses(Greedy(seed=1), lambda policy: policy.learn_many(frame, None), "rewards must be 2 numbers")
    arms = Disjoint(LinTS(seed=1), ["x", "y"])
    _refuses(arms, lambda arms: arms.learn_many(["x", "z"], frame, [1.0, 2.0]), "there is no arm 'z'")


@pytest.mark.parametrize("begun", [False, True])
def test_a_first_reward_that_is_refused_begins_nothing(begun: bool) -> None:
    arms = Disjoint(LinTS(seed=1), ["x", "y"])
    if begun:
        arms.learn("x", np.ones(2), 1.0)
    _refuses(arms, lambda arms: arms.learn("y", np.zeros(2), 1.0, 1e300), "below 1e")
    arms.learn("y", np.ones(2 if begun else 3), 1.0)
    assert arms.n_learned["y"] == 1


def test_tasks_have_as_many_features_as_those_before() -> None:
    meta = MetaOFUL(None, spread=1.0, sigma=1.0, theta_bound=1.0, seed=1)
    meta.learn(np.ones(3), 1.0)
    meta.next_task()
    for call in (meta.choose, meta.index, meta.estimate):
        with pytest.raises(ValueError, match="actions have 2 features, but those of the tasks before had 3"):
            call(np.ones((4, 2)))
    with pytest.raises(ValueError, match="had 3"):
        meta.learn(np.ones(2), 1.0)
    meta.learn(np.ones(3), 1.0)
    meta.next_task()


def test_a_share_of_misses_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="deltas must be 3e-16 or more, got 1e-300"):
        RidgeRegressor().calibrate(1e-300)


def test_a_leverage_that_overflows_is_infinite() -> None:
    rows = np.random.default_rng(0).standard_normal((200, 3))
    model = AutoRegressor(lams=(0.1, 10.0), half_lives=(None, 5.0)).fit(rows, rows.sum(axis=1))
    assert model.leverage(np.full((1, 3), 1e160)).tolist() == [np.inf]


@pytest.mark.parametrize("policy", [SWLinUCB(4, sigma=0.25, theta_bound=0.25), LinUCB()])
def test_rows_of_no_features_are_refused(policy: Any) -> None:  # calls 5
    arms = Disjoint(copy.deepcopy(policy), ["x", "y"])
    for call in (arms.choose, arms.index, arms.estimate, arms.decide):
        _refuses(arms, lambda _: call(np.empty(0)), "at least one feature")  # noqa: B023
    _refuses(policy, lambda policy: policy.choose(np.empty((3, 0))), "at least one feature")
    _refuses(arms, lambda arms: arms.learn("x", [], 1.0), "got list")


def test_losses_whose_sum_overflows_are_not_merged() -> None:  # calls 814
    X = np.random.default_rng(0).standard_normal((8, 3))
    model = RidgeRegressor(1e-300).partial_fit(X, X.sum(axis=1))
    model.learn_one(1e100 * X[0], 1e154)
    assert model.online_loss_ > 0.9e308
    _refuses(model, lambda model: model.merge(copy.deepcopy(model)), "is rounding in double precision")
    usual = RidgeRegressor().partial_fit(X, X.sum(axis=1))
    usual.restate_online_loss(1e308)
    _refuses(usual, lambda model: model.merge(copy.deepcopy(model)), "losses add up")
    assert storage.from_bytes(model.to_bytes()).n_seen_ == 9


def test_a_window_forgets_targets_that_were_large() -> None:  # calls 1223
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    y[2:5] *= 1e100, 1e50, 1e7
    model, last = RidgeRegressor(window=4), RidgeRegressor().fit(X[-4:], y[-4:])
    for x, target in zip(X, y.tolist(), strict=True):
        model.learn_one(x, target)
        assert storage.from_bytes(model.to_bytes()).n_seen_ == model.n_seen_
    np.testing.assert_allclose(model.coef_, last.coef_, rtol=1e-9)
    assert model.regularized_loss_ == pytest.approx(last.regularized_loss_, rel=1e-9)


def test_lam_in_own_units_stays_above_zero() -> None:  # calls 2001303
    rng = np.random.default_rng(0)
    model = RidgeRegressor(units="own").partial_fit(rng.standard_normal((8, 3)), rng.standard_normal(8))
    model.learn_one([0.5, 0.5, -0.7], 0.3, 1e300)
    model.partial_fit(rng.standard_normal((6, 3)) * 1e-300, np.ones(6))
    assert storage.from_bytes(model.to_bytes()).n_seen_ == 15


def test_a_key_that_is_none_leaves_no_names_behind() -> None:  # calls 2000611
    frame = pd.DataFrame(np.eye(3), columns=list("abc"))
    _refuses(Random(seed=1), lambda policy: policy.decide(frame, (1, 2)), "key must be")
    _refuses(SquareCB(seed=1), lambda policy: policy.propose(frame, 4), "k must be at most")  # 300002828
    _refuses(SquareCB(seed=1), lambda policy: policy.rank(frame, 4), "k must be at most")
    _refuses(SquareCB(seed=1), lambda policy: policy.probabilities(frame, samples=0), "samples must be")
    _refuses(LinUCB(seed=1), lambda policy: policy.learn(frame.iloc[0] * 1e200, 1.0), "below")


@pytest.mark.parametrize("clip", [10**400, -1.0, True, "x"])
def test_a_clip_that_is_none_is_refused(clip: Any) -> None:  # forged 200004210
    with pytest.raises(ValueError, match="clip must be None or a positive number"):
        RidgeRegressor(clip=clip).fit(np.eye(3), np.ones(3))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([10**400] * 6, "y must hold numbers below 1e308"),  # calls 300000078
        ("text", "y must be an array of numbers"),
        (np.array([pd.NA] * 6, dtype=object), "y must hold numbers"),
        ([[1.0, 2.0]] * 6, "but this model has a single target"),
    ],
)
def test_targets_that_are_none_are_not_scored(y: Any, words: str) -> None:
    X = np.random.default_rng(0).standard_normal((6, 3))
    model = RidgeRegressor().fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) == r2_score(X[:, 0], model.predict(X))
    _refuses(model, lambda model: model.score(X, y), words)


def test_an_ensemble_refuses_rows_whose_squares_overflow() -> None:  # calls 300001775
    model = AutoRegressor(lams=(0.1, 10.0), half_lives=(None, 5.0))
    with pytest.raises(TooExtremeError, match="cannot be learned in double precision"):
        model.predict_then_learn(np.array([[1e299, 7e299, 1.6e300]]), [-0.3])
    model.learn_one([1e100, 2e100, 3e100], 1.0)
    model.learn_one([1e-100, 1e-100, 2e-100], 2.0)
    assert storage.from_bytes(model.to_bytes()).n_seen_ == 2


def test_weights_and_windows_beyond_double_precision_are_refused() -> None:  # calls 300001311
    X = np.random.default_rng(0).standard_normal((6, 3))
    model = RidgeRegressor().fit(X, X[:, 0])
    _refuses(model, lambda model: model.contrast([1e160, 0.0, 0.0]), r"numbers up to 1e\+100, got 1e\+160")
    with pytest.raises(ValueError, match="window must be a whole number from 1 to"):
        RidgeRegressor(window=10**400).fit(X, X[:, 0])


def test_a_policy_that_learned_rows_of_unlike_size_is_loaded_again() -> None:  # forged 300004444
    rng = np.random.default_rng(0)
    arms = Disjoint(LinUCB(seed=1), ["x", "y", 3])
    for x in rng.standard_normal((20, 3)):
        arms.learn(arms.choose(x), x, float(x.sum()))
    arms.decide(rng.standard_normal(3), "late")
    contents = unpack(arms.to_bytes())
    contents.arrays[[entry["name"] for entry in contents.header["arrays"]].index("pending")][0, 1:] = 1e18, 2.0**53
    use(storage.from_bytes(pack(contents)))


def test_what_a_transformer_says_of_long_names_is_told_briefly() -> None:  # forged 300029140
    X, y = data()
    rows = pd.DataFrame(X, columns=["a", *("n" * 20_000 + str(i) for i in range(1, X.shape[1]))])
    pipeline = OnlinePipeline(StandardScaler(), RidgeRegressor()).fit(rows, y)
    with pytest.raises(ValueError, match="feature names should match") as found:
        pipeline.predict(rows.rename(columns={"a": "m" * 20_000}))
    assert len(str(found.value)) < 1100


def test_a_count_that_could_not_go_on_is_refused(tmp_path: Path) -> None:  # forged 300049138
    policy = Random(seed=0)
    policy.learn([1.0], 1.0)
    for count, holds in ((2.0**40, True), (2.0**53 - 1, False)):
        policy._buffer[LEARNED] = count
        policy.save(tmp_path / "policy")
        if holds:
            assert load(tmp_path / "policy").n_learned == count
        else:
            with pytest.raises(storage.StorageError, match="learned"):
                load(tmp_path / "policy")


def test_what_is_learned_of_numbers_far_apart_is_loaded_again() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 2)) * [1e-90, 1e129]
    for model in (
        ForwardRegressor(0.0, fit_intercept=False).fit(X, X[:, 0]),  # U has 1e219, whose square is none; G has 1e258
        RidgeRegressor(window=6).fit(X[:, 1:], 1e-100 * X[:, 0]),  # c has 1e-319, of which D makes numbers again
    ):
        assert storage.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_coefficients_that_are_beyond_all_numbers_are_no_nan() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, 5)) * 10.0 ** rng.uniform(-80, 85, (1, 5))
    model = ForwardRegressor(0.0).fit(X, 1e56 * rng.standard_normal(5))
    _refuses(model, lambda model: model.coef_, "the coefficients are beyond double precision")
    assert np.isfinite(model.predict(X)).all()


def test_columns_of_one_name_are_told_by_a_pipeline() -> None:
    rows = pd.DataFrame(np.eye(3), columns=["a", "a", "b"])
    with pytest.raises(ValueError, match="X must have different column names, got 'a' twice"):
        OnlinePipeline(RandomFeatures(n=4), RidgeRegressor()).fit(rows, np.ones(3))


@pytest.mark.parametrize("gamma", [np.ones(3), pd.Series([0.5, 0.9]), "x", 10**400, 0.0, 1.5])
def test_a_gamma_that_is_none_is_told(gamma: Any) -> None:
    with pytest.raises(ValueError, match=r"^gamma must be"):
        DLinUCB(gamma)


# What holds itself, or goes deeper than a stack


def _itself() -> list[Any]:
    values: list[Any] = []
    values.append(values)
    return values


def _deep(holder: Callable[[list[Any]], Any] = list, levels: int = 100_000) -> Any:
    value: Any = 1.0
    for _ in range(levels):
        value = holder([value])
    return value


@pytest.mark.parametrize("value", [_itself(), _deep()], ids=["itself", "deep"])
def test_lists_without_an_end_do_not_end_the_process(value: Any) -> None:
    objects = pd.Series([value, value], dtype=object)
    frame = pd.DataFrame({"a": objects, "y": [1.0, 2.0]})
    with pytest.raises(DataError, match="column 'a' holds lists nested too deeply"):
        list(stream(frame, "y"))
    for times in ([value, 1.0], objects):
        with pytest.raises(ValueError, match="times must be numbers, or"):
            RidgeRegressor(half_life=2.0).fit([[1.0], [2.0]], [1.0, 2.0], times=times)
    for call in (lambda: RidgeRegressor(value).fit([[1.0]], [1.0]), lambda: LinUCB(lam=value)):
        with pytest.raises(ValueError, match=r"^lam must be"):
            call()


def test_lists_that_are_no_deeper_than_lists_of_a_column_are_left_alone() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "more": [[[1], [2]], {"b": (1, 2)}], "y": [1.0, 2.0]})
    with pytest.raises(DataError, match="cannot be read as a table"):  # a list beside a dict: Arrow's own business
        list(stream(frame, "y"))
    frame = frame.assign(more=pd.Series([[[1], [2]], [[3]]], dtype=object))
    assert len(list(stream(frame, Table("y", exclude=["more"])))) == 1


def test_an_arm_is_not_looked_up_by_what_has_no_end() -> None:
    with pytest.raises(ValueError, match="there is no arm"):
        Disjoint(LinUCB(seed=1), ["a"]).learn(_deep(tuple), [1.0], 1.0)


@pytest.mark.parametrize("times", [np.ones((1, 2)).view(np.matrix), 3.0, "2026", pd.Timestamp("2026"), None.__class__])
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_times_that_are_no_column_are_told(times: Any) -> None:
    with pytest.raises(ValueError, match=r"^times must"):
        RidgeRegressor(half_life=2.0).fit([[1.0], [2.0]], [1.0, 2.0], times=times)


# What a refused call leaves


_FRAME = pd.DataFrame([[1.0, 2.0], [2.0, 1.0]], columns=["a", "b"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda policy: policy.learn(_FRAME.iloc[0], "bad"), "reward must be"),
        (lambda policy: policy.learn(_FRAME.iloc[0], 1.0, -1.0), "weight must be"),
        (lambda policy: policy.learn_many(_FRAME * 1e19, [1.0, 2.0], [1e18, 1.0]), "actions must hold finite"),
        (lambda policy: policy.choose_many([_FRAME], np.array(3.0)), "available must have a row"),
        (lambda policy: policy.choose_many([_FRAME], [[True]]), "available must have shape"),
        (lambda policy: policy.override("none", _FRAME.iloc[0]), "no decision waits"),
    ],
)
def test_names_of_a_call_that_is_refused_are_not_kept(call: Callable[[Any], Any], words: str) -> None:
    _refuses(LinUCB(seed=1), call, words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda arms: arms.learn("x", _FRAME.iloc[0], None), "reward must be"),
        (lambda arms: arms.learn("x", _FRAME.iloc[0], 1.0, np.inf), "weight must be"),
        (lambda arms: arms.learn_many(["x", "y"], _FRAME, [1.0]), "rewards must be"),
        (lambda arms: arms.learn_many(["x", "y"], _FRAME, [1.0, 2.0], _FRAME), "weights must be"),
        (lambda arms: arms.learn_many(np.array(3.0), _FRAME, [1.0, 2.0]), "arms must be names"),
        (lambda arms: arms.choose_many(_FRAME, np.array(3.0)), "available must have a row"),
        (lambda arms: arms.choose_many(_FRAME, [[True], [True]]), "available must have shape"),
    ],
)
def test_arms_keep_no_names_of_a_call_that_is_refused(call: Callable[[Any], Any], words: str) -> None:
    _refuses(Disjoint(LinUCB(seed=1), ["x", "y"]), call, words)


# Values that are none


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: _untyped(RidgeRegressor()).merge_part(3), "cannot merge the part: expected a model"),
        (lambda: _untyped(LinUCB()).start_from("model"), "a policy starts from a fitted regressor"),
        (lambda: _untyped(LinUCB)(prior_mean=[[1.0], [1.0, 2.0]]), "prior_mean must be finite numbers"),
        (lambda: _untyped(AutoRegressor)(lams=[[1.0], [1.0, 2.0]]).fit([[1.0]], [1.0]), "lams must be a list"),
        (lambda: _fitted().confidence_set(theta_bound={"x" * 100_000: 1.0}), "theta_bound says nothing"),
        (lambda: _fitted().interval([[1.0]], of=np.empty(0)), "of must be"),
        (lambda: _fitted().interval([[1.0]], method=np.zeros(2)), "method must be"),
        (lambda: _fitted().contrast([1.0, 0.0], robust=np.zeros(2)), "robust must be"),
        (lambda: _fitted().coefficient_table(simultaneous=_FRAME), "simultaneous must be"),
    ],
)
def test_values_of_another_type_are_told_in_words_of_ours(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert len(str(caught.value)) < 300


def _untyped(value: Any) -> Any:
    return value


def _fitted() -> Any:
    return RidgeRegressor().fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("source", [3, None, b"t.csv", [3], _itself()])
def test_a_source_that_is_none_is_told(source: Any) -> None:
    with pytest.raises(TypeError, match="expected files or data frames, got"):
        stream(source, "y")


def test_losses_that_add_up_to_too_much_are_refused_without_a_warning() -> None:
    one = RidgeRegressor(fit_intercept=False).fit([[1.0]], [1.2e154])
    other = RidgeRegressor(fit_intercept=False).fit([[1e-9], [1e-9]], [6.5e153, -6.5e153])
    _refuses(one, lambda model: model.merge(other), "too far apart for double precision")


def test_one_row_after_blank_lines_needs_no_line_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for text in (b"y,x\n\n1,2", b"y,x\r\n \r\n\r\n1,2"):
        path.write_bytes(text)
        (block,) = _rows(path)
        assert (block.X.tolist(), block.y.tolist()) == ([[2.0]], [1.0])


# Views of memory


_TABLE = _untyped(np.ones((3, 2))).data  # of whose rows Python says "multi-dimensional sub-views are not implemented"


_NO_AXES = _untyped(np.array(1.0))  # of which Python says "iteration over a 0-d array"


@pytest.mark.parametrize(
    "view", [_TABLE, np.ones(3, dtype=complex).data, _NO_AXES], ids=["table", "complex", "array without axes"]
)
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v: LinUCB().choose_many(v), "contexts must be tables"),
        (lambda v: Disjoint(LinUCB(), 2).learn_many(v, np.ones((3, 2)), np.ones(3)), "arms must be names"),
        (lambda v: Disjoint(LinUCB(), v), "n_arms must be"),
        (lambda v: Hybrid(LinUCB(), v), "n_arms must be"),
        (lambda v: Named(LinUCB()).choose(v), "actions must"),
        (lambda v: NamedArms(Disjoint(LinUCB(), 2)).choose_many(v), "contexts must"),
        (lambda v: OracleRestart(v, sigma=1.0, theta_bound=2.0), "change_points must be"),
        (lambda v: SpectralBandit(v, sigma=0.1, smoothness=1.0), "graph must be"),
        (lambda v: LoggedData(v, [0], [0.5], [1.0]), "actions must"),
        (lambda v: onward.fit(v, "y"), "expected files or data frames"),
        (lambda v: onward.Table("y", exclude=v), "exclude must be"),
    ],
)
def test_a_view_or_array_that_gives_no_values_is_told(call: Callable[[Any], Any], words: str, view: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        call(view)
    assert len(str(caught.value)) < 300


def test_a_view_of_memory_is_no_arm() -> None:
    arms = Disjoint(LinUCB(), ["x", "y"])
    for _ in range(2):  # the second time the way is quick
        arms.learn("x", np.ones(2), 1.0)
        with pytest.raises(ValueError, match="there is no arm"):
            arms.learn(_TABLE, np.ones(2), 1.0)


# Lags that are not known


@pytest.mark.parametrize("unknown", [None, "nan"])
def test_a_model_that_forgot_a_value_skips_the_row_that_needs_it(  # forged 1795066602815
    unknown: str | None, tmp_path: Path
) -> None:
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    path, predictions = tmp_path / "model", {}
    for missing in ("skip", "zero"):
        onward.fit(frame, Table("y", terms=["lag(b, 3)"], missing=missing), save=path, with_scores=False)
        contents = unpack(path.read_bytes())
        contents.header["settings"]["recipe"]["memory"]["lags"]["lag(b, 3)"][1] = unknown
        path.write_bytes(pack(contents))
        use(load(path))  # and what it says of that row, and of others, is as it must be
        predictions[missing] = load(path).predict(frame)
    np.testing.assert_array_equal(np.isnan(predictions["skip"]), np.arange(40) == 1)
    assert np.isfinite(predictions["zero"]).all()


# Numbers of other types, and what is set later


def test_a_time_beyond_floats_is_told() -> None:  # calls 1795068960999
    model = ForwardRegressor(half_life=20.0).fit(*data(), times=np.arange(40.0))
    before = model.to_bytes()
    for call in (model.predict_one, lambda x, time: model.learn_one(x, 1.0, time=time)):
        with pytest.raises(ValueError, match="time"):
            call(np.ones(3), time=10**400)
    assert model.to_bytes() == before
    model.learn_one(np.ones(3), 1.0, time=41)
    assert model.latest_time == 41.0


@pytest.mark.parametrize("of", [np.float16, np.float32])  # calls 1795068961679
def test_settings_may_be_short_floats(of: Callable[[float], Any]) -> None:
    X, y = data()
    for short, plain in (
        (RidgeRegressor(of(0.5)), RidgeRegressor(0.5)),
        (ForwardRegressor({"a": of(0.5), None: 1.0}, intercept_lam=of(2.0)), None),
        (AutoRegressor(lams=[of(0.5)], half_lives=[None, of(8.0)]), AutoRegressor(lams=[0.5], half_lives=[None, 8.0])),
    ):
        if plain is not None:
            assert short.fit(X, y).to_bytes() == plain.fit(X, y).to_bytes()
        else:
            short.fit(pd.DataFrame(X, columns=list("abc")), y)


@pytest.mark.parametrize("tuned", [True, False])
def test_a_reward_whose_weight_is_too_much_leaves_nothing(tuned: bool) -> None:  # calls 1795068976114
    policies: tuple[Any, ...] = (LinUCB(seed=1), Disjoint(LinUCB(seed=1), ["x"])) if tuned else (Greedy(seed=1),)
    for policy in policies:
        where: tuple[Any, ...] = ("x",) if isinstance(policy, Disjoint) else ()
        policy.learn(*where, np.ones(3), 1.0)
        before = policy.to_bytes()
        with pytest.raises(ValueError, match="reward times the root of its weight must be below 1e"):
            policy.learn(*where, np.zeros(3), -2.0, 1e300)
        assert policy.to_bytes() == before


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (RidgeRegressor(), {"lam": True}),  # calls 1795068976779
        (RidgeRegressor(), {"clip": -1.0}),
        (AutoRegressor(lams=(1.0,)), {"lams": (True,)}),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(model: Any, settings: dict[str, Any]) -> None:
    model.fit(*data()).set_params(**settings)
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be"):
        model.to_bytes()


def test_a_nul_far_into_the_header_is_told(tmp_path: Path) -> None:  # tables 1795140532374
    path = tmp_path / "t.tsv"
    path.write_bytes(b"y\t" + b"n" * 5000 + b"\x00n\n1\t2\n3\t4\n")
    with pytest.raises(DataError, match=r"t\.tsv, line 1: got a NUL byte, expected text"):
        stream(path, "y")
