from collections.abc import Callable
from typing import Any, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from numba import types as types

_P = ParamSpec("_P")
_R = TypeVar("_R")

__version__: str

class _Dispatcher(Generic[_P, _R]):
    py_func: Callable[_P, _R]
    @property
    def signatures(self) -> list[tuple[types.Type, ...]]: ...
    @property
    def stats(self) -> Any: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def inspect_asm(self, signature: Any = None) -> Any: ...
    def inspect_llvm(self, signature: Any = None) -> Any: ...

class _Decorator(Protocol):
    def __call__(self, function: Callable[_P, _R], /) -> _Dispatcher[_P, _R]: ...

@overload
def njit(signature_or_function: Callable[_P, _R], /) -> _Dispatcher[_P, _R]: ...
@overload
def njit(
    *,
    cache: bool = False,
    boundscheck: bool | None = None,
    error_model: Literal["python", "numpy"] = ...,
    forceinline: bool = ...,
    inline: Literal["never", "always"] = ...,
    nogil: bool = ...,
    parallel: bool = ...,
) -> _Decorator: ...

class _CFunc:
    address: int

def cfunc(
    signature: types.Signature, *, error_model: Literal["python", "numpy"] = ...
) -> Callable[[Callable[..., Any]], _CFunc]: ...
def from_dtype(dtype: np.dtype[Any]) -> types.Type: ...

class _Config:
    CACHE_DIR: str
    DISABLE_JIT: int

config: _Config
prange = range
