from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import pytest

def check_estimator(
    estimator: object = None,
    *,
    legacy: bool = True,
    expected_failed_checks: dict[str, str] | None = None,
    on_skip: Literal["warn"] | None = "warn",
    on_fail: Literal["raise", "warn"] | None = "raise",
    callback: Callable[..., object] | None = None,
) -> list[dict[str, Any]]: ...
def estimator_checks_generator(
    estimator: object,
    *,
    legacy: bool = True,
    expected_failed_checks: dict[str, str] | None = None,
    mark: Literal["xfail", "skip"] | None = None,
    xfail_strict: bool | None = None,
) -> Iterator[tuple[object, Callable[[object], None]]]: ...
def parametrize_with_checks(
    estimators: Iterable[object],
    *,
    legacy: bool = True,
    expected_failed_checks: Callable[[Any], dict[str, str]] | None = None,
    xfail_strict: bool | None = None,
) -> pytest.MarkDecorator: ...
