"""Figure 1 in miniature: its identities, its pieces, its verdicts each way, its drawings."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward.experiments import FIGURE_1, Claim, run
from onward.experiments.estimates import Estimate
from onward.experiments.figure1 import Figure1
from onward.experiments.figure1_settings import TERMS
from onward.experiments.figure1_settings import Figure1Config as Config
from onward.experiments.regression_problems import LEARNERS, Problem
from onward.experiments.repeat_frame import make_frame, value_matrix

MINI = Config(repeats=6, undecided_times=1, d=3, rounds=30, sigmas=(0.1, 2.0), sums_times=1)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return run(FIGURE_1, MINI)


@pytest.mark.parametrize("sigma", MINI.all_sigmas)
def test_terms_telescope_to_the_regrets(frame: pl.DataFrame, sigma: float) -> None:
    sums = frame.filter((pl.col("part") == "sums") & (pl.col("sigma") == sigma))
    total = {(learner, q): value_matrix(sums, learner=learner, quantity=q)[:, -1] for learner, q in TERMS}
    loss, regret = (
        {learner: value_matrix(sums, learner=learner, quantity=quantity)[:, -1] for learner in LEARNERS}
        for quantity in ("loss", "regret")
    )
    for repeat in range(MINI.repeats):
        problem = Problem.draw(MINI.seed, repeat, "cube", MINI.d, MINI.rounds)
        y = problem.signal + sigma * problem.noise
        theta = np.linalg.solve(problem.X.T @ problem.X + MINI.lam * np.eye(MINI.d), problem.X.T @ y)
        best = np.sum((y - problem.X @ theta) ** 2) + MINI.lam * np.sum(theta**2)
        assert total["ridge", "first"][repeat] == pytest.approx(loss["ridge"][repeat] - best)
        forward = total["forward", "first"][repeat] - total["forward", "second"][repeat]
        assert forward == pytest.approx(loss["forward"][repeat] - best)
        for learner in LEARNERS:
            true_loss = np.sum((sigma * problem.noise) ** 2)
            assert regret[learner][repeat] == pytest.approx(loss[learner][repeat] - true_loss)


def test_sums_are_those_of_the_terms(frame: pl.DataFrame) -> None:
    for learner, quantity in TERMS:
        terms = value_matrix(frame, part="terms", learner=learner, quantity=quantity)
        sums = value_matrix(frame, part="sums", learner=learner, quantity=quantity, sigma=MINI.sigma)
        assert terms.shape == (MINI.repeats, MINI.rounds)
        np.testing.assert_allclose(np.cumsum(terms, axis=1)[:, np.array(MINI.marks) - 1], sums)


def test_claims_may_have_more_repeats_than_the_picture(frame: pl.DataFrame) -> None:
    config = replace(MINI, sums_times=3)
    more = run(FIGURE_1, config)
    assert more.filter(pl.col("part") == "terms").equals(frame.filter(pl.col("part") == "terms"))
    sums = value_matrix(more, part="sums", learner="ridge", quantity="loss", sigma=2.0)
    assert len(sums) == 18
    np.testing.assert_array_equal(
        sums[:6], value_matrix(frame, part="sums", learner="ridge", quantity="loss", sigma=2.0)
    )
    terms, by_noise = FIGURE_1.draw(config, more)
    assert ("6 repeats" in terms.caption, "18 paired repeats" in by_noise.caption) == (True, True)


@pytest.mark.parametrize("size", [1, 4, 100])
def test_pieces_of_any_size_in_any_order_give_the_same(
    frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(Figure1, "repeats_a_piece", size)
    found = pl.concat([FIGURE_1.compute(MINI, piece) for piece in reversed(FIGURE_1.pieces(MINI))])
    order = ["part", "quantity", "learner", "sigma", "repeat", "round"]
    assert found.sort(order).equals(frame.sort(order))
    assert [str(claim) for claim in FIGURE_1.claims(MINI, found)] == [
        str(claim) for claim in FIGURE_1.claims(MINI, frame)
    ]


def test_other_seeds_give_other_values(frame: pl.DataFrame) -> None:
    other = run(FIGURE_1, replace(MINI, seed=1))
    assert not np.isclose(other["value"].to_numpy(), frame["value"].to_numpy()).all()


# Verdicts, on sums that are made up: what a term adds in the first d rounds, in those between, and in the last tenth.

SHAPE = {
    ("ridge", "first"): (5.0, 1.0, 1e-4),
    ("forward", "first"): (5.0, 30.0, 5.0),
    ("forward", "second"): (4.8, 29.0, 4.9),
    ("ridge", "loss"): (1.0, 1.0, 1.0),
    ("forward", "loss"): (1.0, 1.0, 1.0),
    ("ridge", "regret"): (1.0, 1.0, 1.0),
    ("forward", "regret"): (1.0, 1.0, 1.0),
}


def decided(name: str, **changes: tuple[float, float, float]) -> Claim:
    """The claim of that name, on forty repeats around SHAPE with changes; `ridge_first=…` is ("ridge", "first")."""
    shape = SHAPE | {(key.split("_")[0], key.split("_")[1]): value for key, value in changes.items()}
    jitter = np.exp(0.01 * np.random.default_rng(0).standard_normal((40, 1)))
    terms = make_frame(  # in rounds 2d + 1 to 4d, a fifth of what they were in the first d
        jitter * np.where(np.arange(MINI.rounds) < 2 * MINI.d, 1.0, 0.2),
        part="terms",
        quantity="first",
        learner="ridge",
        lam=MINI.lam,
        sigma=MINI.sigma,
        first_repeat=0,
        rounds=np.arange(1, MINI.rounds + 1),
    )
    sums = pl.concat(
        make_frame(
            jitter * np.cumsum(shape[learner, quantity]),
            part="sums",
            quantity=quantity,
            learner=learner,
            lam=MINI.lam,
            sigma=sigma,
            first_repeat=0,
            rounds=MINI.marks,
        )
        for learner, quantity in shape
        for sigma in MINI.all_sigmas
    )
    (claim,) = (claim for claim in FIGURE_1.claims(MINI, pl.concat([terms, sums])) if claim.id == name)
    return claim


@pytest.mark.parametrize(("last", "expected"), [(1e-4, "supported"), (0.1, "partly"), (3.0, "not supported")])
def test_ridge_vanishes(last: float, expected: str) -> None:
    claim = decided("ridge-vanishes", ridge_first=(5.0, 1.0, last))
    assert claim.verdict == expected
    assert ("everywhere" in claim.regime) == (expected == "supported")
    assert claim.numbers["left in rounds 7–12 at σ=0.1"].value == pytest.approx(0.2)
    assert "in rounds 7–12: 20 %" in claim.finding


@pytest.mark.parametrize(
    ("last", "ridge", "expected"),
    [(9.0, 1e-4, "supported"), (5.0, 1e-4, "supported"), (0.5, 1e-4, "partly"), (0.5, 0.5, "not supported")],
)
def test_forward_is_stable(last: float, ridge: float, expected: str) -> None:
    claim = decided("forward-stable", forward_first=(5.0, 30.0, last), ridge_first=(5.0, 1.0, ridge))
    assert claim.verdict == expected
    assert ("It falls" if last < 4 else "It rises" if last > 5 else "It neither") in claim.finding


@pytest.mark.parametrize(
    ("taken", "last", "expected"),
    [(29.0, 4.9, "supported"), (15.0, 4.9, "partly"), (15.0, 4.0, "not supported"), (1.0, 0.1, "not supported")],
)
def test_the_second_term_cancels(taken: float, last: float, expected: str) -> None:
    claim = decided("cancelled", forward_second=(4.8, taken, last))
    assert claim.verdict == expected


@pytest.mark.parametrize(
    ("regret", "loss", "expected"),
    [(1.02, 1.0, "supported"), (1.5, 1.02, "partly"), (1.5, 1.5, "not supported"), (0.5, 0.7, "not supported")],
)
def test_on_par(regret: float, loss: float, expected: str) -> None:
    claim = decided("on-par", ridge_regret=(regret, regret, regret), ridge_loss=(loss, loss, loss))
    assert claim.verdict == expected
    if regret != 1.02:
        assert f"{'forward' if regret > 1 else 'ridge'} has the smaller regret" in claim.finding.lower()
        assert claim.numbers["regret ratio at σ=0.1"].value == pytest.approx(regret)


def test_the_claims_say_all_that_a_report_needs(frame: pl.DataFrame) -> None:
    found = FIGURE_1.claims(MINI, frame)
    assert [claim.id for claim in found] == ["ridge-vanishes", "forward-stable", "cancelled", "on-par"]
    for claim in found:
        assert claim.statement
        assert claim.finding
        assert "supported if" in claim.rule.words
        assert claim.regime
        assert "[" in claim.effect
        assert claim.finding.count("99 % interval") == 1
        assert not claim.ours
        assert all(isinstance(number, Estimate) for number in claim.numbers.values())


def test_drawings(frame: pl.DataFrame) -> None:
    terms, by_noise = FIGURE_1.draw(MINI, frame)
    left, right = terms.panels
    assert [left.axes.get_yscale(), left.axes.get_xscale()] == ["log", "linear"]  # as in the paper
    assert [len(left.lines), len(right.lines)] == [3, 4]
    assert "6 repeats" in terms.caption
    for panel in by_noise.panels:
        assert [panel.axes.get_xscale(), panel.axes.get_yscale()] == ["log", "log"]
    for drawing in (terms, by_noise):
        for panel in drawing.panels:
            on_axes = [np.asarray(line.get_ydata()) for line in panel.axes.get_lines()]
            for line in panel.lines:
                assert any(np.array_equal(line.y, y) for y in on_axes)
        drawing.figure.savefig(io.BytesIO(), format="svg")
        assert drawing.alternative
    ridge = value_matrix(frame, part="terms", learner="ridge", quantity="first")
    np.testing.assert_allclose(left.lines[0].y, ridge.mean(axis=0))
    reach = ridge.std(axis=0, ddof=1) / np.sqrt(MINI.repeats)
    lower = left.lines[0].lower
    assert lower is not None
    np.testing.assert_allclose(left.lines[0].y - lower, reach)
    np.testing.assert_allclose(right.lines[0].y, np.cumsum(ridge, axis=1).mean(axis=0))


def test_the_smallest_run_comes_through() -> None:
    config = Config(repeats=1, undecided_times=1, d=1, rounds=4, sigmas=(0.1,), sums_times=1)
    frame = run(FIGURE_1, config)
    found = {claim.verdict for claim in FIGURE_1.claims(config, frame)}
    assert found == {"undecided"}  # one repeat decides nothing
    for drawing in FIGURE_1.draw(config, frame):
        drawing.figure.savefig(io.BytesIO())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 7}, r"rounds must be at least 2·d \+ 2 = 12, got 7"),
        ({"sigma": 0.0}, "sigma must be a number > 0, got 0.0"),
        ({"sigmas": (1.0, -1.0)}, "sigmas must be a number > 0, got -1.0"),
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Config(), **changes)


def test_what_one_repeat_makes_up_decides_nothing() -> None:
    frame = run(FIGURE_1, MINI)  # six repeats: each makes up more than a twentieth
    found = FIGURE_1.claims(MINI, frame)
    assert {claim.verdict for claim in found} == {"undecided"}
    for claim in found:
        assert "Undecided between supported, partly supported and not supported: " in claim.finding
        assert "rests too much on one repeat" in claim.finding
        assert "≈" in claim.effect
        assert "their intervals are too short" in claim.finding
        assert "everywhere" not in claim.regime


def test_the_text_for_those_who_cannot_see_says_what_falls_furthest(frame: pl.DataFrame) -> None:
    for learner, quantity in TERMS:
        falling = (pl.col("learner") == learner) & (pl.col("quantity") == quantity) & (pl.col("part") == "terms")
        tail = falling & (pl.col("round") > MINI.d)
        changed = frame.with_columns(pl.when(tail).then(pl.col("value") * 1e-9).otherwise(pl.col("value")))
        drawing = FIGURE_1.draw(MINI, changed)[0]
        assert f"{learner.capitalize()}'s {quantity} term falls furthest" in drawing.alternative
