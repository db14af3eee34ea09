"""Bodies that nobody would send: whatever comes, no route answers with 500.

python tests/service/fuzz_bodies.py 100000
"""

import json
import random
import re
import sys
from collections import Counter
from typing import Any

from onward.service.route_table import ROUTES
from tests.service.caller import Caller, make_application
from tests.service.conftest import CONFIG
from tests.service.evaluating import EvaluatorHere
from tests.service.memory_service import MemoryService

WITH_BODIES = [route for route in ROUTES if route.decode is not None]
_ODD: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e308,
        -1e308,
        1e-320,
        10**30,
        -(2**63),
        2**64,
        "",
        "a",
        "x" * 2000,
        "\x00",
        "\ud83d",
    ),
    *("é", "=", ":", "intercept", "a:b", "a=b", "(other)", "NaN", [], {}, [[]], [{}], {"": ""}, [None], {"a": None}),
    *({"a": {"b": {"c": 1}}}, ["a", "b"], {"id": "a"}, "LinTS", "LinUCB", "1h", "-1s", "9" * 30 + "d", "sum"),
]
_BYTES = [b"\xff", b"\x00", b"NaN", b"1e999", b"[" * 2000, b'"\\ud800"', b"{}", b"}", b"-", b"\xf0\x9f", b"Infinity"]


def changed(value: Any, rng: random.Random) -> Any:
    """The value with something odd in one place."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice([*value])
        way = rng.random()
        if way < 0.1:
            return {name: each for name, each in value.items() if name != key}
        if way < 0.2:
            return value | {str(rng.choice(_ODD))[:300]: rng.choice(_ODD)}
        return value | {key: changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = rng.randrange(len(value))
        way = rng.random()
        if way < 0.1:
            return value[:place] + value[place + 1 :]
        if way < 0.25:
            return value + [value[place]] * rng.choice([1, 2, 300])
        return [*value[:place], changed(value[place], rng), *value[place + 1 :]]
    return rng.choice(_ODD)


def odd_body(example: Any, rng: random.Random) -> bytes:
    """A body that is almost right, or not at all."""
    if isinstance(example, dict) and "event_id" in example:
        example = example | {"event_id": rng.choice(["e1", "e2", f"e{rng.randrange(10**9)}"])}
    value = example
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        value = changed(value, rng)
    if rng.random() < 0.15:
        value = [value] * rng.choice([1, 2, 3])
    body = json.dumps(value).encode()
    if rng.random() < 0.15:
        place = rng.randrange(len(body) + 1)
        body = body[:place] + rng.choice(_BYTES) + body[place + rng.randrange(3) :]
    return body


def fuzz(count: int, seed: int) -> Counter[tuple[str, int]]:
    """Send so many bodies; how often each route answered with each status."""
    rng = random.Random(seed)
    call = Caller(make_application(MemoryService()))
    call.application.evaluator = EvaluatorHere()
    found: Counter[tuple[str, int]] = Counter()
    for number in range(count):
        if number % 500 == 0:  # anew, as odd settings stay
            call.application.service = MemoryService()
            call("PUT", "/v1/loops/x", CONFIG)
            call("PUT", "/v1/models/m", {"learner": "ridge"})
        route = rng.choice(WITH_BODIES)
        path = re.sub(r"\{\w+\}", "x", route.path.replace("{model}", "m")) + (
            "?loop=x" if "personalizer" in route.path else ""
        )
        body = odd_body(route.asks, rng)
        got = call(route.method, path, body, {"content-type": "application/json"})
        found[route.name, got.status] += 1
        if got.status >= 500:
            print(route.name, got.status, body[:2000], file=sys.stderr)
        elif got.status >= 400:
            assert set(got.json) == {"error"}, got.body
    call.close()
    return found


if __name__ == "__main__":
    result = fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for (name, status), times in sorted(result.items()):
        print(f"{name:50} {status} {times:8,}")
    sys.exit(any(status >= 500 for _, status in result))
