"""Without the modules of an extra, one line says which extra brings them."""

import subprocess
import sys

import pytest

from onward.core.extras import MissingExtraError, missing_extra

COMMANDS = [
    ["serve"],
    ["service", "tokens", "list"],
    ["service", "replay"],
    ["simulate-traffic", "--visitors", "1"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands_of_the_service_name_its_extra(arguments: list[str]) -> None:
    start = f"import sys\nsys.modules['msgspec'] = None\nsys.argv = {['onward', *arguments]!r}\n"
    code = f"{start}from onward.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith('needs msgspec, which is not installed: pip install "onward[serve]"\n')
    assert done.stderr.count("\n") == 1


def test_a_module_of_our_own_that_is_missing_is_no_missing_extra() -> None:
    ours = ModuleNotFoundError("No module named 'onward.nothing'", name="onward.nothing")
    assert missing_extra("onward serve", ours, "serve") is ours
    foreign = missing_extra("onward serve", ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn"), "serve")
    assert isinstance(foreign, MissingExtraError)
    assert str(foreign) == 'onward serve needs uvicorn, which is not installed: pip install "onward[serve]"'
