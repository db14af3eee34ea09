"""The OpenAPI document says what is done, and the page shows it."""

import html
import re
from collections import Counter
from typing import Any

import hypothesis
import jsonschema_rs
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase

from onward.service.route_table import ROUTES
from onward.service.routes import Route
from tests.service import fuzz_server
from tests.service.caller import Caller, make_application
from tests.service.conftest import CONFIG, asked
from tests.service.evaluating import EvaluatorHere
from tests.service.fuzz_bodies import fuzz
from tests.service.memory_service import MemoryService

EXAMPLES = [route for route in ROUTES if route.body is not None or route.gives is not None]


@pytest.mark.parametrize("route", EXAMPLES, ids=lambda route: route.name)
def test_examples_are_of_the_types_they_stand_for(route: Route) -> None:
    if route.asks is not None:
        msgspec.convert(route.asks, route.body)
    if route.gives is not None:
        msgspec.convert(route.gives, route.answer)


def test_every_route_is_in_the_document_and_on_the_page(call: Caller) -> None:
    document = call("GET", "/openapi.json").json
    page = call("GET", "/docs").body.decode()
    for route in ROUTES:
        told = document["paths"][route.path][route.method.lower()]
        assert told["x-role"] == route.role
        assert f'id="{told["operationId"]}"' in page
    names = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert len(set(names)) == len(ROUTES)
    assert not re.search(r'(src|href)="(https?:)?//', page)  # it asks nobody for anything
    assert "GET gives them as <code>config</code>, to be changed" in page


def test_fields_are_described_in_the_document_and_on_the_page(call: Caller) -> None:
    components = call("GET", "/openapi.json").json["components"]["schemas"]
    page = html.unescape(re.sub("<[^>]*>", "", call("GET", "/docs").body.decode()))
    for name in (
        "LoopConfig",
        "RewardRule",
        "FeatureRule",
        "DecideRequest",
        "RewardRequest",
        "PolicyRequest",
        "Answer",
    ):
        for field, schema in components[name]["properties"].items():
            assert not schema["description"][0].islower(), (name, field)
            assert schema["description"].replace("`", "") in page, (name, field)
    assert '"observe": as that' in components["LoopConfig"]["properties"]["mode"]["description"]
    assert ", LinTS, " in components["LoopConfig"]["properties"]["policy"]["description"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("LoopConfig", {"policy": {}}),
        ("LoopConfig", {"retain": "soon"}),
        ("LoopConfig", {"reward": {"wait": -1}}),
        ("RewardRequest", {"event_id": "e1", "value": 1.0, "reward_id": ""}),
        ("RewardRequest", {"event_id": "e1", "value": 1e300}),
        ("DecideRequest", {"actions": [{"id": "a"}], "event_id": ""}),
        ("DecideRequest", {"actions": [{"id": "a"}], "subject": "a\x00"}),
        ("PolicyRequest", {"policy": {"name": "LinUCB"}, "shadow": None}),
        ("PolicyRequest", {}),
        ("PolicyRequest", {"snapshot": 2**63}),  # no database has such a whole number
        ("LearnRequest", {"rows": [{"x": 1}], "targets": [1], "weights": []}),
        ("EvaluateRequest", {"policies": [{"name": "LinUCB"}], "since": "soon"}),
    ],
)
def test_what_is_refused_whatever_there_is_does_not_fit_the_document(call: Caller, name: str, body: Any) -> None:
    document = call("GET", "/openapi.json").json
    path, route = next((each.path, each) for each in ROUTES if name in str(each.body))
    got = call(route.method, path.format(loop="news", model="prices"), body)
    assert got.status == 422
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    assert not jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(body)
    assert jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(route.asks)


def test_answers_are_what_the_document_says(call: Caller) -> None:
    document = call("GET", "/openapi.json").json
    call.application.evaluator = EvaluatorHere()
    for route in ROUTES:
        if route.method == "DELETE" or "personalizer" in route.path:
            continue
        path = re.sub(r"\{loop\}", "news", route.path).replace("{model}", "prices")
        got = call(route.method, path, route.asks)
        told = document["paths"][route.path][route.method.lower()]["responses"][str(got.status)]
        if got.headers["content-type"] == "application/json":
            schema = told["content"]["application/json"]["schema"] | {"components": document["components"]}
            jsonschema_rs.validator_for(schema).validate(got.json)


