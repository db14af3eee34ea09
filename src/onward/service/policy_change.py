"""Another policy for a loop: an empty one, one that has learned the log, or what the policy was at a snapshot."""

import asyncio
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from onward.service.entries import Entry, Install
from onward.service.folding import fold_entry
from onward.service.learner import Learner
from onward.service.live_loops import Live, LiveLoops
from onward.service.loop import Loop
from onward.service.rebuilding import snapshot_at
from onward.service.request_errors import RequestError
from onward.service.request_types import PolicyRequest
from onward.service.store import Store
from onward.service.store_errors import StoreError
from onward.service.store_values import Position
from onward.service.warming import warm

_TRIES = 100  # to write at the end of a log to which other servers write, too
Place = Literal["policy", "shadow"]


async def install_policy(loops: LiveLoops, live: Live, change: PolicyRequest, at: float) -> int:
    """Do what a request asks for; RequestError if it cannot be. The snapshot of before, to which one can go back."""
    name, request = live.current.name, change.request_id
    _, loop = loops.loop(live, name)
    if request is not None and request in loop.installed:
        return loop.installed[request]
    if change.snapshot is not UNSET:
        content = await asyncio.to_thread(_going_back, loops.store, name, change.snapshot)
    else:
        place: Place = "policy" if change.policy is not UNSET else "shadow"
        settings: Any = change.policy if place == "policy" else change.shadow
        if settings is not None:
            await asyncio.to_thread(_try_out, loop, place, settings)
        if settings is not None and change.learn == "log":
            previous = await _install_learned(loops, live, place, settings, request, at)
            return loop.installed.get(request or "", previous)
        content = Install(place, settings, source="empty")
    previous = await _save(loops, live)
    entry = Entry(name, msgspec.structs.replace(content, id=request, previous=previous), at=at)
    [written] = await loops.writer.append([entry], {name: live.birth})
    if written.entry is None:
        raise RequestError("unknown_loop", f"{name!r} was deleted", "loop")
    return loop.installed.get(request or "", previous)  # of the first, if it was asked for twice at once


def _try_out(loop: Loop, place: Place, settings: dict[str, Any]) -> None:
    """RequestError if a loop could not go on with a policy of these settings."""
    try:
        warm(msgspec.structs.replace(loop.config, policy=settings))
    except RequestError as error:
        field = None if error.field is None else place + error.field.removeprefix("policy")
        raise RequestError(error.code, error.message, field) from error


async def _save(loops: LiveLoops, live: Live) -> int:
    """Store the state of before, to which one can go back from then on; StoreError if that fails."""
    seq = live.current.seq
    if not await loops.save(live):
        name = live.current.name
        stored = await asyncio.to_thread(loops.store.loop, name)
        if stored is None or stored.birth != live.birth:
            raise RequestError("unknown_loop", f"{name!r} was deleted", "loop")
        raise StoreError(f"the state of {name!r} before cannot be stored, so nothing was changed", is_transient=True)
    return seq


def _going_back(store: Store, name: str, seq: int) -> Install:
    try:
        held = Loop.from_bytes(snapshot_at(store, name, seq).state)
    except ValueError as error:
        raise RequestError("unknown_snapshot", str(error), "snapshot") from error
    return Install("policy", held.learner.settings, held.learner.to_bytes(), f"snapshot at entry {seq}")


async def _install_learned(
    loops: LiveLoops, live: Live, place: Place, settings: dict[str, Any], request: str | None, at: float
) -> int:
    """Let a policy learn the log in a thread; then its last entries where nothing else is written meanwhile."""
    name = live.current.name
    pupil = await asyncio.to_thread(_Pupil, loops.store, name, live.birth, settings)
    await asyncio.to_thread(pupil.read_on)
    previous = await _save(loops, live)
    await loops.writer.run(lambda: pupil.install(place, request, previous, at))
    await loops.writer.catch_up(name)
    return previous


class _Pupil:
    """A policy that learns as the shadow of a loop that is folded from the log once more."""

    def __init__(self, store: Store, name: str, birth: str, settings: dict[str, Any]) -> None:
        stored = store.loop(name)
        if stored is None or stored.birth != birth:
            raise RequestError("unknown_loop", f"{name!r} was deleted", "loop")
        self._store, self._settings, self._birth = store, settings, stored.birth
        if stored.base_seq:
            told = f"the log does not hold all before entry {stored.base_seq + 1}: it was pruned, or a subject deleted"
            raise RequestError("conflict", f"{told}; expected learn: nothing", "learn")
        first = fold_entry(None, store.read(name, limit=1)[0])
        assert isinstance(first, Loop)
        self._loop = first
        self._loop.shadow = Learner(settings)

    def read_on(self) -> None:
        """Learn what has been written since."""
        loop = self._loop
        for entry in self._store.iterate(loop.name, after=loop.seq):
            pupil = loop.shadow
            loop.fold(entry)
            if isinstance(entry.content, Install) and entry.content.place == "shadow":
                loop.shadow = pupil  # that was another one

    def install(self, place: Place, request: str | None, previous: int, at: float) -> None:
        """Write the policy down right behind the last entry that it has learned."""
        for _ in range(_TRIES):
            self.read_on()
            assert self._loop.shadow is not None
            source = f"entries 2 to {self._loop.seq}"
            content = Install(place, self._settings, self._loop.shadow.to_bytes(), source, request, previous)
            name = self._loop.name
            position = Position(self._loop.seq, self._birth)
            appended = self._store.append([Entry(name, content, at=at)], {name: position}, only_here=True)
            if name not in appended.positions:
                raise RequestError("unknown_loop", f"{name!r} was deleted", "loop")
            if appended.stored[0] is not None:
                return
        raise StoreError(f"the log of {self._loop.name!r} grows too fast to install a policy", is_transient=True)
