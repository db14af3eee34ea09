"""Azure Personalizer's rank, reward and activate, so that its clients go on with another address.

Of the version in the path any is taken. The loop is that of the header `x-onward-loop` or of the query `loop`;
without either it is `personalizer`. Errors have Personalizer's codes.
"""

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from onward.service.answer_types import RankAnswer
from onward.service.application import Call
from onward.service.entries import Action, Values
from onward.service.http_errors import HttpError, missing, unfit
from onward.service.outcomes import Ranked
from onward.service.parameters import NAME_PATTERN, check_name
from onward.service.request_types import DecideRequest, RankRequest, RewardRequest
from onward.service.routes import Parameter

DEFAULT_LOOP = "personalizer"
CONTEXT = "context"  # what the names of the context's features begin with
_DEEPEST = 32  # objects and lists inside each other
_encode = msgspec.json.Encoder().encode

_NAME = {"type": "string", "pattern": f"^{NAME_PATTERN}$"}
PARAMETERS = (
    Parameter("loop", _NAME | {"default": DEFAULT_LOOP}, "Which loop."),
    Parameter("x-onward-loop", _NAME, "Which loop, for clients that cannot set the query.", "header"),
)


def error_shape(error: HttpError) -> bytes:
    """An error as Personalizer's clients read it."""
    code = "ResourceNotFound" if error.status == 404 else "BadRequest" if error.status < 500 else "InternalServerError"
    inner = {"code": error.code}
    return _encode({"error": {"code": code, "message": error.message, "target": error.field, "innererror": inner}})


async def rank(call: Call) -> Any:
    """Decide."""
    name, asked = _loop(call), decision_of(call.body)
    call.application.limits.check_decision(asked)
    # Of their own, since clients may have one name in the context and in an action, meaning two things
    context = {f"{CONTEXT}.{each}": value for each, value in asked.context.items()}
    answer = (await call.service.decide(name, (msgspec.structs.replace(asked, context=context),)))[0]
    ranked = {each.id for each in answer.ranking}
    # Personalizer's clients find excluded actions in the ranking as well.
    excluded = [Ranked(each.id, 0.0) for each in asked.actions if each.id not in ranked]
    return RankAnswer([*answer.ranking, *excluded], answer.event_id, answer.action)


async def reward(call: Call) -> None:
    """Take the reward of an event."""
    name, event_id = _loop(call), _event(call)
    status = (await call.service.reward(name, [RewardRequest(event_id, call.body.value)]))[0]
    call.application.metrics.count_reward(name, status)
    if status == "unknown":
        raise missing("unknown_event", "there is no event of this id")


async def activate(call: Call) -> None:
    """Expect the reward of an event."""
    if (await call.service.activate(_loop(call), [_event(call)]))[0] == "unknown":
        raise missing("unknown_event", "there is no event of this id")


def decision_of(asked: RankRequest) -> DecideRequest:
    """The same in our own words: features that are lists of objects become one object."""
    ids = {each.id for each in asked.actions}
    return DecideRequest(
        actions=[Action(each.id, joined(each.features or ())) for each in asked.actions],
        event_id=asked.event_id or uuid.uuid4().hex,
        context=joined(asked.context_features or ()),
        active=not asked.defer_activation,
        excluded=[each for each in asked.excluded_actions or () if each in ids],  # others exclude nothing
    )


def joined(parts: Sequence[Values]) -> Values:
    """Objects as one. A list of numbers or texts inside, which Personalizer takes, becomes a name for each."""
    together: Values = {}
    for part in parts:
        for name, value in part.items():
            if name in together:
                raise unfit(f"expected each name once, got {name[:80]!r} twice", "features")
            together[name] = _plain(value)
    return together


def _plain(value: Any, depth: int = 1) -> Any:
    if depth > _DEEPEST:
        raise unfit(f"expected at most {_DEEPEST} objects and lists inside each other, got more", "features")
    if isinstance(value, list):
        if all(isinstance(each, str) for each in value):
            return dict.fromkeys(value, True)
        return {str(number): _plain(each, depth + 1) for number, each in enumerate(value)}
    if isinstance(value, dict):
        return {name: _plain(each, depth + 1) for name, each in value.items()}
    return value


def _loop(call: Call) -> str:
    header, name = call.headers.get(b"x-onward-loop"), call.query.get("loop", DEFAULT_LOOP)
    check_name(name, "loop")
    if header is not None:
        name = header.decode("latin-1")
        check_name(name, "x-onward-loop")
    call.loop = name
    return name


def _event(call: Call) -> str:
    event_id = call.parameters["event"]
    call.application.limits.check_id(event_id, "event")
    return event_id
