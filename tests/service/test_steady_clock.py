"""Clocks that leap: decisions wait on, what is old is found, and the page stays readable."""

import asyncio
import time
from pathlib import Path

import pytest

from onward.service import Action, Loop
from onward.service.request_types import RewardRequest
from onward.service.service_engine import Service
from onward.service.steady_clock import SteadyClock
from onward.service.store import Store, open_store
from onward.service.store_removal import prune
from tests.service.logs import begun, decide, position, snapshot
from tests.service.test_service_engine import CONFIG, ask, run

YEAR = 365 * 86400.0


def test_a_leap_ahead_counts_when_it_stays(caplog: pytest.LogCaptureFixture) -> None:
    wall, passed = [1000.0], [0.0]
    clock = SteadyClock(lambda: wall[0], lambda: passed[0])

    def after(seconds: float, leap: float = 0.0) -> float:
        wall[0] += seconds + leap
        passed[0] += seconds
        return clock()

    assert after(10.0) == 1010.0
    assert after(3600.0, 2.0) == 4612.0  # a clock that is corrected a little, or nobody asked for long
    assert after(1.0, YEAR) == 4613.0
    assert after(30.0) == 4643.0
    assert after(1.0, -YEAR) == 4644.0  # it was a mistake, ...
    assert after(1.0, YEAR) == 4645.0  # ... as is this one until it has lasted a minute
    assert after(59.0) == 4704.0
    assert after(1.0) == 4705.0 + YEAR
    assert after(1.0, -2 * YEAR) == 4706.0 - YEAR
    assert [record.message.split(":")[0] for record in caplog.records] == ["the clock leapt 31536000 s ahead"] * 2


def test_what_waits_outlives_a_leap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        await service.make("news", CONFIG)
        await service.decide("news", [ask("before")])
        real = time.time
        monkeypatch.setattr(service._clock, "_wall", lambda: real() + YEAR)
        await service.decide("news", [ask("meanwhile")])
        await asyncio.sleep(1.2)  # in which it would have expired
        monkeypatch.undo()
        given = [RewardRequest("before", 1.0), RewardRequest("meanwhile", 1.0)]
        assert await service.reward("news", given) == ["learned", "learned"]
        assert all(abs(entry.at - real()) < 60.0 for entry in service.store.read("news"))
        await service.stop()

    run(work)


@pytest.mark.parametrize(
    ("times", "left"),
    [
        ([2, 3, 4, 999, 5, 6, 50, 51], [8, 9]),  # one that was ahead is as old as those after it
        ([2, 3, 4, 999, 998, 997, 996, 995, 5, 50, 51], [*range(5, 13)]),  # many that were: nobody knows
        ([20, 21, 22, 1, 50, 51, 0, 52], [6, 7, 8, 9]),  # one that was behind makes nothing older
        ([20, 0, 50, 51, 1, 52], [4, 5, 6, 7]),
    ],
)
def test_pruning_by_clocks_that_leapt(store: Store, times: list[float], left: list[int]) -> None:
    begun(store)
    for number, at in enumerate(times):
        store.append([decide(f"e{number}", at=float(at))], {"news": position(store)})
    store.save_snapshot(snapshot(len(times) + 1), position(store).birth)
    prune(store, 30.0)
    assert [entry.seq for entry in store.read("news")] == [1, *left]


def test_a_leap_leaves_the_bins_of_time_as_they_are() -> None:
    loop, actions = Loop("l"), [Action("a"), Action("b")]
    for t in range(50):
        loop.decide(f"e{t}", {}, actions, at=1e9 + t)
    loop.decide("ahead", {}, actions, at=1e9 + 40 * YEAR)
    for t in range(50, 200):
        loop.decide(f"e{t}", {}, actions, at=1e9 + t)
    told = loop.state()["statistics"]
    assert told["bin"] == 1.0
    assert [(each["start"] - 1e9, each["decided"]) for each in told["over_time"]] == [
        *((float(t), 1) for t in range(200)),
        (40 * YEAR, 1),
    ]


def test_after_a_pause_bins_are_as_wide_as_all_of_the_time_needs() -> None:
    loop, actions = Loop("l"), [Action("a")]
    for t in range(3):
        loop.decide(f"e{t}", {}, actions, at=1e9 + t)
    for t in range(3):
        loop.decide(f"f{t}", {}, actions, at=1e9 + YEAR + 86400.0 * t)
    told = loop.state()["statistics"]
    assert told["bin"] > 3600.0
    assert sum(each["decided"] for each in told["over_time"]) == 6
