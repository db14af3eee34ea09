"""What is wrong with a request."""

from typing import Self


class RequestError(ValueError):
    """A request that cannot be done: a code for programs, a message for people, and the field it is about.

    Args:
        code: for programs.
        message: for people.
        field: which it is about, or None.

    Example:
        >>> from onward.service import Loop, RequestError
        >>> try:
        ...     Loop("news").decide("e1", {}, [])
        ... except RequestError as error:
        ...     print(error.code)
        bad_request
    """

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.field = code, message, field

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str | None]]:
        """What makes it again in another process."""
        return type(self), (self.code, self.message, self.field)
