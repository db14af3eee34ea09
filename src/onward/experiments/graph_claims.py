"""What Valko et al. (2014) say of SpectralUCB, and whether forward helps."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from onward.core.types import Matrix, Vector
from onward.experiments.bandit_games import regret_matrix
from onward.experiments.claims import DISTRUST, Claim, Finding, Regime
from onward.experiments.estimates import Estimate, exponent, log_contrast, ratio
from onward.experiments.graph_settings import GRAPHS, INDICES
from onward.experiments.repeat_frame import value_matrix
from onward.experiments.verdicts import Condition, Every, Question, Rule, Some

SLACK = 0.1  # by how much the power of the regret may exceed that of the effective dimension

Worlds = Mapping[str, tuple[str, float]]


def describe(worlds: Worlds, world: str, index: str | None = None) -> str:
    """A world in words, and an index."""
    graph, sigma = worlds[world]
    return f"{GRAPHS[graph]}, σ = {sigma:g}" + ("" if index is None else f", {INDICES[index]}")


def final_regret(frame: pl.DataFrame, world: str, policy: str, index: str, size: int) -> Vector:
    """Regret at the end, a number for each repeat."""
    return regret_matrix(frame, part=world, policy=policy, index=index, nodes=float(size))[:, -1]


def by_size(frame: pl.DataFrame, world: str, policy: str, index: str, sizes: Sequence[int]) -> Matrix:
    """Regret at the end, a row for each repeat and a column for each number of nodes."""
    return np.column_stack([final_regret(frame, world, policy, index, size) for size in sizes])


def dimensions(frame: pl.DataFrame, world: str, sizes: Sequence[int]) -> Matrix:
    """The effective dimension, a row for each repeat and a column for each number of nodes."""
    part = frame.filter(part=world, policy="OFUL", index="full")
    return np.column_stack([value_matrix(part, "dimension", nodes=float(size))[:, -1] for size in sizes])


def decide_claims(worlds: Worlds, sizes: Sequence[int], frame: pl.DataFrame) -> Sequence[Claim]:
    """All of them."""
    return [
        _compared(worlds, sizes[-1], frame, "OFUL"),
        _scales(worlds, sizes, frame),
        _compared(worlds, sizes[-1], frame, "SpectralUCB^f"),
    ]


def _compared(worlds: Worlds, size: int, frame: pl.DataFrame, other: str) -> Claim:
    """SpectralUCB beats OFUL; or SpectralUCB^f beats SpectralUCB, which is our question."""
    ours = other == "SpectralUCB^f"
    first, second = (other, "SpectralUCB") if ours else ("SpectralUCB", other)
    variants = {describe(worlds, *each): each for each in itertools.product(worlds, INDICES)}
    ratios = {
        words: ratio(final_regret(frame, world, first, index, size), final_regret(frame, world, second, index, size))
        for words, (world, index) in variants.items()
    }
    less: dict[str, Question] = {
        words: Condition(f"{first} over {second}, {words}", each, "below", 1.0, (variants[words][0],))
        for words, each in ratios.items()
    }
    values = sorted(ratios.items(), key=lambda item: item[1].value)
    (best, least), (worst, most) = values[0], values[-1]
    return Claim(
        id="forward-helps" if ours else "beats-oful",
        statement=(
            "Our question: does SpectralUCB^f lose less than SpectralUCB?"
            if ours
            else "SpectralUCB loses less than linear bandits that know no graph (OFUL), where rewards are smooth."
        ),
        rule=Rule(
            f"Ratio of mean regrets at the end, graphs of {size} nodes, paired over repeats: supported if its 99% "
            f"interval lies below 1 in every variant, partly if in some. {DISTRUST}",
            Every(list(less.values())),
            Some(list(less.values())),
        ),
        numbers={f"{first} over {second}, {words}": each for words, each in ratios.items()},
        findings=[
            Finding(f"regret of {first} over {second}'s at best ({best})", least, headline=True),
            Finding(f"at worst ({worst})", most, headline=True),
        ],
        regimes=[Regime.of(less)],
        ours=ours,
    )


def _scales(worlds: Worlds, sizes: Sequence[int], frame: pl.DataFrame) -> Claim:
    numbers: dict[str, Estimate] = {}
    questions: dict[str, Question] = {}
    findings: list[Finding] = []
    for world in worlds:
        words = describe(worlds, world)
        spectral, plain = (by_size(frame, world, policy, "full", sizes) for policy in ("SpectralUCB", "OFUL"))
        dimension = dimensions(frame, world, sizes)
        power, above_dimension = exponent(spectral, sizes), _difference(spectral, dimension, sizes)
        above_plain = _difference(spectral, plain, sizes)
        numbers |= {
            f"power of N in SpectralUCB's regret, {words}": power,
            f"power of N in OFUL's regret, {words}": exponent(plain, sizes),
            f"power of N in the effective dimension, {words}": exponent(dimension, sizes),
            f"SpectralUCB's less the dimension's, {words}": above_dimension,
            f"SpectralUCB's less OFUL's, {words}": above_plain,
        }
        name = f"power of SpectralUCB's regret less that of the dimension, {words}"
        questions[words] = Every(
            [
                Condition(name, above_dimension, "below", SLACK, (world,)),
                Condition(f"power of SpectralUCB's regret less OFUL's, {words}", above_plain, "below", 0.0, (world,)),
            ]
        )
        findings += [
            Finding(f"power of N in SpectralUCB's regret ({words})", power, "power", headline=True),
            Finding("in OFUL's", exponent(plain, sizes), "power"),
            Finding("in the effective dimension", exponent(dimension, sizes), "power"),
        ]
    return Claim(
        id="scales-with-dimension",
        statement="SpectralUCB's regret scales with the effective dimension, not with the number of nodes N.",
        rule=Rule(
            f"Power of N in the mean regret over N = {', '.join(map(str, sizes))}, full index: supported if in every "
            f"world its 99% interval lies no more than {SLACK:g} above the power of N in the effective dimension, and "
            f"below the power in OFUL's regret; partly if in some. {DISTRUST}",
            Every(list(questions.values())),
            Some(list(questions.values())),
        ),
        numbers=numbers,
        findings=findings,
        regimes=[Regime.of(questions)],
    )


def _difference(first: Matrix, second: Matrix, sizes: Sequence[int]) -> Estimate:
    """The power in the first columns less that in the second, of the same repeats."""
    x = np.log(np.asarray(sizes, dtype=np.float64))
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    return log_contrast(np.column_stack([first, second]), np.concatenate([weights, -weights]))
