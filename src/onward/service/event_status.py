"""What is known of events: here, in the log as other servers write it, and in the store."""

import asyncio
from collections.abc import Sequence

from onward.service.answer_types import RewardStatus
from onward.service.entries import Decide, Entry, Reward
from onward.service.live_loops import Live, LiveLoops
from onward.service.loop import Loop
from onward.service.loop_checks import seconds_to_wait
from onward.service.store_values import begins_event

_ROUNDS = 5  # in which the log is read on, while other servers write to it


async def find_waiting(loops: LiveLoops, live: Live, loop: Loop, events: Sequence[str]) -> dict[str, RewardStatus]:
    """By event, why it does not wait; those that wait are left out.

    An event that is not known here may be one of another server, so the log is read on first; then the store is asked,
    which knows all that ever were.
    """
    decided = [live.deciding[event] for event in events if event in live.deciding]
    if decided:
        await asyncio.wait(decided)
    over: dict[str, RewardStatus] = {}
    for _ in range(_ROUNDS):
        strange = []
        for event in events:
            if loop.is_waiting(event):
                over.pop(event, None)
            elif (how := loop.finished(event)) is not None:
                over[event] = how
            elif event not in over:
                strange.append(event)
        if not strange:
            break
        if loops.store.is_shared:
            await loops.writer.catch_up(loop.name)
        found = await asyncio.to_thread(loops.store.events, loop.name, strange)
        for event in strange:
            entries = found.get(event, [])
            first = next((entry for entry in entries if begins_event(entry)), None)
            if first is None:
                over[event] = "unknown"
            elif first.seq <= loop.seq and not loop.is_waiting(event):
                over[event] = _ended(loop, entries)
            # else it was written just now: it is read on in the next round
    return over


async def find_decided(loops: LiveLoops, live: Live, loop: Loop, events: Sequence[str]) -> dict[str, Entry]:
    """The entries of those events that were decided before, as far as it is known here."""
    found: dict[str, Entry] = {}
    asked: set[str] = set()
    while True:  # while the store was asked, others of them may have been decided
        seen = [
            event
            for event in events
            if event not in asked
            and event not in live.deciding
            and (loop.is_waiting(event) or loop.finished(event) is not None)
        ]
        if not seen:
            return found
        asked.update(seen)
        for event, entries in (await asyncio.to_thread(loops.store.events, loop.name, seen)).items():
            if isinstance(entries[0].content, Decide):
                found[event] = entries[0]


def _ended(loop: Loop, entries: Sequence[Entry]) -> RewardStatus:
    """How an event ended of which only the log knows."""
    in_time = entries[0].at + seconds_to_wait(loop.config)
    has_reward = any(isinstance(entry.content, Reward) and entry.at <= in_time for entry in entries)
    return "already" if has_reward and loop.config.reward.aggregate == "first" else "late"
