"""The explorer's numbers are the library's, on the same random numbers; and so are those of the Python it gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward import ForwardRegressor, RidgeRegressor, bounds
from onward.bandits import OFUL, EpsilonGreedy, LinTS
from onward.core.trace import Trace
from tests.explorer.driving import PANEL, SIX, check_same, copied, printed, push, shown, until, visit
from tests.pages.browser import Browser

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.usefixtures("desk")]


def stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def test_random_numbers_are_those_of_numpy(window: Browser, page: Path) -> None:
    visit(window, page, "row")
    for seed, key in ((0, ()), (7, (3,)), (2**40 + 5, (2, 0x6F6E))):
        uniform, normal = window.run(
            "const random = new explorer.Random(arguments[0], ...arguments[1]);"
            "return [Array.from({length: 9}, () => random.random()), Array.from(random.normals(30000))]",
            seed,
            key,
        )
        rng = stream(seed, *key)
        assert uniform == rng.random(9).tolist()
        expected = rng.standard_normal(30000)
        assert np.abs(expected).max() > 3.66  # some lie in the tail, which is drawn in another way
        assert np.abs(np.array(normal) - expected).max() < 1e-13


def test_one_row_is_read_as_the_library_reads_it(window: Browser, page: Path) -> None:
    visit(window, page, "row?lam=0.03&x=-2.5&sigma=0.5&bound=2&delta=0.1")
    rows, new = np.array(SIX), np.array([[1.0, -2.5]])
    known: dict[str, Any] = {"delta": 0.1, "sigma": 0.5, "theta_bound": 2.0}
    wanted: dict[str, float] = {}
    for name, learner in (("ridge", RidgeRegressor), ("forward", ForwardRegressor)):
        model = learner(lam=0.03, fit_intercept=False).fit(np.column_stack([np.ones(6), rows[:, 0]]), rows[:, 1])
        low, high = model.interval(new, **known)[0]
        wanted |= {name: model.predict(new)[0], f"{name}Low": low, f"{name}High": high}
    wanted |= {"leverage": model.leverage(new)[0], "radius": model.confidence_set(**known).radius}
    check_same(shown(window), {name: float(value) for name, value in wanted.items()})
    X = np.column_stack([np.ones(6), rows[:, 0]])
    gram = 0.03 * np.eye(2) + X.T @ X
    drawn = window.run(
        "const factor = new explorer.Factor(2, 0.03);"
        "for (const [x, y] of explorer.states.row.rows) factor.absorb([1, x], [y]);"
        "return explorer.ellipse(factor, arguments[0], 360)",
        wanted["radius"],
    )
    away = np.array(drawn) - np.linalg.solve(gram, X.T @ rows[:, 1])
    assert np.sqrt(np.sum(away @ gram * away, axis=1)) == pytest.approx(wanted["radius"], rel=1e-9)
    assert np.ptp(np.unwrap(np.arctan2(away[:, 1], away[:, 0]))) == pytest.approx(2 * np.pi)  # once around


def test_fifty_runs_and_the_map_are_the_librarys(window: Browser, page: Path) -> None:
    visit(window, page, "map?sigma=0.3&lam=0.001&seed=3")
    known: dict[str, Any] = {"theta_bound": 1.0, "sigma": 0.3, "delta": 0.05}
    found: list[tuple[float, ...]] = []
    for run in range(50):
        rng = stream(3, run)
        theta, X, noise = rng.standard_normal(5), rng.standard_normal((200, 5)), 0.3 * rng.standard_normal(200)
        theta /= np.linalg.norm(theta)
        trace = Trace.of(X, X @ theta + noise, 0.001)
        regret = [float(np.sum((each - trace.y) ** 2 - noise**2)) for each in (trace.p, trace.forward)]
        ends = [
            float(bound(trace, **known)[-1])
            for bound in (bounds.ridge_regret_to_truth_sharp_along, bounds.forward_regret_to_truth_sharp_along)
        ]
        rule = float(bounds.forward_beats_ridge(X @ theta, leverage=trace.q, sigma=0.3).mean())
        found.append((*regret, *ends, regret[1] < regret[0], rule))
    ridge, forward, ridge_bound, forward_bound, wins, rule = np.mean(found, axis=0)
    wanted = {"ridge": ridge, "forward": forward, "ridgeBound": ridge_bound, "forwardBound": forward_bound}
    check_same(
        shown(window), {name: float(value) for name, value in wanted.items()} | {"wins": 50 * wins, "rule": rule}
    )
    single = window.run(
        "const problem = explorer.drawProblem(3, 7, 5, 60);"
        "return [[1e-4, 10], [0.1, 0.03]].flatMap(([lam, sigma]) =>"
        " explorer.expectedRegrets(problem, [sigma], lam).flatMap((each) => [each.ridge, each.forward]))"
    )
    rng = stream(3, 7)
    theta, X = rng.standard_normal(5), rng.standard_normal((60, 5))
    theta /= np.linalg.norm(theta)
    exact = [
        mean(X, theta, lam=lam, sigma=sigma)[-1]
        for lam, sigma in ((1e-4, 10.0), (0.1, 0.03))
        for mean in (bounds.ridge_expected_regret_to_truth, bounds.forward_expected_regret_to_truth)
    ]
    assert single == pytest.approx(exact, rel=1e-9)


def test_policies_play_as_the_librarys_do(window: Browser, page: Path) -> None:
    visit(window, page, "decide")
    settings: dict[str, Any] = {"lam": 0.1, "sigma": 0.3, "theta_bound": 1.0, "delta": 0.05, "seed": 8}
    for world in ("fixed", "fresh", "drifting", "turning"):
        rounds, games = window.run(
            "const settings = {lam: 0.1, sigma: 0.3, bound: 1, delta: 0.05, epsilon: 0.2, seed: 8, rounds: 60};"
            "const world = explorer.drawWorld({...settings, world: arguments[0]});"
            "const game = (kind) => explorer.playPolicy(kind, settings, world).map((each) =>"
            " [each.chosen, each.total, each.read.map((arm) => arm.estimate), each.read.map((arm) => arm.index)]);"
            "return [world.map((each) => [each.actions, each.means, each.noise]),"
            " Object.fromEntries(['oful', 'forward', 'sampling', 'greedy'].map((kind) => [kind, game(kind)]))]",
            world,
        )
        policies = {
            "oful": OFUL(**settings),
            "forward": OFUL(**settings, estimator="forward"),
            "sampling": LinTS(lam=0.1, sigma=0.3, seed=8),
            "greedy": EpsilonGreedy(0.2, lam=0.1, seed=8),
        }
        for name, policy in policies.items():
            total = 0.0
            for (arms, means, noise), (chosen, lost, estimates, indices) in zip(rounds, games[name], strict=True):
                actions = np.array(arms)
                assert policy.estimate(actions) == pytest.approx(estimates, rel=1e-9, abs=1e-12)
                assert policy.index(actions) == pytest.approx(indices, rel=1e-9, abs=1e-12)
                assert policy.choose(actions) == chosen
                policy.learn(actions[chosen], means[chosen] + noise)
                total += max(means) - means[chosen]
                assert lost == pytest.approx(total, rel=1e-9, abs=1e-12)


CASES = [
    "row?x=-0.75&lam=1&rows=0.5,1,0.5,-2.5,-2,0.1",
    "row?rows=&x=1.5",
    "map?sigma=10&lam=0.0001",
    "peeking?effect=0.5&days=14&day=13&tests=50&visitors=10&delta=0.1&tuned=100&test=4&seed=2",
    "decide?world=fixed&choices=0120345&at=7&who=forward",
    "decide?world=fresh&choices=90&at=1&lam=0.01&sigma=1&who=sampling&seed=4",
    "decide?world=drifting&choices=1234567890&at=10&who=greedy&epsilon=0.2",
    "decide?world=turning&choices=5&at=0",
]


@pytest.mark.parametrize("address", CASES)
def test_copied_python_prints_what_is_shown(window: Browser, page: Path, address: str) -> None:
    visit(window, page, address)
    numbers, code = shown(window), copied(window)
    out = printed(code)
    push(window, "Copy")  # to the clipboard, or, where that is not allowed, selected
    until(window, f"return /Copied|Selected/.test(document.querySelector('{PANEL} [role=status].soft').textContent)")
    assert window.run("return getSelection().toString()") in ("", code.strip(), code)
    if address.startswith("map"):
        cell = window.run("const cell = document.querySelector('.cell[aria-selected=true]').dataset; return {...cell}")
        numbers |= {"ridgeExact": float(cell["ridge"]), "forwardExact": float(cell["forward"])}
    if address.startswith("decide"):
        who = address.partition("who=")[2].partition("&")[0] or "you"
        for i in range(10):
            assert numbers.pop(f"width{i}") == pytest.approx(numbers[f"index{i}"] - numbers[f"estimate{i}"], abs=1e-9)
        out = {name.removeprefix(f"{who}."): value for name, value in out.items() if "." not in name or who in name}
    assert 0 < numbers.get("pvalue", 0.5) < 0.9  # at 1 it would hide the evidence
    check_same(numbers, out)
