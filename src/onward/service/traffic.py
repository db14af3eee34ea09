"""Simulated readers of a news page that ask a server for decisions, and tell it of clicks later, or never."""

import heapq
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onward.service.client import Client, ServiceError
from onward.service.news_world import NewsWorld

CONFIG: dict[str, Any] = {
    "policy": {"name": "LinTS", "seed": 7},
    # What never comes says nothing here: a 0 in its place would be wrong for those who clicked
    "reward": {"wait": "5m", "default": None, "aggregate": "first"},
    "explore": 0.05,
}
"""Of the loop that is made where there is none."""
_NEVER = 0.1  # of rewards
_MEAN_DELAY = 10.0  # readers that come in between


@dataclass
class Traffic:
    """What came of the readers so far."""

    visitors: int = 0
    clicks: int = 0
    expected: float = 0.0
    """Clicks that the decisions earn on average."""
    best: float = 0.0
    """What the best decisions would have earned."""
    random: float = 0.0
    """What decisions by chance would have earned."""
    never: int = 0
    """Rewards that were not sent."""
    statuses: Counter[str] = field(default_factory=Counter)
    """What became of those that were."""

    @property
    def share(self) -> float:
        """Of what can be gained over chance, how much was gained."""
        return (self.expected - self.random) / (self.best - self.random) if self.visitors else float("nan")


def make_loop(client: Client, loop: str) -> bool:
    """Make the loop, unless it is there; whether it is new."""
    try:
        client.loop(loop)
    except ServiceError as error:
        if error.status == 403:  # a token that may not see, but decide
            return False
        if error.status != 404:
            raise
        client.make_loop(loop, **CONFIG)
        return True
    return False


def send_visitors(client: Client, loop: str, visitors: int, *, rate: float = 50.0, seed: int = 0) -> Iterator[Traffic]:
    """Readers one by one, each with a decision; what came of all so far after each, and at last after all rewards.

    Args:
        client: of the server.
        loop: that decides.
        visitors: how many.
        rate: so many a second at most.
        seed: of the readers, the articles, the clicks and the delays.
    """
    if visitors < 1 or not rate > 0:
        raise ValueError(f"expected at least one visitor, at a rate above 0, got {visitors} at {rate}")
    world, rng = NewsWorld(seed), np.random.default_rng([seed, 1])
    run, begun, so_far = uuid.uuid4().hex[:8], time.monotonic(), Traffic()
    later: list[tuple[int, str, float]] = []  # rewards, by how many readers must have come
    for number in range(visitors):
        reader, event = world.reader(), f"{run}-{number}"
        answer = client.decide(loop, reader.context, reader.actions, event_id=event, subject=reader.subject)
        place = [action["id"] for action in reader.actions].index(answer["action"])
        clicked = bool(rng.uniform() < reader.chances[place])
        delay = int(rng.exponential(_MEAN_DELAY))
        if rng.uniform() < _NEVER:
            so_far.never += 1
        else:
            heapq.heappush(later, (number + delay, event, float(clicked)))
        so_far.visitors += 1
        so_far.clicks += clicked
        so_far.expected += reader.chances[place]
        so_far.best += max(reader.chances)
        so_far.random += sum(reader.chances) / len(reader.chances)
        while later and later[0][0] <= number:
            _, due, value = heapq.heappop(later)
            so_far.statuses[client.reward(loop, due, value)] += 1
        yield so_far
        time.sleep(max(0.0, begun + (number + 1) / rate - time.monotonic()))
    while later:
        some = {event: value for _, event, value in later[:100]}
        del later[:100]
        so_far.statuses.update(client.rewards(loop, some).values())
    yield so_far
