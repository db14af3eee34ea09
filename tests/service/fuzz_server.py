"""Odd bodies, and whatever fits the OpenAPI document as it is served, sent to `onward serve` on SQLite.

    python -m tests.service.fuzz_server 10000 100      # bodies, and examples of each operation

`fuzz_bodies` sends many more to the application alone; here the store, the log and HTTP are in it, too.
"""

import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import schemathesis
from hypothesis import HealthCheck, Phase

from tests.service.conftest import CONFIG
from tests.service.fuzz_bodies import WITH_BODIES, odd_body
from tests.service.kill_rounds import Server, call


def fuzz(n_bodies: int, n_examples: int, seed: int = 0) -> Counter[tuple[str, int]]:
    """How often each route answered with each status; an error of schemathesis if an answer is not as documented."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(f"sqlite:///{Path(folder) / 'log.db'}")
        server.start()
        try:
            found = _bodies(server.port, n_bodies, seed)
            found.update(_examples(server.port, n_examples))
            assert call(server.port, "GET", "/readyz")[0] == 200
            assert server.stop() == 0
            return found
        finally:
            server.kill()


def _fill(port: int) -> None:
    for name in ("x", "personalizer"):
        call(port, "PUT", f"/v1/loops/{name}", CONFIG)
    call(port, "PUT", "/v1/models/m", {"learner": "ridge"})


def _bodies(port: int, count: int, seed: int) -> Counter[tuple[str, int]]:
    rng, found = random.Random(seed), Counter[tuple[str, int]]()
    for number in range(count):
        if number % 500 == 0:  # anew, as odd settings stay
            for path in ("/v1/loops/x", "/v1/models/m"):
                call(port, "DELETE", path)
            _fill(port)
        route = rng.choice(WITH_BODIES)
        path = re.sub(r"\{\w+\}", "x", route.path.replace("{model}", "m"))
        body = odd_body(route.asks, rng)
        status, answer = call(port, route.method, path, body)
        found[route.name, status] += 1
        if status >= 500:
            print(route.name, status, body[:2000], file=sys.stderr)
        elif status >= 400:
            assert set(answer) == {"error"}, answer
    return found


def _examples(port: int, count: int) -> Counter[tuple[str, int]]:
    """What schemathesis makes of the document as it is served: nothing in it is changed."""
    schema: Any = schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/openapi.json")
    # What fits the schema may still be wrong: two actions of one id, a policy that there is not. That is a 422.
    beyond = schemathesis.checks.CHECKS.get_one("positive_data_acceptance")
    how = hypothesis.settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    found: Counter[tuple[str, int]] = Counter()
    for each in schema.get_all_operations():
        operation = each.ok()
        _fill(port)

        @hypothesis.given(case=operation.as_strategy())
        @how
        def try_it(case: Any) -> None:
            response = case.call_and_validate(excluded_checks=[beyond])
            found[f"{case.operation.method.upper()} {case.operation.path}", response.status_code] += 1

        try_it()
    return found


if __name__ == "__main__":
    result = fuzz(int(sys.argv[1]), int(sys.argv[2]))
    for (name, status), times in sorted(result.items()):
        print(f"{name:50} {status} {times:8,}")
    sys.exit(any(status >= 500 for _, status in result))
