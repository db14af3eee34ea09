"""Who may do what: bearer tokens, of which only the hash is known here, with roles.

`decide`: decisions, activation, predictions. `reward`: rewards, rows to learn. `admin`: everything. A token may have
several. A token is looked up by its SHA-256, so how long that takes says nothing of the tokens there are.
"""

import functools
import ipaddress
from collections.abc import Mapping
from typing import Literal

from onward.service.http_errors import HttpError
from onward.service.tokens import hash_token

Role = Literal["open", "any", "decide", "reward", "admin"]


@functools.lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Access:
    """The tokens there are, by their hash, with their roles."""

    def __init__(self, *, open_without_tokens: bool) -> None:
        self._roles: Mapping[str, frozenset[str]] = {}
        self._open_without_tokens = open_without_tokens
        """Until a token is seen: whoever removes the last one does not mean to let everybody in."""

    def renew(self, tokens: Mapping[str, frozenset[str]]) -> None:
        """Take over the tokens as the database has them."""
        self._roles = tokens
        if tokens:
            self._open_without_tokens = False

    @property
    def is_open(self) -> bool:
        """Whether nobody is asked for a token: there has been none since the start, and only this machine can ask."""
        return self._open_without_tokens

    @property
    def has_tokens(self) -> bool:
        """Whether there is any."""
        return bool(self._roles)

    def check(self, token: str | None, role: Role) -> str | None:
        """The hash of a token that may do what needs the role; None where no token is needed. HttpError otherwise."""
        if role == "open" or self._open_without_tokens:
            return None
        if token is None:
            raise _refused("expected a token (Authorization: Bearer …), got none")
        name = hash_token(token)
        roles = self._roles.get(name)
        if roles is None:
            raise _refused("expected a token that is known here, got another one")
        if role != "any" and role not in roles and "admin" not in roles:
            raise HttpError(
                403, "forbidden", f"expected a token with the role {role}, got one with {', '.join(sorted(roles))}"
            )
        return name


def _refused(message: str) -> HttpError:
    return HttpError(401, "unauthorized", message, "authorization", [(b"www-authenticate", b"Bearer")])
