"""Normal numbers that compiled loops draw themselves, and what is read of all actions at once."""

import numpy as np
import pytest

from onward.bandits import LinTS
from onward.bandits.choosing import choose_by_sample
from onward.bandits.memories import model_in
from onward.bandits.quick_normals import draw_normals, source_of
from onward.bandits.reading import _sample
from onward.core.compile import compiled
from onward.core.simd import dot_from, dot_thrice
from onward.core.solving import solve, solve_both
from onward.core.types import Matrix, Vector


@compiled
def _drawn(bits: int, fill: int, out: Vector) -> None:
    draw_normals(bits, fill, out)


@compiled
def _dots(A: Matrix, v: Vector, w: Vector, out: Matrix, one_by_one: Matrix) -> None:
    for i in range(A.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = dot_thrice(A, i, v, w)
        one_by_one[i, 0] = dot_from(A, i, A[i], 0)
        one_by_one[i, 1] = dot_from(A, i, v, 0)
        one_by_one[i, 2] = dot_from(A, i, w, 0)


def played(d: int, rounds: int = 30, seed: int = 4) -> tuple[LinTS, np.random.Generator]:
    rng, policy = np.random.default_rng(seed), LinTS(lam=0.5, sigma=0.3, seed=1)
    for _ in range(rounds):
        actions = rng.standard_normal((7, d))
        policy.learn(actions[policy.choose(actions)], float(rng.standard_normal()))
    return policy, rng


def test_the_same_numbers_as_the_generator_and_they_can_be_put_back() -> None:
    mine, theirs = np.random.default_rng(3), np.random.default_rng(3)
    source = source_of(mine)
    assert source is not None
    first, out = source.words.copy(), np.empty(1000)
    _drawn(source.bits, source.fill, out)
    assert np.array_equal(out, theirs.standard_normal(1000))
    assert mine.bit_generator.state == theirs.bit_generator.state
    source.words[:] = first
    assert np.array_equal(mine.standard_normal(1000), out)


def test_other_generators_have_no_source() -> None:
    assert source_of(np.random.Generator(np.random.MT19937(0))) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_refused_actions_draw_nothing(bad: float) -> None:
    policy, rng = played(8)
    before = policy.generator.bit_generator.state
    actions = rng.standard_normal((5, 8))
    for table in (np.where(np.arange(8) == 3, bad, actions), actions[:, :7], actions[:0], actions[0]):
        with pytest.raises(ValueError, match=r"action"):
            policy.choose(table)
        assert policy.generator.bit_generator.state == before
    policy.choose(actions)
    assert policy.generator.bit_generator.state != before


@pytest.mark.parametrize("d", [2, 6, 7, 8, 21])
@pytest.mark.parametrize("estimator", ["ridge", "forward"])
def test_short_and_long_ways_choose_alike(d: int, estimator: str) -> None:
    rng = np.random.default_rng(d)
    short, long = (LinTS(estimator=estimator, sigma=0.5, lam=1.0, seed=2) for _ in range(2))  # type: ignore[arg-type]
    everything = np.ones(9, dtype=np.bool_)
    for turn in range(60):
        actions = rng.standard_normal((9, d))
        if turn % 10 == 9:
            actions[:] = actions[0]  # all tie: lots are drawn after the sample
        i, j = short.choose(actions), long.choose(actions, everything)
        assert i == j
        reward = float(rng.standard_normal())
        short.learn(actions[i], reward)
        long.learn(actions[j], reward)
    assert short.generator.bit_generator.state == long.generator.bit_generator.state


def test_a_new_seed_is_drawn_from() -> None:
    policy, rng = played(8)
    other, _ = played(8)
    actions = rng.standard_normal((50, 8))
    for each in (policy, other):
        each.reseed(77)
    assert [policy.choose(actions) for _ in range(20)] == [other.choose(actions) for _ in range(20)]
    assert policy._source is not None
    assert policy._source.rng is policy.generator


def test_a_tie_leaves_no_trace() -> None:
    policy, _ = played(8)
    source = source_of(policy.generator)
    assert source is not None
    before = policy.generator.bit_generator.state
    assert choose_by_sample(policy._buffer, source.words, source.bits, source.fill, np.zeros((3, 8))) < 0
    assert policy.generator.bit_generator.state == before


@pytest.mark.parametrize("d", [6, 8, 11, 100])
def test_two_systems_at_once_have_the_bits_of_each(d: int) -> None:
    policy, rng = played(d)
    factor = model_in(policy._buffer).factor
    width = factor.U.shape[1]
    alone, both, z = np.zeros(width), np.zeros(width), np.zeros(width)
    draws = rng.standard_normal(d)
    z[:d] = draws / np.sqrt(factor.D)
    solve(factor, alone)
    solve_both(factor, both, z)
    assert np.array_equal(alone, both)
    assert np.array_equal(z, _sample(factor, draws))
    U = np.triu(factor.U[:, :d], 1) + np.eye(d)
    np.testing.assert_allclose(U @ alone[:d], factor.c[:, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(U @ z[:d], draws / np.sqrt(factor.D), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("d", [4, 6, 17, 23, 100])
def test_three_products_at_once_have_the_bits_of_each(d: int) -> None:
    rng = np.random.default_rng(d)
    A, v, w = rng.standard_normal((5, d)), rng.standard_normal(d), rng.standard_normal(d)
    together, one_by_one = np.empty((5, 3)), np.empty((5, 3))
    _dots(A, v, w, together, one_by_one)
    assert np.array_equal(together, one_by_one)
    np.testing.assert_allclose(together, np.column_stack([(A * A).sum(1), A @ v, A @ w]), rtol=1e-12, atol=1e-12)
