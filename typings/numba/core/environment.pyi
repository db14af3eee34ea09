from collections.abc import MutableMapping
from typing import Any, ClassVar

class Environment:
    env_name: str
    _memo: ClassVar[MutableMapping[str, Environment]]
    def __init__(self, globals: dict[str, Any]) -> None: ...

def lookup_environment(env_name: str) -> Environment | None: ...
def _rebuild_env(modname: str, consts: list[Any], env_name: str) -> Environment: ...
