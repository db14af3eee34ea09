"""Worlds of the bandit games: the laws of arms, θ and noise, and the same rounds however they are taken."""

import copy
import json
import math
import pickle
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import SFC64, Generator, SeedSequence
from numpy.typing import NDArray
from scipy import stats

from onward.bandits import environments
from onward.bandits.environments import (
    Abrupt,
    Arms,
    BallArms,
    Block,
    Bounded,
    BoxArms,
    Drift,
    Environment,
    Gaussian,
    GivenArms,
    LinearWorld,
    Noise,
    Rademacher,
    RandomTheta,
    RandomWalk,
    Rotating,
    SphereArms,
    Stationary,
    UniformNormArms,
)

Array = NDArray[np.float64]

D = 3
ARMS: dict[str, Arms] = {
    "given": GivenArms(np.arange(12.0).reshape(4, D)),
    "sphere": SphereArms(4, D, radius=2.0),
    "ball": BallArms(4, D, radius=0.5),
    "ball-kept": BallArms(4, D, fresh=False),
    "uniform-norm": UniformNormArms(4, D, radius=3.0),
    "box": BoxArms(4, D),
    "box-odd": BoxArms(5, D),  # an odd count of numbers leaves half a random word over
    "box-kept": BoxArms(5, D, fresh=False),
    "one": SphereArms(1, D),
}
THETAS: dict[str, Drift] = {
    "still": Stationary([1.0, -2.0, 0.5]),
    "still-random": Stationary.random(D, "ball", radius=2.0),
    "abrupt": Abrupt([(1, 0, 0), (-1, 0, 0), (0, 0, 2)], (1, 80)),
    "rotating": Rotating((3, 0, 0), (0, 1, math.sqrt(8)), 90),
    "walk": RandomWalk((0.5, 0, 0), step=0.3, radius=0.8),
    "walk-random": RandomWalk(RandomTheta(D), step=0.05),
}
NOISES: dict[str, Noise] = {"gaussian": Gaussian(0.3), "rademacher": Rademacher(0.5), "bounded": Bounded(2.0)}

FIGURE_4A = Abrupt([(1, 0), (-1, 0), (0, 1), (0, -1)], (1000, 2000, 3000))
FIGURE_4B = Rotating((1, 0), (0, 1), 3000)

each_arms = pytest.mark.parametrize("arms", ARMS.values(), ids=ARMS)
each_theta = pytest.mark.parametrize("theta", THETAS.values(), ids=THETAS)
each_noise = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)


def world(arms: Arms | None = None, theta: Drift | None = None, noise: Noise | None = None) -> LinearWorld:
    return LinearWorld(arms or ARMS["box-odd"], theta or THETAS["walk-random"], noise or NOISES["gaussian"])


def worlds() -> dict[str, LinearWorld]:
    made = {f"arms-{name}": world(arms=arms) for name, arms in ARMS.items()}
    made |= {f"theta-{name}": world(theta=theta) for name, theta in THETAS.items()}
    return made | {f"noise-{name}": world(noise=noise) for name, noise in NOISES.items()}


each_world = pytest.mark.parametrize("made", worlds().values(), ids=worlds())


def arrays(block: Block) -> dict[str, Array]:
    return {"actions": block.actions, "means": block.means, "noise": block.noise, "thetas": block.thetas}


def assert_same(one: dict[str, Array], other: dict[str, Array]) -> None:
    """To the last bit."""
    for name, array in one.items():
        assert array.shape == other[name].shape, name
        assert array.tobytes() == other[name].tobytes(), name


def joined(blocks: list[Block], fresh: bool) -> dict[str, Array]:
    whole = {name: np.concatenate([arrays(block)[name] for block in blocks]) for name in arrays(blocks[0])}
    return whole if fresh else whole | {"actions": blocks[0].actions}


# The same rounds however they are taken


