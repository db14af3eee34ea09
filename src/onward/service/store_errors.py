"""The one error of the store, and what errors of databases become."""

import sqlalchemy as sa

# Classes of SQLSTATE that pass by themselves: lost connections, conflicts, lack of room, locks, an operator's stop,
# errors of the system.
_PASSING = ("08", "40", "53", "55", "57", "58")
_DAMAGED = ("malformed", "not a database")


class StoreError(OSError):
    """The database could not be read or written.

    `is_transient`: the same call may succeed later, without anybody changing what is asked. `is_uncertain`: whether it
    was written is not known; otherwise nothing was.
    """

    def __init__(self, message: str, *, is_transient: bool = False, is_uncertain: bool = False) -> None:
        super().__init__(message)
        self.is_transient = is_transient
        self.is_uncertain = is_uncertain


def store_error(error: sa.exc.SQLAlchemyError, where: str, *, is_uncertain: bool = False) -> StoreError:
    """What is said of an error of the database `where`, without the statement and its values."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    text = " ".join(str(cause).split())
    return StoreError(
        f"the database {where} failed: {text}", is_transient=_is_transient(error), is_uncertain=is_uncertain
    )


def _is_transient(error: sa.exc.SQLAlchemyError) -> bool:
    if isinstance(error, sa.exc.TimeoutError):
        return True
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state)[:2] in _PASSING
    text = str(error.orig)
    return isinstance(error, sa.exc.OperationalError) and not any(word in text for word in _DAMAGED)