def test_schemathesis_finds_nothing() -> None:
    application = make_application(MemoryService())
    application.evaluator = EvaluatorHere()
    caller = Caller(application)

    def fill() -> None:
        for name in ("news", "personalizer"):
            caller("PUT", f"/v1/loops/{name}", CONFIG)
        caller("PUT", "/v1/models/prices", {})
        for number in range(3):
            caller("POST", "/v1/loops/news/decide", asked(f"f{number}"))
            caller("POST", "/v1/loops/news/rewards", {"event_id": f"f{number}", "value": number})

    fill()
    document = caller("GET", "/openapi.json").json
    for path, operations in document["paths"].items():  # names that there are, mostly: others are answered with 404
        for parameter in (each for told in operations.values() for each in told.get("parameters", [])):
            if parameter["in"] == "path" and parameter["name"] in {"loop", "model"}:
                sure = path.endswith(("/evaluate", "/decide"))
                parameter["schema"] = {"enum": ["news"] if sure else ["news", "prices", "none"]}
            if parameter["name"] in {"since", "until"}:
                parameter["schema"] = {"enum": ["2026-01-31T12:00:00Z", "1e12", "soon"]}
    decided = document["components"]["schemas"]["DecideRequest"]["properties"]
    for field, allowed in (("taken", [None]), ("probability", [None]), ("excluded", [[], ["none"]])):
        decided[field] = {"enum": allowed}  # what a loop that decides itself takes
    asked_for = document["components"]["schemas"]["EvaluateRequest"]["properties"]
    asked_for["policies"]["items"] = {"enum": [{"name": "LinUCB"}, {"name": "Greedy"}]}
    for name, values in (("since", [None, 0.0]), ("until", [None, 1e12]), ("reward_range", [None, [0.0, 2.0]])):
        asked_for[name] = {"enum": values}  # what evaluation takes, mostly: odd bodies are below
    schema: Any = schemathesis.openapi.from_dict(document)
    schema.app = application
    # What fits the schema may still be wrong: two actions of one id, a policy that there is not. That is a 422.
    beyond = schemathesis.checks.CHECKS.get_one("positive_data_acceptance")
    how = hypothesis.settings(
        max_examples=8,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    statuses: Counter[tuple[str, str, int]] = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()

        @hypothesis.given(case=operation.as_strategy())
        @how
        def try_it(case: Any) -> None:
            response = case.call_and_validate(headers={"host": "127.0.0.1"}, excluded_checks=[beyond])
            statuses[case.operation.method, case.operation.path, response.status_code] += 1
            if case.operation.method == "delete":
                fill()

        try_it()
    caller.close()
    done = {(method, path) for method, path, status in statuses if status < 300}
    assert {route.method.lower() for route in ROUTES} == {method for method, _ in done}
    for way in ("decide", "rewards", "evaluate", "log", "state"):
        assert {path for _, path in done} >= {f"/v1/loops/{{loop}}/{way}"}, way


def test_odd_bodies_never_give_a_500() -> None:
    found = fuzz(2000, seed=1)
    assert {status for _, status in found} <= {200, 201, 204, 400, 404, 409, 413, 422}
    assert sum(times for (_, status), times in found.items() if status < 300) > 200  # they are not all refused at once
    assert len({name for name, _ in found}) > 8


def test_odd_requests_to_a_real_server_never_give_a_500() -> None:
    found = fuzz_server.fuzz(n_bodies=300, n_examples=3)
    assert not [(name, status) for name, status in found if status >= 500]
    assert {route.name for route in ROUTES} - {name for name, _ in found} <= {"GET /openapi.json"}


def test_the_example_of_another_policy_is_as_it_is_answered(call: Caller) -> None:
    route = next(each for each in ROUTES if each.name == "PUT /v1/loops/{loop}/policy")
    answer = call("PUT", "/v1/loops/news/policy", route.asks).json
    assert set(answer) == set(route.gives)
    assert answer["shadow"] == route.gives["shadow"]