@each_world
def test_rounds_do_not_depend_on_the_blocks(made: LinearWorld) -> None:
    at_once = arrays(made.start(SeedSequence(5)).rounds(100))
    run = made.start(SeedSequence(5))
    assert_same(at_once, joined([run.rounds(count) for count in (1, 1, 2, 7, 64, 25)], made.arms.fresh))


@each_world
@pytest.mark.parametrize("before", [0, 1, 3], ids="{}-before".format)
def test_steps_and_blocks_are_the_same_rounds(made: LinearWorld, before: int) -> None:
    expected = made.start(SeedSequence(5)).rounds(700)
    run = made.start(SeedSequence(5))
    t = 0
    for steps, count in ((before, 5), (300, 1), (2, 20), (0, 300), (5, 20), (7, 1)):
        for _ in range(steps):
            chosen = t % made.n_arms
            if t % 3:  # looking is optional, and changes nothing
                np.testing.assert_array_equal(run.offer(), expected.actions[t if made.arms.fresh else 0])
                np.testing.assert_array_equal(run.means(), expected.means[t])
            assert run.reward(chosen) == expected.means[t, chosen] + expected.noise[t]
            t += 1
        if t % 2:
            run.offer()
        block = run.rounds(count)
        assert len(block.noise) == len(block.thetas) == len(block.means) == count
        slices = {name: array[t : t + count] for name, array in arrays(expected).items()}
        assert_same(arrays(block), slices if made.arms.fresh else slices | {"actions": expected.actions})
        t += count


def test_steps_of_many_large_arms_are_drawn_one_by_one() -> None:
    made = LinearWorld(SphereArms(300, 500), Stationary.random(500), Gaussian(1.0))
    expected, run = made.start(0).rounds(5), made.start(0)
    rewards = [run.reward(t) for t in range(3)]
    assert rewards == [expected.means[t, t] + expected.noise[t] for t in range(3)]
    np.testing.assert_array_equal(run.offer(), expected.actions[3])
    np.testing.assert_array_equal(run.rounds(2).actions, expected.actions[3:])


@each_world
def test_blocks_are_what_they_say(made: LinearWorld) -> None:
    block = made.start(SeedSequence(1)).rounds(50)
    k, d = made.n_arms, made.dimension
    assert block.actions.shape == ((50 if made.arms.fresh else 1), k, d)
    assert (block.means.shape, block.noise.shape, block.thetas.shape) == ((50, k), (50,), (50, d))
    for array in arrays(block).values():
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert array.flags.writeable
    expected = np.einsum("tkd,td->tk", np.broadcast_to(block.actions, (50, k, d)), block.thetas)
    np.testing.assert_allclose(block.means, expected, rtol=1e-13, atol=1e-13)
    assert np.linalg.norm(block.actions, axis=2).max() <= made.action_bound * (1 + 1e-14)
    assert np.linalg.norm(block.thetas, axis=1).max() <= made.theta.bound * (1 + 1e-14)


@pytest.mark.parametrize("d", [1, 2, 4, 5, 8, 11])
def test_means_in_any_dimension(d: int) -> None:
    rng = np.random.default_rng(d)
    block = LinearWorld(GivenArms(rng.normal(size=(3, d))), Stationary(rng.normal(size=d)), None).start(0).rounds(2)
    np.testing.assert_allclose(block.means, block.thetas @ block.actions[0].T, rtol=1e-13, atol=1e-13)
    assert not block.noise.any()


# Seeds


@each_world
def test_a_seed_begins_one_run_and_is_left_as_it_was(made: LinearWorld) -> None:
    seed = SeedSequence(3, spawn_key=(7,))
    first, second = made.start(seed).rounds(9), made.start(seed).rounds(9)
    assert_same(arrays(first), arrays(second))
    assert seed.n_children_spawned == 0
    other = made.start(SeedSequence(3, spawn_key=(8,))).rounds(9)
    assert not np.array_equal(first.noise, other.noise)
    assert_same(arrays(made.start(4).rounds(9)), arrays(made.start(SeedSequence(4)).rounds(9)))


