from typing import Any

class Workspace:
    def __init__(
        self,
        arg_str: str | list[Any] | None = None,
        enable_logging: bool = False,
        arg_list: list[Any] | None = None,
        **kw: Any,
    ) -> None: ...
    def learn(self, ec: Any) -> None: ...
    def predict(self, ec: Any, prediction_type: Any = None) -> Any: ...
