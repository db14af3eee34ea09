from collections.abc import Callable, Iterable
from typing import Any

import pytest

def parametrize_with_checks(
    estimators: Iterable[object],
    *,
    legacy: bool = True,
    expected_failed_checks: Callable[[Any], dict[str, str]] | None = None,
    xfail_strict: bool | None = None,
) -> pytest.MarkDecorator: ...
