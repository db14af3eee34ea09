"""Nobody sees a target before predicting it, all see the same values, and the page says what was measured."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks import real_sets, real_sets_tables
from benchmarks.peers import CONTENDERS, Contender, Row, RunningMean, vw_text
from benchmarks.real_sets import LATER, Encoded, Errors, Measured, encode, measure, measure_one, predict_online
from benchmarks.timing import versions
from onward import RidgeRegressor, Table, stream
from tools.held_out_sets import HELD_OUT
from tools.own_data_sets import SETS, TARGET, DataSet

ALL = {data.name: data for data in (*SETS, *HELD_OUT)}
PAGE = (Path(__file__).parents[2] / "docs" / "own_data.md").read_text(encoding="utf-8")
RUNNING = [each for each in CONTENDERS if not each.missing]
OURS = [each for each in RUNNING if each.part in ("pair", "ours")]


def part_of_page(name: str) -> str:
    found = re.findall(rf"<!-- made: {re.escape(name)} -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def made(frame: pl.DataFrame, *options: str) -> DataSet:
    return DataSet("made", "numpy", "numpy", "", lambda _: frame, options)


def some_rows(n: int = 80) -> Encoded:
    rng = np.random.default_rng(3)
    a, kind = rng.standard_normal(n), rng.choice(["x", "y z", "w"], n)
    return encode(made(pl.DataFrame({"a": a, "kind": kind, TARGET: 2 * a + (kind == "w") + 0.1 * rng.random(n)})))


def available(name: str) -> DataSet:
    data = ALL[name]
    if not data.available:
        pytest.skip(f"{data.package} is not installed")
    return data


# Who sees what, and when


class Spy:
    """Writes down what it is asked and told."""

    def __init__(self) -> None:
        self.log: list[tuple[str, int, float | None]] = []
        self.places: dict[int, int] = {}

    def _place(self, row: Row) -> int:
        return self.places.setdefault(id(row), len(self.places))

    def predict(self, row: Row) -> float:
        self.log.append(("predict", self._place(row), None))
        return 0.0

    def learn(self, row: Row, y: float) -> None:
        self.log.append(("learn", self._place(row), y))


def test_each_row_is_predicted_before_its_target_is_told() -> None:
    data, spy = some_rows(), Spy()
    predictions, failed = predict_online(Contender("spy", "spy", "peer", lambda: spy), data)
    assert failed is None
    assert predictions.tolist() == [0.0] * len(data.y)
    expected = [each for t, y in enumerate(data.y.tolist()) for each in (("predict", t, None), ("learn", t, y))]
    assert spy.log == expected


@pytest.mark.parametrize("contender", [each for each in RUNNING if each.part != "pair"], ids=lambda each: str(each.key))
@pytest.mark.filterwarnings("ignore")
def test_a_prediction_does_not_depend_on_targets_to_come(contender: Contender) -> None:
    data = some_rows(120)
    other = replace(data, y=np.where(np.arange(len(data.y)) >= 60, 1e3, data.y))
    one, two = (predict_online(contender, each)[0] for each in (data, other))
    assert np.isfinite(one).all()
    assert np.array_equal(one[:61], two[:61])  # that of row 61 was made before its target was told
    assert not np.array_equal(one[61:], two[61:])


def test_a_leak_is_seen() -> None:
    """The check above fails for one who knows the next target."""
    data = some_rows()

    def predictions(y: Any) -> Any:
        model, ahead = RunningMean(), iter(y.tolist())
        model.predict = lambda row: next(ahead)  # type: ignore[method-assign]
        return predict_online(Contender("leak", "leak", "peer", lambda: model), replace(data, y=y))[0]

    one, two = predictions(data.y), predictions(np.where(np.arange(len(data.y)) >= 60, 1e3, data.y))
    assert not np.array_equal(one[:61], two[:61])


def test_rows_hold_no_target() -> None:
    data = some_rows()
    frame_target = set(np.round(data.y, 12).tolist())
    for row in data.rows:
        assert TARGET not in row.named
        assert TARGET not in row.text
        assert not frame_target & set(np.round(row.x, 12).tolist())


# What is seen


def test_levels_come_as_they_come() -> None:
    frame = pl.DataFrame({"n": [1, 2, 3], "k": ["a", "b", "a"], TARGET: [0.5, 1.0, 2.0]})
    rows = encode(made(frame)).rows
    assert [row.x.tolist() for row in rows] == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]
    assert [row.named for row in rows] == [
        {"n": 1.0, "k=a": 1.0},
        {"n": 2.0, "k=a": 0.0, "k=b": 1.0},
        {"n": 3.0, "k=a": 1.0, "k=b": 0.0},
    ]
    assert [row.text for row in rows] == ["|n n:1.0 |c k=a", "|n n:2.0 |c k=b", "|n n:3.0 |c k=a"]


def test_signs_that_vowpal_wabbit_reads_are_written_otherwise() -> None:
    assert vw_text({"a b": -1e-7}, {"k|1": "x:y z"}) == "|n a_b:-1e-07 |c k_1=x_y_z"


def test_missing_values_leave_out_rows_only_where_it_is_said() -> None:
    frame = pl.DataFrame({"n": [1.0, None, 3.0], TARGET: [1.0, 2.0, 3.0]})
    assert encode(made(frame, "--missing", "skip")).y.tolist() == [1.0, 3.0]
    assert np.isnan(encode(made(frame)).rows[1].x[0])
    assert encode(made(frame, "--missing", "skip"), 1).y.tolist() == [1.0]


def test_the_features_are_those_of_the_command_line() -> None:
    data = available("flares")
    categories = data.options[1].split(",")
    encoded = encode(data, 300)
    blocks = list(stream(data.frame()[:300], Table(TARGET, categorical=categories)))
    assert set(encoded.rows[-1].named) == set(blocks[-1].names)
    errors = measure_one(next(each for each in CONTENDERS if each.key == "ridge 0.1"), encoded)
    model = RidgeRegressor(lam=0.1, intercept_lam=None)
    predictions = np.concatenate([model.learn_many(block, block.y, block.weight) for block in blocks])
    assert errors.rmse == pytest.approx(np.sqrt(np.mean((predictions - encoded.y) ** 2)), rel=1e-9)


@pytest.mark.parametrize("data", HELD_OUT, ids=[data.name for data in HELD_OUT])
def test_a_held_out_set_is_a_table_of_numbers_and_named_categories(data: DataSet) -> None:
    available(data.name)
    frame = data.frame()
    assert frame.columns[-1] == TARGET
    frame = frame.drop_nulls() if "skip" in data.options else frame
    assert not frame.null_count().sum_horizontal().item()
    assert len(frame) >= 98
    texts = [name for name in frame.columns if not frame[name].dtype.is_numeric()]
    said = data.options[data.options.index("--categorical") + 1].split(",") if "--categorical" in data.options else []
    assert set(texts) == set(said)
    for column in frame.columns:
        if re.fullmatch(r"lag\d+", column):  # what is known before the target, and nothing later
            lag = int(column.removeprefix("lag"))
            assert frame[column][lag:].equals(frame[TARGET][:-lag])


def test_the_sets_are_apart() -> None:
    assert len(ALL) == len(SETS) + len(HELD_OUT)
    assert len(HELD_OUT) >= 14


# Peers are used as their makers say


def test_river_is_a_pipeline_with_a_scaler() -> None:
    pytest.importorskip("river")
    from river import linear_model, preprocessing

    data = some_rows()
    pipeline: Any = preprocessing.StandardScaler() | linear_model.LinearRegression()
    expected = []
    for row, y in zip(data.rows, data.y.tolist(), strict=True):
        expected.append(pipeline.predict_one(row.named))
        pipeline.learn_one(row.named, y)
    found, _ = predict_online(next(each for each in CONTENDERS if each.key == "linear"), data)
    assert found.tolist() == expected


def test_a_constant_helps_bayes_where_targets_lie_far_from_0() -> None:
    pytest.importorskip("river")
    data = some_rows()
    far = replace(data, y=data.y + 100)
    errors = {each.key: measure_one(each, far).later for each in CONTENDERS if each.key.startswith("bayes-")}
    assert errors["bayes-constant"] < 10 < errors["bayes-scaled"]


def test_ridge_cv_is_fitted_every_50_rows() -> None:
    data = some_rows(120)
    found, _ = predict_online(next(each for each in CONTENDERS if each.key == "ridgecv"), data)
    mean, _ = predict_online(next(each for each in CONTENDERS if each.key == "mean"), data)
    assert np.array_equal(found[:50], mean[:50])
    assert np.abs(found[50:] - data.y[50:]).max() < 0.5 < np.abs(mean[50:] - data.y[50:]).max()


def test_one_that_runs_away_is_said_to() -> None:
    class Away(RunningMean):
        def predict(self, row: Row) -> float:
            return 1.0 if self.rows < 3 else float("inf")

    errors = measure_one(Contender("away", "away", "peer", Away), some_rows())
    assert errors.rmse == errors.later == np.inf
    assert errors.failed == "row 4: it predicts inf"


# Tables


def found_on(name: str, held_out: bool, **errors: float) -> Measured:
    keys = {"pair_": "ridge 0.1"}
    made = {keys.get(key, key): Errors(value, value / 2, 0.0) for key, value in errors.items()}
    return Measured(name, held_out, 100, 3, made)


FOUND = [
    found_on("one", False, pair_=1.0, ridge=1.01, mean=3.0, sgd=1.005, ridgecv=0.9),
    found_on("two", False, pair_=1.0, ridge=1.10, mean=1.2, sgd=2.0, ridgecv=2.0),
    found_on("three", False, pair_=1.0, ridge=0.98, mean=1.2, sgd=np.inf, ridgecv=2.0),
]


def test_the_summary_counts() -> None:
    first, later = real_sets_tables.summary(FOUND)
    assert first == (
        "Ridge, all rows: at most 1.02 times the error of the best pair on 2 of 3 sets, at most 1.12 on 3, at worst "
        "1.10 (two); the smallest error of all online peers on 2, by more than 0.5% on 2; smaller than that of RidgeCV "
        "on 2."
    )
    assert later == first.replace("all rows", "from row 50 on")


def test_a_line_has_all_errors_and_the_smallest_online_in_bold() -> None:
    page = real_sets_tables.errors(FOUND, later=False).markdown().splitlines()
    assert page[0] == "| data | rows | features | best pair | its RMSE | Ridge | running mean | SGD, scaled | RidgeCV |"
    assert page[2] == "| one | 100 | 3 | ridge 0.1 | 1 | 1.01 | 3 | **1.005** | 0.9 |"
    assert page[4] == "| three | 100 | 3 | ridge 0.1 | 1 | **0.98** | 1.2 | ∞ | 2 |"
    assert real_sets_tables.ratios(FOUND).lines[0] == [
        "one",
        "SGD, scaled",
        "1.010 (1.010)",
        "1.005 (1.005)",
        "1.122 (1.122)",
    ]


def test_errors_from_row_50_on_leave_out_the_first() -> None:
    frame = pl.DataFrame({"a": [0.0] * 60, TARGET: [10.0] * LATER + [0.0] * 10})
    errors = measure_one(Contender("zero", "zero", "peer", Spy), encode(made(frame)))
    assert errors.later == 0 < errors.rmse == pytest.approx(np.sqrt(100 * 50 / 60))


def test_the_command_writes_every_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [each for each in CONTENDERS if each.key in ("ridge 1", "auto", "ridge", "mean", "ridgecv")]
    monkeypatch.setattr(real_sets, "CONTENDERS", some)
    real_sets.main(["--only", "wine", "diabetes", "--rows", "70", "--out", str(tmp_path / "found.json")])
    record = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert [(one["name"], one["held_out"], one["rows"]) for one in record["sets"]] == [
        ("diabetes", False, 70),
        ("wine", True, 70),
    ]
    assert set(record["sets"][0]["errors"]) >= {"ridge 1", "ridge", "mean", "ridgecv"}
    out = capsys.readouterr().out
    assert "Held out" in out
    assert ("Auto is left out" in out) == (some[1].missing is not None)
    with pytest.raises(SystemExit, match="the page needs all sets"):
        real_sets.main(["--only", "wine", "--write", str(tmp_path / "page.md")])
    with pytest.raises(SystemExit):
        real_sets.main(["--rows", "50"])


# The page


def cells(section: str, name: str) -> dict[str, str]:
    """A line of a table of the page, by heading."""
    lines = [line.strip("| ").split(" | ") for line in part_of_page(section).splitlines()]
    return dict(zip(lines[0], next(line for line in lines if line[0] == name), strict=True))


def value(cell: str) -> float:
    return float(cell.strip("*").replace("∞", "inf"))


def test_the_page_has_a_line_for_each_set() -> None:
    assert part_of_page("held out sets") == real_sets_tables.described()
    for part, sets in (("peers", SETS), ("held out", HELD_OUT)):
        for table in ("errors", "later errors", "ratios"):
            names = [
                line.split(" | ")[0].removeprefix("| ") for line in part_of_page(f"{part} {table}").splitlines()[2:]
            ]
            assert names == [data.name for data in sets]


@pytest.mark.parametrize("name", ["diabetes", "airline", "chicks", "cars", "jobs"])
def test_the_page_says_what_our_learners_do(name: str) -> None:
    part = "held out" if ALL[name] in HELD_OUT else "peers"
    found = measure(available(name), OURS)
    for later in (False, True):
        line = cells(f"{part} {'later ' * later}errors", name)
        assert int(line["rows"].replace(",", "")) == found.rows
        assert value(line["its RMSE"]) == pytest.approx(found.best("pair", later)[1], rel=1e-3)
        for each in OURS:
            if each.part == "ours":
                assert each.title in line, "make the page anew: python benchmarks/real_sets.py --write docs/own_data.md"
                assert value(line[each.title]) == pytest.approx(found.rmse(each.key, later), rel=1e-3), each.title


@pytest.mark.parametrize("name", ["airline", "jobs"])
def test_the_page_says_what_peers_do(name: str) -> None:
    libraries = re.findall(r"([\w-]+) (\d[\w.]*\d)", part_of_page("peers versions"))
    installed = versions([library for library, _ in libraries])
    if dict(libraries) != installed:
        pytest.skip(f"the page was made with {dict(libraries)}, here are {installed}")
    peers = [each for each in RUNNING if each.part in ("peer", "yardstick")]
    found = measure(available(name), peers)
    line = cells(f"{'held out' if ALL[name] in HELD_OUT else 'peers'} errors", name)
    for each in peers:
        assert value(line[each.title]) == pytest.approx(found.rmse(each.key), rel=1e-3), each.title


@pytest.mark.parametrize("part", ["peers", "held out"])
def test_the_summary_of_the_page_counts_its_lines(part: str) -> None:
    """As far as the digits of the tables tell: a tie in them may be a win before rounding, or none."""
    names = [line.split(" | ")[0].removeprefix("| ") for line in part_of_page(f"{part} errors").splitlines()[2:]]
    lines = [cells(f"{part} errors", name) for name in names]
    peers = [each.title for each in CONTENDERS if each.part == "peer"]
    ours = [each.title for each in CONTENDERS if each.part == "ours" and each.title in lines[0]]
    assert ours
    for title in ours:
        pairs = [(value(line[title]), min(value(line[peer]) for peer in peers)) for line in lines]
        start = f"- {title}, all rows: "
        sentence = next(line for line in part_of_page(f"{part} summary").splitlines() if line.startswith(start))
        found = re.search(r"all online peers on (\d+),", sentence)
        assert found is not None
        assert sum(one < other for one, other in pairs) <= int(found[1]) <= sum(one <= other for one, other in pairs)
