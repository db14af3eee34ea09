"""A decision loop: contexts and actions come, one is taken, its reward comes later, a policy learns.

Free of HTTP and of databases. The state is a fold over the entries of a log: `propose` says what a decision would be,
and changes nothing; `fold` takes in an entry that was written down. `decide`, `reward`, `activate` and `expire` do
both, for a loop by hand.
"""

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from onward.core.factor import ORDINARY
from onward.service import decision_lots
from onward.service.configuration import LoopConfig
from onward.service.entries import Action, Activate, Decide, Entry, Expire, Reward, Values
from onward.service.loop_checks import (
    application_choice,
    check_finite,
    check_names,
    check_new,
    check_work,
    places_of,
    seconds_to_wait,
)
from onward.service.loop_state import REMEMBERED, LoopState
from onward.service.outcomes import Answer, Ranked, Status
from onward.service.request_errors import RequestError


class Loop(LoopState):
    """Decisions, their rewards, and the policy that learns from them.

        loop = Loop("news", LoopConfig(policy={"name": "LinTS", "seed": 7}))
        actions = [Action("a", {"topic": "sport"}), Action("b", {"topic": "arts"})]
        answer = loop.decide("e1", {"device": "phone"}, actions)
        loop.reward("e1", 1.0)

    Args:
        name: of the loop.
        config: what it is told.

    Example:
        >>> from onward.service import Action, Loop, LoopConfig
        >>> loop = Loop("news", LoopConfig(policy={"name": "LinUCB", "seed": 7}))
        >>> actions = [Action("a", {"topic": "sport"}), Action("b", {"topic": "arts"})]
        >>> answer = loop.decide("e1", {"device": "phone"}, actions)
        >>> answer.action in ("a", "b"), answer == loop.decide("e1", {"device": "phone"}, actions)
        (True, True)
        >>> loop.reward("e1", 1.0), loop.reward("e1", 1.0)
        ('learned', 'already')
    """

    def __init__(self, name: str, config: LoopConfig | None = None) -> None:
        super().__init__(name, config)
        self._answers: dict[str, Answer] = {}  # of decisions by hand

    # Deciding

    def propose(
        self,
        event_id: str,
        context: Values,
        actions: Sequence[Action],
        k: int = 1,
        *,
        at: float,
        active: bool = True,
        excluded: Iterable[str] = (),
        taken: str | None = None,
        probability: float | None = None,
        subject: str | None = None,
    ) -> Entry:
        """The decision that would be made now, as the entry to be written down. Changes nothing.

        Args:
            event_id: of this decision: its reward comes under it, and asking again gives the same answer.
            context: what all actions have in common, by name.
            actions: what can be done.
            k: how many places of the ranking are drawn; the others stand by their probability, then by their estimate.
                Where the application decides, the ranking is its own: what it takes, then the others as they were told.
            at: the time, in seconds since 1970.
            active: whether a reward can be expected; if not, `activate` says so later.
            excluded: ids of actions that may not be taken.
            taken: the id that the application itself takes, where the mode says that it decides; None: the first.
            probability: with which the application takes that; None: 1.
            subject: whom the decision is about.
        """
        places, available = places_of(actions, excluded)
        own = application_choice(self.config.mode, actions, places, available, taken, probability)
        check_names(context, actions)
        encoded = self.encoder.encode(context, actions)
        check_new(len(encoded.born), self.config.features)
        names = [*self.encoder.columns, *(feature for feature, _ in encoded.born)]
        check_work(len(actions), len(names))
        said = self.learner.look_at(encoded.table, names, available, self.config.explore)
        chances = [min(each, 1.0) for each in said.chances.tolist()]  # a sum may round to a little more
        seed = self.config.policy.get("seed")
        lots = decision_lots.uniform_numbers(min(k, len(actions)), self.name, event_id, self.version, seed)
        estimates: list[float] = said.estimates.tolist()
        out = [i for i, free in enumerate(available.tolist()) if not free]
        ranking = decision_lots.ranked(chances, decision_lots.drawn(chances, lots), estimates, out)
        first, used = (ranking[0], chances[ranking[0]]) if own is None else own
        if own is not None:
            ranking = [first, *(place for place in range(len(actions)) if place != first and place not in out)]
        shadow = None
        if self.shadow is not None:
            shadow = float(self.shadow.look_at(encoded.table, names, available, self.config.explore).chances[first])
        tuned = None
        if len(said.taken) > 1 and own is None:  # what the application takes says nothing of scales
            tuned = said.taken.tolist(), said.by_scale[:, first].tolist()
        row = encoded.table[first].tolist()
        content = Decide(
            version=self.version,
            after=self.seq,
            context=context,
            actions=list(actions),
            chosen=first,
            probability=used,
            probabilities=chances,
            ranking=ranking,
            estimates=estimates,
            widths=said.widths.tolist(),
            leverage=float(said.leverages[first]),
            row={name: value for name, value in zip(names, row, strict=True) if value},
            scales=tuned,
            born=encoded.born or None,
            longest=said.longest,
            typical=said.typical,
            shadow=shadow,
            active=active,
            subject=subject,
            excluded=out,
            is_told=own is None or probability is not None,
            k=len(lots),
            left_out=encoded.left_out,
            is_own=own is not None,
        )
        check_finite(content)
        return Entry(self.name, content, event_id, at)

    @staticmethod
    def answer(entry: Entry) -> Answer:
        """What the entry of a decision answers."""
        content = entry.content
        if not isinstance(content, Decide) or entry.event_id is None:
            raise TypeError(f"expected the entry of a decision, got a {type(content).__name__}")
        ranking = [Ranked(content.actions[i].id, content.probabilities[i]) for i in content.ranking]
        return Answer(entry.event_id, content.actions[content.chosen].id, content.probability, ranking, content.version)

    # What is known

    def check_change(self, config: LoopConfig) -> None:
        """RequestError if a loop that has begun cannot go on with these settings.

        Args:
            config: settings.
        """
        if config.features != self.config.features:
            raise RequestError("conflict", "features of a loop cannot change: delete it and make another", "features")
        if config.policy != self.config.policy:
            raise RequestError("conflict", "a policy is replaced by PUT …/policy, not here", "policy")
        seconds_to_wait(config)

    def summary(self) -> dict[str, Any]:
        """What is told of it in short: plain values, without what grows with what was learned."""
        return {
            "loop": self.name,
            "mode": self.config.mode,
            "version": self.version,
            "seq": self.seq,
            "pending": len(self.waiting),
            "oldest": self.waiting.oldest(),
            "held": len(self.in_order.held),
            **self.statistics.counts(),
            "config": msgspec.to_builtins(self.config),
            "features": len(self.encoder.columns),
            "shadow": None if self.shadow is None else self.statistics.shadow_value(self.shadow.settings),
            "apprentice": self.statistics.apprentice() if self.config.mode != "online" else None,
        }

    def state(self) -> dict[str, Any]:
        """All that people and pages are told of it: plain values."""
        known = dict(zip(self.encoder.columns, self.learner.coef, strict=False))
        return self.summary() | {"coefficients": known, "statistics": self.statistics.to_page()}

    # By hand

    def decide(
        self,
        event_id: str | None,
        context: Values,
        actions: Sequence[Action | Mapping[str, Any]],
        k: int = 1,
        *,
        at: float | None = None,
        **more: Any,
    ) -> Answer:
        """Decide, and wait for the reward. An event id that was seen before gives the first answer again.

        Args:
            event_id: of the decision; None for a new one.
            context: what all actions have in common, by name.
            actions: each an Action, or a mapping with its id and features.
            k: how many places of the ranking are drawn.
            at: the time, in seconds since 1970; None for that of the clock.
            more: further fields of the request.
        """
        if event_id is None:
            event_id = uuid.uuid4().hex
        if event_id in self._answers:
            return self._answers[event_id]
        if event_id in self.waiting or event_id in self._finished:
            raise RequestError("conflict", f"{event_id!r:.80} was decided before this loop was loaded", "event_id")
        offered = [each if isinstance(each, Action) else _as_action(each, i) for i, each in enumerate(actions)]
        entry = self.propose(event_id, context, offered, k, at=time.time() if at is None else at, **more)
        self.fold(entry)
        answer = self._answers[event_id] = self.answer(entry)
        if len(self._answers) > REMEMBERED:
            del self._answers[next(iter(self._answers))]
        return answer

    def reward(self, event_id: str, value: float, *, at: float | None = None, reward_id: str | None = None) -> Status:
        """The reward of a decision: what became of it.

        Args:
            event_id: of the decision.
            value: the reward.
            at: the time, in seconds since 1970; None for that of the clock.
            reward_id: of this reward, so that it counts once.
        """
        now = time.time() if at is None else at
        return self.fold(self.propose_reward(event_id, value, at=now, reward_id=reward_id)).status

    def propose_reward(self, event_id: str, value: float, *, at: float, reward_id: str | None = None) -> Entry:
        """The entry of a reward; RequestError if it is no number that can be learned.

        Args:
            event_id: of the decision.
            value: the reward.
            at: the time, in seconds since 1970.
            reward_id: of this reward, so that it counts once.
        """
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < ORDINARY:
            raise RequestError(
                "bad_reward", f"expected a number below {ORDINARY:g} in size, got {value!r:.80}", "value"
            )
        return Entry(self.name, Reward(float(value), reward_id), event_id, at)

    def activate(self, event_id: str, *, at: float | None = None) -> Status:
        """Say that a decision was used.

        Args:
            event_id: of the decision.
            at: the time, in seconds since 1970; None for that of the clock.
        """
        return self.fold(Entry(self.name, Activate(), event_id, time.time() if at is None else at)).status

    def expire(self, now: float | None = None) -> int:
        """End what has waited long enough: how many decisions ended without a reward.

        Args:
            now: the time, in seconds since 1970; None for that of the clock.
        """
        return self.fold(Entry(self.name, Expire(), None, time.time() if now is None else now)).expired


def _as_action(given: Any, place: int) -> Action:
    try:
        return msgspec.convert(given, Action)
    except msgspec.ValidationError as error:
        told = f"expected an Action, or a mapping with its id and features: {error}"
        raise RequestError("bad_request", told[:300], f"actions[{place}]") from error
