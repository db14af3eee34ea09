from collections.abc import Callable, Iterable
from typing import Any, Literal, overload

from numpy.typing import NDArray

# X alone without y, both with it; nothing of use when only names and widths are checked; the keywords are those of check_array and multi_output, y_numeric.
@overload
def validate_data(
    _estimator: object, /, X: Any, *, reset: bool = True, skip_check_array: Literal[True], **check_params: Any
) -> object: ...
@overload
def validate_data(
    _estimator: object,
    /,
    X: Any,
    y: Literal["no_validation"] | None = "no_validation",
    reset: bool = True,
    validate_separately: Literal[False] = False,
    skip_check_array: Literal[False] = False,
    **check_params: Any,
) -> NDArray[Any]: ...
@overload
def validate_data(
    _estimator: object,
    /,
    X: Any,
    y: Any,
    reset: bool = True,
    validate_separately: bool | tuple[dict[str, Any], dict[str, Any]] = False,
    skip_check_array: Literal[False] = False,
    **check_params: Any,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def check_is_fitted(
    estimator: object,
    attributes: str | list[str] | tuple[str, ...] | None = None,
    *,
    msg: str | None = None,
    all_or_any: Callable[[Iterable[object]], bool] = ...,
) -> None: ...
