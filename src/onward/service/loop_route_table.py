"""What can be asked of loops over HTTP, and what other routes have in common with that."""

from typing import Any

from onward.service import answer_types as a
from onward.service import loop_routes
from onward.service import request_types as r
from onward.service.configuration import LoopConfig
from onward.service.outcomes import Answer
from onward.service.routes import Parameter, Route

_LOOP = "/v1/loops/{loop}"
_CONFIG = {
    "policy": {"name": "LinTS", "lam": 1.0, "sigma": 0.5, "seed": 7},
    "reward": {"wait": "2h", "default": 0, "aggregate": "first"},
    "explore": 0.05,
    "mode": "online",
}
_ACTIONS = [
    {"id": "a", "features": {"x": 0.3, "topic": "sport"}},
    {"id": "b", "features": {"x": 0.7, "topic": "science"}},
]
_ASKED = {"event_id": "e1", "context": {"hour": 0.4, "device": "phone"}, "actions": _ACTIONS, "k": 1}
RANKING = [{"id": "a", "probability": 0.42}, {"id": "b", "probability": 0.58}]
_DECIDED = {"event_id": "e1", "action": "a", "probability": 0.42, "ranking": RANKING, "version": 17}
ONCE = "The same again changes nothing and gives the same answer, so a call may be repeated."
MADE_409 = {201: "It is new.", 409: "The name is taken by something else, or there are too many."}
DIGEST = Parameter(
    "digest",
    {"type": "string", "enum": ["true", "false"], "default": "false"},
    "Whether to give the digest of the state, which takes some time: the same only where all is, to the last bit.",
)
_TIME: dict[str, Any] = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}
_TIMES: list[Parameter] = [
    Parameter(
        "since", _TIME | {"examples": ["2026-01-31T12:00:00Z"]}, "From when on: ISO 8601, or seconds since 1970."
    ),
    Parameter("until", _TIME, "Until when, as since."),
]
LOG = [
    Parameter("format", {"type": "string", "enum": ["jsonl", "parquet"], "default": "jsonl"}, "Of the file."),
    *_TIMES,
]
LOG_TYPES = ("application/jsonl", "application/vnd.apache.parquet")


def _estimates(policy: dict[str, Any]) -> dict[str, Any]:
    one = {
        "method": "dr",
        "value": 0.31,
        "low": 0.29,
        "high": 0.33,
        "uncut": 0.31,
        "effective_samples": 812.0,
        "reliable": True,
    }
    return {"policy": policy, "estimates": [one | {"warnings": []}]}


