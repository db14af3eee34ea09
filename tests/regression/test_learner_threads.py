"""Learners that several threads share lose nothing."""

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from onward import AutoRegressor, ForwardRegressor, RidgeRegressor
from onward.storage import StorageError

ROWS = np.random.default_rng(0).standard_normal((50, 3))


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*works: Callable[[], object]) -> None:
    failures: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_rows_one_by_one_in_batches_and_with_new_names() -> None:
    """Each thread brings names of its own, so that the state is replaced by larger ones again and again."""
    model = RidgeRegressor(lam=1.0, fit_intercept=False)
    model.learn_one({"a": 1.0, "b": 0.0, "c": 0.0}, 1.0)

    def one_by_one() -> None:
        for x in np.tile(ROWS, (20, 1)).tolist():
            model.learn_one(dict(zip("abc", x, strict=True)), 1.0)
            model.predict_one({"a": 1.0})

    def growing(prefix: str) -> Callable[[], None]:
        def work() -> None:
            for i in range(20):
                model.learn_one({"a": 1.0, f"{prefix}{i}": 2.0}, 1.0)
                pickle.dumps(model)

        return work

    together(*[one_by_one] * 6, growing("x"), growing("y"))
    assert model.n_seen_ == 1 + 6 * 1000 + 40
    assert model.n_features_in_ == 3 + 40
    names, G = list(model.feature_names_in_), model.information_.second_moment()
    expected = np.eye(43)
    expected[:3, :3] += 6 * 20 * ROWS.T @ ROWS
    expected[0, 0] += 1.0 + 40.0
    for j, name in enumerate(names[3:], start=3):
        assert name[0] in "xy"
        expected[0, j] = expected[j, 0] = 2.0
        expected[j, j] += 4.0
    assert_allclose(G, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"units": "own"}, {"window": 5000}, {"half_life": 100.0}])
def test_batches_beside_single_rows(settings: dict[str, Any]) -> None:
    model = ForwardRegressor(**settings)
    model.partial_fit(ROWS, ROWS[:, 0])

    def single() -> None:
        for i in range(1000):
            model.learn_one(ROWS[i % 50], float(i % 7))
            model.predict_one(ROWS[i % 50])

    def batches() -> None:
        for _ in range(60):
            model.partial_fit(ROWS, ROWS[:, 1])
            model.predict(ROWS)
            copy.deepcopy(model)
            assert np.isfinite(model.coef_).all()

    together(single, single, single, batches, batches)
    assert model.n_seen_ == 50 + 3 * 1000 + 2 * 60 * 50


class Pausing(RidgeRegressor):
    """Lets another thread learn a row just before its state is replaced by a larger one."""

    threads: ClassVar[list[threading.Thread]] = []

    def _commit(self, fitted: Any) -> None:
        if self._state is not None and fitted is not self._state:
            self.threads.append(threading.Thread(target=self.learn_one, args=({"a": 1.0, "b": 2.0, "c": 3.0}, 1.0)))
            self.threads[-1].start()
            self.threads[-1].join(0.1)
        super()._commit(fitted)


def test_a_row_that_comes_while_the_state_is_replaced_waits() -> None:
    model = Pausing()
    for _ in range(3):
        model.learn_one({"a": 1.0, "b": 3.0, "c": 0.0}, 1.0)
    model.learn_one({"new": 1.0}, 2.0)
    (thread,) = model.threads
    thread.join(10.0)
    assert model.n_seen_ == 5


def test_the_first_rows_of_all_threads_count() -> None:
    for make in (ForwardRegressor, AutoRegressor):
        model = make()
        together(*[lambda: model.learn_one(ROWS[0], 1.0)] * 8)  # noqa: B023
        assert model.n_seen_ == 8


def test_calibrated_models_and_ensembles() -> None:
    model = AutoRegressor().calibrate([0.1])

    def work() -> None:
        for i in range(100):
            model.learn_one({"a": float(i % 5), "b": float(i % 3)}, float(i))

    together(*[work] * 4)
    assert model.n_seen_ == 400


def test_copies_have_locks_of_their_own_and_are_exact() -> None:
    model = RidgeRegressor().partial_fit(ROWS, ROWS[:, 0])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), RidgeRegressor.from_bytes(model.to_bytes())):
        assert other._lock is not model._lock
        assert np.array_equal(other.information_.buffer, model.information_.buffer)
        other.learn_one(ROWS[0], 1.0)
        assert other.n_seen_ == model.n_seen_ + 1
    assert "_lock" not in vars(clone(model))
    with pytest.raises(StorageError, match="hold a RidgeRegressor, expected ForwardRegressor"):
        ForwardRegressor.from_bytes(model.to_bytes())
    with pytest.raises(StorageError, match="truncated or altered"):
        RidgeRegressor.from_bytes(model.to_bytes()[:-1])


def test_a_model_is_merged_as_it_is_at_one_moment() -> None:
    other = RidgeRegressor(lam=1.0, fit_intercept=False, units="raw")
    other.partial_fit(np.ones((1, 1)), np.ones(1))

    def learn() -> None:
        for _ in range(2000):
            other.partial_fit(np.ones((40, 1)), np.ones(40))

    def merge() -> None:
        for _ in range(150):
            model = RidgeRegressor(lam=1.0, fit_intercept=False, units="raw")
            model.partial_fit(np.ones((1, 1)), np.ones(1)).merge(other)
            assert_allclose(model.coef_, model.n_seen_ / (1 + model.n_seen_), rtol=1e-12)

    together(learn, merge)
