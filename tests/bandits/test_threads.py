"""Policies that several threads share lose nothing, and forked workers go their own ways."""

import copy
import multiprocessing
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from onward.bandits import OFUL, Disjoint, LinTS, LinUCB, MetaOFUL, Policy, SWLinUCB, read_journal, replay_journal
from onward.bandits.settings import Status

THREADS, EACH = 8, 10_000
ROWS = np.random.default_rng(0).standard_normal((64, 4, 3))


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    """Threads take turns as often as they can, so that what can go wrong does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], None], threads: int = THREADS) -> None:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert not failures, failures[0]


def test_eight_threads_lose_no_decision_and_no_reward() -> None:
    policy = OFUL(seed=0)

    def work(number: int) -> None:
        for i in range(EACH):
            key = f"{number} {i}"
            policy.decide(ROWS[i % 64], key)
            policy.reward(key, 0.5)

    together(work)
    assert policy.counts == (THREADS * EACH, 0, THREADS * EACH, 0, 0, 0)
    assert policy.n_learned == policy.information().rows == THREADS * EACH
    G = policy.information().second_moment()
    assert np.isfinite(G).all()
    assert np.all(np.linalg.eigvalsh(G) > 0)


@pytest.mark.parametrize("make", [OFUL, LinTS, lambda **given: SWLinUCB(300, **given)])
def test_the_state_is_that_of_the_order_in_the_journal(make: Callable[..., Policy], tmp_path: Path) -> None:
    """All at once: decisions, rewards, cancels, logs that replace the buffer, and plain rounds before and after."""
    policy = make(seed=0)
    policy.choose(ROWS[0])

    def work(number: int) -> None:
        for i in range(60):
            actions = ROWS[(7 * number + i) % 64]
            key = policy.decide(actions, at=0.0).key
            policy.learn(actions[policy.choose(actions)], 0.25)
            policy.reward(key, float(number)) if i % 5 else policy.cancel(key)
            if i % 20 == 0:
                policy.learn_many(actions, [1.0, 2.0, 3.0, 4.0])

    def opening(number: int) -> None:
        if number == 0:
            policy.journal(tmp_path / "journal")
        work(number)

    together(opening, 4)
    assert policy._journal is not None
    policy._journal.close()
    assert policy.n_learned == 4 * (60 + 48 + 3 * 4)
    assert replay_journal(tmp_path / "journal").digest() == policy.digest()


class OpensAJournal:
    """A lock that another thread has had in the meantime: it opened a journal."""

    def __init__(self, policy: Any, path: Path) -> None:
        self.policy, self.path, self.lock = policy, path, policy._lock

    def __enter__(self) -> None:
        self.policy._lock = self.lock
        self.policy.journal(self.path)
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


@pytest.mark.parametrize("make", [lambda: LinUCB(1.0, seed=0), lambda: Disjoint(LinUCB(1.0, seed=0), 4)])
@pytest.mark.parametrize("step", ["decide", "reward"])
def test_a_step_that_waited_while_a_journal_was_opened_is_written_down(
    make: Callable[[], Any], step: str, tmp_path: Path
) -> None:
    policy = make()
    offered = ROWS[0][0] if isinstance(policy, Disjoint) else ROWS[0]
    for key in ("first", "second"):
        policy.decide(offered, key, at=0.0)
    policy.reward("first", 0.5)  # from here on the short way is open
    policy._lock = OpensAJournal(policy, tmp_path / "journal")
    if step == "reward":
        policy.reward("second", 1.0)
    else:
        policy.decide(offered, "third", at=0.0)
    policy._journal.close()
    assert [record.done for record in read_journal(tmp_path / "journal")] == ["begin", step, "end"]
    assert replay_journal(tmp_path / "journal").digest() == policy.digest()
    orders = [record.done for record in read_journal(tmp_path / "journal")]
    assert orders.count("decide") <= 4 * 60


def test_plain_rounds_beside_logs_that_replace_the_buffer() -> None:
    """Without a lock for plain rounds: what is learned while a log takes the buffer's place goes into the new one."""
    policy = SWLinUCB(5000, seed=0)
    policy.choose(ROWS[0])

    def work(number: int) -> None:
        for i in range(1500):
            if number < 2:
                policy.learn_many(ROWS[i % 64], [0.0, 1.0, 0.0, 1.0])
                policy.information()
                if i % 10 == 0:
                    pickle.dumps(policy)
            else:
                policy.learn(ROWS[i % 64, policy.choose(ROWS[i % 64])], 1.0)

    together(work, 6)
    assert policy.n_learned == 2 * 1500 * 4 + 4 * 1500


