"""Who may do what, over all routes of the table."""

import re
from collections.abc import Iterator

import pytest

from onward.service.access import Access, is_loopback
from onward.service.http_errors import HttpError
from onward.service.route_table import ROUTES
from onward.service.routes import Route
from onward.service.store_values import ROLES
from onward.service.tokens import hash_token
from tests.service.caller import Caller, make_application
from tests.service.memory_service import MemoryService

TOKENS = {role: f"token-of-{role}" for role in ROLES}


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    access = Access(open_without_tokens=True)
    access.renew({hash_token(token): frozenset([role]) for role, token in TOKENS.items()})
    caller = Caller(make_application(MemoryService(), access))
    yield caller
    caller.close()


def attempt(call: Caller, route: Route, token: str | None, header: str = "authorization") -> int:
    path = re.sub(r"\{\w+\}", "x", route.path)
    sent = {} if token is None else {header: token}
    return call(route.method, path, route.asks, sent).status


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_no_token_a_wrong_one_and_a_lower_role_never_get_in(call: Caller, route: Route) -> None:
    statuses = [
        attempt(call, route, sent)
        for sent in (
            None,
            "Bearer nonsense",
            "Bearer ",
            "Basic dG9rZW4=",
            TOKENS["admin"],
            f"Bearer {TOKENS['admin']}x",
        )
    ]
    assert all((status == 401) == (route.role != "open") for status in statuses), statuses
    for role in ROLES:
        status = attempt(call, route, f"Bearer {TOKENS[role]}")
        may = role == "admin" or route.role in {role, "any", "open"}
        assert status != 401
        assert (status != 403) == may


def test_personalizers_clients_send_their_key_in_a_header_of_its_own(call: Caller) -> None:
    (route,) = (each for each in ROUTES if each.path.endswith("/rank"))
    assert attempt(call, route, TOKENS["decide"], "ocp-apim-subscription-key") == 404  # let in: there is no loop
    assert attempt(call, route, TOKENS["reward"], "ocp-apim-subscription-key") == 403


def test_a_token_may_have_several_roles() -> None:
    access = Access(open_without_tokens=False)
    access.renew({hash_token("t"): frozenset(["decide", "reward"])})
    for role in ("decide", "reward", "any"):
        assert access.check("t", role) == hash_token("t")
    with pytest.raises(HttpError, match="role admin"):
        access.check("t", "admin")


def test_without_tokens_only_this_machine_may_ask() -> None:
    assert Access(open_without_tokens=True).check(None, "admin") is None
    with pytest.raises(HttpError):
        Access(open_without_tokens=False).check(None, "decide")
    for host in ("127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"):
        assert is_loopback(host)
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org", ""):
        assert not is_loopback(host)


def test_the_roles_of_routes_are_those_that_were_promised() -> None:
    found: dict[str, set[str]] = {}
    for route in ROUTES:
        found.setdefault(route.role, set()).add(route.path.rpartition("/")[2])
    assert found["decide"] == {"decide", "activate", "predict", "rank"}
    assert found["reward"] == {"rewards", "reward", "learn"}
    assert found["any"] == {"metrics"}
    assert found["open"] == {"healthz", "readyz", "openapi.json", "docs", ""}  # the page at / holds no data itself


def test_removing_the_last_token_lets_nobody_in() -> None:
    access = Access(open_without_tokens=True)
    access.renew({})
    assert access.is_open
    access.renew({hash_token("t"): frozenset(["admin"])})
    access.renew({})
    assert not access.is_open
    for token in (None, "t"):
        with pytest.raises(HttpError):
            access.check(token, "admin")
