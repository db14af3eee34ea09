"""What others write against: paths, bodies, answers."""

import io
import json
from datetime import UTC, datetime, timedelta

import msgspec
import polars as pl
import pytest

from onward.service.configuration import LoopConfig, RewardRule
from onward.service.entries import Action, Begin, Decide, Entry, Expire
from onward.service.evaluation import evaluate_entries, judged_decisions
from onward.service.loop import Loop
from onward.service.request_types import EvaluateRequest
from tests.service.caller import Caller
from tests.service.conftest import CONFIG, asked
from tests.service.evaluating import EvaluatorHere


def test_a_decision_and_its_reward_as_the_contract_says(call: Caller) -> None:
    got = call("POST", "/v1/loops/news/decide", asked())
    assert got.status == 200
    assert got.headers["content-type"] == "application/json"
    answer = got.json
    assert list(answer) == ["event_id", "action", "probability", "ranking", "version"]
    assert answer["event_id"] == "e1"
    assert answer["ranking"][0]["id"] == answer["action"]
    assert {each["id"]: each["probability"] for each in answer["ranking"]}[answer["action"]] == answer["probability"]
    assert sum(each["probability"] for each in answer["ranking"]) == pytest.approx(1.0)
    assert call("POST", "/v1/loops/news/decide", asked(context={"hour": 9.0})).json == answer  # the first answer again

    assert call("POST", "/v1/loops/news/rewards", {"event_id": "e1", "value": 1.0}).json == {
        "event_id": "e1",
        "status": "learned",
    }
    several = [{"event_id": "e1", "value": 1.0}, {"event_id": "nobody", "value": 2}]
    statuses = [each["status"] for each in call("POST", "/v1/loops/news/rewards", several).json]
    assert statuses == ["already", "unknown"]
    state = call("GET", "/v1/loops/news").json
    assert (state["learned"], state["pending"], state["mode"]) == (1, 0, "online")
    assert state["version"] >= 1
    assert "coefficients" in call("GET", "/v1/loops/news/state").json


def test_several_decisions_at_once_are_answered_in_order_or_not_at_all(call: Caller) -> None:
    several = [asked(f"e{number}") for number in range(5)]
    answers = call("POST", "/v1/loops/news/decide", several).json
    assert [each["event_id"] for each in answers] == [f"e{number}" for number in range(5)]
    several = [asked(f"f{number}") for number in range(5)]
    several[3]["context"] = {"hour": [1]}
    got = call("POST", "/v1/loops/news/decide", several)
    assert got.status == 422
    assert got.json["error"]["field"] == "[3].context.hour"
    assert call("GET", "/v1/loops/news").json["pending"] == 5


def test_an_event_without_an_id_gets_one(call: Caller) -> None:
    body = asked(None)
    del body["event_id"]
    names = {call("POST", "/v1/loops/news/decide", body).json["event_id"] for _ in range(3)}
    assert len(names) == 3


def test_a_deferred_decision_waits_for_its_activation(call: Caller) -> None:
    call("POST", "/v1/loops/news/decide", asked(active=False))
    assert call("POST", "/v1/loops/news/activate", {"event_id": "e1"}).json["status"] == "activated"
    both = call("POST", "/v1/loops/news/activate", [{"event_id": "e1"}, {"event_id": "no"}]).json
    assert [each["status"] for each in both] == ["activated", "unknown"]


def test_loops_and_models_are_made_listed_and_deleted(call: Caller) -> None:
    assert call("PUT", "/v1/loops/news", CONFIG).status == 200
    assert call("PUT", "/v1/loops/more", {}).status == 201
    assert call("GET", "/v1/loops").json == {"loops": ["news", "more"], "models": ["prices"]}
    assert call("PUT", "/v1/loops/prices", CONFIG).status == 409
    gone = call("DELETE", "/v1/loops/more")
    assert (gone.status, gone.body) == (204, b"")
    assert call("DELETE", "/v1/loops/more").status == 404
    assert call("PUT", "/v1/loops/news", CONFIG | {"policy": {"name": "LinUCB"}}).status == 409


