"""What the Python examples of a page print, found by running them: the site shows it below each.

    python -m tools.docs_site.examples PAGE OUT.json    # run a page, write what each block printed, by its line

A page is run in a process of its own. What it printed is cached under a digest of the page and of the package.
"""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

from tools.docs_site.tree import ROOT
from tools.run_readme import PYTHON, as_main, blocks, missing

MOST_LINES = 60


class ExampleError(RuntimeError):
    """An example that failed; says which, and how."""


def page_outputs(page: Path, cache: Path) -> dict[int, str]:
    """What each Python block of a page prints, by the line on which its code begins."""
    if not any(block.language in PYTHON for block in blocks(page.read_text("utf-8"))):
        return {}
    cache.mkdir(parents=True, exist_ok=True)
    kept = cache / f"{page.parent.name}-{page.stem}-{_digest(page)}.json"
    if not kept.exists():
        made = kept.with_suffix(".tmp")
        command = [sys.executable, "-m", "tools.docs_site.examples", str(page), str(made)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ExampleError(f"{page}: {done.stderr.strip()}")
        for old in cache.glob(f"{page.parent.name}-{page.stem}-*.json"):
            old.unlink()
        made.rename(kept)
    return {int(line): text for line, text in json.loads(kept.read_text("utf-8")).items()}


def _digest(page: Path) -> str:
    digest = hashlib.sha256(page.read_bytes())
    for source in sorted((ROOT / "src").rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _run(page: Path) -> dict[int, str]:
    printed = {}
    with as_main(page) as module:
        for block in blocks(page.read_text("utf-8")):
            if block.language not in PYTHON or block.language == "py3":  # py3: shown, never run
                continue
            if absent := missing(block.extras):
                printed[block.line] = f"(needs {', '.join(absent)}, which was not installed where this page was built)"
                continue
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec", dont_inherit=True), vars(module))
            lines = said.getvalue().rstrip().splitlines()
            shown = (
                lines
                if len(lines) <= MOST_LINES
                else [*lines[: MOST_LINES - 1], f"… {len(lines) - MOST_LINES + 1} lines more"]
            )
            printed[block.line] = "\n".join(shown)
    return printed


def main() -> int:
    """Run one page."""
    page, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    try:
        printed = _run(page)
    except Exception:
        traceback.print_exc()
        return 1
    out.write_text(json.dumps(printed), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
