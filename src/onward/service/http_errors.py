"""What is answered when something is wrong: one shape for everything, `{"error": {"code", "message", "field"}}`."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from onward.service.closed_values import validation_message

Header = tuple[bytes, bytes]

_LONGEST = 500  # of a message: it may hold what was sent


class Problem(msgspec.Struct, frozen=True):
    """What is wrong."""

    code: str
    """What kind of error: a word for programs, such as unknown_loop."""
    message: str
    """What was expected and what came, for people."""
    field: str | None = None
    """Where in the body, as a path such as [3].actions[0].id; or the name of a parameter or header."""


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The answer to whatever is wrong."""

    error: Problem


class HttpError(Exception):
    """An answer that says what is wrong."""

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, headers: Sequence[Header] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field, self.headers = status, code, message, field, headers


_encode = msgspec.json.Encoder().encode


def error_body(error: HttpError) -> bytes:
    """The answer's body."""
    return _encode(ErrorAnswer(Problem(error.code, error.message[:_LONGEST], error.field and error.field[:_LONGEST])))


def missing(code: str, message: str) -> HttpError:
    """A thing that is not there: 404."""
    return HttpError(404, code, message)


def unfit(message: str, field: str | None = None, code: str = "invalid_value") -> HttpError:
    """A body or parameter that can be read, but does not fit: 422."""
    return HttpError(422, code, message, field)


def _with_whole_numbers(value: Any) -> Any:
    """JSON with 17.0 as 17: to JSON Schema, and to some languages, they are one number."""
    if isinstance(value, dict):
        return {name: _with_whole_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(each) for each in value]
    is_whole = isinstance(value, float) and 0 < abs(value) < 2**53 and value.is_integer()
    return int(value) if is_whole else value


def decode_body(decode: Callable[[bytes], Any], body: bytes, kind: Any) -> Any:
    """The body as the request's type: 400 for what is no JSON, 422 for JSON that does not fit, with the place."""
    try:
        try:
            return decode(body)
        except msgspec.ValidationError as error:
            if not str(error).startswith("Expected `int"):
                raise
            return decode(_encode(_with_whole_numbers(msgspec.json.decode(body))))  # 17.0 is as whole as 17
    except msgspec.ValidationError as error:
        raise unfit(*validation_message(error, kind), "invalid_body") from None
    except UnicodeDecodeError:
        raise HttpError(400, "malformed_json", "the body must be JSON in UTF-8, got bytes that are no UTF-8") from None
    except msgspec.DecodeError as error:
        said = "the body must be JSON, got nothing" if not body else f"the body must be JSON: {error}"
        raise HttpError(400, "malformed_json", said) from None
    except RecursionError:
        raise HttpError(400, "malformed_json", "the body must be JSON: it is nested too deeply") from None
