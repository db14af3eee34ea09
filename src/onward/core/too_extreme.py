"""The error of values that double precision cannot hold beside one another."""


class TooExtremeError(ValueError):
    """Values so far apart that double precision cannot hold what would be learned from them.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.core import TooExtremeError
        >>> try:
        ...     RidgeRegressor().fit([[1e200], [-1e200]], [1.0, 2.0])
        ... except TooExtremeError as error:
        ...     print(str(error)[:46])
        the rows cannot be learned in double precision
    """
