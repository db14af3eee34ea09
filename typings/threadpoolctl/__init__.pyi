from contextlib import AbstractContextManager
from typing import Any, Literal

class threadpool_limits(AbstractContextManager[Any]):
    def __init__(
        self,
        limits: int | dict[str, int] | None = None,
        user_api: Literal["blas", "openmp"] | None = None,
    ) -> None: ...
    def __exit__(self, type: object, value: object, traceback: object) -> None: ...

def threadpool_info(debugging_info: bool = False) -> list[dict[str, Any]]: ...