def test_a_thread_that_comes_late_with_a_buffer_that_was_replaced_is_refused() -> None:
    policy, row = OFUL(sigma=1.0, seed=0), ROWS[0, 0]
    policy.learn(row, 1.0)
    assert policy._learn_loop is not None
    assert policy._choose_loop is not None
    late = policy._buffer
    assert policy._learn_loop(late, row, 1.0) == 0
    with policy._closed():
        assert policy._learn_loop(late, row, 1.0) == Status.WRONG_SHAPE
        assert policy._choose_loop(late, ROWS[0]) == Status.WRONG_SHAPE
    assert policy._learn_loop(late, row, 1.0) == 0  # it was only looked at
    policy.learn_many(ROWS[0], [1.0, 2.0, 3.0, 4.0])
    assert policy._learn_loop(late, row, 1.0) == Status.WRONG_SHAPE
    assert policy.n_learned == 3 + 4
    with pytest.raises(ZeroDivisionError), policy._closed():
        _ = 1 / 0
    assert policy._learn_loop(policy._buffer, row, 1.0) == 0


def test_arms_that_threads_share() -> None:
    policy = Disjoint(OFUL(seed=0), 4)

    def work(number: int) -> None:
        for i in range(500):
            context = ROWS[i % 64, 0]
            decision = policy.decide(context)
            policy.reward(decision.key, 1.0)
            policy.learn(policy.choose(context), context, 0.5)
            if i % 100 == 0:
                policy.add_arm(f"{number} {i}")

    together(work, 4)
    assert policy.counts == (4 * 500, 0, 4 * 500, 0, 0, 0)
    assert sum(policy.n_learned.values()) == 2 * 4 * 500


def test_tasks_that_threads_share_end_when_they_are_over() -> None:
    meta = MetaOFUL(rounds=10, seed=0)

    def work(_: int) -> None:
        for row in ROWS[:25, 0]:
            meta.learn(row, 0.5)

    together(work, 4)
    assert (meta.n_tasks, meta.rounds_left) == (10, 10)
    assert pickle.loads(pickle.dumps(meta)).digest() == copy.deepcopy(meta).digest() == meta.digest()


def test_what_threads_decide_gets_keys_of_its_own() -> None:
    policy = LinTS(seed=0, sigma=1.0)
    keys: list[Any] = []
    together(lambda _: keys.extend(policy.decide(ROWS[0][:2], at=0.0).key for _ in range(40)), 4)
    assert len(set(keys)) == len(keys) == policy.n_pending == 160


# Copies


@pytest.mark.parametrize("make", [OFUL, lambda **given: Disjoint(LinTS(**given), 3)])
def test_copies_are_exact_and_have_locks_of_their_own(make: Callable[..., Any], tmp_path: Path) -> None:
    policy = make(seed=0)
    actions: Any = ROWS[0] if isinstance(policy, Policy) else ROWS[0, 0]
    policy.decide(actions, "a")
    joblib.dump(policy, tmp_path / "policy.joblib")
    others = [copy.deepcopy(policy), pickle.loads(pickle.dumps(policy)), joblib.load(tmp_path / "policy.joblib")]
    others += [type(policy).from_bytes(policy.to_bytes())]
    for other in others:
        assert other.digest() == policy.digest()
        assert other._lock is not policy._lock
        other.reward("a", 1.0)
        assert "a" in policy.pending
        assert not other.n_pending


# Forks


def numbers_of(policy: Any) -> list[float]:
    return [float(number) for number in policy.generator.random(4)]


def _draw_in_child(policies: list[Any], results: Any) -> None:
    results.put([numbers_of(policy) for policy in policies])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_workers_draw_other_numbers_and_the_parent_its_own() -> None:
    policy, same = LinTS(seed=7), LinTS(seed=7)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    held = policy._lock
    held.acquire()  # as if another thread were in the middle of something
    workers = [context.Process(target=_draw_in_child, args=([policy], results)) for _ in range(3)]
    for worker in workers:
        worker.start()
    drawn = [results.get()[0] for _ in workers]
    for worker in workers:
        worker.join(timeout=30)
    held.release()
    own = numbers_of(same)
    assert numbers_of(policy) == own
    assert len({tuple(numbers) for numbers in [*drawn, own]}) == 4


def _decide_in_child(policy: Policy, results: Any) -> None:
    policy.decide(ROWS[0], "child")
    results.put(policy.n_pending)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_worker_is_not_kept_waiting_by_a_lock_of_the_parent() -> None:
    policy = OFUL(seed=0)
    policy.decide(ROWS[0], "parent")
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    with policy._lock:
        worker = context.Process(target=_decide_in_child, args=(policy, results))
        worker.start()
        assert results.get() == 2
        worker.join(timeout=30)
    assert policy.n_pending == 1
