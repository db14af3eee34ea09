"""The comparison of intervals with other libraries', so that it does not rot; theirs only where they are installed."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import interval_peers
from benchmarks.interval_peers import CONTENDERS, DELTA, FIRST, Contender


@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda each: each.name)
def test_intervals_are_made_before_their_targets_are_seen(contender: Contender) -> None:
    pytest.importorskip(contender.package)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(150)
    ends = contender.ends(X, y)
    assert ends.shape == (150 - FIRST, 2)
    assert np.mean((ends[:, 0] <= y[FIRST:]) & (y[FIRST:] <= ends[:, 1])) > 1 - 3 * DELTA
    later = y.copy()
    later[120:] = 1e6
    np.testing.assert_array_equal(contender.ends(X, later)[: 121 - FIRST], ends[: 121 - FIRST])
    assert (contender.ends(X, later)[121 - FIRST :] != ends[121 - FIRST :]).any()


def test_what_is_not_installed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    nobody = Contender("nobody", "a_package_that_is_not_there", lambda X, y: X)
    monkeypatch.setattr(interval_peers, "CONTENDERS", (nobody, CONTENDERS[-1]))
    interval_peers.main(["--only", "diabetes"])
    said = capsys.readouterr()
    assert "left out: a_package_that_is_not_there" in said.err
    assert said.out.splitlines()[0] == "| data | rows | ours on auto: inside | width |"
    assert said.out.splitlines()[2].startswith("| diabetes | 382 | 9")
    with pytest.raises(SystemExit):
        interval_peers.main(["--only", "diabetes", "--write", str(tmp_path / "page.md")])
