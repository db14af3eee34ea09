"""What tests of the command line share."""

import sys
from collections.abc import Callable

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process: exit code, standard output, standard error."""
    from onward import cli

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["onward", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        captured = capfd.readouterr()
        assert isinstance(exit.value.code, int)
        return exit.value.code, captured.out, captured.err

    return call
