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
    assert len(guarantees.measure_calibration(200, 3, 2)) == 3
    monkeypatch.setattr(guarantees, "check_coverage", lambda *_: 0)
    guarantees.main(["--quick", "--out", str(tmp_path / "r.json")])
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["coverage"]["misses"] == 0
    assert set(record["calibration"]) == {"fit", "fit, calibrated at one δ", "fit, calibrated at five δ"}
