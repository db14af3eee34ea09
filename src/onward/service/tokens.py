"""Tokens of those who may call the service: shown once, stored as hashes."""

import hashlib
import secrets
import time

import sqlalchemy as sa

from onward.service.store import Store
from onward.service.store_schema import tokens
from onward.service.store_values import ROLES, Role, Token

_LONGEST_NAME = 100


def hash_token(token: str) -> str:
    """What the store holds of a token. Tokens are random and long, so that a plain hash tells nothing of them."""
    return hashlib.sha256(token.encode()).hexdigest()


def add_token(store: Store, name: str, *roles: Role) -> str:
    """Make a token with one role or several; nobody can read it again. ValueError if the name is taken."""
    if not roles or not {*roles} <= {*ROLES}:
        raise ValueError(f"expected some of {', '.join(ROLES)} as roles, got {', '.join(map(str, roles)) or 'none'}")
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise ValueError(f"expected a name of 1 to {_LONGEST_NAME} printable characters, got {name!r:.120}")
    token = f"onward_{secrets.token_urlsafe(32)}"
    row = {
        "hash": hash_token(token),
        "name": name,
        "role": ",".join(each for each in ROLES if each in roles),
        "created": time.time(),
    }

    def work(connection: sa.Connection) -> bool:
        if connection.scalar(sa.select(tokens.c.name).where(tokens.c.name == name)) is not None:
            return False
        connection.execute(tokens.insert(), row)
        return True

    if not store.database.run(work, write=True):
        raise ValueError(f"there is a token named {name!r} already: expected another name, or remove it first")
    return token


def list_tokens(store: Store) -> list[Token]:
    """All tokens in the order of their making."""
    query = sa.select(tokens.c.name, tokens.c.role, tokens.c.created, tokens.c.hash).order_by(tokens.c.created)
    return [Token(*row) for row in store.database.run(lambda connection: connection.execute(query).all())]


def remove_token(store: Store, name: str) -> None:
    """From now on the token of this name is refused; ValueError if there is none."""
    delete = tokens.delete().where(tokens.c.name == name)
    if not store.database.run(lambda connection: connection.execute(delete).rowcount, write=True):
        raise ValueError(f"there is no token named {name!r}")
