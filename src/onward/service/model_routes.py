"""What is answered about regression models."""

import asyncio
from typing import Any

from onward.service.answer_types import ModelAnswer
from onward.service.application import Call
from onward.service.http_errors import unfit
from onward.service.loop_routes import check_room, log_of, state_of
from onward.service.parameters import name_in_path
from onward.service.routes import Created
from onward.service.warming import warm


async def put_model(call: Call) -> Any:
    """Make a model, or let it go on with other settings."""
    name = name_in_path(call, "model")
    await check_room(call, name)
    await asyncio.to_thread(warm, call.body)
    created = await call.service.make(name, call.body)
    answer = ModelAnswer(name, created, call.body)
    return Created(answer) if created else answer


async def get_model(call: Call) -> Any:
    """What a model has learned."""
    return await call.service.summary(name_in_path(call, "model"), "model")


async def get_model_state(call: Call) -> Any:
    """All that a model has learned."""
    return await state_of(call, name_in_path(call, "model"), "model")


async def get_model_log(call: Call) -> Any:
    """The log's entries of a time, as JSON lines or Parquet."""
    return await log_of(call, name_in_path(call, "model"), "model")


async def delete_model(call: Call) -> None:
    """Delete a model and its log."""
    await call.service.remove(name_in_path(call, "model"), "model")


async def predict(call: Call) -> Any:
    """Predict rows, with intervals."""
    name, asked = name_in_path(call, "model"), call.body
    _check_rows(call, asked.rows)
    return await call.service.predict(name, asked.rows)


async def learn(call: Call) -> Any:
    """Learn rows."""
    name, asked = name_in_path(call, "model"), call.body
    _check_rows(call, asked.rows)
    for field in ("targets", "weights"):
        given = getattr(asked, field)
        if given is not None and len(given) != len(asked.rows):
            raise unfit(f"expected {len(asked.rows)} numbers, one for each row, got {len(given)}", field)
    if asked.event_id is not None:
        call.application.limits.check_id(asked.event_id, "event_id")
    return await call.service.learn(name, asked)


def _check_rows(call: Call, rows: list[dict[str, Any]]) -> None:
    limits = call.application.limits
    limits.check_batch(rows, "rows")
    for number, row in enumerate(rows):
        limits.check_values(row, f"rows[{number}]")
