"""A relation that changes during a pass: what is said of it, what a restart does, and that batches do not matter."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import AutoRegressor, ForwardRegressor, Known, RidgeRegressor, Table, fit, load
from onward.confidence import Change, ChangeAlarm
from onward.progressive import Progress
from onward.progressive.change_marks import LABEL
from onward.progressive.changes import describe_changes
from onward.progressive.fit_drawings import draw_learning, draw_residuals
from onward.progressive.json_results import fit_record
from onward.progressive.report import write_fit_report
from tests.progressive.made_up import small_pieces, written
from tests.progressive.made_up_results import a_fit

ROWS, AT = 1200, 600


def changing(rows: int = ROWS, at: int = AT) -> pl.DataFrame:
    """Two slopes that change places, and a level that comes late."""
    rng = np.random.default_rng(3)
    a, b, noise = rng.normal(size=(3, rows))
    late = np.where(np.arange(rows) < at, a - b, b - a)
    city = np.where(np.arange(rows) < at // 2, "Rome", rng.choice(["Rome", "Oslo"], rows))
    return pl.DataFrame({"a": a, "b": b, "city": city, "y": 3 + late + (city == "Oslo") + 0.5 * noise})


TABLE = Table("y", categorical=("city",), drop_first=True)


@pytest.fixture(scope="module")
def change() -> Change:
    """The one change that there is."""
    found = fit(changing(), TABLE).changes
    assert found is not None
    (only,) = found
    assert abs(only.row - AT - 1) <= 20
    assert 0 < only.noticed - AT < 60
    return only


def test_a_warning_changes_nothing_else(change: Change) -> None:
    warned, ignored = (
        fit(changing(), TABLE, ForwardRegressor()),
        fit(changing(), TABLE, ForwardRegressor(), on_change="ignore"),
    )
    assert (warned.changes, warned.on_change) == ((change,), "warn")
    assert (ignored.changes, ignored.on_change) == (None, "ignore")
    assert warned.scores == ignored.scores
    np.testing.assert_array_equal(warned.model.information_.buffer, ignored.model.information_.buffer)
    with pytest.raises(ValueError, match="on_change must be one of warn, restart, ignore, got 'shout'"):
        fit(changing(), TABLE, on_change="shout")  # type: ignore[arg-type]


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
def test_a_restart_leaves_a_model_of_the_rows_since(
    change: Change, learner: type[ForwardRegressor | RidgeRegressor]
) -> None:
    frame, model = changing(), learner(0.1)
    result = fit(frame, TABLE, model, on_change="restart")
    assert result.model is model
    assert result.changes == (change,)
    assert model.n_seen_ == ROWS - change.noticed + 1  # the row that gave the alarm is the first of the new model
    names = list(model.feature_names_in_)
    assert names == ["a", "b", "city=Oslo"]
    since = frame[change.noticed - 1 :]
    X = np.column_stack([since["a"], since["b"], (since["city"] == "Oslo").cast(float)])
    fresh = learner(0.1)
    fresh.learn_block(X, since["y"].to_numpy().copy(), np.ones(len(since)), [*names])
    np.testing.assert_array_equal(model.information_.buffer, fresh.information_.buffer)
    assert model.coef_[0] == pytest.approx(-1, abs=0.1)
    # What was lost before stays: the scores are of every row, each predicted by what was known then.
    before = learner(0.1)
    until = frame[: change.noticed]
    X = np.column_stack([until["a"], until["b"], (until["city"] == "Oslo").cast(float)])
    before.learn_block(X, until["y"].to_numpy().copy(), np.ones(len(until)), [*names])
    anew = fresh.online_loss_ - since["y"][0] ** 2  # that row was predicted once, by the old model
    assert result.scores.squared == pytest.approx(before.online_loss_ + anew, rel=1e-9)
    assert model.predict_one({"a": 1.0, "b": 0.0, "city": "Rome"}) == pytest.approx(2, abs=0.2)
    assert fit(frame, TABLE, learner(0.1)).scores.rmse > 1.2 * result.scores.rmse


@pytest.mark.parametrize("size", [400, 3000])
@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_pieces_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int) -> None:
    data = written(tmp_path, changing(), name)
    options: dict[str, Any] = {"on_change": "restart", "history": True}
    whole = fit(data, TABLE, save=tmp_path / "whole", predictions=tmp_path / "whole.parquet", **options)
    small_pieces(monkeypatch, size)
    parts = fit(data, TABLE, save=tmp_path / "parts", predictions=tmp_path / "parts.parquet", **options)
    assert parts.changes == whole.changes != ()
    assert parts.scores == whole.scores
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "parts.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert parts.history is not None
    assert whole.history is not None
    np.testing.assert_array_equal(parts.history.estimate, whole.history.estimate)


class _CrashError(Exception):
    pass


def test_a_checkpoint_holds_the_alarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    small_pieces(monkeypatch, 1000)
    data = written(tmp_path, changing())
    options: dict[str, Any] = {"on_change": "restart", "history": True}
    whole = fit(data, TABLE, save=tmp_path / "whole", **options)
    options |= {"save": tmp_path / "model", "checkpoint_every": 1}

    def crash_at(row: int) -> Any:
        def watch(progress: Progress) -> None:
            if progress.read >= row:
                raise _CrashError

        return watch

    for row in (300, AT + 5, change.noticed + 60, change.noticed + 200):
        with pytest.raises(_CrashError):
            fit(data, TABLE, resume=True, watch=crash_at(row), **options)
    with pytest.raises(ValueError, match="on_change was 'restart', now it is 'warn'"):
        fit(data, TABLE, resume=True, **{**options, "on_change": "warn"})
    result = fit(data, TABLE, resume=True, **options)
    assert (result.changes, result.scores, result.forgotten) == (whole.changes, whole.scores, whole.forgotten)
    assert result.changes == (change,)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


def test_rows_are_counted_as_in_the_data(change: Change) -> None:
    frame = changing()
    holes = pl.DataFrame({"a": [None] * 50, "b": [0.0] * 50, "city": ["Rome"] * 50, "y": [0.0] * 50})
    spoiled = pl.concat([frame[:100], holes.cast(frame.schema), frame[100:]])
    found = fit(spoiled, Table("y", categorical=("city",), drop_first=True, missing="skip")).changes
    assert found == (Change(change.row + 50, change.noticed + 50),)


def test_the_delta_is_that_of_what_is_known() -> None:
    X = changing().with_columns(city=(pl.col("city") == "Oslo").cast(float)).to_numpy()
    (expected,) = ChangeAlarm(1e-6).learn(X[:, :3], X[:, 3])
    assert fit(changing(), TABLE, known=Known(delta=1e-6)).changes == (expected,)


def test_intervals_are_made_anew_after_a_restart(tmp_path: Path, change: Change) -> None:
    options: dict[str, Any] = {"known": Known(0.5, 5.0), "on_change": "restart"}
    fit(changing(), TABLE, predictions=tmp_path / "p.parquet", **options)
    got = pl.read_parquet(tmp_path / "p.parquet")
    infinite = got["lower"].is_infinite().arg_true().to_list()  # also at the first rows of a level
    assert not [row for row in infinite if row >= AT]  # the row that gave the alarm is known
    after = got[change.noticed + 1 :]
    outside = (after["target"] < after["lower"]) | (after["target"] > after["upper"])
    assert outside.sum() < 0.05 * len(after)


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_a_restart_at_the_very_last_row(change: Change, lam: float, tmp_path: Path) -> None:
    result = fit(
        changing()[: change.noticed],
        TABLE,
        ForwardRegressor(lam),
        on_change="restart",
        history=True,
        save=tmp_path / "m",
    )
    assert result.changes == (change,)
    assert result.model.n_seen_ == 1
    assert "started anew" in str(result)
    write_fit_report(tmp_path / "report.html", result)
    assert load(tmp_path / "m").n_seen_ == 1


# What is said


def test_sentences() -> None:
    assert describe_changes([], 0.05) == ""
    assert describe_changes([Change(5012, 5060)], 0.05) == (
        "The relation seems to have changed at about row 5,012 (noticed at row 5,060; false alarm probability 0.05)."
    )
    several = [Change(1000 * k, 1000 * k + 50) for k in range(1, 8)]
    assert describe_changes(several[:2], 0.01, "restart") == (
        "The relation seems to have changed 2 times, at about rows 1,000 and 2,000 (the last noticed at row 2,050; "
        "false alarm probability 0.01 for each). The model started anew after row 2,050."
    )
    assert "7 times, at about rows 1,000, 2,000, 3,000, 4,000 and at 3 more (the last" in describe_changes(
        several, 0.05
    )


def test_results_tell(change: Change) -> None:
    result = fit(changing(), TABLE)
    said = describe_changes([change], 0.05)
    assert said in str(result)
    assert said in result._repr_html_()
    assert fit_record(result)["changes"] == [{"row": change.row, "noticed": change.noticed}]
    ignored = fit(changing(), TABLE, on_change="ignore")
    assert "relation" not in str(ignored)
    assert fit_record(ignored)["changes"] is None
    assert json.dumps(fit_record(ignored))


def test_reports_mark_changes(tmp_path: Path) -> None:
    changes = (Change(700, 760), Change(2000, 2030))
    made = a_fit(changes=changes, on_change="warn")
    write_fit_report(tmp_path / "with.html", made)
    page = (tmp_path / "with.html").read_text(encoding="utf-8")
    assert "changed 2 times, at about rows 700 and 2,000" in page
    assert page.count("seems to have changed") == 3  # once in a remark, and below two pictures
    assert made.history is not None
    for drawing, axes in (
        (draw_learning(made.history, changes), (0, 1)),
        (draw_residuals(made.history, changes), (1,)),
    ):
        for place in axes:
            chart = drawing.charts[place]
            (marks,) = [each for each in chart.shapes if each.label == LABEL]
            wanted = chart.x.fractions(np.array([699.0, 1999.0]))
            np.testing.assert_allclose([path[0, 0] for path in marks.paths], wanted, atol=2e-3)
            assert all(path[:, 1].tolist() == [0, 1] for path in marks.paths)
    assert not any(each.label == LABEL for each in draw_learning(made.history).charts[0].shapes)
    (lines,) = made.plot().axes[0].collections
    assert lines.get_label() == LABEL
    xs = [np.asarray(path.vertices)[0, 0] for path in lines.get_paths()]
    np.testing.assert_allclose(xs, [699, 1999], atol=2)


def test_a_stream_is_told_of_a_change_as_it_happens(tmp_path: Path, change: Change) -> None:
    pipe = tmp_path / "live.csv"
    told: list[str] = []
    os.mkfifo(pipe)
    text = changing().write_csv()
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    result = fit(pipe, TABLE, tell=told.append, on_change="restart")
    writer.join()
    assert result.changes == (change,)
    assert told == [describe_changes([change], 0.05, "restart")]
    told.clear()
    fit(changing(), TABLE, tell=told.append)
    assert told == []  # the summary will say so
    fit(changing(), TABLE, tell=told.append, follow=lambda frame: None)
    assert told == [describe_changes([change], 0.05)]


def test_the_command_line(
    tmp_path: Path, change: Change, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from onward import cli

    data = written(tmp_path, changing())

    def run(*options: str) -> tuple[int, str, str]:
        arguments = ["fit", str(data), "-t", "y", "--categorical", "city", "--drop-first", *options]
        monkeypatch.setattr(sys, "argv", ["onward", *arguments])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        captured = capfd.readouterr()
        return int(exit.value.code or 0), " ".join(captured.out.split()), " ".join(captured.err.split())

    assert describe_changes([change], 0.05) in run()[1]
    assert "started anew after row" in run("--on-change", "restart")[1]
    assert "relation" not in run("--on-change", "ignore")[1]
    assert json.loads(run("--json", "--delta", "0.01")[1])["changes"][0]["noticed"] > change.noticed
    assert json.loads(run("--json", "--on-change", "restart")[1])["model"]["rows"] == ROWS - change.noticed + 1
    for workers in (("--jobs", "1"), ("--backend", "loky")):
        code, _, err = run("--on-change", "warn", *workers)
        assert code == 2
        assert "--on-change goes along one pass: expected no --jobs and no --backend" in err
    assert json.loads(run("--json", "--learner", "ridge", "--jobs", "1")[1])["changes"] is None
    assert run("--on-change", "shout")[0] == 2


def test_after_a_restart_predictions_do_not_fall_to_0(tmp_path: Path) -> None:
    far = changing().with_columns(y=pl.col("y") + 1000)
    for learner in (AutoRegressor(), RidgeRegressor()):
        result = fit(far, TABLE, learner, on_change="restart", predictions=tmp_path / "p.parquet")
        assert result.changes
        least = pl.read_parquet(tmp_path / "p.parquet")["prediction"][1:].min()
        assert isinstance(least, float)
        assert least > 900
