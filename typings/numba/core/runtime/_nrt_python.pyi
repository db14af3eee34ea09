c_helpers: dict[str, int]
