"""States of chunks, merged in order or as a tree, are the state of all rows; each chunk's prefix is exact."""

from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward import ForwardRegressor, RidgeRegressor
from onward.core import Information
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor
from onward.scale import Summary, Tree, prefixes, tree
from onward.tables import Block
from tests.reference.streams import STREAMS, stream

LEARNERS = {"forward": ForwardRegressor, "ridge": RidgeRegressor}


def block(X: Matrix, y: Vector, w: Vector, names: list[str]) -> Block:
    rows = np.arange(len(y))
    return Block(np.ascontiguousarray(X), list(names), y.copy(), w.copy(), rows, 0, len(y))


def summaries(X: Matrix, y: Vector, w: Vector, cuts: list[int], intercept: bool) -> list[Summary]:
    names = [f"x{j}" for j in range(X.shape[1])]
    bounds = [0, *sorted(cuts), len(y)]
    return [Summary.of([block(X[a:b], y[a:b], w[a:b], names)], intercept) for a, b in pairwise(bounds)]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    d=st.integers(1, 7),
    cuts=st.lists(st.integers(0, 40), max_size=8),
    lam=st.sampled_from([1e-3, 1.0, 50.0]),
    learner=st.sampled_from(["forward", "ridge"]),
    intercept=st.booleans(),
)
def test_every_prefix_is_what_one_pass_has_there(
    seed: int, n: int, d: int, cuts: list[int], lam: float, learner: str, intercept: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d)
    if seed % 3 == 0:
        X[: n // 2, d // 2 :] = 0.0  # features that come late, and chunks of low rank
    y, w = rng.standard_normal(n), rng.uniform(0.1, 2.0, n)
    cuts = [min(cut, n) for cut in cuts]
    model: OnlineRegressor = LEARNERS[learner](lam, fit_intercept=intercept)
    one = deepcopy(model)
    expected = one.predict_then_learn(X, y, w)
    models = prefixes(model, summaries(X, y, w, cuts, intercept))
    got = []
    bounds = [0, *sorted(cuts), n]
    for before, a, b in zip(models, bounds, bounds[1:], strict=False):
        if b > a:
            got.append(
                deepcopy(before).learn_many(block(X[a:b], y[a:b], w[a:b], [f"x{j}" for j in range(d)]), y[a:b], w[a:b])
            )
    np.testing.assert_allclose(np.concatenate(got), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert models[-1].n_seen_ == n
    np.testing.assert_allclose(models[-1].coef_, one.coef_, rtol=1e-7, atol=1e-10)
    assert models[-1].information_gain_ == pytest.approx(one.information_gain_, rel=1e-10)
    assert models[-1].regularized_loss_ == pytest.approx(one.regularized_loss_, rel=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), cuts=st.lists(st.integers(0, 60), max_size=12), data=st.data())
def test_any_tree_gives_the_same_whole(seed: int, n: int, cuts: list[int], data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    X, y, w = rng.standard_normal((n, 4)), rng.standard_normal(n), rng.uniform(0.1, 2.0, n)
    parts = summaries(X, y, w, [min(cut, n) for cut in cuts], True)
    balanced = tree(deepcopy(parts), Summary.merge)
    while len(parts) > 1:  # neighbours merged in any order
        place = data.draw(st.integers(0, len(parts) - 2))
        parts[place : place + 2] = [parts[place].merge(parts[place + 1])]
    whole = ForwardRegressor(0.1).fit(X, y, w)
    for total in (balanced, parts[0]):
        assert total.model is not None
        merged = ForwardRegressor(0.1).merge_part(total.model)
        np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
        assert merged.information_gain_ == pytest.approx(whole.information_gain_, rel=1e-10)
        np.testing.assert_allclose(total.means, [w.sum(), w @ y], rtol=1e-9, atol=1e-12)
        assert total.read == n


@pytest.mark.parametrize("name", STREAMS)
def test_torture_streams_agree_with_one_pass_to_ten_digits(name: str) -> None:
    for seed in range(5):
        X, y, lam = stream(name, seed=seed)
        whole = Information(X.shape[1], 1, lam)
        p, q = whole.absorb(X.copy(), y.reshape(-1, 1).copy(), np.ones(len(y)))
        floor = 1e-3 * np.abs(p).max()
        rng = np.random.default_rng(seed)
        bounds = [0, *sorted(rng.integers(0, len(y) + 1, 4).tolist()), len(y)]
        prefix = Information(X.shape[1], 1, lam)
        for a, b in pairwise(bounds):
            if a == b:
                continue
            rows = (X[a:b].copy(), y[a:b].reshape(-1, 1).copy(), np.ones(b - a))
            part = Information(X.shape[1], 1, 0.0)
            part.absorb(*rows)
            got_p, got_q = prefix.copy().absorb(*rows)
            assert (np.abs(got_p - p[a:b]) <= 1e-10 * np.maximum(np.abs(p[a:b]), floor)).all()
            assert (np.abs(got_q - q[a:b]) <= 1e-10 * q[a:b]).all()
            prefix.merge(part)
        assert prefix.loss[0] == pytest.approx(whole.loss[0], rel=1e-10)
        assert prefix.information_gain == pytest.approx(whole.information_gain, rel=1e-10)


def test_parts_must_be_parts() -> None:
    X = np.eye(3)
    part = ForwardRegressor(0.0).fit(X, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="expected lam=0 and fit_intercept=True, got lam=1"):
        ForwardRegressor(1.0).merge_part(ForwardRegressor(1.0).fit(X, [1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="fit_intercept=False, got lam=0"):
        ForwardRegressor(1.0, fit_intercept=False).merge_part(part)
    with pytest.raises(ValueError, match="cannot merge states"):
        Information(2, 1, 0.0).merge(Information(2, 1, 1.0))  # regularisation cannot be taken from a part
    with pytest.raises(ValueError, match="at least one"):
        tree([], lambda a, b: a)


@pytest.mark.parametrize(("d", "n", "cut"), [(30, 90, 15), (60, 48, 24), (150, 240, 60), (720, 760, 380)])
def test_wide_parts_of_low_rank_lose_nothing_in_a_tree(d: int, n: int, cut: int) -> None:
    rng = np.random.default_rng(d)
    X, y, w = rng.standard_normal((n, d)), rng.standard_normal(n), np.ones(n)
    X[:, 5] = X[:, 3] + X[:, 4]
    one, two = summaries(X, y, w, [cut], True)
    assert one.merge(two).model is not None
    assert one.model is not None
    assert np.count_nonzero(one.model.information_.D) == min(n, d)  # with the constant, and one column too many
    whole = ForwardRegressor(1.0).fit(X, y)
    merged = ForwardRegressor(1.0).merge_part(one.model)
    np.testing.assert_allclose(merged.coef_, whole.coef_, atol=1e-10 * np.abs(whole.coef_).max())
    assert merged.information_gain_ == pytest.approx(whole.information_gain_, rel=1e-12)
    assert merged.regularized_loss_ == pytest.approx(whole.regularized_loss_, rel=1e-9)


@given(order=st.integers(1, 40).flatmap(lambda count: st.permutations(range(count))))
def test_items_of_a_tree_may_come_in_any_order(order: list[int]) -> None:
    merged: Tree[str] = Tree(len(order), lambda one, other: f"({one} {other})")
    for place in order:
        merged.put(place, str(place))
    assert merged.whole() == tree([str(place) for place in range(len(order))], lambda one, other: f"({one} {other})")
    assert merged.whole().replace("(", "").replace(")", "").split() == [str(place) for place in range(len(order))]
    assert merged.waiting == 1
