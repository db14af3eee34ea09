"""Figure 2 in miniature: its data, its pieces, its verdicts each way, its drawings."""

import io
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward.core.trace import Trace
from onward.experiments import FIGURE_2, Claim, run
from onward.experiments.estimates import Estimate, ratio
from onward.experiments.figure import change_settings, settings_values
from onward.experiments.figure2 import Figure2
from onward.experiments.figure2_settings import Figure2Config as Config
from onward.experiments.regression_problems import LEARNERS, Problem
from onward.experiments.repeat_frame import make_frame, value_matrix

MINI = Config(
    repeats=5,
    undecided_times=1,
    d=2,
    rounds=40,
    points=8,
    map_sigmas=(0.1, 2.0),
    map_lams=(1e-6, 1e-4, 1e-2, 1.0, 100.0),
    map_times=2,
    early_times=3,
)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return run(FIGURE_2, MINI)


def test_the_paper_s_settings() -> None:
    config = Config()
    np.testing.assert_allclose(config.curve_lams, [0.001, 1 / np.log(1000), 1, 10])
    assert len(config.kept) >= 50
    assert {1, *config.marks} <= set(config.kept)
    assert change_settings(config, {"lams": "0.5,2"}).curve_lams == (0.5, 2.0)
    assert settings_values(config)["map_lams"][0] == 1e-6


@pytest.mark.parametrize(("lam", "sigma"), [(1 / 40, 0.1), (10.0, 0.1)])
def test_curves_are_those_of_the_runs(frame: pl.DataFrame, lam: float, sigma: float) -> None:
    kept = np.array(MINI.kept) - 1
    for repeat in range(MINI.repeats):
        problem = Problem.draw(MINI.seed, repeat, "ball", MINI.d, MINI.rounds)
        y = problem.signal + sigma * problem.noise
        trace = Trace.of(problem.X, y, lam)
        for learner, prediction in (("ridge", trace.p), ("forward", trace.forward)):
            squares = (prediction - problem.signal) ** 2
            expected = {
                "instant": squares,
                "error": np.cumsum(squares),
                "regret": np.cumsum((prediction - y) ** 2) - np.cumsum((y - problem.signal) ** 2),
            }
            for quantity, values in expected.items():
                found = value_matrix(frame, part="lines", learner=learner, quantity=quantity, lam=lam)[repeat]
                np.testing.assert_allclose(found, values[kept], atol=1e-9)


def test_the_map_agrees_with_the_curves(frame: pl.DataFrame) -> None:
    for learner in LEARNERS:
        curve = value_matrix(frame, part="lines", learner=learner, quantity="regret", lam=1.0, round=MINI.rounds)
        cell = value_matrix(frame, part="map", learner=learner, quantity="regret", lam=1.0, sigma=MINI.sigma)
        np.testing.assert_array_equal(cell[: MINI.repeats], curve)
        sums = value_matrix(frame, part="map", learner=learner, quantity="error", lam=1.0, sigma=MINI.sigma)
        for i, mark in enumerate(MINI.marks):
            curve = value_matrix(frame, part="lines", learner=learner, quantity="error", lam=1.0, round=mark)
            np.testing.assert_array_equal(sums[: MINI.repeats, [i]], curve)


def test_the_first_rounds_of_more_repeats_agree_with_the_map(frame: pl.DataFrame) -> None:
    for lam, sigma in product(MINI.small_lams, MINI.all_sigmas):
        early = value_matrix(frame, part="early", lam=lam, sigma=sigma)
        sums = value_matrix(frame, part="map", learner="ridge", quantity="error", lam=lam, sigma=sigma)
        assert len(early) == 15
        np.testing.assert_array_equal(early[:10], sums[:, :2])


