"""Names that a terminal would obey are shown escaped, whatever shows them."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onward import cli
from onward.cli.terminal import data_output
from onward.core.shown import brief, came, printable, printable_json, several, shortened
from onward.pages.plain_tables import text_table
from tests.cli.conftest import Run

EVIL = "a\x1b[31mred\x9b2J\u202e[bold][/]"
SHOWN = r"a\x1b[31mred\x9b2J\u202e[bold][/]"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "evil\x1b[31m.csv"
    lines = [f"{i},{i % 3},level\x1b]0;title\x07{i % 2},{(i * i) % 5}" for i in range(40)]
    path.write_text("\n".join([f"{EVIL},b,kind,y", *lines]) + "\n", encoding="utf-8")
    return path


def _obeyed(text: str) -> set[str]:
    return {each for each in text if not each.isprintable()} - {"\n"}


def test_commands_show_hostile_names_escaped(run: Run, table: Path, tmp_path: Path) -> None:
    save = tmp_path / "model\x1b[2J.onward"
    second, other = tmp_path / "second.onward", tmp_path / "other.csv"
    other.write_text(
        table.read_text(encoding="utf-8").replace("\x0739", "\x07new").replace("\x070", "\x07\x9b7"), "utf-8"
    )
    commands: list[tuple[object, ...]] = [
        ("fit", table, "--target", "y", "--categorical", "kind", "--learner", "ridge", "--save", save),
        ("show", save, "--all"),
        ("score", save, other),
        ("predict", save, other, "--out", tmp_path / "out\x1b.csv"),
        ("compare", table, "--target", "y", "--categorical", "kind"),
        ("fit", table, "--target", "y", "--categorical", "kind", "--learner", "ridge", "--save", second, "--quiet"),
        ("merge", save, second, "--save", tmp_path / "merged\x07.onward"),
    ]
    said = ""
    for command in commands:
        code, out, err = run(*command)
        assert code == 0, err
        assert not _obeyed(out + err), command
        said += out + err
    assert SHOWN in said
    assert r"level\x1b]0;title\x071" in said
    assert r"evil\x1b[31m.csv" in said


@pytest.mark.parametrize(
    "wrong",
    [
        ("--target", "none\x1b[31m"),
        ("--target", "y", "--exclude", "none\x1b[31m"),
        ("--target", "kind"),
        ("--target", "y", "--learner", "none\x1b[31m"),
    ],
)
def test_errors_show_hostile_names_escaped(run: Run, table: Path, wrong: tuple[str, ...]) -> None:
    code, out, err = run("fit", table, *wrong)
    assert code in (1, 2)
    assert not _obeyed((out + err).replace("\x1b[0m", ""))
    assert r"\x1b" in err


def test_json_means_the_same(run: Run, table: Path) -> None:
    code, out, err = run("fit", table, "--target", "y", "--exclude", "kind", "--json", "--quiet")
    assert code == 0, err
    assert not _obeyed(out)
    assert EVIL in [each["feature"] for each in json.loads(out)["model"]["coefficients"]]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_data_are_escaped_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(out, "isatty", lambda: is_terminal)
    stream, text = data_output(), f"row,é\n1,{EVIL}\n"
    for byte in text.encode():
        stream.write(bytes([byte]))
    stream.flush()
    written = out.buffer.getvalue().decode()
    assert written == (text.replace(EVIL, SHOWN) if is_terminal else text)


def test_nothing_else_writes_to_the_terminal() -> None:
    folder = Path(cli.__file__).parent
    # JSON is for programs.
    allowed = {
        "terminal.py": r"typer\.echo\(|Console\(",
        "model_files.py": r"typer\.echo\(printable_json",
    }
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        found = len(re.findall(r"typer\.echo\(|Console\(|\bprint\((?<!\.print\()", text))
        assert "stdout.buffer" not in text or path.name == "terminal.py", path.name
        assert found == len(re.findall(allowed.get(path.name, r"(?!)"), text)), path.name


def test_tables_of_python_users_are_printable() -> None:
    assert not _obeyed(text_table(["name", "value"], [[EVIL, "1"]]))


def test_words_are_short_printable_and_never_fail() -> None:
    class Long:
        def __repr__(self) -> str:
            return "\x1b" * 60_000

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    values = [Long(), Broken(), 10**5000, -(10**400), "x" * 10**6, b"y" * 10**6, [1] * 10**6, {EVIL: EVIL}, None, 1.5]
    values += [np.zeros((3, 2)), np.array([pd.NaT], dtype=object), pd.NA, pd.NaT, np.zeros(()), 3j]
    for value in values:
        for words in (brief(value), came(value), shortened(brief(value), 40), several([value] * 100)):
            assert 0 < len(words) <= 200
            assert not _obeyed(words)


def test_printable_leaves_what_can_be_seen() -> None:
    assert printable("Zürich λ 東京 a\u00a0b") == "Zürich λ 東京 a\u00a0b"
    assert printable("a\nb\tc\x00\ud800") == r"a\nb\tc\x00\ud800"
    assert json.loads(printable_json(json.dumps(EVIL + "\U000e0001", ensure_ascii=False))) == EVIL + "\U000e0001"
