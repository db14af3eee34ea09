"""What tests of the service share: databases of both kinds, and an application without one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onward.service.store import Store, open_store
from tests.service.caller import Caller, make_application
from tests.service.memory_service import MemoryService
from tests.service.postgres import NoPostgresError, Postgres, postgres

CONFIG = {
    "policy": {"name": "LinTS", "lam": 1.0, "sigma": 0.5, "seed": 7},
    "reward": {"wait": "2h", "default": 0, "aggregate": "first"},
    "explore": 0.05,
    "mode": "online",
}


def asked(event_id: str | None = "e1", **more: Any) -> dict[str, Any]:
    """A decision that is asked for."""
    actions = [
        {"id": "a", "features": {"x": 0.3, "topic": "sport"}},
        {"id": "b", "features": {"x": 0.7, "topic": "art"}},
    ]
    return {"event_id": event_id, "context": {"hour": 0.4, "device": "phone"}, "actions": actions, "k": 1} | more


@pytest.fixture
def call() -> Iterator[Caller]:
    """An application with a loop, `news`, and a model, `prices`."""
    caller = Caller(make_application(MemoryService()))
    assert caller("PUT", "/v1/loops/news", CONFIG).status == 201
    assert caller("PUT", "/v1/models/prices", {"learner": "ridge", "settings": {"lam": 1.0}}).status == 201
    yield caller
    caller.close()


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[Postgres]:
    """Where there is no PostgreSQL, tests on it are skipped."""
    try:
        with postgres() as server:
            yield server
    except NoPostgresError as error:
        pytest.skip(str(error))


@pytest.fixture
def postgres_server(running_postgres: Postgres) -> Postgres:
    """A PostgreSQL with nothing in it."""
    running_postgres.empty()
    return running_postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'log.db'}"
    server: Postgres = request.getfixturevalue("postgres_server")
    return server.url


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A store in an empty database."""
    with open_store(url) as store:
        yield store
