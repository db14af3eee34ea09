"""Keep the compiler's cache honest: write into each compiled file the digest of the compiled files it draws on.

    python tools/digests.py          # after a change to compiled code; rewrites the lines COMPILED_FROM = "..."

What numba compiled is cached on disk until the file that a function stands in changes. Code from other files is
compiled into it too, and changes there go unnoticed. So each file names their digest: where they change, it changes.
"""

import ast
import hashlib
import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
DECORATORS = ("compiled", "inlined", "spliced", "unlocked", "intrinsic")
LINE = re.compile(r'^COMPILED_FROM = "(\w*)"', re.MULTILINE)


def compiled_files() -> dict[str, Path]:
    """The modules with code that numba compiles, by name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        imported = {name for _, name in _imports(path)}
        if imported.intersection(DECORATORS):
            found[".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


def sources(path: Path, files: dict[str, Path]) -> list[str]:
    """The compiled modules that a file imports, or functions or numbers from them. Classes do not count."""
    whole = {f"{module}.{name}" for module, name in _imports(path)}
    parts = {module for module, name in _imports(path) if files.get(module, path) != path and not _is_class(name)}
    return sorted(parts | (whole & files.keys()))


def _imports(path: Path) -> list[tuple[str, str]]:
    """The modules and names of all `from module import name`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]


def _is_class(name: str) -> bool:
    return name[0].isupper() and not name.isupper()


def expected() -> dict[Path, tuple[str, str]]:
    """For each compiled file that draws on others: the digest that it should name, and the text that it should have."""
    files = compiled_files()
    texts: dict[str, str] = {}
    due: dict[Path, tuple[str, str]] = {}

    def text_of(name: str) -> str:
        """The file's text with its own digest right: so a change is seen however far below it is."""
        if name not in texts:
            path = files[name]
            text = path.read_text(encoding="utf-8")
            below = sources(path, files)
            if below:
                digest = hashlib.sha256("".join(text_of(other) for other in below).encode()).hexdigest()[:16]
                text = LINE.sub(f'COMPILED_FROM = "{digest}"', text)
                due[path] = digest, text
            texts[name] = text
        return texts[name]

    for name in files:
        text_of(name)
    return due


def main() -> None:
    for path, (digest, text) in expected().items():
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(SOURCE)}: {digest}")


if __name__ == "__main__":
    main()
