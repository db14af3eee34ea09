"""The benchmark of guarantees at a tiny size, so that it does not rot."""

import json
from pathlib import Path

import pytest

pytest.importorskip("threadpoolctl")

from benchmarks import guarantees


def test_runs_and_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert guarantees.check_coverage(20, 50) <= 5
    timings = guarantees.measure_intervals(200, 3, 2)
    assert set(timings["ForwardRegressor"]) == {"predict", *guarantees.KNOWN}
    monkeypatch.setattr(guarantees, "check_coverage", lambda *_: 0)
    guarantees.main(["--quick", "--out", str(tmp_path / "r.json")])
    assert json.loads((tmp_path / "r.json").read_text())["coverage"]["misses"] == 0