def test_the_log_by_time_as_json_lines_and_as_parquet(call: Caller) -> None:
    for number in range(3):
        call("POST", "/v1/loops/news/decide", asked(f"e{number}"))
    call("POST", "/v1/loops/news/rewards", {"event_id": "e2", "value": 0.5})
    got = call("GET", "/v1/loops/news/log")
    lines = [json.loads(line) for line in got.body.splitlines()]
    assert [each["content"]["kind"] for each in lines] == ["decide", "decide", "decide", "reward"]
    frame = pl.read_parquet(io.BytesIO(call("GET", "/v1/loops/news/log?format=parquet").body))
    assert frame["event_id"].to_list() == ["e0", "e1", "e2", "e2"]
    assert frame["value"].to_list() == [None, None, None, 0.5]
    assert frame["mode"].to_list() == ["online"] * 3 + [None]
    for row, line in zip(frame.head(3).to_dicts(), lines, strict=False):
        content = line["content"]
        assert row["action"] == content["actions"][content["chosen"]]["id"]
        assert json.loads(row["context"]) == content["context"]
        assert json.loads(row["actions"]) == content["actions"]
        for name in ("version", "probability", "probabilities", "estimates", "widths", "chosen", "ranking"):
            assert row[name] == content[name], name
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat().replace("+00:00", "Z")
    assert call("GET", f"/v1/loops/news/log?since={tomorrow}").body == b""
    assert len(call("GET", f"/v1/loops/news/log?until={tomorrow}").body.splitlines()) == 4
    assert call("GET", "/v1/loops/news/log?since=soon").json["error"]["field"] == "since"
    assert call("GET", "/v1/loops/news/log?format=xml").status == 422
    empty = pl.read_parquet(io.BytesIO(call("GET", f"/v1/loops/news/log?format=parquet&since={tomorrow}").body))
    assert empty.height == 0


def test_the_last_decisions_with_why(call: Caller) -> None:
    for number in range(3):
        call("POST", "/v1/loops/news/decide", asked(f"e{number}"))
    last = call("GET", "/v1/loops/news/decisions?limit=2").json
    assert [each["event_id"] for each in last] == ["e2", "e1"]
    assert set(last[0]["actions"][0]) == {"id", "probability", "estimate", "width"}
    for limit in ("0", "1001", "x", "-1", "٣"):
        assert call("GET", f"/v1/loops/news/decisions?limit={limit.encode().decode('latin-1')}").status == 422


def test_another_policy(call: Caller) -> None:
    shadowed = call("PUT", "/v1/loops/news/policy", {"shadow": {"name": "LinUCB"}}).json
    assert (shadowed["policy"]["name"], shadowed["shadow"]["policy"]["name"]) == ("LinTS", "LinUCB")
    assert call("PUT", "/v1/loops/news/policy", {"shadow": None}).json["shadow"] is None
    assert call("PUT", "/v1/loops/news/policy", {"policy": {"name": "LinUCB"}}).json["policy"] == {"name": "LinUCB"}
    assert call("PUT", "/v1/loops/news/policy", {"policy": {"name": "nothing"}}).status == 422
    assert call("PUT", "/v1/loops/news/policy", {"snapshot": 99}).status == 404
    for wrong in ({}, {"shadow": None, "snapshot": 1}):
        assert call("PUT", "/v1/loops/news/policy", wrong).status == 422


def test_a_model_learns_each_event_once_and_predicts_with_intervals(call: Caller) -> None:
    rows = [{"km": float(number), "city": "Rome"} for number in range(60)]
    body = {"event_id": "t1", "rows": rows, "targets": [2.0 * each["km"] for each in rows]}  # type: ignore[operator]
    assert call("POST", "/v1/models/prices/learn", body).json["status"] == "learned"
    again = call("POST", "/v1/models/prices/learn", body).json
    assert (again["status"], again["learned"]) == ("already", 0)
    got = call("POST", "/v1/models/prices/predict", {"rows": [{"km": 10.0, "city": "Rome"}]}).json
    (one,) = got["predictions"]
    assert one["low"] < one["value"] < one["high"]
    assert one["value"] == pytest.approx(20.0, abs=1.0)
    assert got["level"] == 0.95
    assert call("GET", "/v1/models/prices").json["learned"] == 60
    assert call("POST", "/v1/models/prices/learn", body | {"event_id": "t2", "targets": [1.0]}).status == 422
    assert call("DELETE", "/v1/models/prices").status == 204


