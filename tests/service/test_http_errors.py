"""Whatever is wrong is answered in one shape, and changes nothing."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from onward.service.entries import Entry, Expire
from onward.service.request_log import RequestLog
from onward.service.store_errors import StoreError
from tests.service.caller import Caller, Got, make_application
from tests.service.conftest import CONFIG, asked
from tests.service.evaluating import EvaluatorHere
from tests.service.memory_service import MemoryService

DECIDE = "/v1/loops/news/decide"
ONE = b'{"event_id":"e","actions":[{"id":"a","features":{"x":%s}}]}'


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        (b"", 400, "malformed_json", None),
        (b"{", 400, "malformed_json", None),
        (b"\xff\xfe", 400, "malformed_json", None),
        (ONE % b'"\xff"', 400, "malformed_json", None),
        (ONE % b'"\\ud800"', 400, "malformed_json", None),
        (ONE % b"NaN", 400, "malformed_json", None),
        (ONE % b"1e999", 422, "invalid_body", "actions[0].features[...]"),
        (ONE % (b"9" * 300), 422, "bad_feature", "actions[0].features.x"),
        (ONE % b"1e200", 422, "bad_feature", "actions[0].features.x"),
        (ONE % (b"[" * 5000 + b"]" * 5000), 400, "malformed_json", None),
        (ONE % (b'{"a":' * 50 + b"1" + b"}" * 50), 422, None, None),
        (ONE % b"[1]", 422, "bad_feature", "actions[0].features.x"),
        (b"[]", 422, "invalid_value", None),
        (b"3", 422, "invalid_body", None),
        (b"null", 422, "invalid_body", None),
        (b"{}", 422, "invalid_body", "actions"),
        (b'[{"actions":[{"id":"a"}]},{}]', 422, "invalid_body", "[1].actions"),
        (b'{"actions":[{"id":"a"},{}]}', 422, "invalid_body", "actions[1].id"),
        (b'{"actions":[]}', 422, "invalid_value", "actions"),
        (b'{"actions":[{"id":""}]}', 422, "invalid_value", "actions[0].id"),
        (b'{"actions":[{"id":"a\\u0000"}]}', 422, "invalid_value", "actions[0].id"),
        (b'{"actions":[{"id":"\xc2\x85"}]}', 422, "invalid_value", "actions[0].id"),
        (b'{"actions":[{"id":1}]}', 422, "invalid_body", "actions[0].id"),
        (b'{"actions":[{"id":"a"},{"id":"a"}]}', 422, None, None),
        (b'{"actions":[{"id":"a"}],"k":0}', 422, "invalid_body", "k"),
        (b'{"actions":[{"id":"a"}],"other":0}', 422, "invalid_body", "other"),
        (b'{"actions":[{"id":"a","other":0}]}', 422, "invalid_body", "actions[0].other"),
        (b'[{"actions":[{"id":"a"}]},{"actions":[{"id":7}]}]', 422, "invalid_body", "[1].actions[0].id"),
        (b'[{"actions":[{"id":"a"}]},{"actions":[]}]', 422, "invalid_value", "[1].actions"),
    ],
)
def test_bad_bodies(call: Caller, body: bytes, status: int, code: str | None, field: str | None) -> None:
    before = call("GET", "/v1/loops/news/state").json
    got = call("POST", DECIDE, body, {"content-type": "application/json"})
    assert got.status == status
    assert list(got.json) == ["error"]
    error = got.json["error"]
    assert list(error) == ["code", "message", "field"]
    if code is not None:
        assert (error["code"], error["field"]) == (code, field)
    assert call("GET", "/v1/loops/news/state").json == before


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "code"),
    [
        ("GET", "/nothing", {}, 404, "unknown_path"),
        ("GET", "/v1/loops/", {}, 404, "unknown_path"),
        ("GET", "/v1/loops/none", {}, 404, "unknown_loop"),
        ("GET", "/v1/models/news", {}, 404, "unknown_model"),
        ("GET", "/v1/loops/a%20b", {}, 422, "invalid_value"),
        ("GET", "/v1/loops/%ff", {}, 400, "malformed_path"),
        ("PATCH", "/v1/loops/news", {}, 405, "other_method"),
        ("DELETE", DECIDE, {}, 405, "other_method"),
        ("GET", "/v1/loops/news/log?unknown=1", {}, 422, "unknown_parameter"),
        ("POST", DECIDE, {"content-length": "9" * 30}, 413, "body_too_large"),
        ("POST", DECIDE, {"origin": "http://evil.example"}, 403, "other_origin"),
        ("POST", DECIDE, {"host": "evil.example"}, 403, "other_host"),
        ("POST", DECIDE, {"content-type": "text/plain"}, 415, "other_content_type"),
        ("POST", DECIDE, {"content-type": "application/x-www-form-urlencoded"}, 415, "other_content_type"),
        ("POST", DECIDE, {"host": "127.0.0.1", "x-forwarded-for": "1.2.3.4"}, 403, "forwarded"),
    ],
)
def test_bad_requests(call: Caller, method: str, path: str, headers: dict[str, str], status: int, code: str) -> None:
    got = call(method, path, asked() if method == "POST" else None, headers)
    assert (got.status, got.json["error"]["code"]) == (status, code)
    if status == 405:
        assert "POST" in got.headers["allow"] or "PUT" in got.headers["allow"]


def test_limits_are_kept_and_can_be_set() -> None:
    limits: dict[str, Any] = {"body_bytes": 600, "actions": 2, "batch": 2, "features": 2, "id_length": 5, "loops": 1}
    call = Caller(make_application(MemoryService(), **limits, name_length=4, text_length=6))
    call("PUT", "/v1/loops/news", CONFIG)
    assert call("PUT", "/v1/loops/another", CONFIG).json["error"]["code"] == "too_many_loops"
    a = {"id": "a"}
    good = {"actions": [a], "event_id": "12345", "context": {"x": "123456"}}
    assert call("POST", DECIDE, good).status == 200
    for wrong, field in (
        ({"actions": [a, {"id": "b"}, {"id": "c"}]}, "actions"),
        ({"event_id": "123456"}, "event_id"),
        ({"subject": "123456"}, "subject"),
        ({"context": {"x": 1, "y": 1, "z": 1}}, "context"),
        ({"context": {"12345": 1}}, "context"),
        ({"context": {"x": "1234567"}}, "context.x"),
        ({"context": {"x": {"y": "1234567"}}}, "context.x.y"),
        ({"actions": [a, {"id": "b", "features": {"12345": 1}}]}, "actions[1].features"),
    ):
        got = call("POST", DECIDE, good | wrong)
        assert (got.status, got.json["error"]["field"]) == (422, field)
    assert call("POST", DECIDE, [good] * 3).status == 422
    assert call("POST", "/v1/loops/news/rewards", [{"event_id": "1", "value": 1}] * 3).status == 422
    for parts in (1, 7):  # with and without a length that is told before
        assert call("POST", DECIDE, b" " * 601, parts=parts).status == 413
    call.close()


def test_an_answer_that_breaks_off_is_not_begun_again() -> None:
    class Broken(MemoryService):
        async def log(self, name: str, since: float | None, until: float | None) -> AsyncIterator[list[Entry]]:
            if since is None:
                yield [Entry(name, Expire())]
            raise StoreError("away")

    call = Caller(make_application(Broken()))
    call("PUT", "/v1/loops/news", {})
    got = call("GET", "/v1/loops/news/log")
    assert (got.status, len(got.body.splitlines())) == (200, 1)
    assert call("GET", "/v1/loops/news/log?since=2020-01-01").status == 503
    assert call("GET", "/nowhere").headers["x-request-id"]
    call.close()


@pytest.mark.parametrize("path", [DECIDE, "/personalizer/v1/rank?loop=news"])
def test_a_call_that_is_ended_by_a_stop_is_told_to_ask_again(path: str) -> None:
    class Slow(MemoryService):
        async def decide(self, name: str, asked: Any) -> Any:
            await asyncio.sleep(60)

    async def work() -> Got:
        task = asyncio.create_task(call.call("POST", path, b'{"actions":[{"id":"a"}]}', {}))
        await asyncio.sleep(0.05)
        task.cancel()  # as uvicorn does when it has waited long enough
        return await task

    call = Caller(make_application(Slow()))
    call("PUT", "/v1/loops/news", {})
    got = call._loop.run_until_complete(work())
    assert (got.status, got.headers["retry-after"]) == (503, "1")
    error = got.json["error"]
    assert error.get("innererror", error)["code"] == "unavailable"
    assert "ask again" in error["message"]
    call.close()


@pytest.mark.parametrize(
    ("extreme", "inside"),
    [
        ({"clip": 1e-300}, {"clip": 1e-6}),
        ({"clip": 1e300}, {"clip": 1e12}),
        ({"delta": 5e-324}, {"delta": 1e-12}),
        ({"reward_range": [0, 1e300]}, {"reward_range": [-1e20, 1e20]}),
    ],
)
def test_extremes_of_an_evaluation_are_refused_and_what_is_allowed_is_answered(
    extreme: dict[str, Any], inside: dict[str, Any]
) -> None:
    application = make_application(MemoryService())
    application.evaluator = EvaluatorHere()
    call = Caller(application)
    call("PUT", "/v1/loops/news", CONFIG)
    for number in range(3):
        call("POST", DECIDE, asked(f"e{number}"))
        call("POST", "/v1/loops/news/rewards", {"event_id": f"e{number}", "value": number})
    for interval in ("normal", "empirical_bernstein", "anytime"):
        body: dict[str, Any] = {
            "policies": [{"name": "LinUCB"}],
            "methods": ["ips", "dr"],
            "interval": interval,
            "reward_range": [0, 2],
        }
        got = call("POST", "/v1/loops/news/evaluate", body | extreme)
        assert (got.status, got.json["error"]["field"].partition("[")[0]) == (422, next(iter(extreme)))
        assert call("POST", "/v1/loops/news/evaluate", body | inside).status == 200
    call.close()


def test_the_rate_of_a_client_is_limited_and_says_when_to_come_again() -> None:
    call = Caller(make_application(MemoryService(), rate=0.5, burst=3))
    statuses = [call("GET", "/v1/loops").status for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert call("GET", "/v1/loops").headers["retry-after"] == "2"
    assert call("GET", "/healthz").status == 200
    call.close()


def test_a_fault_of_ours_is_one_line_in_the_log_without_what_was_sent() -> None:
    class Broken(MemoryService):
        async def decide(self, name: str, asked: Any) -> Any:
            raise KeyError("secret-payload")

    written = io.StringIO()
    application = make_application(Broken())
    application._log = RequestLog(file=written)
    call = Caller(application)
    got = call("POST", DECIDE, asked("secret-event"), {"authorization": "Bearer secret-token", "x-request-id": "r1"})
    assert (got.status, got.json["error"]["code"]) == (500, "internal_error")
    application._log.flush()
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [each["message"] for each in lines] == ["unexpected error", "request"]
    assert "secret" not in written.getvalue()
    assert "KeyError" in lines[0]["trace"]
    told = {name: lines[1][name] for name in ("method", "route", "status", "loop", "request_id")}
    assert told == {
        "method": "POST",
        "route": "/v1/loops/{loop}/decide",
        "status": 500,
        "loop": "news",
        "request_id": "r1",
    }
    call.close()


def test_ids_are_those_that_the_document_allows(call: Caller) -> None:
    ids = ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u00ad", "\ue000", "a b"]
    for each in ids:
        got = call("POST", DECIDE, {"event_id": each, "subject": each, "actions": [{"id": each}]})
        assert (got.status, got.json["action"]) == (200, each)


def test_bodies_are_json_and_may_say_so_in_several_ways(call: Caller) -> None:
    body = b'{"actions":[{"id":"a"}]}'
    for said in ("application/json", "Application/JSON; charset=utf-8", ""):
        assert call("POST", DECIDE, body, {"content-type": said}).status == 200
    told = call("GET", "/openapi.json").json["paths"]
    assert "415" in told["/v1/loops/{loop}/decide"]["post"]["responses"]
    assert "415" not in told["/v1/loops/{loop}"]["get"]["responses"]


def test_names_of_models_are_not_empty(call: Caller) -> None:
    for way, more in (("predict", {}), ("learn", {"targets": [1.0, 2.0]})):
        got = call("POST", f"/v1/models/prices/{way}", {"rows": [{"km": 1.0}, {"": 1.0}]} | more)
        assert (got.status, got.json["error"]["field"]) == (422, "rows[1]")
        assert "got the empty name" in got.json["error"]["message"]
