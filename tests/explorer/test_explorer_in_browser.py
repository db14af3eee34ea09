"""The explorer as a reader meets it: its numbers are the library's; it is clicked, pressed and touched."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward import ForwardRegressor, RidgeRegressor, bounds
from onward.bandits import OFUL, EpsilonGreedy, LinTS
from onward.core.trace import Trace
from tests.explorer.checks import focus_order, look_over
from tests.explorer.driving import PANEL, check_same, click, copied, middle, printed, push, shown, swipe, until, visit
from tests.pages.browser import Browser
from tests.pages.looking import DESK, NARROW, PHONE

pytestmark = pytest.mark.xdist_group("browser")

SIX = ([-1.8, -1.1], [-1.4, -0.5], [-0.9, -0.7], [-0.4, 0.3], [0.0, 0.2], [0.3, 0.7])


@pytest.fixture(autouse=True)
def desk(window: Browser) -> None:
    window.theme("light")
    window.resize(DESK[0], DESK[1], mobile=DESK[2])


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
    settings = {"lam": 0.1, "sigma": 0.3, "theta_bound": 1.0, "delta": 0.05, "seed": 8}
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


def state(window: Browser, part: str) -> dict[str, Any]:
    found = window.run("return explorer.states[arguments[0]]", part)
    assert isinstance(found, dict)
    return found


def test_rows_by_mouse_touch_and_keys_and_the_address_has_them(window: Browser, page: Path) -> None:
    visit(window, page, "row")
    x, y = middle(window, "#panel-row .plot")
    click(window, x + 90, y - 60)
    assert len(state(window, "row")["rows"]) == 7
    click(window, x + 90, y - 60)  # on the row
    assert len(state(window, "row")["rows"]) == 6
    click(window, x + 90, y - 60, to=(x + 190, y - 50))
    assert state(window, "row")["x"] > 1.5
    assert len(state(window, "row")["rows"]) == 6
    window.run("document.querySelector('#panel-row .plot').focus()")
    before = state(window, "row")["x"]
    for key in ("ArrowLeft", "ArrowUp", "ArrowUp", "Enter"):
        window.press(key)
    now = state(window, "row")
    assert now["x"] == pytest.approx(before - 0.05)
    assert now["rows"][-1] == pytest.approx([now["x"], 0.1])
    spoken = window.run("return document.activeElement.getAttribute('aria-valuetext')")
    assert spoken.endswith("; 7 rows")
    window.press("Backspace")
    assert state(window, "row")["rows"] == [*map(list, SIX)]
    window.resize(PHONE[0], PHONE[1], mobile=True)
    x, y = middle(window, "#panel-row .plot")
    window.touch(x - 40, y + 90)
    assert len(state(window, "row")["rows"]) == 7
    was = state(window, "row")["x"]
    swipe(window, x - 20, y + 90, -60)
    assert state(window, "row")["x"] < min(was, -0.5)
    assert len(state(window, "row")["rows"]) == 7
    swipe(window, *middle(window, "#panel-row .disc.row"), 50)  # the first row
    assert state(window, "row")["rows"][0][0] > SIX[0][0]
    until(window, "return location.hash.includes(`rows=${explorer.states.row.rows[0][0]},`)")
    numbers, address = shown(window), window.run("return location.hash.slice(1)")
    visit(window, page, address)
    assert shown(window) == numbers


def test_a_cell_is_clicked_and_fifty_runs_play(window: Browser, page: Path) -> None:
    visit(window, page, "map")
    click(window, *middle(window, '.cell[data-sigma="0.1"][data-lam="1"]'))
    until(window, "return document.querySelector('#panel-map').dataset.ready", "false")
    until(window, "return document.querySelector('#panel-map').dataset.ready", "true")
    assert "ridge wins" in window.run("return document.querySelector('#panel-map .verdict').textContent")
    assert shown(window)["ridge"] < shown(window)["forward"]
    window.press("ArrowUp")
    assert state(window, "map")["sigma"] == 0.3
    assert window.run("return document.activeElement.dataset.sigma") == "0.3"
    window.run("document.querySelector('#panel-map input[type=checkbox]').click()")
    until(window, "return document.querySelector('#panel-map').dataset.ready", "true")
    assert window.run("return document.querySelectorAll('#panel-map .plot .dashed').length") == 2
    until(window, "return location.hash", "#map?sigma=0.3&lam=1&bounds=1")
    marks = window.run("return [...document.querySelectorAll('.cell')].map((each) => [each.className, each.dataset])")
    assert len(marks) == 49
    for name, data in marks:
        ratio = float(data["ridge"]) / float(data["forward"])
        assert name.split()[1] == ("neither" if 1 / 1.05 < ratio < 1.05 else "forward" if ratio > 1 else "ridge")


def test_tests_are_watched_day_by_day_and_counted(window: Browser, page: Path) -> None:
    window.command(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}]
    )  # days still pass, more slowly; tests are counted at once
    visit(window, page, "peeking?tests=50&days=14")
    numbers = shown(window)
    assert numbers["anytimeAlarms"] <= 0.05 * 50 < numbers["fixedAlarms"]
    assert window.run("return document.querySelectorAll('.test.ridge, .test.forward').length") == numbers["fixedAlarms"]
    push(window, "‹ Day")
    assert state(window, "peeking")["day"] == 13
    push(window, "Play the days")
    until(window, "return explorer.states.peeking.day", 14)
    push(window, "Play the days")  # from the first day on, as the last was shown
    until(window, "return explorer.states.peeking.day", 3)
    push(window, "Pause")
    assert state(window, "peeking")["day"] < 14
    days = window.run(
        "const days = [...Array(50).keys()].map((i) => explorer.playTest(explorer.states.peeking, i).fixedDay);"
        "const test = days.findIndex((day) => day > 1 && day < 6);"
        "document.querySelector(`[data-test='${test}']`).click(); return days[test]"
    )
    window.run("location.hash = `peeking?tests=50&days=14&day=1&test=${explorer.states.peeking.test}`")
    until(window, "return explorer.states.peeking.day", 1)
    push(window, "Play the days")  # until it is significant
    until(window, "return document.querySelector('#panel-peeking .buttons button').textContent", "Play the days")
    assert state(window, "peeking")["day"] == days
    assert f"on day {days} for the first time" in window.run(
        "return document.querySelector('#panel-peeking .verdict').textContent"
    )
    window.run("document.querySelector('[data-test=\"7\"]').click()")
    window.run("document.querySelector('[data-test=\"7\"]').focus()")
    window.press("ArrowRight")
    assert state(window, "peeking")["test"] == 8
    assert window.run("return document.activeElement.dataset.test") == "8"
    seen = window.run(
        "const {looks, fixedDay, anytimeDay} = explorer.playTest(explorer.states.peeking, 8);"
        "return [looks.map((each) => [each.estimate, each.fixed, each.anytime]), fixedDay, anytimeDay]"
    )
    for column, day in ((1, seen[1]), (2, seen[2])):
        out = [i + 1 for i, each in enumerate(seen[0]) if each[column] is not None and abs(each[0]) > each[column]]
        assert day == (out[0] if out else 0)


def test_you_play_step_back_and_choose_again(window: Browser, page: Path) -> None:
    visit(window, page, "decide")
    click(window, *middle(window, '[data-arm="4"] .body'))
    window.press("3")
    window.press("0")
    assert [state(window, "decide")[name] for name in ("choices", "at")] == ["429", 3]
    window.press("[")
    push(window, "‹ Back")
    assert [state(window, "decide")[name] for name in ("choices", "at")] == ["429", 1]
    push(window, "Forth ›")
    assert state(window, "decide")["at"] == 2
    window.press("8")  # what came after is forgotten
    assert [state(window, "decide")[name] for name in ("choices", "at")] == ["427", 3]
    push(window, "… ten times")
    assert state(window, "decide")["at"] == 13
    window.run(
        "const pick = document.querySelector('#panel-decide .because').previousElementSibling.querySelector('select');"
        "pick.selectedIndex = 3; pick.dispatchEvent(new Event('change'))"
    )
    because = window.run("return document.querySelector('.because').textContent")
    assert because.startswith("LinTS takes arm ")
    assert window.run("return document.querySelectorAll('.why tr.taken').length") == 1
    push(window, "… to the end")
    assert state(window, "decide")["at"] == 100
    assert "All 100 rounds" in window.run("return document.querySelector('#panel-decide .verdict').textContent")
    until(window, "return location.hash.includes('at=100')")
    numbers, address = shown(window), window.run("return location.hash.slice(1)")
    visit(window, page, address)
    assert shown(window) == numbers


def test_arms_that_lie_together_are_shown_apart(window: Browser, page: Path) -> None:
    window.resize(PHONE[0], PHONE[1], mobile=True)
    visit(window, page, "decide")
    for number, world in enumerate(("fixed", "fresh", "drifting", "turning")):
        window.run(
            "const pick = document.querySelector('#panel-decide select'); pick.selectedIndex = arguments[0];"
            "pick.dispatchEvent(new Event('change'))",
            number,
        )
        assert state(window, "decide")["world"] == world
        first = window.run("return explorer.parts.decide.world[0].actions")
        push(window, "… ten times")
        later = window.run("return explorer.parts.decide.world[10].actions")
        assert (first == later) == (world in ("fixed", "turning"))
        places = np.array(
            window.run(
                "return [...document.querySelectorAll('.arm .body')].map((each) =>"
                " [each.cx.baseVal.value, each.cy.baseVal.value])"
            )
        )
        gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))[~np.eye(10, dtype=bool)]
        assert gaps.min() > 25
        window.touch(*middle(window, '[data-arm="6"] .body'))
        assert state(window, "decide")["choices"].endswith("6")


def test_addresses_that_say_nothing_sensible_are_passed_over(window: Browser, page: Path) -> None:
    visit(window, page, "row?lam=abc&rows=1,2,3&x=99&delta=0.07&nothing=1")
    assert state(window, "row") == {
        "rows": [*map(list, SIX)], "x": 2, "lam": 0.1, "sigma": 0.3, "bound": 1.5, "delta": 0.05
    }  # fmt: skip
    window.run("location.hash = 'decide?choices=12x&at=-1'")
    until(window, "return document.querySelector('#panel-decide').hidden", False)
    assert [state(window, "decide")[name] for name in ("choices", "at")] == ["", 0]
    window.run("location.hash = '<img src=x onerror=alert(1)>'")
    assert window.run("return document.images.length") == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_part_can_be_read_on_a_phone_and_asks_nobody(window: Browser, page: Path, theme: str) -> None:
    window.messages(), window.requests()
    window.theme(theme)
    window.resize(NARROW[0], NARROW[1], mobile=NARROW[2])
    visit(window, page, "row")
    for part in ("row", "map", "peeking", "decide"):
        assert window.run("return document.querySelector('[role=tab][aria-selected=true]').id") == f"tab-{part}"
        if part == "decide":
            window.press("1")
        assert look_over(window) == {"faint": [], "nameless": [], "too wide": []}, part
        wanted, order = focus_order(window)
        assert len(wanted) > 5
        assert order == wanted, part
        window.run("document.querySelector('[role=tab][aria-selected=true]').focus()")
        window.press("ArrowRight")
    assert window.run("return document.activeElement.id") == "tab-row"
    assert window.messages() == []
    own = page.resolve().as_uri()
    assert [each for each in window.requests() if not each.startswith((own, "data:", "about:"))] == []
