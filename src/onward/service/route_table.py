"""All that can be asked for over HTTP. Routing, roles, decoding, the OpenAPI document and /docs are made of this."""

from typing import Any

from onward.service import answer_types as a
from onward.service import model_routes, personalizer, site_routes
from onward.service import request_types as r
from onward.service.configuration import ModelConfig
from onward.service.loop_route_table import DIGEST, LOG, LOG_TYPES, LOOPS, MADE_409, ONCE, RANKING
from onward.service.routes import Route

_MODEL, _RANK = "/v1/models/{model}", "/personalizer/{version}"
_MODEL_CONFIG = {"learner": "ridge", "settings": {"lam": 1.0}, "level": 0.95}

MODELS = [
    Route(
        "PUT",
        _MODEL,
        model_routes.put_model,
        "admin",
        "Make a regression model, or change its settings",
        a.ModelAnswer,
        ModelConfig,
        "Takes the settings as a whole. Of a model that is there only `retain` can change.",
        statuses=MADE_409,
        asks=_MODEL_CONFIG,
        gives={"name": "prices", "created": True, "config": _MODEL_CONFIG},
    ),
    Route(
        "GET",
        _MODEL,
        model_routes.get_model,
        "admin",
        "What a model has learned",
        dict[str, Any],
        gives={"learned": 1234, "version": 1234},
    ),
    Route(
        "GET",
        f"{_MODEL}/state",
        model_routes.get_model_state,
        "admin",
        "All that a model has learned",
        dict[str, Any],
        parameters=[DIGEST],
        gives={"learned": 1234, "seq": 1235, "coefficients": {"km": 2.0}, "digest": "9f2c…"},
    ),
    Route(
        "GET",
        f"{_MODEL}/log",
        model_routes.get_model_log,
        "admin",
        "The log of a model, by time",
        str,
        description="An entry for the rows of each call, in order, as JSON lines or Parquet.",
        parameters=LOG,
        content_types=LOG_TYPES,
    ),
    Route("DELETE", _MODEL, model_routes.delete_model, "admin", "Delete a model and its log", status=204),
    Route(
        "POST",
        f"{_MODEL}/predict",
        model_routes.predict,
        "decide",
        "Predict rows, with intervals",
        a.PredictAnswer,
        r.PredictRequest,
        asks={"rows": [{"km": 12.5, "city": "Rome"}]},
        gives={"predictions": [{"value": 3.2, "low": 2.1, "high": 4.3}], "level": 0.95, "version": 1234},
    ),
    Route(
        "POST",
        f"{_MODEL}/learn",
        model_routes.learn,
        "reward",
        "Learn rows",
        a.LearnAnswer,
        r.LearnRequest,
        "Answered when it is durable. With an event_id: " + ONCE.lower(),
        asks={"event_id": "t1", "rows": [{"km": 12.5, "city": "Rome"}], "targets": [3.0]},
        gives={"event_id": "t1", "status": "learned", "learned": 1, "version": 1235, "refused": 0},
    ),
]

PERSONALIZER = [
    Route(
        "POST",
        f"{_RANK}/rank",
        personalizer.rank,
        "decide",
        "Rank, as Personalizer's clients ask",
        a.RankAnswer,
        r.RankRequest,
        "Of the version in the path any is taken.",
        status=201,
        parameters=personalizer.PARAMETERS,
        error_shape=personalizer.error_shape,
        asks={
            "eventId": "e1",
            "contextFeatures": [{"device": "phone"}],
            "actions": [{"id": "a", "features": [{"topic": "sport"}]}, {"id": "b", "features": [{"topic": "art"}]}],
            "excludedActions": [],
            "deferActivation": False,
        },
        gives={"ranking": RANKING, "eventId": "e1", "rewardActionId": "a"},
    ),
    Route(
        "POST",
        f"{_RANK}/events/{{event}}/reward",
        personalizer.reward,
        "reward",
        "Reward, as Personalizer's clients send it",
        body=r.RankReward,
        status=204,
        parameters=personalizer.PARAMETERS,
        error_shape=personalizer.error_shape,
        asks={"value": 1.0},
    ),
    Route(
        "POST",
        f"{_RANK}/events/{{event}}/activate",
        personalizer.activate,
        "decide",
        "Activate, as Personalizer's clients ask",
        status=204,
        parameters=personalizer.PARAMETERS,
        error_shape=personalizer.error_shape,
    ),
]

SITE = [
    Route("GET", "/", site_routes.page, "open", "What the loops do, for people", str, content_types=("text/html",)),
    Route("GET", "/healthz", site_routes.healthz, "open", "Whether the server lives", a.Health, gives={"status": "ok"}),
    Route(
        "GET",
        "/readyz",
        site_routes.readyz,
        "open",
        "Whether it can serve",
        a.Health,
        description="The database can be reached, and the loops are loaded.",
        statuses={503: "Not now; the reason says why."},
        gives={"status": "ok"},
    ),
    Route("GET", "/metrics", site_routes.metrics, "any", "Numbers for Prometheus", str, content_types=("text/plain",)),
    Route("GET", "/openapi.json", site_routes.openapi, "open", "This description, for programs", dict[str, Any]),
    Route("GET", "/docs", site_routes.docs, "open", "This description, for people", str, content_types=("text/html",)),
]

ROUTES = [*LOOPS, *MODELS, *PERSONALIZER, *SITE]
