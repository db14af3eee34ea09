"""What is wrong with data, and where: one line that a person can act on."""

_MOST = 800  # characters of a message: names and values of a file can be long


class DataError(ValueError):
    """Data that cannot be read as it is; the message begins with the file and, where known, the line.

    It is one line of bounded length, whatever the data have led to: control characters are shown escaped.

    Args:
        message: what is wrong, and where.

    Example:
        >>> import polars as pl
        >>> from onward import DataError, fit
        >>> try:
        ...     fit(pl.DataFrame({"km": [1.0, None], "fare": [5.0, 7.0]}), "fare")
        ... except DataError as error:
        ...     print(str(error)[:73])
        data frame 1, row 2, column 'km': the value is missing, expected a number
    """

    def __init__(self, message: str) -> None:
        if not message.isprintable():
            message = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in message)
        super().__init__(message if len(message) <= _MOST else f"{message[: _MOST - 200]} … {message[-190:]}")


class RowError(DataError):
    """One row of a piece that cannot be used; the rows before it can."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[type["RowError"], tuple[str, int]]:
        """So that it comes back from another process as it is."""
        return type(self), (str(self), self.row)
