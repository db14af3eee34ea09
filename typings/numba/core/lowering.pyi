from typing import Any, ClassVar

class Environment:
    _memo: ClassVar[dict[str, Any]]
