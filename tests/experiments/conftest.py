"""The report of the made-up reproduction, written once."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from onward.experiments.reproduction_report import Section, write_report
from tests.experiments.made_up import VERSIONS, sections


@dataclass(frozen=True)
class Written:
    path: Path
    sections: list[Section]


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Written:
    path = tmp_path_factory.mktemp("report") / "report.html"
    made = sections()
    command = "onward reproduce --out out --seed 7"
    write_report(
        path, made, quick=True, seed=7, seconds=431.2, versions=VERSIONS, command=command, notes=["<i>Made up</i>"]
    )
    return Written(path, made)
