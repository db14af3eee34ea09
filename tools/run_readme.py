"""Run the Python examples of Markdown pages: those of a page in order, in one namespace of its own.

    python tools/run_readme.py                     # README.md and every page of docs/ that has some
    python tools/run_readme.py docs/learners.md    # one page

An example fenced as ``python extra=river`` is passed over, and says so, when river cannot be imported; with
``--require-extras`` that is an error instead. A page runs in a temporary folder, so files that it writes vanish.
"""

import argparse
import contextlib
import importlib
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("start", "guides", "explanation", "reference", "coming_from")  # of docs/; the others are made, or no pages
PYTHON = {"python", "python3", "py"}
FENCE = re.compile(r" {0,3}(?P<ticks>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: `line` is the number of its first line of code, `words` what follows the language."""

    language: str
    words: tuple[str, ...]
    line: int
    code: str

    @property
    def extras(self) -> list[str]:
        """The modules this block needs beyond the runtime dependencies."""
        unknown = [word for word in self.words if not re.fullmatch(r"extra=\w+", word)]
        if unknown:
            raise ValueError(f"line {self.line - 1}: expected extra=MODULE after python, got {unknown[0]!r}")
        return [word.removeprefix("extra=") for word in self.words]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text."""
    language, words, start, ticks = "", (), 0, ""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(line)
        if not ticks:
            if fence:
                ticks, start, lines = fence["ticks"], number + 1, []
                language, *rest = fence["info"].split() or [""]
                words = tuple(rest)
        elif fence and not fence["info"].strip() and fence["ticks"].startswith(ticks):
            yield Block(language.lower(), words, start, "\n".join(lines))
            ticks = ""
        else:
            lines.append(line)
    if ticks:
        raise ValueError(f"line {start - 1}: this fence is never closed")


def written_pages(docs: Path) -> list[Path]:
    """Every page of docs/ that is written by hand: first its own, then those of its folders."""
    return [*sorted(docs.glob("*.md")), *(page for folder in FOLDERS for page in sorted((docs / folder).glob("*.md")))]


def pages_with_examples() -> list[Path]:
    """README.md and the pages of docs/ and of its folders that have Python examples."""
    pages = [ROOT / "README.md", *written_pages(ROOT / "docs")]
    return [page for page in pages if any(block.language in PYTHON for block in blocks(page.read_text("utf-8")))]


def missing(modules: list[str]) -> list[str]:
    """Those of the modules that cannot be imported."""
    absent = []
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            absent.append(module)
    return absent


@contextlib.contextmanager
def as_main(path: Path) -> Iterator[ModuleType]:
    """A fresh `__main__` in a temporary folder, so that examples behave as they would in a script."""
    module = ModuleType("__main__")
    module.__file__ = str(path)
    before, folder = sys.modules["__main__"], os.getcwd()
    with tempfile.TemporaryDirectory() as scratch:
        sys.modules["__main__"] = module
        os.chdir(scratch)
        try:
            yield module
        finally:
            os.chdir(folder)
            sys.modules["__main__"] = before


def run(path: Path, require_extras: bool = False) -> int:
    """Run every Python block of the file; the exit status is 0 when all of them ran or were passed over."""
    name = path.name
    path = path.resolve()
    try:
        examples = [block for block in blocks(path.read_text(encoding="utf-8")) if block.language in PYTHON]
        needs = [block.extras for block in examples]
    except (OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    if not examples:
        print(f"{name}: no Python examples found", file=sys.stderr)
        return 1

    skipped = 0
    with as_main(path) as module:
        for count, (block, extras) in enumerate(zip(examples, needs, strict=True), start=1):
            print(f"\n--- {name} line {block.line} (example {count} of {len(examples)})", flush=True)
            if absent := missing(extras):
                if require_extras:
                    print(f"{name}:{block.line}: needs {', '.join(absent)}", file=sys.stderr)
                    return 1
                print(f"skipped: {', '.join(absent)} not installed")
                skipped += 1
                continue
            try:
                # The blank lines in front make a traceback point into the Markdown file itself.
                code = compile("\n" * (block.line - 1) + block.code, str(path), "exec", dont_inherit=True)
                exec(code, vars(module))
            except (Exception, SystemExit):
                sys.stdout.flush()
                traceback.print_exc()
                print(f"\n{name}:{block.line}: the example that starts on this line failed", file=sys.stderr)
                return 1
            sys.stdout.flush()
    print(f"\nexamples run: {len(examples) - skipped}, skipped: {skipped}")
    return 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Run the Python examples of Markdown pages, in order.")
    parser.add_argument("pages", type=Path, nargs="*", metavar="PAGE", help="without any: README.md and docs/")
    parser.add_argument("--require-extras", action="store_true", help="fail instead of skipping")
    options = parser.parse_args()
    return max(run(page, options.require_extras) for page in options.pages or pages_with_examples())


if __name__ == "__main__":
    sys.exit(main())