def test_rows_made_for_ridge_to_lose(frame: pl.DataFrame) -> None:
    for lam, repeat in product(MINI.map_lams, range(MINI.repeats)):
        problem = Problem.draw(MINI.seed, repeat, "ball", MINI.d, MINI.rounds)
        theta, noise = problem.theta[0], MINI.sigma * problem.noise[0]
        second = (theta + noise / np.sqrt(lam)) / 2  # of ridge, for it has seen y = √λθ + ε at x = √λ
        expected = lam * theta**2 + (second - theta) ** 2
        found = value_matrix(frame, part="made", learner="ridge", lam=lam)[repeat, 0]
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_pieces_of_any_size_in_any_order_give_the_same(
    frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(Figure2, "repeats_a_piece", dict.fromkeys(Figure2.repeats_a_piece, size))
    parts = FIGURE_2.pieces(MINI)
    assert len({piece.name for piece in parts}) == len(parts)
    found = pl.concat([FIGURE_2.compute(MINI, piece) for piece in reversed(parts)])
    order = ["part", "quantity", "learner", "lam", "sigma", "repeat", "round"]
    assert found.sort(order).equals(frame.sort(order))
    assert [str(claim) for claim in FIGURE_2.claims(MINI, found)] == [
        str(claim) for claim in FIGURE_2.claims(MINI, frame)
    ]


def test_forward_wins_in_noise_at_small_lambda_and_ridge_without_noise() -> None:
    config = Config(repeats=40, rounds=100, sigma=3.0, map_sigmas=(0.01,), map_lams=(1e-4, 1e-3), map_times=1)
    found = pl.concat(
        [FIGURE_2.compute(config, piece) for piece in FIGURE_2.pieces(config) if piece.about["part"] == "map"]
    )
    for sigma, forward_wins in ((3.0, True), (0.01, False)):
        ridge, forward = (
            value_matrix(found, quantity="regret", learner=learner, lam=1e-3, sigma=sigma)[:, 0] for learner in LEARNERS
        )
        estimate = ratio(ridge, forward)
        assert (estimate.lower > 1) == forward_wins
        assert (estimate.upper < 1) != forward_wins


# Verdicts, on values that are made up: what each learner's errors are after d rounds, what rounds d + 1 to 2d add and
# what the second half adds, and the regret, as functions of λ.

Law = Callable[[str, float], float]


def decided(
    name: str,
    *,
    early: Law | None = None,
    late: Law | None = None,
    regret: Law | None = None,
    heavy: Callable[[float], bool] = lambda lam: False,
    where: Callable[[float], bool] = lambda sigma: True,
) -> Claim:
    """The claim of that name, on forty repeats around values that depend on learner and λ.

    Where λ is heavy, one repeat of ridge has a hundred times its value. Elsewhere than at some σ, all values are 1.
    """
    config = replace(MINI, repeats=40, map_times=1, early_times=1, lams=(0.001, 0.01, 1.0, 10.0))
    jitter = np.exp(0.005 * np.random.default_rng(0).standard_normal((40, 1)))

    def constant(learner: str, lam: float) -> float:
        return 1.0

    early, late, regret = early or constant, late or constant, regret or constant
    frames = []
    for part, learner in product(("lines", "map", "early", "made"), LEARNERS):
        lams = {"lines": config.curve_lams, "early": config.early_lams, "made": config.map_lams}
        for lam in lams.get(part, config.all_lams):
            d, twice, half, end = config.marks
            first, last = early(learner, lam), late(learner, lam)
            error = np.interp(config.kept, [1, d, twice, half, end], [0, 0, first, first, first + last])
            at_marks = np.interp(config.marks, config.kept, error)
            values = {"error": error, "regret": np.full(len(error), regret(learner, lam))}
            rounds = {"error": config.kept, "regret": config.kept}
            if part == "map":
                values, rounds = values | {"error": at_marks}, {"error": config.marks, "regret": [end]}
                values["regret"] = values["regret"][:1]
            if part == "early":
                values, rounds = {"error": at_marks[:2]}, {"error": config.marks[:2]}
            if part == "made":
                values, rounds = {"error": np.array([1 / lam])}, {"error": [2]}
            factor = np.where(np.arange(40) == 7, 100.0, 1.0) if heavy(lam) and learner == "ridge" else np.ones(40)
            frames += [
                make_frame(
                    jitter
                    * factor[:, None]
                    * (values[quantity] if where(sigma) else np.arange(1.0, 1 + len(values[quantity]))),
                    part=part,
                    quantity=quantity,
                    learner=learner,
                    lam=lam,
                    sigma=sigma,
                    first_repeat=0,
                    rounds=rounds[quantity],
                )
                for quantity in values
                for sigma in (config.all_sigmas if part in ("map", "early") else (config.sigma,))
            ]
    (claim,) = (claim for claim in FIGURE_2.claims(config, pl.concat(frames)) if claim.id == name)
    return claim


@pytest.mark.parametrize(
    ("power", "expected"), [(-1.0, "supported"), (-0.4, "partly"), (-1.5, "partly"), (0.0, "not supported")]
)
def test_inverse_lambda(power: float, expected: str) -> None:
    claim = decided("inverse-lambda", early=lambda _, lam: lam**power)
    assert claim.verdict == expected
    assert claim.numbers["exponent at σ=0.1"].value == pytest.approx(power)
    assert claim.numbers["median exponent at σ=0.1"].value == pytest.approx(power)
    assert claim.numbers["exponent over the λ of the curves"].value == pytest.approx(power)
    assert claim.numbers["exponent on rows made for it"].value == pytest.approx(-1)


@pytest.mark.parametrize(
    ("late", "expected", "up_to"),
    [
        (lambda lam: 1.0, "supported", "100"),
        (lambda lam: 1.0 if lam <= 0.01 else 5.0, "partly", "0.01"),
        (lambda lam: lam**-0.2, "not supported", "1e-06"),
    ],
)
def test_settles(late: Callable[[float], float], expected: str, up_to: str) -> None:
    claim = decided("settles", early=lambda _, lam: lam**-0.5, late=lambda _, lam: late(lam))
    assert claim.verdict == expected
    assert f"up to {up_to}: everywhere tried" in claim.regime


@pytest.mark.parametrize("factor", [1.0, 1.4])
def test_what_hardly_depended_on_lambda_has_not_settled(factor: float) -> None:
    assert decided("settles", early=lambda _, lam: factor if lam < 0.005 else 1.0).verdict == "not supported"


def test_whether_small_lambda_still_hurts() -> None:
    key = "smallest λ over the cheapest, late, λ of the curves"
    harmless = decided("settles", late=lambda _, lam: max(1.0, lam))
    assert harmless.numbers[key].value == pytest.approx(1.0)
    assert "Small λ no longer hurts" in harmless.finding
    hurtful = decided("settles", late=lambda _, lam: lam**-0.2)
    assert hurtful.numbers[key].value == pytest.approx(10_000**0.2)
    assert "no longer" not in hurtful.finding


@pytest.mark.parametrize(
    ("forward", "ridge", "expected"),
    [
        (lambda lam: 1.0, lambda lam: lam**-0.3, "supported"),
        (lambda lam: max(1.0, 3 * lam), lambda lam: lam**-0.3, "partly"),
        (lambda lam: lam**-0.3, lambda lam: lam**-0.3, "not supported"),
        (lambda lam: 1.0, lambda lam: 1.0, "not supported"),
        (lambda lam: 1.0, lambda lam: 1.4 if lam < 0.005 else 1.0, "not supported"),  # too little a difference
    ],
)
def test_robust(forward: Callable[[float], float], ridge: Callable[[float], float], expected: str) -> None:
    claim = decided("robust-to-lambda", regret=lambda learner, lam: (ridge if learner == "ridge" else forward)(lam))
    assert claim.verdict == expected


def test_what_holds_for_another_norm_of_theta_is_said() -> None:
    """It holds at σ = 2 alone: with the figure's σ = 0.1 that is a θ* twenty times as small."""
    claim = decided(
        "robust-to-lambda", regret=lambda learner, lam: lam**-0.3 if learner == "ridge" else 1.0, where=lambda s: s == 2
    )
    assert claim.verdict == "partly"
    assert claim.regime.startswith("over the λ of the curves: σ = 2 (of 0.1 and 2 tried)")
    assert "at σ = 2 with ‖θ*‖ = 1, which is σ = 0.1 with ‖θ*‖ = 0.05." in claim.finding


def test_only_sigma_over_the_norm_of_theta_counts(frame: pl.DataFrame) -> None:
    half = run(FIGURE_2, replace(MINI, theta_norm=0.5, sigma=0.05, map_sigmas=(0.05, 1.0)))
    for sigma, learner in product(MINI.all_sigmas, LEARNERS):
        whole, small = (
            value_matrix(each, part="map", quantity="regret", learner=learner, lam=1e-2, sigma=s)
            for each, s in ((frame, sigma), (half, sigma / 2))
        )
        np.testing.assert_allclose(small, whole / 4, rtol=1e-9)


@pytest.mark.parametrize(
    ("ridge", "expected", "where"),
    [
        (lambda lam: 2.0, "supported", "everywhere tried"),
        (lambda lam: 2.0 if lam < 0.1 else 0.5, "partly", "λ = 1e-06, 0.0001 and 0.01"),
        (lambda lam: 0.5, "not supported", "nowhere"),
        (lambda lam: 1.0, "not supported", "nowhere"),
    ],
)
def test_forward_ahead(ridge: Callable[[float], float], expected: str, where: str) -> None:
    claim = decided("forward-ahead", regret=lambda learner, lam: ridge(lam) if learner == "ridge" else 1.0)
    assert claim.verdict == expected
    assert where in claim.regime
    kinds = {2.0: "smaller", 0.5: "larger", 1.0: "on par"}
    counts = {kind: 2 * sum(kinds.get(ridge(lam)) == kind for lam in MINI.map_lams) for kind in kinds.values()}
    assert f"ahead: {counts['smaller']}; behind: {counts['larger']}; on par: {counts['on par']}" in claim.finding
    assert claim.numbers["median ratio at σ=2, λ=1e-06"].value == pytest.approx(ridge(1e-6))
    assert claim.numbers["share of repeats with forward ahead at σ=2, λ=1e-06"].value == float(ridge(1e-6) > 1)
    assert claim.numbers["ratio at σ=2, λ=1e-06"].value == pytest.approx(ridge(1e-6))
    assert claim.numbers["ratio at the curves' λ=10"].value == pytest.approx(ridge(10.0))


def test_where_one_repeat_makes_up_a_mean_nothing_is_decided() -> None:
    claim = decided(
        "forward-ahead", regret=lambda learner, _: 0.5 if learner == "ridge" else 1.0, heavy=lambda lam: lam < 1
    )
    assert claim.verdict == "undecided"
    assert "Undecided between partly supported and not supported: ratio at σ=0.1, λ=1e-06" in claim.finding
    assert "ahead: 0; behind: 4; on par: 0; undecided: 6" in claim.finding
    assert claim.numbers["ratio at σ=2, λ=1e-06"].lower < 1.7 < claim.numbers["ratio at σ=2, λ=1e-06"].upper
    assert "Mean and median disagree at σ = 0.1, λ = 1e-06, 0.0001 and 0.01; σ = 2" in claim.finding
    assert "the typical run favours ridge" in claim.finding
    assert "(marked ≈)" in claim.finding


@pytest.mark.parametrize("ridge", [10.0, 0.01])
def test_not_even_if_the_interval_is_far_from_one(ridge: float) -> None:
    claim = decided(
        "forward-ahead", regret=lambda learner, _: ridge if learner == "ridge" else 1.0, heavy=lambda lam: True
    )
    number = claim.numbers["ratio at σ=2, λ=1e-06"]
    assert number.lower > 1.05 or number.upper < 0.95
    assert "ahead: 0; behind: 0; on par: 0; undecided: 10" in claim.finding


def test_lambda_with_a_doubtful_mean_is_left_out_of_powers_and_spreads() -> None:
    def law(learner: str, lam: float) -> float:
        return lam**-0.4 if learner == "ridge" else 1.0

    claim = decided("inverse-lambda", early=law, heavy=lambda lam: lam < 1e-5)
    assert claim.numbers["exponent at σ=0.1"].value == pytest.approx(-0.4)
    assert claim.numbers["exponent over all small λ at σ=0.1"].value < -0.5
    assert "without λ = 1e-06" in claim.finding
    for name in ("inverse-lambda", "settles", "robust-to-lambda"):
        spreads = decided(name, early=law, regret=law, heavy=lambda lam: lam < 1e-5).regime
        none = decided(name, early=law, regret=law, heavy=lambda lam: lam < 5e-3).regime
        assert ("everywhere" in spreads, "everywhere" in none) == (True, False)


def test_the_claims_say_all_that_a_report_needs(frame: pl.DataFrame) -> None:
    found = FIGURE_2.claims(MINI, frame)
    assert [claim.id for claim in found] == ["inverse-lambda", "settles", "robust-to-lambda", "forward-ahead"]
    for claim in found:
        assert claim.statement
        assert claim.finding
        assert "upported if" in claim.rule.words
        assert claim.regime
        assert claim.effect
        assert claim.finding.count("99 % interval") == 1
        assert claim.ours == (claim.id == "forward-ahead")
        assert all(isinstance(number, Estimate) for number in claim.numbers.values())


def test_curves_as_drawn(frame: pl.DataFrame) -> None:
    drawings = FIGURE_2.draw(MINI, frame)
    assert [drawing.name for drawing in drawings] == ["figure2a", "figure2b", "figure2-map"]
    for drawing, learner in zip(drawings, LEARNERS, strict=False):
        cumulative, instant = drawing.panels
        assert [len(cumulative.lines), len(instant.lines)] == [8, 4]  # four bounds on the left
        for panel in drawing.panels:
            assert [panel.axes.get_xscale(), panel.axes.get_yscale()] == ["log", "log"]
            on_axes = [np.asarray(line.get_ydata()) for line in panel.axes.get_lines()]
            for line in panel.lines:
                assert any(np.array_equal(line.y, y) for y in on_axes)
        for line, lam in zip(instant.lines, MINI.curve_lams, strict=True):
            values = value_matrix(frame, part="lines", learner=learner, quantity="instant", lam=lam)
            np.testing.assert_allclose(line.y, values.mean(axis=0))
            assert line.upper is not None
            np.testing.assert_allclose(line.upper - line.y, values.std(axis=0, ddof=1))
        for curve, bound in zip(cumulative.lines[:4], cumulative.lines[4:], strict=True):
            assert (curve.y < bound.y).all()
        assert "5 repeats" in drawing.caption
        assert "cut off" in drawing.caption
        drawing.figure.savefig(io.BytesIO(), format="svg")
    ours, theirs = (drawing.panels[0].axes.get_ylim() for drawing in drawings[:2])
    assert ours == theirs


def test_the_map_as_drawn(frame: pl.DataFrame) -> None:
    drawing = FIGURE_2.draw(MINI, frame)[-1]
    (panel,) = drawing.panels
    cells = [text.get_text() for text in panel.axes.texts]
    assert len(cells) == len(MINI.map_lams) * len(MINI.all_sigmas)
    assert [line.label for line in panel.lines] == ["σ = 0.1", "σ = 2"]
    ridge, forward = (
        value_matrix(frame, part="map", quantity="regret", learner=learner, lam=1.0, sigma=0.1)[:, 0]
        for learner in LEARNERS
    )
    expected = ratio(ridge, forward)
    assert panel.lines[0].y[3] == pytest.approx(expected.value)
    assert not expected.trusted  # ten repeats
    assert "In 10 cells, marked ≈" in drawing.caption
    assert cells[3] == f"≈{expected.value:.2f}\n{expected.lower:.2f}–{expected.upper:.2f}"
    mesh = panel.axes.collections[0]
    middle = np.asarray(mesh.norm(np.array([1.0])))
    assert middle == pytest.approx(0.5)  # colours are centred at 1
    assert "10 repeats" in panel.axes.get_title()
    drawing.figure.savefig(io.BytesIO())


def test_the_smallest_run_comes_through() -> None:
    config = Config(
        repeats=1, undecided_times=1, d=1, rounds=6, points=2, map_sigmas=(5.0,), map_lams=(1e-3, 1e-2), map_times=1
    )
    frame = run(FIGURE_2, config)
    found = {claim.id: claim.verdict for claim in FIGURE_2.claims(config, frame)}
    assert set(found.values()) == {"undecided"}  # one repeat decides nothing
    for drawing in FIGURE_2.draw(config, frame):
        drawing.figure.savefig(io.BytesIO())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 21}, r"rounds must be at least 4·d \+ 2 = 22, got 21"),
        ({"map_lams": (1.0, 10.0)}, "at least two λ up to small_lam = 0.01"),
        ({"delta": 1.0}, "delta must be a number strictly between 0 and 1"),
        ({"lams": (0.0,)}, "lams must be a number > 0"),
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Config(), **changes)