def test_anyone_can_recompute_a_run() -> None:
    def stream(key: int) -> Generator:
        return Generator(SFC64(SeedSequence(12, spawn_key=(5, key))))

    made = LinearWorld(SphereArms(4, D, 2.0), Stationary.random(D), Gaussian(0.3))
    block = made.start(SeedSequence(12, spawn_key=(5,))).rounds(20)
    arms, theta = stream(0).standard_normal((20, 4, D)), stream(1).standard_normal(D)
    np.testing.assert_allclose(block.actions, 2 * arms / np.linalg.norm(arms, axis=2, keepdims=True), rtol=1e-13)
    np.testing.assert_allclose(block.thetas, np.tile(theta / np.linalg.norm(theta), (20, 1)), rtol=1e-13)
    np.testing.assert_array_equal(block.noise, 0.3 * stream(2).standard_normal(20))


def test_each_part_draws_from_a_stream_of_its_own() -> None:
    full = world(BallArms(4, D), RandomWalk(RandomTheta(D), 0.1), Gaussian(1.0)).start(0).rounds(30)
    quiet = world(BallArms(4, D), RandomWalk(RandomTheta(D), 0.1), Bounded(1.0)).start(0).rounds(30)
    still = world(BallArms(4, D), THETAS["still"], Gaussian(1.0)).start(0).rounds(30)
    fewer = world(BallArms(2, D), RandomWalk(RandomTheta(D), 0.1), Gaussian(1.0)).start(0).rounds(30)
    assert_same({"actions": full.actions, "thetas": full.thetas}, arrays(quiet))
    assert_same({"actions": full.actions, "noise": full.noise}, arrays(still))
    assert_same({"thetas": full.thetas, "noise": full.noise}, arrays(fewer))


def test_kept_arms_are_drawn_once_a_run() -> None:
    made = world(arms=ARMS["ball-kept"])
    run = made.start(0)
    assert run.rounds(3).actions is run.rounds(4).actions
    np.testing.assert_array_equal(run.offer(), made.start(0).offer())
    assert not np.array_equal(run.offer(), made.start(1).offer())
    fresh = world(arms=BallArms(4, D)).start(0)
    np.testing.assert_array_equal(run.offer(), fresh.offer())
    fresh.reward(0)
    assert not np.array_equal(run.offer(), fresh.offer())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))], ids=["copy", "pickle"])
def test_a_copied_run_goes_on_by_itself(copied: Callable[[Any], Any]) -> None:
    run = world().start(0)
    run.reward(2)
    other = copied(run)
    expected = arrays(run.rounds(400))
    assert_same(expected, arrays(other.rounds(400)))


def test_what_was_handed_out_may_be_written_to() -> None:
    for arms in (GivenArms(np.eye(D)), SphereArms(3, D)):
        run, other = world(arms=arms).start(0), world(arms=arms).start(0)
        run.offer()[:] = 7.0
        run.means()[:] = 7.0
        np.testing.assert_array_equal(run.offer(), other.offer())
        np.testing.assert_array_equal(run.means(), other.means())
    given = np.eye(D)
    arms = GivenArms(given)
    given[:] = 7.0
    np.testing.assert_array_equal(world(arms=arms).start(0).offer(), np.eye(D))


# The laws. A Kolmogorov–Smirnov distance times √n exceeds 2.5 with probability 2 exp(−12.5) = 7e-6.

KS_LIMIT = 2.5


def ks(sample: Array, cdf: Callable[[Array], Array]) -> float:
    """The largest gap between the sample's distribution and the law's, times √n."""
    below = cdf(np.sort(sample))
    steps = np.arange(len(sample) + 1) / len(sample)
    return float(max((steps[1:] - below).max(), (below - steps[:-1]).max()) * math.sqrt(len(sample)))


def uniform(values: Array) -> Array:
    return np.clip(values, 0.0, 1.0)


def angles(arms: Array) -> Array:
    """From 0 to 1."""
    turned: Array = np.arctan2(arms[:, 1], arms[:, 0]) / (2 * math.pi) + 0.5
    return turned