LOOPS = [
    Route(
        "GET",
        "/v1/loops",
        loop_routes.list_names,
        "admin",
        "The loops and models there are",
        a.Names,
        gives={"loops": ["news"], "models": ["prices"]},
    ),
    Route(
        "PUT",
        _LOOP,
        loop_routes.put_loop,
        "admin",
        "Make a loop, or change its settings",
        a.LoopAnswer,
        LoopConfig,
        "Takes the settings as a whole: what is not told goes back to its default. GET gives them as `config`, to be "
        "changed and put back. What was learned stays. The features cannot change, and another policy comes by "
        "PUT …/policy: 409.",
        statuses=MADE_409,
        asks=_CONFIG,
        gives={"name": "news", "created": True, "config": _CONFIG},
    ),
    Route(
        "GET",
        _LOOP,
        loop_routes.get_loop,
        "admin",
        "What a loop has learned, in short",
        dict[str, Any],
        description="`config` holds the settings as PUT takes them.",
        gives={
            "learned": 1234,
            "pending": 17,
            "version": 1251,
            "seq": 2470,
            "mode": "online",
            "snapshot": {"seq": 2000, "at": 1769860800.0, "digest": "9f2c…"},
            "log": {"first": 2, "since": 1769860800.0, "base": 0, "retain_seconds": None},
            "config": _CONFIG,
        },
    ),
    Route("DELETE", _LOOP, loop_routes.delete_loop, "admin", "Delete a loop and its log", status=204),
    Route(
        "POST",
        f"{_LOOP}/decide",
        loop_routes.decide,
        "decide",
        "Decide: one of the actions, with its probability",
        Answer | list[Answer],
        r.DecideRequest | list[r.DecideRequest],
        "Takes one object, or a list of them for several decisions at once: then all are made, or, if something is "
        "wrong with one, none. An event_id that was seen before gives the first answer again.",
        asks=_ASKED,
        gives=_DECIDED,
    ),
    Route(
        "POST",
        f"{_LOOP}/rewards",
        loop_routes.reward,
        "reward",
        "Say what came of a decision",
        a.RewardAnswer | list[a.RewardAnswer],
        r.RewardRequest | list[r.RewardRequest],
        "Takes one object or a list. Answered when it is durable. A reward is never learned twice: " + ONCE.lower(),
        asks={"event_id": "e1", "value": 1.0},
        gives={"event_id": "e1", "status": "learned"},
    ),
    Route(
        "POST",
        f"{_LOOP}/activate",
        loop_routes.activate,
        "decide",
        "Say that a decision was used",
        a.ActivateAnswer | list[a.ActivateAnswer],
        r.ActivateRequest | list[r.ActivateRequest],
        "For decisions that were asked for with active = false: from now on a reward is expected.",
        asks={"event_id": "e1"},
        gives={"event_id": "e1", "status": "activated"},
    ),
    Route(
        "GET",
        f"{_LOOP}/state",
        loop_routes.get_state,
        "admin",
        "All that a loop has learned",
        dict[str, Any],
        description="Two servers, or a server and a fold by hand, know the same if seq and digest are the same.",
        parameters=[DIGEST],
        gives={"learned": 1234, "seq": 2470, "coefficients": {"x": 0.21}, "digest": "9f2c…"},
    ),
    Route(
        "GET",
        f"{_LOOP}/log",
        loop_routes.get_log,
        "admin",
        "The log, by time",
        str,
        description="An entry for each decision and reward and for whatever else changed the loop, in order: as JSON "
        "lines with all that they hold, or as Parquet with a column for each thing.",
        parameters=LOG,
        content_types=LOG_TYPES,
    ),
    Route(
        "GET",
        f"{_LOOP}/decisions",
        loop_routes.get_decisions,
        "admin",
        "The last decisions, with why",
        list[a.Explained],
        description="The estimate, its width and the probability of each action; the last decision first.",
        parameters=[Parameter("limit", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20}, "How many.")],
        gives=[
            {
                "event_id": "e1",
                "at": 1769860800.0,
                "version": 17,
                "action": "a",
                "probability": 0.42,
                "is_own": False,
                "context": {"hour": 0.4, "device": "phone"},
                "actions": [
                    {"id": "a", "probability": 0.42, "estimate": 0.3, "width": 0.1},
                    {"id": "b", "probability": 0.58, "estimate": 0.4, "width": 0.2},
                ],
            }
        ],
    ),
    Route(
        "POST",
        f"{_LOOP}/evaluate",
        loop_routes.evaluate,
        "admin",
        "What other policies would have earned on the log",
        a.EvaluateAnswer,
        r.EvaluateRequest,
        "By inverse propensities (ips), self-normalized (snips) and doubly robust (dr), each with an interval and with "
        "what speaks against it. Rewards are those that the loop counted. A policy is judged as it chooses by itself, "
        "among the actions that were available: without the share that the loop's `explore` gives to all of them.",
        asks={"policies": [{"name": "LinUCB", "alpha": 1.0}], "methods": ["dr"]},
        gives={
            "events": 1000,
            "left_out": 3,
            "pending": 0,
            "logged": 0.27,
            "policies": [_estimates({"name": "LinUCB", "alpha": 1.0})],
        },
    ),
    Route(
        "PUT",
        f"{_LOOP}/policy",
        loop_routes.put_policy,
        "admin",
        "Replace the policy, set a shadow, or go back",
        a.PolicyAnswer,
        r.PolicyRequest,
        "Exactly one of: policy, in place of the one there is; shadow, beside it (null: away with it); snapshot, back "
        "to what it knew then.",
        asks={"shadow": {"name": "LinUCB", "alpha": 1.0}},
        gives={
            "policy": {"name": "LinTS"},
            "shadow": {
                "policy": {"name": "LinUCB", "alpha": 1.0},
                "rewards": 0,
                "ips": None,
                "standard_error": None,
                "snips": None,
            },
            "version": 18,
            "previous": 17,
        },
    ),
    Route(
        "GET",
        f"{_LOOP}/snapshots",
        loop_routes.get_snapshots,
        "admin",
        "The states that are stored",
        list[a.SnapshotAnswer],
        gives=[{"seq": 1000, "version": 900, "at": 1769860800.0, "digest": "9f2c…"}],
    ),
]
