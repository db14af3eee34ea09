"""How much one may ask for, and how often."""

import re
import time
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec

from onward.service.entries import Action
from onward.service.http_errors import HttpError, unfit
from onward.service.request_types import DecideRequest

Whole = Annotated[int, msgspec.Meta(ge=1)]
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")
_MOST_CLIENTS = 10_000  # whose rate is remembered


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a request, as `[limits]` of the configuration file sets them."""

    body_bytes: Whole = 2_000_000
    body_seconds: Annotated[float, msgspec.Meta(gt=0)] = 20.0
    """So long may the sending of a body take."""
    actions: Whole = 200
    """Actions of one decision."""
    batch: Whole = 1000
    """Decisions, rewards or rows in one request."""
    features: Whole = 200
    """Features of one action, of one context or of one row."""
    id_length: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 256
    """Characters of an event's, an action's or a subject's id."""
    name_length: Annotated[int, msgspec.Meta(ge=1, le=256)] = 100
    """Characters of a feature's name."""
    text_length: Whole = 1000
    """Characters of a text that is a feature's value."""
    loops: Whole = 1000
    """Loops and models that there may be."""
    requests_at_once: Whole = 5000
    rate: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Requests a second of one token, or of one address where there are no tokens; null: any number."""
    burst: Annotated[float, msgspec.Meta(ge=1)] = 100.0
    """So many may come at once, before the rate counts."""

    def check_id(self, text: str, field: str) -> None:
        """An id that can be stored and shown."""
        if not 0 < len(text) <= self.id_length:
            raise unfit(f"expected an id of 1 to {self.id_length} characters, got {len(text)}", field)
        if not text.isprintable() and _CONTROL.search(text):  # what is not printable may still be part of an emoji
            raise unfit("expected an id without control characters, got one with them", field)

    def check_values(self, values: dict[str, object], field: str) -> None:
        """Features by name: not too many, and of names and texts that are not too long."""
        self._check_values(values, field, self.features)

    def _check_values(self, values: dict[str, object], field: str, room: int) -> int:
        """Check features for which there is room; how much is left for others."""
        room -= len(values)
        if room < 0:
            raise unfit(f"expected at most {self.features} features, got more", field)
        longest = self.name_length
        if values and max(map(len, values)) <= longest and _are_numbers(values.values()):
            return room  # as most are: looked at without a loop
        for name, value in values.items():
            if len(name) > longest:
                raise unfit(f"expected names of at most {longest} characters, got {len(name)}", field)
            kind = type(value)
            if kind is str:
                if len(value) > self.text_length:  # type: ignore[arg-type]
                    raise unfit(
                        f"expected a text of at most {self.text_length} characters, got {len(value)}",  # type: ignore[arg-type]
                        f"{field}.{name}",
                    )
            elif kind is dict:
                room = self._check_values(value, f"{field}.{name}", room)  # type: ignore[arg-type]
        return room

    def check_actions(self, actions: list[Action], at: str) -> None:
        """Actions that can be told apart, not too many."""
        if not 0 < len(actions) <= self.actions:
            raise unfit(f"expected 1 to {self.actions} actions, got {len(actions)}", f"{at}actions")
        names = list(actions[0].features)
        values: list[object] = []  # of actions that have the names of the first one, which are looked at together
        others = []
        for number, action in enumerate(actions):
            name = action.id
            if not (0 < len(name) <= self.id_length and name.isprintable()):
                self.check_id(name, f"{at}actions[{number}].id")
            if list(action.features) == names:
                values += action.features.values()
            else:
                others.append(number)
        if len(names) > self.features or max(map(len, names), default=0) > self.name_length or not _are_numbers(values):
            others = list(range(len(actions)))
        for number in others:
            self.check_values(actions[number].features, f"{at}actions[{number}].features")

    def check_decision(self, asked: DecideRequest, at: str = "") -> None:
        """All of a decision that is asked for; `at` says which of several it is."""
        self.check_actions(asked.actions, at)
        if asked.context:
            self.check_values(asked.context, f"{at}context")
        if asked.event_id is not None:
            self.check_id(asked.event_id, f"{at}event_id")
        if asked.subject is not None:
            self.check_id(asked.subject, f"{at}subject")

    def check_batch(self, items: Sequence[object], field: str | None = None) -> None:
        """A list that holds something, and not too much."""
        if not 0 < len(items) <= self.batch:
            raise unfit(f"expected a list of 1 to {self.batch} items, got {len(items)}", field)


def _are_numbers(values: Iterable[object]) -> bool:
    """Whether no text and no object is among these values, found out by adding them up, which is quickest."""
    try:
        sum(values)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        return False
    return True


class RateLimit:
    """A bucket of requests for each client, that fills at a rate."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, client: str, now: float | None = None) -> None:
        """Take one request out of a client's bucket; HttpError 429 if there is none."""
        now = time.monotonic() if now is None else now
        left, then = self._buckets.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        enough = left >= 1.0
        self._buckets[client] = (left - 1.0 if enough else left, now)
        if len(self._buckets) > _MOST_CLIENTS:
            del self._buckets[next(iter(self._buckets))]  # the one that asked longest ago
        if not enough:
            seconds = max(1, int(-((left - 1.0) // self._rate)))
            raise HttpError(
                429,
                "too_many_requests",
                f"expected at most {self._rate:g} requests a second; try again in {seconds} s",
                headers=[(b"retry-after", str(seconds).encode())],
            )
