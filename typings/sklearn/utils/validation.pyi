from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

_ScalarT = TypeVar("_ScalarT", bound=np.generic)

@overload
def check_array(
    array: object,
    accept_sparse: Literal[False] = False,
    *,
    accept_large_sparse: bool = True,
    dtype: type[_ScalarT],
    order: Literal["F", "C"] | None = None,
    copy: bool = False,
    force_writeable: bool = False,
    ensure_all_finite: bool | Literal["allow-nan"] = True,
    ensure_non_negative: bool = False,
    ensure_2d: bool = True,
    allow_nd: bool = False,
    ensure_min_samples: int = 1,
    ensure_min_features: int = 1,
    estimator: object = None,
    input_name: str = "",
) -> NDArray[_ScalarT]: ...
@overload
def check_array(
    array: object,
    accept_sparse: Literal[False] = False,
    *,
    accept_large_sparse: bool = True,
    dtype: Literal["numeric"] | None = "numeric",
    order: Literal["F", "C"] | None = None,
    copy: bool = False,
    force_writeable: bool = False,
    ensure_all_finite: bool | Literal["allow-nan"] = True,
    ensure_non_negative: bool = False,
    ensure_2d: bool = True,
    allow_nd: bool = False,
    ensure_min_samples: int = 1,
    ensure_min_features: int = 1,
    estimator: object = None,
    input_name: str = "",
) -> NDArray[Any]: ...
@overload
def check_array(
    array: object,
    accept_sparse: str | Sequence[str] | Literal[True],
    *,
    accept_large_sparse: bool = True,
    dtype: type[np.generic] | Literal["numeric"] | None = "numeric",
    order: Literal["F", "C"] | None = None,
    copy: bool = False,
    force_writeable: bool = False,
    ensure_all_finite: bool | Literal["allow-nan"] = True,
    ensure_non_negative: bool = False,
    ensure_2d: bool = True,
    allow_nd: bool = False,
    ensure_min_samples: int = 1,
    ensure_min_features: int = 1,
    estimator: object = None,
    input_name: str = "",
) -> Any: ...

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
def has_fit_parameter(estimator: object, parameter: str) -> bool: ...
def column_or_1d(y: object, *, dtype: object = None, input_name: str = "y", warn: bool = False) -> NDArray[Any]: ...
def _check_sample_weight(
    sample_weight: object,
    X: object,
    *,
    dtype: type[np.floating[Any]] | None = None,
    ensure_non_negative: bool = False,
    copy: bool = False,
) -> NDArray[np.float64]: ...
def _check_feature_names(estimator: object, X: object, *, reset: bool) -> None: ...
def _check_n_features(estimator: object, X: object, reset: bool) -> None: ...
def _get_feature_names(X: object) -> NDArray[np.object_] | None: ...
def _num_samples(x: object) -> int: ...
