"""Every writer of files: a kill between writing and renaming leaves the old file as it was; the next save clears up."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import onward
from onward import OnlinePipeline, RandomFeatures, RidgeRegressor
from onward.bandits import Disjoint, LinUCB, LogWriter, Random, Runs, play
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
from onward.bandits.journal import SIGNATURE
from onward.cli import export_command
from onward.confidence import ChangeAlarm
from onward.experiments.runner import write_frame
from onward.progressive import checkpoints
from onward.progressive.checkpoints import Checkpoint
from onward.progressive.report import write_fit_report
from onward.scale import chunk_results
from onward.scale.summary import Summary

Write = Callable[[Path], Any]


class Killed(BaseException):
    """Stands for the end of the process."""


def _fitted() -> Any:
    rows = np.random.default_rng(0).standard_normal((20, 2))
    return RidgeRegressor().fit(rows, rows.sum(axis=1))


def _runs() -> Runs:
    world = LinearWorld(SphereArms(4, 3), Stationary([1.0, 0.0, 0.0]), Gaussian(0.1))
    return play({"Random": Random()}, world, horizon=5, repeats=2, seed=0)


def _table() -> pl.DataFrame:
    rows = np.random.default_rng(0).standard_normal((200, 2))
    return pl.DataFrame({"a": rows[:, 0], "y": rows.sum(axis=1)})


def _log(path: Path) -> None:
    writer = LogWriter(path)
    writer.write(0, np.eye(2), 1.0, propensity=0.5)
    writer.close()


def _report(path: Path) -> None:
    fit = onward.fit(_table(), "y", RidgeRegressor(), history=True)
    with (
        mock.patch("onward.progressive.report.draw_charts"),
        mock.patch("onward.progressive.report.render_page") as page,
    ):
        page.return_value = "<html></html>"
        write_fit_report(path, fit)


def _export(path: Path) -> None:
    model = path.parent / "model"
    model.write_bytes(onward.fit(_table(), "y", RidgeRegressor()).model.to_bytes())
    export_command.command(model, out=path)


def _summary() -> Summary:
    return Summary(True, _fitted(), np.array([20.0, 1.0]), 20)


WRITERS: dict[str, Write] = {
    "model.onward": lambda path: _fitted().save(path),
    "pipeline.onward": lambda path: (
        OnlinePipeline(RandomFeatures(n=3), RidgeRegressor()).fit(np.eye(2), np.ones(2)).save(path)
    ),
    "policy.onward": lambda path: LinUCB(seed=1).save(path),
    "arms.onward": lambda path: Disjoint(LinUCB(seed=1), 2).save(path),
    "alarm.onward": lambda path: ChangeAlarm().save(path),
    "runs.onward": lambda path: _runs().save(path),
    "m.onward.checkpoint": lambda path: checkpoints.write(path, Checkpoint({}, {}, {"model": _fitted()})),
    "chunk": lambda path: chunk_results.write(path, _summary()),
    "report.html": _report,
    "export.json": _export,
    "p.parquet": lambda path: onward.fit(_table(), "y", RidgeRegressor(), predictions=path),
    "p.csv": lambda path: onward.fit(_table(), "y", RidgeRegressor(), predictions=path),
    "saved.onward": lambda path: onward.fit(_table(), "y", RidgeRegressor(), save=path),
    "log.parquet": _log,
    "piece.parquet": lambda path: write_frame(path, _table()),
}


def _left(folder: Path, name: str) -> list[Path]:
    return [each for each in folder.iterdir() if re.fullmatch(rf"\.{re.escape(name)}\.[a-z0-9_]{{8}}\.tmp", each.name)]


@pytest.mark.parametrize("name", WRITERS)
def test_a_kill_before_renaming_leaves_what_the_next_save_clears(name: str, tmp_path: Path) -> None:
    write, path = WRITERS[name], tmp_path / name

    def kill(*_: object) -> None:
        raise Killed

    # The process ends where the file would get its name, and so it does not clear up, either.
    with (
        mock.patch("onward.atomic_files.os.replace", kill),
        mock.patch("onward.atomic_files.os.unlink", mock.Mock(side_effect=OSError)),
        pytest.raises(Killed),
    ):
        write(path)
    (left,) = _left(tmp_path, name)
    assert not path.exists()
    write(path)
    assert _left(tmp_path, name) == [left]  # somebody may be writing to it
    os.utime(left, (time.time() - 2 * 86_400,) * 2)
    path.unlink()
    write(path)
    assert path.exists()
    assert _left(tmp_path, name) == []


@pytest.mark.parametrize("content", [b"", SIGNATURE[:3], SIGNATURE, SIGNATURE + b"\x07\x00"])
def test_a_journal_that_was_killed_before_its_first_record_is_begun_anew(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "policy.journal"
    path.write_bytes(content)
    policy = LinUCB(seed=1)
    with policy.journal(path):
        policy.learn([1.0, 2.0], 1.0)
    assert onward.bandits.replay_journal(path).to_bytes() == policy.to_bytes()


def test_another_file_is_not_taken_for_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "policy.journal"
    path.write_bytes(b"notes")
    with pytest.raises(ValueError, match="not a journal"):
        LinUCB(seed=1).journal(path)
    assert path.read_bytes() == b"notes"
