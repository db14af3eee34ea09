"""What is answered about loops."""

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from onward.service.answer_types import ActivateAnswer, LoopAnswer, PolicyAnswer, RewardAnswer
from onward.service.application import Call
from onward.service.http_errors import HttpError, unfit
from onward.service.limits import Limits
from onward.service.log_files import JSON_LINES, PARQUET, json_lines, parquet
from onward.service.parameters import moment, name_in_path, one_of, whole_number
from onward.service.routes import Created, Stream
from onward.service.warming import warm


async def list_names(call: Call) -> Any:
    """The loops and models there are."""
    return await call.service.names()


async def put_loop(call: Call) -> Any:
    """Make a loop, or let it go on with other settings."""
    name = name_in_path(call)
    await check_room(call, name)
    await asyncio.to_thread(warm, call.body)
    created = await call.service.make(name, call.body)
    answer = LoopAnswer(name, created, call.body)
    return Created(answer) if created else answer


async def check_room(call: Call, name: str) -> None:
    """409 if there are as many loops and models as there may be, and this would be another one."""
    names, most = await call.service.names(), call.application.limits.loops
    if len(names.loops) + len(names.models) >= most and name not in names.loops and name not in names.models:
        raise HttpError(409, "too_many_loops", f"expected at most {most} loops and models; delete one first")


async def get_loop(call: Call) -> Any:
    """What a loop has learned, in short."""
    return await call.service.summary(name_in_path(call), "loop")


async def get_state(call: Call) -> Any:
    """All that a loop has learned."""
    return await state_of(call, name_in_path(call), "loop")


async def state_of(call: Call, name: str, kind: str) -> Any:
    """All that is known, with its digest if the query asks for it."""
    wanted = one_of(call.query.get("digest", "false"), ("false", "true"), "digest")
    return await call.service.state(name, kind, with_digest=wanted == "true")


async def delete_loop(call: Call) -> None:
    """Delete a loop and its log."""
    await call.service.remove(name_in_path(call), "loop")


async def decide(call: Call) -> Any:
    """Decide once, or several times."""
    name, body, limits = name_in_path(call), call.body, call.application.limits
    if type(body) is list:
        limits.check_batch(body)
        for number, each in enumerate(body):
            limits.check_decision(each, f"[{number}].")
        return await call.service.decide(name, body)
    limits.check_decision(body)
    return (await call.service.decide(name, (body,)))[0]


async def reward(call: Call) -> Any:
    """Take one reward or several."""
    name, given = name_in_path(call), _events(call)
    statuses = await call.service.reward(name, given)
    for status in statuses:
        call.application.metrics.count_reward(name, status)
    answers = [RewardAnswer(each.event_id, status) for each, status in zip(given, statuses, strict=True)]
    return answers if given is call.body else answers[0]


async def activate(call: Call) -> Any:
    """Expect the reward of one decision or several."""
    name, given = name_in_path(call), _events(call)
    statuses = await call.service.activate(name, [each.event_id for each in given])
    answers = [ActivateAnswer(each.event_id, status) for each, status in zip(given, statuses, strict=True)]
    return answers if given is call.body else answers[0]


def _events(call: Call) -> Sequence[Any]:
    """The body as a list of what is said about events, with ids that can be."""
    body, limits = call.body, call.application.limits
    if type(body) is not list:
        _check_ids(limits, body, "")
        return (body,)
    limits.check_batch(body)
    for number, each in enumerate(body):
        _check_ids(limits, each, f"[{number}].")
    return body


def _check_ids(limits: Limits, given: Any, at: str) -> None:
    limits.check_id(given.event_id, f"{at}event_id")
    own = getattr(given, "reward_id", None)
    if own is not None:
        limits.check_id(own, f"{at}reward_id")


async def get_log(call: Call) -> Any:
    """The log's entries of a time, as JSON lines or Parquet."""
    return await log_of(call, name_in_path(call), "loop")


async def log_of(call: Call, name: str, kind: str) -> Stream:
    """The log of a loop or a model."""
    await call.service.summary(name, kind)  # 404 before anything is sent
    written = one_of(call.query.get("format", "jsonl"), ("jsonl", "parquet"), "format")
    since, until = (moment(call.query.get(each), each) for each in ("since", "until"))
    entries = call.service.log(name, since, until)
    if written == "jsonl":
        return Stream(json_lines(entries), JSON_LINES)
    pieces = parquet(entries, kind, await call.service.settings_before(name, since) if kind == "loop" else None)
    return Stream(pieces, PARQUET, [(b"content-disposition", f'attachment; filename="{name}.parquet"'.encode())])


async def get_decisions(call: Call) -> Any:
    """The last decisions, with why."""
    return await call.service.decisions(
        name_in_path(call), whole_number(call.query.get("limit", "20"), 1, 1000, "limit")
    )


async def evaluate(call: Call) -> Any:
    """What other policies would have earned on the log."""
    name, asked = name_in_path(call), call.body
    if not 0 < len(asked.policies) <= 10:
        raise unfit(f"expected 1 to 10 policies, got {len(asked.policies)}", "policies")
    if not 0 < len(asked.methods) == len({*asked.methods}):
        raise unfit(f"expected methods, each once, got {', '.join(asked.methods[:10]) or 'none'}", "methods")
    since, until = moment(asked.since, "since"), moment(asked.until, "until")
    features = await call.service.features(name)
    source = await call.service.log_source(name, since, until)
    return await call.application.evaluator.evaluate(source, features, asked)


async def put_policy(call: Call) -> Any:
    """Replace the policy, set a shadow beside it or take it away, or go back to a snapshot."""
    name, asked = name_in_path(call), call.body
    given = [each for each in ("policy", "shadow", "snapshot") if getattr(asked, each) is not UNSET]
    if len(given) != 1:
        raise unfit(f"expected exactly one of policy, shadow and snapshot, got {', '.join(given) or 'none'}")
    if asked.request_id is not None:
        call.application.limits.check_id(asked.request_id, "request_id")
    previous = await call.service.install(name, asked)
    state = await call.service.summary(name, "loop")
    return PolicyAnswer(state["config"]["policy"], state["shadow"], state["version"], previous)


async def get_snapshots(call: Call) -> Any:
    """The states of a loop that are stored."""
    return await call.service.snapshots(name_in_path(call))
