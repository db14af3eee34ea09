"""What Cella et al. (2020) say of a learned bias, and whether forward helps."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from onward.core.types import Matrix, Vector
from onward.experiments.bandit_games import regret_matrix
from onward.experiments.claims import DISTRUST, Claim, Finding, Regime
from onward.experiments.estimates import Estimate, quotient, ratio
from onward.experiments.verdicts import Condition, Every, Question, Rule, Some

SMALL = 0.5  # spreads of up to this share of the mean's norm are small
LESS = 0.9  # "a significant advantage": at most this share of the regret
AHEAD = 0.95  # "ahead": at most this share
NEAR = 1.1  # "near to the oracle": at most so many times its regret

Worlds = Mapping[str, tuple[float, float]]


def describe(worlds: Worlds, world: str) -> str:
    """A world in words."""
    sigma, spread = worlds[world]
    return f"r = {spread:g}, σ = {sigma:g}"


def task_regrets(frame: pl.DataFrame, world: str, start: str, estimator: str) -> Matrix:
    """The regret of each task, a row for each repeat."""
    total = regret_matrix(frame, part=world, start=start, estimator=estimator)
    each: Matrix = total.copy()
    each[:, 1:] -= total[:, :-1]
    return each


def later_regret(frame: pl.DataFrame, world: str, start: str, estimator: str) -> Vector:
    """That of the second half of the tasks together."""
    each = task_regrets(frame, world, start, estimator)
    later: Vector = each[:, each.shape[1] // 2 :].sum(axis=1)
    return later


def decide_claims(worlds: Worlds, mean_norm: float, frame: pl.DataFrame) -> Sequence[Claim]:
    """All of them."""
    small = [world for world, (_, spread) in worlds.items() if spread <= SMALL * mean_norm]

    def compare(start: str, other: str, estimator: str = "ridge") -> Callable[[str], Estimate]:
        return lambda world: ratio(
            later_regret(frame, world, start, estimator), later_regret(frame, world, other, estimator)
        )

    def forward(world: str) -> Estimate:
        return ratio(later_regret(frame, world, "learned", "forward"), later_regret(frame, world, "learned", "ridge"))

    return [
        _claim(
            "beats-zero",
            "Where tasks vary little, a learned bias has a significant advantage over learning each task by itself.",
            "learned start over start from 0",
            {world: compare("learned", "zero")(world) for world in small or worlds},
            LESS,
            worlds,
        ),
        _claim(
            "near-oracle",
            "Where tasks vary little, a learned bias comes near to the true mean.",
            "learned start over start from the true mean",
            {world: compare("learned", "oracle")(world) for world in small or worlds},
            NEAR,
            worlds,
        ),
        _less_variance(worlds, compare("learned", "zero")),
        _claim(
            "proven",
            "Our question: is a learned bias still ahead of 0 if its bound is proven, not assumed?",
            "learned start with a proven bound over start from 0",
            {world: compare("proven", "zero")(world) for world in worlds},
            AHEAD,  # not 1: where nothing is proven, both play the same game
            worlds,
            ours=True,
        ),
        _claim(
            "forward-helps",
            "Our question: does MetaOFUL^f lose less than MetaOFUL?",
            "MetaOFUL^f over MetaOFUL",
            {world: forward(world) for world in worlds},
            1.0,
            worlds,
            ours=True,
        ),
    ]


def _claim(
    id: str,
    statement: str,
    what: str,
    ratios: Mapping[str, Estimate],
    line: float,
    worlds: Worlds,
    ours: bool = False,
) -> Claim:
    below: dict[str, Question] = {
        describe(worlds, world): Condition(f"{what}, {describe(worlds, world)}", each, "below", line, (world,))
        for world, each in ratios.items()
    }
    shown = sorted(ratios, key=lambda world: ratios[world].value)
    findings = [
        Finding(f"{what} at best ({describe(worlds, shown[0])})", ratios[shown[0]], headline=True),
        Finding(f"at worst ({describe(worlds, shown[-1])})", ratios[shown[-1]], headline=True),
    ]
    return Claim(
        id=id,
        statement=statement,
        rule=Rule(
            f"Ratio of mean regrets over the second half of the tasks ({what}), paired over repeats: supported if its "
            f"99% interval lies below {line:g} in every world with {_spreads(worlds, ratios)}, partly if in some. "
            f"{DISTRUST}",
            Every(list(below.values())),
            Some(list(below.values())),
        ),
        numbers={f"{what}, {describe(worlds, world)}": each for world, each in ratios.items()},
        findings=findings,
        regimes=[Regime.of(below)],
        ours=ours,
    )


def _spreads(worlds: Worlds, chosen: Mapping[str, Estimate]) -> str:
    spreads = sorted({worlds[world][1] for world in chosen})
    return f"r = {', '.join(f'{spread:g}' for spread in spreads)}"


def _less_variance(worlds: Worlds, gain: Callable[[str], Estimate]) -> Claim:
    spreads = sorted({spread for _, spread in worlds.values()})
    by_place = {place: world for world, place in worlds.items()}
    found: dict[str, Estimate] = {}
    questions: dict[str, Question] = {}
    for sigma in sorted({sigma for sigma, _ in worlds.values()}):
        close, far = by_place[sigma, spreads[0]], by_place[sigma, spreads[-1]]
        found[f"σ = {sigma:g}"] = each = quotient(gain(far), gain(close))
        questions[f"σ = {sigma:g}"] = Condition(f"quotient at σ = {sigma:g}", each, "above", 1.0, (close, far))
    words = f"regret of the learned start over that from 0 at r = {spreads[-1]:g}, over the same at r = {spreads[0]:g}"
    return Claim(
        id="less-variance",
        statement="The advantage of a learned bias is the larger, the less tasks vary.",
        rule=Rule(
            f"Second half of the tasks; {words}: supported if its interval lies above 1 at every σ, partly if at some. "
            f"{DISTRUST}",
            Every(list(questions.values())),
            Some(list(questions.values())),
        ),
        numbers={f"{words}, {name}": each for name, each in found.items()},
        findings=[
            Finding(f"{words} ({name})" if i == 0 else f"at {name}", each, headline=True)
            for i, (name, each) in enumerate(found.items())
        ],
        regimes=[Regime.of(questions)],
    )
