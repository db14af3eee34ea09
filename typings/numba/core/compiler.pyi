from typing import Any

class Compiler:
    state: Any
    def define_pipelines(self) -> Any: ...

class CompileResult:
    def __init__(self, **fields: Any) -> None: ...
