import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from onward.tables import stream
from onward.tables.prefetch import prefetched
from tests.tables.files import small_pieces, text_of


def counted(n: int, log: list[object]) -> Generator[int, None, None]:
    try:
        for i in range(n):
            log.append(i)
            yield i
        raise KeyError("end")
    finally:
        log.append("closed")


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "onward-reader"]


def gone() -> bool:
    for _ in range(200):
        if not readers():
            return True
        time.sleep(0.01)
    return False


def test_the_same_items_and_errors_in_order() -> None:
    log: list[object] = []
    got: list[int | None] = []
    with pytest.raises(KeyError, match="end"):
        got.extend(prefetched(counted(5, log)))
    assert gone()
    assert log == [0, 1, 2, 3, 4, "closed"]

    def take() -> Iterator[int | None]:
        yield from prefetched(counted(3, log))

    items = take()
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError):
        next(items)


def test_works_no_further_ahead_than_told() -> None:
    log: list[object] = []
    items = prefetched(counted(100, log), ahead=2)
    next(items)
    time.sleep(0.05)
    assert 2 <= len(log) <= 4
    items.close()
    assert gone()
    assert log[-1] == "closed"
    assert len(log) <= 6


def test_a_consumer_that_stops_leaves_no_thread(tmp_path: Path) -> None:
    path = text_of(tmp_path, "x,y\n" + "1,2\n" * 1000)
    with small_pieces(50):
        blocks = iter(stream(path, "y"))
        next(blocks)
        assert readers()
        del blocks
        assert gone()
