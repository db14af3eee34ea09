from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, BinaryIO, Literal, ParamSpec, Self, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Task = tuple[Callable[..., _R], tuple[Any, ...], dict[str, Any]]

def dump(
    value: object,
    filename: str | PathLike[str] | BinaryIO,
    compress: int | bool | str | tuple[str, int] = 0,
    protocol: int | None = None,
) -> list[str] | None: ...
def load(
    filename: str | PathLike[str] | BinaryIO,
    mmap_mode: Literal["r+", "r", "w+", "c"] | None = None,
    ensure_native_byte_order: bool | Literal["auto"] = "auto",
) -> Any: ...
def cpu_count(only_physical_cores: bool = False) -> int: ...
def delayed(function: Callable[_P, _R]) -> Callable[_P, _Task[_R]]: ...

class Parallel:
    def __init__(
        self,
        n_jobs: int | None = ...,
        backend: str | None = ...,
        return_as: Literal["list", "generator", "generator_unordered"] = "list",
        verbose: int = ...,
        prefer: Literal["processes", "threads"] | None = ...,
        **backend_kwargs: Any,
    ) -> None: ...
    def __call__(self, iterable: Iterable[_Task[_R]]) -> Iterable[_R]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...

class parallel_config:
    def __init__(
        self,
        backend: str | None = None,
        *,
        n_jobs: int | None = None,
        inner_max_num_threads: int | None = None,
        **backend_params: Any,
    ) -> None: ...
    def __enter__(self) -> dict[str, Any]: ...
    def __exit__(self, *args: object) -> None: ...
