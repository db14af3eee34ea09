"""`onward warm-up`: what it has run is compiled."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import event

from onward import RidgeRegressor, bandits, fit
from onward.cli import warm_up_steps
from tests.cli.conftest import Run


class Compilations(event.Listener):
    """The names of functions that are compiled."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        self.names.append(str(event.data["dispatcher"]))

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def compiling() -> Iterator[list[str]]:
    """What is compiled in the block, or read from numba's files."""
    listener = Compilations()
    with event.install_listener("numba:compile", listener):
        yield listener.names


def test_what_users_do_first_is_compiled_by_it(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(warm_up_steps, "POLICIES", ("LinUCB",))
    monkeypatch.setattr(warm_up_steps, "LEARNERS", ("ridge",))
    code, out, _ = run("warm-up")
    assert code == 0
    names = [line.split(" s  ")[1] for line in out.splitlines()[:-1]]
    assert names[:3] == ["AutoRegressor", "ForwardRegressor", "RidgeRegressor"]
    assert {
        "a file to AutoRegressor",
        "LinUCB",
        "Disjoint(LinUCB)",
        "a loop of LinUCB",
        "a model of ridge",
        "an evaluation of LinUCB",
    } <= set(names)
    assert out.splitlines()[-1].startswith("Ready, after ")
    X = np.random.default_rng(1).standard_normal((9, 4))
    (tmp_path / "rows.csv").write_text("a,when,y\n1.5,2026-01-31,2\n2,2026-02-28,3\n", encoding="utf-8")
    with compiling() as names:
        policy = bandits.LinUCB(seed=3)
        policy.learn(X[policy.choose(X)], 1.0)
        policy.reward(policy.decide(X).key, 0.0)
        model = RidgeRegressor(2.0)
        model.partial_fit(X, X[:, 0])
        model.predict_one(X[0])
        fit(tmp_path / "rows.csv", "y", RidgeRegressor(2.0), history=True)
    assert names == []


def test_all_policies_named_are_there_and_parts_are_checked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(hasattr(bandits, name) for name in warm_up_steps.POLICIES)
    assert len(list(warm_up_steps.steps(("regression",)))) == 6
    code, _, err = run("warm-up", "bandit")
    assert (code, "'bandit' is none of regression, bandits, service" in " ".join(err.split())) == (2, True)
    monkeypatch.setitem(sys.modules, "onward.service", None)
    monkeypatch.setattr(warm_up_steps, "has_service", lambda: False)
    assert [name for name, _ in warm_up_steps.steps(("service",))] == []
    code, _, err = run("warm-up", "service")
    assert (code, err) == (1, 'onward: the service is not installed: pip install "onward[serve]"\n')
