"""When to look: numbers of rows at which something is read off or said, the same whatever the batches."""

READINGS = 20  # a reading is taken when a twentieth more rows are known than at the last one


def next_power(rows: int) -> int:
    """The next power of two."""
    return 1 << rows.bit_length()


def next_reading(rows: int, width: int) -> int:
    """The next reading: at every row at first, then at 5% more; for wide models, whose readings are dear, at 20%."""
    return rows + max(1, rows // (READINGS if width <= 100 else 5))
