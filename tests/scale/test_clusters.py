"""Real worker processes: what they give, and what happens when one of them, the scheduler or a file is gone."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from onward import progressive, scale
from onward.scale import Engine, EngineError, engine
from onward.tables import DataError
from tests.progressive.made_up import table, written
from tests.scale.dying import dies, dies_once
from tests.scale.test_fit import TABLE, new, same, scored_alike

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    # A client that is closed while its scheduler is dying, and Ray's handles of its own processes.
    pytest.mark.filterwarnings("ignore:.*:ResourceWarning:distributed"),
    pytest.mark.filterwarnings("ignore:.*:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*:FutureWarning:ray"),
]
CHUNKS = 12
FORWARD = ("--learner", "forward")  # whose parts can be added up
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster") / "data"
    folder.mkdir()
    frame = table(CHUNKS * 2000)
    for place in range(CHUNKS):
        written(folder, frame[place * 2000 : (place + 1) * 2000], f"part-{place}.parquet")
    return folder


@pytest.fixture(scope="module")
def expected(data: Path) -> progressive.Fit:
    return progressive.fit(data, TABLE, new())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler here, two workers in processes of their own, and nannies that start another where one died."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL + 1,
    ) as cluster:
        yield cluster


@pytest.fixture
def dask(cluster: Any) -> Engine:
    """Both workers are there: one that an earlier test killed may still be on its way back."""
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
    return Engine(backend="dask", address=cluster.scheduler_address)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: exit code, standard output, standard error."""
    from onward import cli

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["onward", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        captured = capfd.readouterr()
        code = exit.value.code
        assert isinstance(code, int)
        return code, captured.out, captured.err

    return call


def pids(cluster: Any) -> dict[str, int]:
    return {name: nanny.pid for name, nanny in cluster.workers.items()}


def kill_a_busy_worker(cluster: Any) -> int:
    """End, as the system would where memory is short, a worker that has a task at hand."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for worker in cluster.scheduler.workers.values():
            if worker.processing:
                pid = next(nanny.pid for nanny in cluster.workers.values() if nanny.worker_address == worker.address)
                os.kill(pid, signal.SIGKILL)
                return int(pid)
    raise AssertionError("no worker had anything to do")


# Dask


def test_dask_gives_one_pass(
    tmp_path: Path, data: Path, dask: Engine, expected: progressive.Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = scale.fit(data, TABLE, new(), engine=dask, predictions=tmp_path / "p.parquet")
    same(got, expected)
    scored_alike(got, expected)
    rows = pl.read_parquet(tmp_path / "p.parquet")["row"].to_list()
    assert rows == list(range(1, CHUNKS * 2000 + 1))
    monkeypatch.chdir(data.parent)  # the workers were started elsewhere
    same(scale.fit("data", TABLE, new(), engine=dask, with_scores=False), expected)


@pytest.mark.parametrize("phase", ["reducing", "predicting"])
def test_a_worker_that_is_killed_costs_time_only(
    tmp_path: Path, data: Path, cluster: Any, dask: Engine, expected: progressive.Fit, phase: str
) -> None:
    killed: list[int] = []

    def advance(what: str, done: int, total: int) -> None:
        if what == phase and 1 <= done < total and not killed:
            killed.append(kill_a_busy_worker(cluster))

    got = scale.fit(data, TABLE, new(), engine=dask, predictions=tmp_path / "p.parquet", advance=advance)
    assert killed
    assert killed[0] not in pids(cluster).values()
    same(got, expected)
    scored_alike(got, expected)
    assert pl.read_parquet(tmp_path / "p.parquet")["row"].to_list() == list(range(1, CHUNKS * 2000 + 1))
    assert [path.name for path in tmp_path.iterdir()] == ["p.parquet"]


def test_no_scheduler_is_a_clear_error(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "REACH", 1.0)
    nobody = Engine(backend="dask", address="tcp://127.0.0.1:9")
    begun = time.monotonic()
    with pytest.raises(EngineError, match=r"cannot reach a Dask scheduler at tcp://127.0.0.1:9 \("):
        scale.fit(data, TABLE, new(), engine=nobody)
    assert time.monotonic() - begun < 10


def process(what: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def frail() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler, its address and its process, with a worker of two threads, in processes of their own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    scheduler = process("scheduler", "--host", address, "--no-dashboard", "--no-show")
    worker = process("worker", address, "--nthreads", "2", "--no-nanny", "--no-dashboard")
    try:
        from distributed import Client

        with Client(address, timeout=30, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=30)
        yield address, scheduler
    finally:
        for each in (worker, scheduler):
            each.kill()
            each.wait()


def test_a_scheduler_that_is_killed_ends_the_run_and_another_goes_on_from_it(
    tmp_path: Path,
    data: Path,
    dask: Engine,
    frail: tuple[str, subprocess.Popen[bytes]],
    expected: progressive.Fit,
) -> None:
    address, scheduler = frail
    options: dict[str, Any] = {
        "save": tmp_path / "m",
        "predictions": tmp_path / "p.parquet",
        "resume": True,
    }

    def kill(what: str, done: int, total: int) -> None:
        if what == "predicting" and done == 2:
            scheduler.kill()

    with pytest.raises(EngineError, match=r"the dask cluster at .* is gone with \d+ of \d+ tasks left"):
        scale.fit(data, TABLE, new(), engine=Engine(2, "dask", address), advance=kill, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["m.chunks"]
    said: list[tuple[str, int, int]] = []
    got = scale.fit(data, TABLE, new(), engine=dask, advance=lambda *each: said.append(each), **options)
    whats, dones, totals = zip(*said[:4], strict=True)
    assert whats == ("reducing", "reducing", "predicting", "predicting")
    assert dones[1] == totals[1], "what was reduced was reduced again"
    assert 2 <= dones[3] < totals[3], "what was predicted was predicted again"
    same(got, expected)
    scored_alike(got, expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "p.parquet"]


def test_a_chunk_that_a_worker_cannot_read_is_named(tmp_path: Path, dask: Engine) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    frame = table(300)
    for place in range(3):
        written(folder, frame[place * 100 : (place + 1) * 100], f"part-{place}.parquet")
    contents = bytearray((folder / "part-1.parquet").read_bytes())
    contents[200:2000] = bytes(1800)
    (folder / "part-1.parquet").write_bytes(contents)
    options: dict[str, Any] = {"save": tmp_path / "m", "predictions": tmp_path / "p.parquet"}
    with pytest.raises(DataError, match=r"part-1\.parquet: cannot be read on as Parquet"):
        scale.fit(folder, TABLE, new(), engine=dask, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


# The command line


def test_fit_with_a_cluster_of_its_own(tmp_path: Path, data: Path, run: Run, expected: progressive.Fit) -> None:
    code, out, err = run(
        *("fit", data, "-t", "y", "--categorical", "city", "--weight", "w", "--missing", "skip"),
        *(*FORWARD, "--lam", 0.3, "--jobs", 2, "--backend", "dask"),
        *("--save", tmp_path / "m", "--predictions", tmp_path / "p.parquet"),
    )
    assert code == 0, err
    assert f"Learned {expected.scores.rows:,} of 24,000 rows" in out
    assert all(line.startswith(("reducing: ", "predicting: ")) for line in err.splitlines()), err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "p.parquet"]


def test_compare_on_a_cluster(data: Path, run: Run, dask: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data.parent)  # the workers were started elsewhere
    options = ("-t", "y", "--categorical", "city", "--weight", "w", "--missing", "skip", "--lams", "0.1,1,10")
    code, out, err = run("compare", "data", *options, "--backend", "dask", "--address", dask.address)
    assert code == 0, err
    assert "y of data/part-0.parquet … data/part-11.parquet (12 files)" in out
    alone = run("compare", "data", *options)[1]
    assert out.partition("λ, ")[2].partition("\n")[2] == alone.partition("λ, ")[2].partition("\n")[2]
    assert all(line.startswith("comparing: ") for line in err.splitlines()), err


def test_reproduce_on_a_cluster(tmp_path: Path, run: Run, dask: Engine) -> None:
    figure = ("reproduce", "figure4a", "--repeats", 2, "--set", "figure4a.horizon=200")
    code, _, err = run(*figure, "--out", tmp_path / "many", "--backend", "dask", "--address", dask.address)
    assert code == 0, err
    assert all(line.startswith("figure4a: ") for line in err.splitlines()), err
    assert run(*figure, "--out", tmp_path / "one", "--jobs", 1)[0] == 0
    many, one = (pl.read_parquet(tmp_path / each / "results" / "figure4a.parquet") for each in ("many", "one"))
    assert many.equals(one)


def test_a_cluster_that_is_not_there_is_one_line(data: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "REACH", 1.0)
    where = ("--backend", "dask", "--address", "tcp://127.0.0.1:9")
    code, out, err = run("fit", data, "-t", "y", "--categorical", "city", *FORWARD, *where)
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("onward: cannot reach a Dask scheduler at tcp://127.0.0.1:9 (")


# Processes of this machine, and Ray


def test_loky_does_again_what_died_with_its_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [tmp_path / ("2.dies" if place == 2 else f"{place}.lives") for place in range(6)]
    with Engine(2).started() as workers:
        done = dict(workers.run(dies_once, tasks))
        assert (tmp_path / "2.dies").exists()
        assert done == {place: str(place) for place in range(6)}
        monkeypatch.setattr(engine, "ATTEMPTS", 1)  # it takes a while to start workers
        with pytest.raises(EngineError, match="workers died 1 times with 1 of 1 tasks left"):
            list(workers.run(dies, tasks[:1]))


def test_ray_gives_one_pass(data: Path, expected: progressive.Fit) -> None:
    pytest.importorskip("ray")
    same(scale.fit(data, TABLE, new(), engine=Engine(2, "ray"), with_scores=False), expected)
