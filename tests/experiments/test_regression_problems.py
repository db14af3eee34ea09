"""The problems of figures 1 and 2, and the frames that they leave behind."""

import numpy as np
import polars as pl
import pytest

from onward.core.trace import Trace
from onward.experiments.regression_problems import Problem
from onward.experiments.repeat_frame import SCHEMA, make_frame, split_repeats, value_matrix


@pytest.mark.parametrize("rows", ["cube", "ball"])
def test_a_longer_run_begins_with_the_shorter_one(rows: str) -> None:
    short, long = (Problem.draw(3, 1, "cube" if rows == "cube" else "ball", 4, T) for T in (6, 40))
    np.testing.assert_array_equal(long.X[:6], short.X)
    np.testing.assert_array_equal(long.noise[:6], short.noise)
    np.testing.assert_array_equal(long.theta, short.theta)
    other = Problem.draw(3, 2, "cube" if rows == "cube" else "ball", 4, 6)
    assert not np.isclose(other.X, short.X).any()
    assert not np.isclose(other.theta, short.theta).any()


def test_rows_and_truth_have_the_laws_they_are_said_to_have() -> None:
    d, T = 5, 20_000
    ball, cube = Problem.draw(0, 0, "ball", d, T), Problem.draw(0, 0, "cube", d, T)
    assert np.linalg.norm(ball.theta) == pytest.approx(1.0)
    norms = np.linalg.norm(ball.X, axis=1)
    assert norms.max() <= 1
    # ‖x‖^d is uniform, and so is every coordinate of the cube; a mean of T of them has the deviation 1/√(12T).
    for uniform in (norms**d, *cube.X.T):
        assert abs(uniform.mean() - 0.5) < 5 / np.sqrt(12 * T) < abs((0.9 * uniform).mean() - 0.5)
        assert 0 <= uniform.min() < uniform.max() <= 1
    np.testing.assert_allclose(ball.X.T @ ball.X / T, np.eye(d) / (d + 2), atol=5 / np.sqrt(T) / (d + 2))
    np.testing.assert_allclose(ball.signal, ball.X @ ball.theta, atol=1e-14)
    scaled = Problem.draw(0, 0, "ball", d, T, theta_norm=0.1)
    np.testing.assert_allclose(scaled.theta, 0.1 * ball.theta)
    np.testing.assert_array_equal(scaled.noise, ball.noise)
    inside = [Problem.draw(0, i, "ball", d, 1, "ball", 2.0).theta for i in range(2000)]
    radii = np.linalg.norm(inside, axis=1) / 2.0
    assert radii.max() <= 1
    assert abs(np.mean(radii**d) - 0.5) < 5 / np.sqrt(12 * 2000) < abs(np.mean(radii) - 0.5)


@pytest.mark.parametrize("sigma", [0.01, 3.0])
def test_one_pass_over_signal_and_noise_is_the_run_at_any_sigma(sigma: float) -> None:
    problem = Problem.draw(0, 4, "ball", 3, 50)
    y = problem.signal + sigma * problem.noise
    expected = Trace.of(problem.X, y, 0.2)
    learned = problem.learn(0.2)
    trace = learned.trace(sigma)
    for name in ("y", "p", "q", "norms", "forward"):
        np.testing.assert_allclose(getattr(trace, name), getattr(expected, name), rtol=1e-9, atol=1e-12)
    assert (trace.d, trace.lam) == (3, 0.2)
    for learner, prediction in (("ridge", expected.p), ("forward", expected.forward)):
        np.testing.assert_allclose(learned.error(learner, sigma), prediction - problem.signal, atol=1e-10)
        regret = np.cumsum((prediction - y) ** 2 - (sigma * problem.noise) ** 2)
        np.testing.assert_allclose(learned.regret(learner, sigma), regret, atol=1e-9)


def sample() -> pl.DataFrame:
    return make_frame(
        np.arange(6.0).reshape(2, 3),
        part="lines",
        quantity="error",
        learner="ridge",
        lam=0.5,
        sigma=1,
        first_repeat=4,
        rounds=[1, 5, 9],
    )


def test_values_come_back_by_repeat_and_round_whatever_the_order() -> None:
    frame = sample()
    assert frame.schema == SCHEMA
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    np.testing.assert_array_equal(value_matrix(shuffled, lam=0.5), np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(value_matrix(shuffled, round=5), [[1.0], [4.0]])
    assert frame["repeat"].unique().sort().to_list() == [4, 5]


def test_a_missing_value_is_noticed() -> None:
    with pytest.raises(ValueError, match=r"one value for each repeat and round of lam=0.5, got 5 values"):
        value_matrix(sample()[:-1], lam=0.5)
    with pytest.raises(ValueError, match=r"of lam=0.25, got 0 values"):
        value_matrix(sample(), lam=0.25)


def test_pieces_hold_every_repeat_once() -> None:
    pieces = split_repeats("map", 0, 25, 10) + split_repeats("map", 25, 50, 10)
    assert [repeat for piece in pieces for repeat in range(piece.about["start"], piece.about["stop"])] == [*range(50)]
    assert len({piece.name for piece in pieces}) == 6
    assert split_repeats("map", 20, 25, 10)[0].name != split_repeats("map", 20, 30, 10)[0].name  # other repeats
