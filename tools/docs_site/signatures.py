"""Signatures as people read them: `ArrayLike` in place of the union that it stands for."""

from typing import Any

from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation


def _spellings() -> dict[str, str]:
    found = {}
    for kind, name in (
        (ArrayLike | None, "ArrayLike | None"),
        (ArrayLike, "ArrayLike"),
        (float | ArrayLike | None, "float | ArrayLike | None"),
    ):
        for mode in ("smart", "fully-qualified-except-typing", "fully-qualified"):
            found[stringify_annotation(kind, mode)] = name
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


_SPELLINGS = _spellings()


def shorten_signature(
    _app: Any, _kind: str, _name: str, _value: Any, _options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Sphinx's event: a signature and what is returned, with long unions by their names."""
    for long, short in _SPELLINGS.items():
        signature = signature.replace(long, short) if signature else signature
        returns = returns.replace(long, short) if returns else returns
    return signature, returns
