"""A small world of readers and articles, of which every click probability is known."""

from typing import Any, NamedTuple

import numpy as np

TOPICS = ("sport", "politics", "arts", "science", "local")
_ARTICLES = 8  # at a time
_STAYS = 60  # readers that come between two new articles
_PEOPLE = 500


class Article(NamedTuple):
    """An article, as long as it is on the front page."""

    name: str
    topic: str
    length: float
    born: int  # how many readers had come before


class Reader(NamedTuple):
    """Somebody who comes, and what is offered."""

    subject: str
    context: dict[str, Any]
    actions: list[dict[str, Any]]
    chances: list[float]
    """The probability of a click on each article."""


class NewsWorld:
    """Readers one after the other, and a front page whose articles come and go.

    Args:
        seed: the same one gives the same readers and articles.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._count = self._articles_so_far = 0
        self._articles = [self._article() for _ in range(_ARTICLES)]

    def _article(self) -> Article:
        self._articles_so_far += 1
        topic = str(self._rng.choice(TOPICS))
        return Article(f"{topic}-{self._articles_so_far}", topic, float(self._rng.uniform()), self._count)

    def reader(self) -> Reader:
        """The next one."""
        rng = self._rng
        if self._count and self._count % _STAYS == 0:
            oldest = min(range(_ARTICLES), key=lambda place: self._articles[place].born)
            self._articles[oldest] = self._article()
        person = int(rng.integers(_PEOPLE))
        interest = TOPICS[person % len(TOPICS)]
        device = "phone" if rng.uniform() < 0.6 else "desk"
        hour = float(rng.uniform())
        actions, chances = [], []
        for article in self._articles:
            fresh = max(0.0, 1.0 - (self._count - article.born) / (_ARTICLES * _STAYS))
            features = {"topic": article.topic, "length": round(article.length, 3), "fresh": round(fresh, 3)}
            actions.append({"id": article.name, "features": features})
            chances.append(_chance(article, fresh, device, hour, interest))
        self._count += 1
        context = {"device": device, "hour": round(hour, 3), "interest": interest}
        return Reader(f"reader-{person}", context, actions, chances)


def _chance(article: Article, fresh: float, device: str, hour: float, interest: str) -> float:
    """Short ones on the phone, long ones at the desk; sport in the evening; what is new; above all what one likes."""
    chance = 0.03 + 0.06 * fresh + (0.30 if article.topic == interest else 0.0)
    chance += 0.12 * (1.0 - article.length if device == "phone" else article.length)
    return chance + (0.10 * hour if article.topic == "sport" else 0.0)