def drawn(arms: Arms, n: int) -> Array:
    """About n arms, (n, d)."""
    return arms.draw(np.random.default_rng(1), n // arms.n_arms).reshape(-1, arms.dimension)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_norms_follow_their_law(d: int) -> None:
    norms = {law: np.linalg.norm(drawn(law(7, d, radius=4.0), 20_000), axis=1) / 4 for law in LAWS}
    np.testing.assert_allclose(norms[SphereArms], 1.0, rtol=1e-14)
    assert ks(norms[BallArms] ** d, uniform) < KS_LIMIT
    assert ks(norms[UniformNormArms], uniform) < KS_LIMIT
    if d > 1:  # the one law is not the other
        assert min(ks(norms[BallArms], uniform), ks(norms[UniformNormArms] ** d, uniform)) > KS_LIMIT


LAWS = (SphereArms, BallArms, UniformNormArms)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_directions_are_uniform_and_do_not_depend_on_the_norm(law: type[SphereArms], d: int) -> None:
    arms = drawn(law(7, d), 20_000)
    n = len(arms)
    norms = np.linalg.norm(arms, axis=1)
    directions = arms / norms[:, np.newaxis]
    # A coordinate has mean 0 and variance 1/d; its square, mean 1/d and variance 2(d−1)/(d²(d+2)). Five sigmas.
    assert np.abs(directions.mean(axis=0)).max() < 5 / math.sqrt(n * d)
    squares = directions.T @ directions / n
    off = squares[~np.eye(d, dtype=bool)]
    assert np.abs(np.diag(squares) - 1 / d).max() <= 5 * math.sqrt(2 * (d - 1) / (d**2 * (d + 2) * n)) + 1e-12
    assert np.abs(off).max(initial=0.0) < 5 / math.sqrt(n * d * (d + 2))
    if law is not SphereArms:
        centred = norms - norms.mean()
        assert np.abs(directions.T @ centred / n).max() < 5 * norms.std() / math.sqrt(n * d)
    if d == 2:
        assert ks(angles(arms), uniform) < KS_LIMIT < ks(angles(arms * [1.0, 1.2]), uniform)
    # Neighbours, in one round or the next, have nothing to do with each other.
    assert abs((directions[1:] * directions[:-1]).sum(axis=1).mean()) < 5 / math.sqrt(n * d)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_box_arms_are_a_uniform_box_folded_onto_the_ball(d: int) -> None:
    arms = drawn(BoxArms(7, d), 40_000)
    n = len(arms)
    norms = np.linalg.norm(arms, axis=1)
    assert norms.max() <= 1 + 1e-15
    assert 0.99 < np.abs(arms).max() <= 1
    # Within the ball the law is that of the ball: rᵈ uniform. The rest of the box is on the sphere.
    inside = norms < 1 - 1e-12
    share = {1: 1.0, 2: math.pi / 4, 3: math.pi / 6}[d]
    assert abs(inside.mean() - share) <= 5 * math.sqrt(share * (1 - share) / n)
    assert ks(norms[inside] ** d, uniform) < KS_LIMIT < ks(norms[inside] ** (d + 0.2), uniform)
    assert np.abs(arms.mean(axis=0)).max() < 5 / math.sqrt(n)
    if d == 2:  # the directions are those of the square, which has corners
        quarter = angles(arms) * 4 % 1
        assert (
            ks(quarter, lambda q: np.where(q < 0.5, np.tan(q * math.pi / 2), 2 - 1 / np.tan(q * math.pi / 2)) / 2)
            < KS_LIMIT
        )
        assert ks(quarter, uniform) > KS_LIMIT


@pytest.mark.parametrize("d", [2, 3])
def test_box_arms_are_what_their_bits_say(d: int) -> None:
    raw = SFC64(4).random_raw(3 * ((5 * d + 1) // 2)).reshape(3, -1)
    halves = np.stack([raw & 0xFFFFFFFF, raw >> 32], axis=2).reshape(3, -1)[:, : 5 * d].reshape(3, 5, d)
    box = (2.0 * halves + 1.0) / 2.0**32 - 1.0
    expected = box / np.maximum(1.0, np.linalg.norm(box, axis=2, keepdims=True))
    np.testing.assert_allclose(BoxArms(5, d).draw(Generator(SFC64(4)), 3), expected, rtol=1e-14)


def test_random_thetas_follow_their_law() -> None:
    def norms(law: Any) -> Array:
        made = LinearWorld(BoxArms(1, D), Stationary.random(D, law, radius=2.0), None)
        return np.array([np.linalg.norm(made.start(seed).rounds(1).thetas) / 2 for seed in range(1500)])

    np.testing.assert_allclose(norms("sphere"), 1.0, rtol=1e-14)
    in_ball = norms("ball")
    assert ks(in_ball**D, uniform) < KS_LIMIT < ks(in_ball, uniform)


@pytest.mark.parametrize(
    ("noise", "cdf"),
    [
        (Gaussian(0.5), lambda e: stats.norm.cdf(e / 0.5)),
        (Bounded(2.0), lambda e: np.clip((e + 2.0) / 4.0, 0.0, 1.0)),
    ],
    ids=["gaussian", "bounded"],
)
def test_noise_follows_its_law(noise: Noise, cdf: Callable[[Array], Array]) -> None:
    sample = noise.draw(np.random.default_rng(0), 20_000)
    assert ks(sample, cdf) < KS_LIMIT < ks(1.1 * sample, cdf)
    assert abs((sample[1:] * sample[:-1]).mean()) < 5 * noise.sigma**2 / math.sqrt(len(sample))


def test_rademacher_noise_is_plus_or_minus_sigma() -> None:
    sample = Rademacher(0.7).draw(np.random.default_rng(0), 200_000)
    assert set(np.abs(sample)) == {0.7}
    assert abs((sample > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(len(sample))
    assert abs((sample[1:] * sample[:-1]).mean()) < 5 * 0.7**2 / math.sqrt(len(sample))


@pytest.mark.parametrize(
    ("noise", "log_moment"),
    [
        (Gaussian(0.5), lambda s: (0.5 * s) ** 2 / 2),
        (Rademacher(0.5), lambda s: np.log(np.cosh(0.5 * s))),
        (Bounded(2.0), lambda s: np.log(np.sinh(2.0 * s) / (2.0 * s))),
    ],
    ids=["gaussian", "rademacher", "bounded"],
)
def test_sigma_is_the_smallest_sub_gaussian_constant(noise: Noise, log_moment: Callable[[Array], Array]) -> None:
    s = np.geomspace(1e-3, 100, 200)
    assert (log_moment(s) <= (noise.sigma * s) ** 2 / 2 * (1 + 1e-8)).all()
    assert not (log_moment(s) <= (0.999 * noise.sigma * s) ** 2 / 2).all()


# θ


def path(theta: Drift, count: int, seed: int = 0) -> Array:
    return LinearWorld(BoxArms(1, theta.dimension), theta, None).start(seed).rounds(count).thetas


@pytest.mark.parametrize("horizon", [1, 2, 80, 81, 82, 90, 91, 92, 100])
@pytest.mark.parametrize("name", [name for name in THETAS if "walk" not in name])
def test_variation_is_the_length_of_the_path(name: str, horizon: int) -> None:
    moved = np.linalg.norm(np.diff(path(THETAS[name], horizon), axis=0), axis=1).sum()
    assert THETAS[name].variation(horizon) == pytest.approx(moved, rel=1e-10, abs=1e-12)


def test_figure_4_varies_as_published() -> None:
    assert FIGURE_4A.variation(6000) == pytest.approx(4 + math.sqrt(2), rel=1e-15)
    # 1.5703 is what the first 3000 rounds vary; the move into round 3000 brings it to π/2.
    assert round(FIGURE_4B.variation(3000), 4) == 1.5703
    assert FIGURE_4B.variation(6000) == pytest.approx(math.pi / 2, abs=1e-7)
    assert FIGURE_4A.change_points == (1000, 2000, 3000)
    assert FIGURE_4B.change_points == ()
    assert FIGURE_4A.bound == FIGURE_4B.bound == 1.0


def test_abrupt_jumps_once_its_rounds_were_played() -> None:
    thetas = path(FIGURE_4A, 6000)
    for begin, end, theta in ((0, 1000, (1, 0)), (1000, 2000, (-1, 0)), (2000, 3000, (0, 1)), (3000, 6000, (0, -1))):
        assert (thetas[begin:end] == theta).all()


@pytest.mark.parametrize("name", ["rotating", "figure-4b"])
def test_rotating_turns_at_constant_speed_in_one_plane_and_stays(name: str) -> None:
    theta, steps = {"rotating": (THETAS["rotating"], 90), "figure-4b": (FIGURE_4B, 3000)}[name]
    thetas = path(theta, steps + 50)
    np.testing.assert_allclose(np.linalg.norm(thetas, axis=1), theta.bound, rtol=1e-14)
    moves = np.linalg.norm(np.diff(thetas, axis=0), axis=1)
    np.testing.assert_allclose(moves[:steps], moves[0], rtol=1e-9)
    assert moves[0] > 0
    assert not moves[steps:].any()
    assert np.linalg.matrix_rank(thetas, tol=1e-10) == 2
    assert isinstance(theta, Rotating)
    np.testing.assert_array_equal(thetas[0], theta.start)
    np.testing.assert_array_equal(thetas[steps], theta.end)
    half = (theta.start + theta.end) / 2
    np.testing.assert_allclose(thetas[steps // 2], half * theta.bound / np.linalg.norm(half), rtol=1e-12, atol=1e-12)


def test_rotating_to_where_it_is_stays() -> None:
    for start in ((1.0, 2.0), (0.0, 0.0)):
        theta = Rotating(start, start, 10)
        np.testing.assert_allclose(path(theta, 20), np.tile(start, (20, 1)), rtol=1e-14)
        assert theta.variation(20) == pytest.approx(0, abs=1e-12)


def test_a_walk_takes_normal_steps_and_stays_in_the_ball() -> None:
    free = path(RandomWalk((1.0, 2.0), step=0.1, radius=1e9), 10_001)
    assert free[0].tolist() == [1.0, 2.0]
    assert ks(np.diff(free, axis=0).ravel() / 0.1, stats.norm.cdf) < KS_LIMIT
    assert ks(np.diff(free, axis=0).ravel() / 0.11, stats.norm.cdf) > KS_LIMIT
    kept = path(RandomWalk((0.3, 0.0), step=0.1, radius=0.5), 3000)
    norms = np.linalg.norm(kept, axis=1)
    assert norms.max() <= 0.5 * (1 + 1e-15)
    on_surface = norms > 0.5 * (1 - 1e-12)
    assert 0.05 < on_surface.mean() < 0.95
    # In the ball the steps are as they come: cut off where they leave it, never turned or drawn again.
    np.testing.assert_allclose(kept[1], [0.3, 0.0] + (free[1] - free[0]), rtol=1e-12)
    assert not np.array_equal(path(THETAS["walk"], 5, seed=0), path(THETAS["walk"], 5, seed=1))


def test_the_variation_of_a_walk_is_not_known_beforehand() -> None:
    with pytest.raises(ValueError, match="got a RandomWalk"):
        THETAS["walk"].variation(10)


# What a world says of itself


@each_world
def test_describes_itself_for_json_and_for_people(made: LinearWorld) -> None:
    said = made.describe()
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert [said[name]["class"] for name in ("arms", "theta", "noise")] == [
        type(part).__name__ for part in (made.arms, made.theta, made.noise)
    ]
    assert len(repr(made)) < 300
    assert eval(repr(made)).describe() == said


def test_settings_are_told_apart() -> None:
    long = np.arange(60.0).reshape(-1, D)
    other = long.copy()
    other[7, 1] += 1e-12
    parts: list[Arms | Drift | Noise] = [*ARMS.values(), *THETAS.values(), *NOISES.values(), Gaussian(0.31)]
    parts += [GivenArms(long), GivenArms(other), SphereArms(4, D, 2.5), BoxArms(6, D)]
    assert len({json.dumps(part.describe()) for part in parts}) == len(parts)
    assert GivenArms(long).describe() == GivenArms(long.copy()).describe()
    assert GivenArms(long).describe()["arms"]["shape"] == [20, 3]
    assert "(20, 3)" in repr(GivenArms(long))


def test_no_noise_is_gaussian_of_sigma_zero() -> None:
    made = LinearWorld(GivenArms(np.eye(2)), Stationary([1, 2]), None)
    assert made.noise.describe() == Gaussian(0.0).describe()
    run = made.start(0)
    assert [run.reward(0), run.reward(1)] == [1.0, 2.0]


def test_the_examples_of_the_module_run() -> None:
    lines = (environments.__doc__ or "").splitlines()
    code = textwrap.dedent("\n".join(line for line in lines if not line or line.startswith("    ")))
    policy = SimpleNamespace(choose=lambda actions: 1, learn=lambda action, reward: None)
    names: dict[str, Any] = {**vars(environments), "policy": policy}
    exec(code, names)
    tiring = names["Tiring"]().start(SeedSequence(0))
    assert np.mean([tiring.reward(0) for _ in range(500)]) < 0.4 < tiring.means()[1]


def test_a_world_of_ones_own_is_an_environment() -> None:
    class Run:
        def __init__(self, seed: SeedSequence) -> None:
            self.rng = np.random.default_rng(seed)

        def offer(self) -> Array:
            return np.eye(2)

        def means(self) -> Array:
            return np.array([0.0, 1.0])

        def reward(self, chosen: int) -> float:
            return float(self.means()[chosen] + self.rng.normal())

    class Own:
        def start(self, seed: SeedSequence) -> Run:
            return Run(seed)

    def rewards(environment: Environment) -> list[float]:
        run = environment.start(SeedSequence(0))
        return [run.reward(i % len(run.offer())) for i in range(4)]

    for environment in (Own(), world()):
        assert rewards(environment) == rewards(environment)


# Bad input

NAN, INF = float("nan"), float("inf")


def bad(message: str, make: Callable[..., Any], *args: Any, **named: Any) -> tuple[Any, ...]:
    return message, make, args, named


@pytest.mark.parametrize(
    ("message", "make", "args", "named"),
    [
        bad("theta has dimension 3, but the arms have 2", LinearWorld, BoxArms(4, 2), Stationary([1, 2, 3]), None),
        bad(r"arms must be .*got \[\[1, 2\]\]", LinearWorld, [[1, 2]], Stationary([1, 2]), None),
        bad(r"theta must be .*got \[1, 2\]", LinearWorld, BoxArms(4, 2), [1, 2], None),
        bad(r"noise must be .*got 1.0", LinearWorld, BoxArms(4, 2), Stationary([1, 2]), 1.0),
        bad("n must be a whole number >= 1, got 0", BoxArms, 0, 2),
        bad("d must be a whole number >= 1, got 0", BoxArms, 2, 0),
        bad("n must be .*got -1", SphereArms, -1, 2),
        bad("n must be .*got 2.5", SphereArms, 2.5, 2),
        bad("n must be .*got True", SphereArms, True, 2),
        bad("d must be .*got 0", BallArms, 2, 0),
        bad("radius must be a number > 0, got 0.0", BallArms, 2, 2, 0.0),
        bad("radius must be .*got -1.0", UniformNormArms, 2, 2, -1.0),
        bad("radius must be .*got inf", SphereArms, 2, 2, INF),
        bad(r"arms must be an array of shape \(k, d\).*got shape \(2,\)", GivenArms, [1, 2]),
        bad(r"arms must be .*got shape \(0, 2\)", GivenArms, np.empty((0, 2))),
        bad(r"arms must be .*got shape \(2, 0\)", GivenArms, np.empty((2, 0))),
        bad("arms must be finite, got nan", GivenArms, [[1, NAN]]),
        bad("arms must be an array of numbers", GivenArms, [[1, 2], [3]]),
        bad("arms must be an array of numbers", GivenArms, [["a"]]),
        bad("theta must be finite, got inf", Stationary, [1, INF]),
        bad(r"theta must be .*got shape \(\)", Stationary, 3.0),
        bad(r"theta must be .*got shape \(0,\)", Stationary, []),
        bad("law must be 'sphere' or 'ball', got 'cube'", Stationary.random, 2, "cube"),
        bad("d must be .*got 0", Stationary.random, 0),
        bad("radius must be .*got 0", Stationary.random, 2, radius=0),
        bad("horizon must be .*got 0", Stationary([1, 2]).variation, 0),
        bad("2 thetas need 1 change_points, got 2", Abrupt, [(1, 0), (0, 1)], (5, 6)),
        bad("2 thetas need 1 change_points, got 0", Abrupt, [(1, 0), (0, 1)], ()),
        bad(r"change_points must increase, got \(5, 5\)", Abrupt, [(1,), (2,), (3,)], (5, 5)),
        bad(r"change_points must increase, got \(5, 4\)", Abrupt, [(1,), (2,), (3,)], (5, 4)),
        bad("each change point must be a whole number >= 1, got 0", Abrupt, [(1,), (2,)], (0,)),
        bad("each change point must be .*got 1.5", Abrupt, [(1,), (2,)], (1.5,)),
        bad("thetas must be finite, got nan", Abrupt, [(1,), (NAN,)], (5,)),
        bad("start has dimension 2, but end has 3", Rotating, (1, 0), (0, 1, 0), 5),
        bad("start has norm 1, but end has 2", Rotating, (1, 0), (0, 2), 5),
        bad("opposite", Rotating, (1, 0), (-1, 0), 5),
        bad("steps must be .*got 0", Rotating, (1, 0), (0, 1), 0),
        bad("start must be finite", Rotating, (1, NAN), (0, 1), 5),
        bad("end must be finite", Rotating, (1, 0), (0, INF), 5),
        bad("start must be in the ball of radius 1, got norm 2", RandomWalk, (2, 0), 0.1),
        bad("start must be in the ball of radius 1, got norm 2", RandomWalk, RandomTheta(2, radius=2.0), 0.1),
        bad("step must be a number > 0, got 0.0", RandomWalk, (0, 0), 0.0),
        bad("radius must be .*got -1", RandomWalk, (0, 0), 0.1, radius=-1),
        bad("sigma must be a number >= 0, got -0.1", Gaussian, -0.1),
        bad("sigma must be .*got nan", Gaussian, NAN),
        bad("sigma must be .*got -1.0", Rademacher, -1.0),
        bad("width must be .*got -1.0", Bounded, -1.0),
        bad("seed must be a whole number >= 0, got -1", world().start, -1),
        bad("seed must be .*got None", world().start, None),
        bad("count must be a whole number >= 1, got 0", world().start(0).rounds, 0),
        bad("count must be .*got 2.0", world().start(0).rounds, 2.0),
    ],
)
def test_refuses(message: str, make: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=message):
        make(*args, **named)


@pytest.mark.parametrize("chosen", [-1, 5, 1.0, None, "0"])
def test_refuses_a_choice_that_is_not_on_offer_and_stays_in_the_round(chosen: Any) -> None:
    run, other = world().start(0), world().start(0)
    reward: Callable[[Any], float] = run.reward
    with pytest.raises(ValueError, match=r"chosen must be a whole number from 0 to 4, got "):
        reward(chosen)
    assert reward(np.int64(3)) == other.reward(3)
    assert_same(arrays(run.rounds(5)), arrays(other.rounds(5)))
