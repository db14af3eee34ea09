"""The dialect of Azure Personalizer's clients."""

from typing import Any

import pytest

from tests.service.caller import Caller

RANK: dict[str, Any] = {
    "eventId": "75269AD0-BFEE-4598-8196-C57383D38E10",
    "contextFeatures": [{"timeOfDay": "Morning"}, {"device": {"kind": "phone", "width": 3}}],
    "actions": [
        {"id": "NewsArticle", "features": [{"type": "News", "tags": ["a", "b"]}]},
        {"id": "SportsArticle", "features": [{"type": "Sports", "sizes": [1, 2.5]}]},
        {"id": "Entertainment", "features": [{"type": "Entertainment"}]},
    ],
    "excludedActions": ["SportsArticle"],
    "deferActivation": False,
}
RANKED = "/personalizer/v1.0/rank?loop=news"


@pytest.mark.parametrize("version", ["v1.0", "v1.1-preview.3"])
def test_rank_and_reward(call: Caller, version: str) -> None:
    got = call("POST", f"/personalizer/{version}/rank?loop=news", RANK)
    assert got.status == 201
    answer = got.json
    assert set(answer) == {"ranking", "eventId", "rewardActionId"}
    assert answer["eventId"] == RANK["eventId"]
    chances = {each["id"]: each["probability"] for each in answer["ranking"]}
    assert chances["SportsArticle"] == 0.0
    assert chances[answer["rewardActionId"]] > 0
    reward = f"/personalizer/{version}/events/{RANK['eventId']}/reward"
    done = call("POST", reward, {"value": 1.0}, {"x-onward-loop": "news"})
    assert (done.status, done.body) == (204, b"")
    assert call("GET", "/v1/loops/news").json["learned"] == 1


def test_an_event_that_is_deferred_is_activated(call: Caller) -> None:
    call("POST", "/personalizer/v1.0/rank?loop=news", RANK | {"deferActivation": True, "eventId": "a/b"})
    assert call("POST", "/personalizer/v1.0/events/a%2Fb/activate?loop=news").status == 204
    assert call("POST", "/personalizer/v1.0/events/other/activate?loop=news").status == 404


def test_without_an_event_id_or_a_loop(call: Caller) -> None:
    got = call("POST", "/personalizer/v1.0/rank", {"actions": RANK["actions"]})
    assert (got.status, got.json["error"]["code"]) == (404, "ResourceNotFound")
    call("PUT", "/v1/loops/personalizer", {})
    got = call("POST", "/personalizer/v1.0/rank", {"actions": RANK["actions"], "eventId": None})
    assert got.status == 201
    assert got.json["eventId"]


def test_a_name_may_be_in_the_context_and_in_an_action(call: Caller) -> None:
    body = {"contextFeatures": [{"type": "evening", "x": 1}, {"device": {"kind": "phone"}}]}
    actions = [{"id": "a", "features": [{"type": "News", "x": 2}]}, {"id": "b", "features": [{"type": "Sports"}]}]
    call("PUT", "/v1/loops/both", {"features": {"interactions": False}})
    assert call("POST", "/personalizer/v1.0/rank?loop=both", body | {"actions": actions}).status == 201
    known = set(call("GET", "/v1/loops/both/state").json["coefficients"]) - {"intercept"}
    context = {"context.type=evening", "context.x", "context.device.kind=phone"}
    assert known == {"type=News", "type=Sports", "x"} | context


def test_limits_are_those_of_what_was_sent(call: Caller) -> None:
    body = {"actions": RANK["actions"], "contextFeatures": [{"n" * 97 + f"{i:03}": 0.5 for i in range(200)}]}
    call("PUT", "/v1/loops/wide", {"features": {"interactions": False, "max_new": 300}})
    assert call("POST", "/personalizer/v1.0/rank?loop=wide", body).status == 201


def test_exclusions_of_what_is_not_offered_are_ignored(call: Caller) -> None:
    body = RANK | {"excludedActions": ["SportsArticle", "gone"]}
    chances = {each["id"]: each["probability"] for each in call("POST", RANKED, body).json["ranking"]}
    assert {name for name, chance in chances.items() if chance == 0.0} == {"SportsArticle"}
    everything = [each["id"] for each in RANK["actions"]]
    got = call("POST", RANKED, RANK | {"eventId": "none", "excludedActions": everything})
    assert (got.status, got.json["error"]["target"]) == (422, "excluded")


def test_errors_have_their_shape(call: Caller) -> None:
    got = call("POST", "/personalizer/v1.0/rank?loop=news", RANK | {"actions": []})
    error = got.json["error"]
    assert (got.status, error["code"], error["target"]) == (422, "BadRequest", "actions")
    assert error["innererror"] == {"code": "invalid_value"}


@pytest.mark.parametrize("inner", ['{"x":%s}', "[%s]"])
def test_features_inside_each_other_without_end_are_refused(call: Caller, inner: str) -> None:
    for depth in (100, 900):
        before, after = inner.split("%s")
        nested = '{"x":' + before * depth + "1" + after * depth + "}"
        body = '{"actions":[{"id":"a"}],"contextFeatures":[' + nested + "]}"
        got = call("POST", "/personalizer/v1.0/rank?loop=news", body.encode())
        assert got.status == 422
        assert "inside each other" in got.json["error"]["message"]
