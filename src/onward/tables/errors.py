"""What is wrong with data, and where: one line that a person can act on."""


class DataError(ValueError):
    """Data that cannot be read as it is; the message begins with the file and, where known, the line."""


class RowError(DataError):
    """One row of a piece that cannot be used; the rows before it can."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row
