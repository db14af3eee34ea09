"""A client of `onward serve`, with nothing but the standard library.

    from onward.service.client import Client

    client = Client("http://127.0.0.1:8000", token="…")
    answer = client.decide("news", {"device": "phone"}, [{"id": "a"}, {"id": "b"}])
    client.reward("news", answer["event_id"], 1.0)

Calls that fail because the connection is lost, or with 429 or 503, are made again. That is safe: every event has an id
before the first try, and so has every reward and every change of a policy; the server does nothing twice for one. What
is not there when it is to be deleted again was deleted the first time.
"""

import http.client
import json
import random
import ssl
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

_AGAIN = (429, 503)
_COMPILING_SECONDS = 120.0  # what a new loop runs through may have to be compiled first
_EVALUATION_SECONDS = 600.0  # a long log takes its time, and asking again would only make it longer


class ServiceError(Exception):
    """What the server says is wrong.

    Args:
        status: of HTTP.
        code: for programs.
        message: for people.
        field: which it is about, or None.

    Example:
        >>> from onward.service import ServiceError
        >>> error = ServiceError(404, "no_such_loop", "there is no loop 'news'", "loop")
        >>> error.status, error.code
        (404, 'no_such_loop')
    """

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(f"{message} ({status} {code}{f', {field}' if field else ''})")
        self.status, self.code, self.message, self.field = status, code, message, field


