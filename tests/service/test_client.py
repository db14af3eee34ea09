"""The client tries again where that is safe, and says what the server said."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from onward.service.client import Client, ServiceError


@contextmanager
def answering(*answers: bytes, delay: float = 0.0) -> Iterator[tuple[str, list[Any]]]:
    """A server that gives these answers in turn, each on a connection of its own; b"" hangs up without one."""
    bodies: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)

        def work() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as file:
                    length = 0
                    while (line := file.readline().strip()) != b"":
                        name, _, value = line.partition(b":")
                        length = int(value) if name.lower() == b"content-length" else length
                    bodies.append(json.loads(file.read(length)) if length else None)
                    time.sleep(delay)
                    connection.sendall(answer)

        thread = threading.Thread(target=work)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", bodies
        thread.join()


def reply(status: str, body: Any, header: str = "") -> bytes:
    data = json.dumps(body)
    return f"HTTP/1.1 {status}\r\nconnection: close\r\n{header}content-length: {len(data)}\r\n\r\n{data}".encode()


def test_a_call_is_made_again_with_the_same_event_id() -> None:
    busy = reply("503 Busy", {"error": {"code": "overloaded", "message": "m", "field": None}}, "retry-after: 0\r\n")
    limited = reply("429 Slow", {"error": {"code": "too_many_requests", "message": "m", "field": None}})
    with answering(b"", busy, limited, reply("200 OK", [{"event_id": "x", "action": "a"}])) as (url, bodies):
        client = Client(url, backoff=0.001)
        assert client.decide("news", {"hour": 1}, [{"id": "a"}])["action"] == "a"
        client.close()
    names = {body[0]["event_id"] for body in bodies}
    assert len(bodies) == 4
    assert len(names) == 1
    assert None not in names


def test_other_errors_are_said_at_once() -> None:
    wrong = {"error": {"code": "unknown_loop", "message": "there is no loop", "field": "loop"}}
    with answering(reply("404 Not Found", wrong)) as (url, bodies):
        client = Client(url)
        with pytest.raises(ServiceError, match="there is no loop") as refused:
            client.reward("news", "e", 1.0)
        client.close()
    assert (refused.value.status, refused.value.code, refused.value.field) == (404, "unknown_loop", "loop")
    assert len(bodies) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda client: client.make_loop("news"),
        lambda client: client.make_model("prices"),
        lambda client: client.set_policy("news", policy={"name": "LinTS"}),
    ],
    ids=["loop", "model", "policy"],
)
def test_what_may_have_to_be_compiled_first_is_waited_for(make: Callable[[Client], Any]) -> None:
    with answering(reply("200 OK", {"done": True}), delay=0.5) as (url, _):
        assert make(Client(url, timeout=0.1, retries=0)) == {"done": True}
    slow = answering(reply("200 OK", {"done": True}), delay=0.5)
    with slow as (url, _), pytest.raises(ServiceError, match="timed out"):
        Client(url, timeout=0.1, retries=0).loop("news")


def test_it_gives_up_in_the_end() -> None:
    with answering(b"", b"") as (url, _):
        client = Client(url, retries=1, backoff=0.001)
        with pytest.raises(ServiceError, match="does not answer"):
            client.loops()
    with pytest.raises(ValueError, match="expected a URL"):
        Client("localhost:8000")


def test_what_was_deleted_by_a_try_whose_answer_was_lost_is_deleted() -> None:
    gone = reply("404 Not Found", {"error": {"code": "unknown_loop", "message": "there is no loop", "field": "loop"}})
    with answering(b"", gone) as (url, bodies):
        client = Client(url, backoff=0.001)
        client.delete_loop("news")
        client.close()
    assert len(bodies) == 2
    with answering(gone) as (url, _):  # of the first try, it was not there
        client = Client(url, backoff=0.001)
        with pytest.raises(ServiceError, match="there is no loop"):
            client.delete_loop("news")
        client.close()


def test_a_change_of_a_policy_is_asked_for_again_under_the_same_id() -> None:
    with answering(b"", reply("200 OK", {"previous": 3}), reply("200 OK", {"previous": 4})) as (url, bodies):
        client = Client(url, backoff=0.001)
        assert client.set_policy("news", policy={"name": "LinUCB"}) == {"previous": 3}
        assert client.set_policy("news", policy={"name": "LinUCB"}) == {"previous": 4}
        client.close()
    first, again, other = [body.pop("request_id") for body in bodies]
    assert first == again != other
    assert all(body == {"policy": {"name": "LinUCB"}} for body in bodies)
