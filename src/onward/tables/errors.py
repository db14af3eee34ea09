"""What is wrong with data, and where: one line that a person can act on."""


class DataError(ValueError):
    """Data that cannot be read as it is; the message begins with the file and, where known, the line."""
