"""Simulated readers: the world is the same again, and a policy that learns earns more than chance."""

import numpy as np

from onward.service.client import Client
from onward.service.news_world import NewsWorld
from onward.service.traffic import make_loop, send_visitors
from tests.service.caller import make_application
from tests.service.live_server import serving
from tests.service.memory_service import MemoryService


def test_the_world_is_the_same_again_and_its_articles_come_and_go() -> None:
    first, again, other = (NewsWorld(seed) for seed in (1, 1, 2))
    readers = [first.reader() for _ in range(700)]
    assert readers == [again.reader() for _ in range(700)]
    assert readers[0] != other.reader()
    chances = np.array([reader.chances for reader in readers])
    assert chances.min() > 0.0
    assert chances.max() < 1.0
    offered = [{action["id"] for action in reader.actions} for reader in readers]
    assert all(len(each) == 8 for each in offered)
    assert not offered[0] & offered[-1]  # all of them are gone by now
    liked = [
        p
        for r in readers
        for a, p in zip(r.actions, r.chances, strict=True)
        if r.context["interest"] == a["features"]["topic"]
    ]
    assert np.mean(liked) > 2 * chances.mean()


def test_a_loop_learns_from_readers_and_rewards_are_told_once() -> None:
    service = MemoryService()
    with serving(make_application(service)) as url:
        client = Client(url)
        assert make_loop(client, "news")
        assert not make_loop(client, "news")
        done = list(send_visitors(client, "news", 500, rate=10_000, seed=3))[-1]
        state = client.loop("news")
        client.close()
    assert done.visitors == state["decided"] == 500
    assert done.random < done.expected < done.best
    assert 0.1 < done.share < 1.0
    assert done.statuses == {"learned": 500 - done.never}
    assert 20 < done.never < 90
    assert state["pending"] == done.never
    assert abs(done.clicks - done.expected) < 4 * np.sqrt(done.expected)
