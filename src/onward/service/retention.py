"""Retention by age: the learner of a loop removes what is old from its log, where a snapshot makes up for it."""

import asyncio

from msgspec import UNSET

from onward.bandits.late_rewards import as_seconds
from onward.service.configuration import LoopConfig, ModelConfig, Span
from onward.service.live_loops import Live, LiveLoops, log
from onward.service.loop_facts import read_facts
from onward.service.store_removal import AT_ONCE, plan_pruning, remove_some

_STEPS = 100  # in which an age passes: what is old is removed so often at most, ...
_LONGEST_STEP = 3600.0  # ... and after so many seconds at the latest
_PAUSE = 0.02  # seconds between two transactions, for those that wait to write


def seconds_kept(config: LoopConfig | ModelConfig, default: Span | None) -> float | None:
    """For how long entries of a loop or model are kept; None: for ever. `default` is for those that do not say."""
    told = default if config.retain is UNSET else config.retain
    if told is None:
        return None
    seconds = as_seconds("retain", told)
    return max(seconds, as_seconds("wait", config.reward.wait)) if isinstance(config, LoopConfig) else seconds


async def remove_old(loops: LiveLoops, live: Live, now: float) -> int:
    """Remove the entries of a loop that are older than they are kept, if there are some, and count them."""
    current = live.current
    seconds = seconds_kept(current.config, loops.retain)
    if seconds is None:
        return 0
    # On the writer's thread, which ends before the store is closed, also if whoever waits here is cancelled.
    facts = await loops.writer.run(lambda: read_facts(loops.store, current.name, live.birth))
    before, step = now - seconds, min(seconds / _STEPS, _LONGEST_STEP)
    if facts is None or facts.since is None or before - step <= facts.since <= now:
        return 0  # one from the future says nothing of those behind it
    last = facts.snapshot
    if last is None or (last["at"] < before and last["seq"] < current.seq):
        await loops.save(live)  # none makes up for all that is old: this one does, for as long again
    plan = await loops.writer.run(lambda: plan_pruning(loops.store, current.name, before))
    if plan.birth != live.birth:
        return 0
    removed = 0
    while True:
        count = await loops.writer.run(lambda: remove_some(loops.store, plan))
        removed += count
        if count < AT_ONCE:
            break
        await asyncio.sleep(_PAUSE)
    if removed:
        log.info(
            "%s: %d entries older than %g s removed; it is folded from entry %d",
            plan.loop,
            removed,
            seconds,
            plan.base_seq,
        )
    return removed