def test_head_and_options(call: Caller) -> None:
    head = call("HEAD", "/v1/loops/news")
    assert head.status == 200
    options = call("OPTIONS", "/v1/loops/news")
    assert (options.status, options.headers["allow"]) == (204, "DELETE, GET, HEAD, OPTIONS, PUT")
    assert call("HEAD", "/v1/loops/news/log").body == b""


def test_health_readiness_and_metrics(call: Caller) -> None:
    assert call("GET", "/healthz").json["status"] == "ok"
    assert call("GET", "/readyz").status == 200
    call.application.service.reason = "the database is away"  # type: ignore[attr-defined]
    unready = call("GET", "/readyz")
    assert (unready.status, unready.json["reason"]) == (503, "the database is away")
    call("POST", "/v1/loops/news/rewards", {"event_id": "e1", "value": 1.0})
    text = call("GET", "/metrics").body.decode()
    assert 'onward_rewards_total{loop="news",status="unknown"} 1.0' in text
    assert 'onward_requests_total{method="POST",route="/v1/loops/{loop}/rewards",status="200"} 1.0' in text
    assert "onward_request_seconds_bucket" in text


def test_evaluation_offers_what_was_available_and_counts_what_the_loop_counted() -> None:
    rule = RewardRule(wait=10.0, default=0.0)
    loop = Loop("news", LoopConfig(policy={"name": "Random", "seed": 1}, explore=0.0, reward=rule))
    before = loop.config
    log: list[Entry] = []
    actions = [Action("a", {"x": 1.0}), Action("b", {"x": 0.5}), Action("c", {"x": 0.0})]

    def fold(entry: Entry) -> None:
        loop.fold(entry)
        log.append(entry)

    for i in range(300):
        entry = loop.propose(str(i), {}, actions, at=float(i), excluded=["a"] if i % 2 else ())
        fold(entry)
        assert isinstance(entry.content, Decide)
        fold(loop.propose_reward(str(i), 1.0 - 0.5 * entry.content.chosen, at=float(i)))
    features = list(loop.encoder.names.items())
    wanted = EvaluateRequest(policies=[{"name": "Greedy"}], methods=["dr"])
    [[found]] = [each.estimates for each in evaluate_entries(log, before, features, wanted).policies]
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0.75 <= found.high < 0.9  # a where it was available, else b: not 1
    # A wait that is shortened afterwards, and a reward that came too late, as the loop took them.
    del log[:]
    for event, at, said in (("w1", 400.0, 408.0), ("w2", 400.0, 411.0)):
        fold(loop.propose(event, {}, actions, at=at))
        fold(loop.propose_reward(event, 1.0, at=said))
    fold(Entry("news", Begin(msgspec.structs.replace(before, reward=RewardRule(wait=1.0))), at=412.0))
    fold(loop.propose("w3", {}, actions, at=413.0))
    fold(Entry("news", Expire(), at=414.0))
    judged = judged_decisions(log, before)
    assert (judged.rewards, judged.left_out, judged.is_online) == ([1.0, 0.0], 1, True)


def test_evaluation_of_too_much_is_refused_while_it_is_read(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onward.service.evaluation._MOST_DECISIONS", 3)
    call.application.evaluator = EvaluatorHere()
    call("POST", "/v1/loops/news/decide", [asked(f"e{i}") for i in range(4)])
    got = call("POST", "/v1/loops/news/evaluate", {"policies": [{"name": "LinUCB"}]})
    assert (got.status, got.json["error"]["field"]) == (422, "since")
    assert "at most 3 decisions" in got.json["error"]["message"]