class Client:
    """Calls a server. May be used by several threads: each has a connection of its own, which is kept open.

    Args:
        url: of the server, such as http://127.0.0.1:8000.
        token: sent with every request.
        timeout: seconds for which an answer is waited for; longer where the server may have to compile, or to evaluate.
        retries: how often a call is made again, at most.
        backoff: seconds before the first retry; twice as long before each further one, with some chance.

    Raises:
        ValueError: if the URL is none.
        ServiceError: by each method, if the server says that something is wrong, or does not answer (status 0).

    Example:
        >>> from onward.service import Client, ServiceError
        >>> client = Client("http://127.0.0.1:9", retries=0)  # where `onward serve` listens
        >>> try:
        ...     client.loops()
        ... except ServiceError as error:
        ...     print(error.status, error.code)
        0 unreachable
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 10.0, retries: int = 5, backoff: float = 0.1
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"expected a URL such as http://127.0.0.1:8000, got {url!r}")
        self._parts, self._timeout, self._retries, self._backoff = parts, timeout, retries, backoff
        self._headers = {"content-type": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"
        self._local = threading.local()

    # Loops

    def make_loop(self, loop: str, **config: Any) -> dict[str, Any]:
        """Make a loop, or let it go on with other settings.

        Args:
            config: settings.
        """
        return self._slow_object("PUT", f"/v1/loops/{_part(loop)}", config, _COMPILING_SECONDS)

    def decide(
        self,
        loop: str,
        context: Mapping[str, Any],
        actions: Sequence[Mapping[str, Any]],
        *,
        event_id: str | None = None,
        k: int = 1,
        **more: Any,
    ) -> dict[str, Any]:
        """Decide: what to do, under which event id, with which probability.

        Args:
            loop: the name of the loop.
            context: what all actions have in common, by name.
            actions: each a mapping with an id and features.
            event_id: of the decision; None for a new one.
            k: how many places of the ranking are drawn.
            more: further fields of the request.

        Returns:
            The event id, the action, its probability and the ranking, by name.
        """
        return self.decide_many(loop, [{"event_id": event_id, "context": context, "actions": actions, "k": k, **more}])[
            0
        ]

    def decide_many(self, loop: str, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Decide several times; each is asked as the server takes it.

        Args:
            loop: the name of the loop.
        """
        named = [{**each, "event_id": each.get("event_id") or uuid.uuid4().hex} for each in asked]
        answer: list[dict[str, Any]] = self._call("POST", f"/v1/loops/{_part(loop)}/decide", named)
        return answer

    def reward(self, loop: str, event_id: str, value: float, *, reward_id: str | None = None) -> str:
        """Say what came of a decision: learned, noted, already, late or unknown.

        Each call is one reward, however often it is sent: it has an id of its own.

        Args:
            loop: the name of the loop.
            event_id: of the decision.
            value: the reward.
            reward_id: of this reward, where several of one decision count: told twice, as after a crash of the
                application, it counts once; None for a new one.

        Returns:
            What became of it.
        """
        body = {"event_id": event_id, "value": value, "reward_id": reward_id or uuid.uuid4().hex}
        return str(self._call("POST", f"/v1/loops/{_part(loop)}/rewards", body)["status"])

    def rewards(self, loop: str, values: Mapping[str, float]) -> dict[str, str]:
        """Say what came of several decisions, by event id: what became of each.

        Args:
            loop: the name of the loop.
            values: rewards by event id.
        """
        ids = {event_id: uuid.uuid4().hex for event_id in values}
        body = [{"event_id": event, "value": value, "reward_id": ids[event]} for event, value in values.items()]
        answers = self._call("POST", f"/v1/loops/{_part(loop)}/rewards", body)
        return {each["event_id"]: each["status"] for each in answers}

    def activate(self, loop: str, event_id: str) -> str:
        """Say that a decision was used.

        Args:
            loop: the name of the loop.
            event_id: of the decision.
        """
        return str(self._call("POST", f"/v1/loops/{_part(loop)}/activate", {"event_id": event_id})["status"])

    def loops(self) -> dict[str, list[str]]:
        """The loops and models there are."""
        return self._object("GET", "/v1/loops")

    def loop(self, loop: str) -> dict[str, Any]:
        """What a loop has learned, in short."""
        return self._object("GET", f"/v1/loops/{_part(loop)}")

    def state(self, loop: str, *, digest: bool = False) -> dict[str, Any]:
        """All that a loop has learned; with its digest, two servers or a fold by hand can be compared."""
        return self._object("GET", f"/v1/loops/{_part(loop)}/state{'?digest=true' if digest else ''}")

    def log(self, loop: str, **query: str) -> bytes:
        """The log as a file: `format="jsonl"` or "parquet", `since=`, `until=`.

        Args:
            loop: the name of the loop.
            query: what to select.
        """
        return self._fetch("GET", f"/v1/loops/{_part(loop)}/log?{urlencode(query)}")

    def decisions(self, loop: str, limit: int = 20) -> list[dict[str, Any]]:
        """The last decisions, the last one first, with why.

        Args:
            loop: the name of the loop.
            limit: how many.
        """
        found: list[dict[str, Any]] = self._call("GET", f"/v1/loops/{_part(loop)}/decisions?limit={limit:d}")
        return found

    def set_policy(self, loop: str, **change: Any) -> dict[str, Any]:
        """Another policy, a shadow beside it, or what was known at a snapshot: `policy=`, `shadow=` or `snapshot=`.

        Args:
            loop: the name of the loop.
            change: what to change.
        """
        body = {"request_id": uuid.uuid4().hex, **change}
        return self._slow_object("PUT", f"/v1/loops/{_part(loop)}/policy", body, _COMPILING_SECONDS)

    def snapshots(self, loop: str) -> list[dict[str, Any]]:
        """The states that are stored, the last one first.

        Args:
            loop: the name of the loop.
        """
        found: list[dict[str, Any]] = self._call("GET", f"/v1/loops/{_part(loop)}/snapshots")
        return found

    def delete_loop(self, loop: str) -> None:
        """Delete a loop and its log."""
        self._call("DELETE", f"/v1/loops/{_part(loop)}")

    def evaluate(self, loop: str, policies: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        """What other policies would have earned on the log.

        Args:
            loop: the name of the loop.
            more: further fields of the request.
        """
        body = {"policies": list(policies), **more}
        return self._slow_object("POST", f"/v1/loops/{_part(loop)}/evaluate", body, _EVALUATION_SECONDS)

    # Models

    def make_model(self, model: str, **config: Any) -> dict[str, Any]:
        """Make a regression model, or let it go on with other settings.

        Args:
            config: settings.
        """
        return self._slow_object("PUT", f"/v1/models/{_part(model)}", config, _COMPILING_SECONDS)

    def model(self, model: str) -> dict[str, Any]:
        """What a model has learned, in short."""
        return self._object("GET", f"/v1/models/{_part(model)}")

    def model_state(self, model: str, *, digest: bool = False) -> dict[str, Any]:
        """All that a model has learned.

        Args:
            digest: whether to have the digest.
        """
        return self._object("GET", f"/v1/models/{_part(model)}/state{'?digest=true' if digest else ''}")

    def model_log(self, model: str, **query: str) -> bytes:
        """The log of a model as a file, as `log` gives that of a loop.

        Args:
            query: what to select.
        """
        return self._fetch("GET", f"/v1/models/{_part(model)}/log?{urlencode(query)}")

    def delete_model(self, model: str) -> None:
        """Delete a model and its log."""
        self._call("DELETE", f"/v1/models/{_part(model)}")

    def predict(self, model: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Predict rows: of each the value with the ends of its interval.

        Args:
            model: the name of the model.
        """
        answer = self._object("POST", f"/v1/models/{_part(model)}/predict", {"rows": list(rows)})
        predictions: list[dict[str, Any]] = answer["predictions"]
        return predictions

    def learn(
        self,
        model: str,
        rows: Sequence[Mapping[str, Any]],
        targets: Sequence[float],
        *,
        weights: Sequence[float] | None = None,
        event_id: str | None = None,
    ) -> dict[str, Any]:
        """Learn rows; those of one event id are learned once.

        Args:
            model: the name of the model.
            rows: a mapping of values by name for each.
            targets: a number for each row.
            weights: of the rows; None for 1.
            event_id: of these rows; None for a new one.
        """
        body: dict[str, Any] = {"rows": list(rows), "targets": list(targets), "event_id": event_id or uuid.uuid4().hex}
        if weights is not None:
            body["weights"] = list(weights)
        return self._object("POST", f"/v1/models/{_part(model)}/learn", body)

    def close(self) -> None:
        """End this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    # Calls

    def _object(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer: dict[str, Any] = self._call(method, path, body)
        return answer

    def _slow_object(self, method: str, path: str, body: Any, seconds: float) -> dict[str, Any]:
        """The answer to a call that may take so long, on a connection of its own."""
        patient = Client(self._parts.geturl(), timeout=max(self._timeout, seconds), retries=self._retries)
        patient._headers, patient._backoff = self._headers, self._backoff
        try:
            return patient._object(method, path, body)
        finally:
            patient.close()

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._fetch(method, path, body)
        return json.loads(answer) if answer else None

    def _fetch(self, method: str, path: str, body: Any = None) -> bytes:
        try:
            data = None if body is None else json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise ValueError(f"expected numbers, text, booleans and objects of these: {error}") from error
        for tries in range(self._retries + 1):
            wait = self._backoff * 2**tries * random.uniform(0.5, 1.0)
            try:
                status, headers, answer = self._ask(method, path, data)
            except (OSError, http.client.HTTPException) as lost:
                self.close()
                if tries == self._retries:
                    where = f"{self._parts.scheme}://{self._parts.netloc}"
                    raise ServiceError(0, "unreachable", f"{where} does not answer: {lost!r}") from lost
            else:
                if status < 300:
                    return answer
                if status not in _AGAIN or tries == self._retries:
                    said = _error(status, answer)
                    if tries and method == "DELETE" and status == 404 and said.code.startswith("unknown_"):
                        return b""  # an earlier try did it, and its answer was lost
                    raise said
                after = headers.get("retry-after", "")
                wait = max(wait, float(after)) if after.isdigit() else wait
            time.sleep(wait)
        raise AssertionError("the last try gives or raises")

    def _ask(self, method: str, path: str, data: bytes | None) -> tuple[int, Any, bytes]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        connection.request(method, self._parts.path.rstrip("/") + path, data, self._headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    def _connect(self) -> http.client.HTTPConnection:
        host = self._parts.hostname or ""
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, self._parts.port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(host, self._parts.port, timeout=self._timeout)


def _part(name: str) -> str:
    return quote(name, safe="")


def _error(status: int, answer: bytes) -> ServiceError:
    try:
        told = json.loads(answer)["error"]
        return ServiceError(status, told["code"], told["message"], told.get("field"))
    except (ValueError, KeyError, TypeError):
        return ServiceError(status, "unreadable", "the answer is none of onward's; is this its address?")
