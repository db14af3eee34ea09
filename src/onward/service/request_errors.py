"""What is wrong with a request."""

from typing import Self


class RequestError(ValueError):
    """A request that cannot be done: a code for programs, a message for people, and the field it is about."""

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.field = code, message, field

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str | None]]:
        """What makes it again in another process."""
        return type(self), (self.code, self.message, self.field)
