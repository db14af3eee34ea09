"""What we say of the sharp index, decided like the claims of the paper."""

from collections.abc import Mapping, Sequence

import polars as pl

from onward.core.types import Vector
from onward.experiments.bandit_games import regret_matrix
from onward.experiments.claims import DISTRUST, Claim, Finding, Regime
from onward.experiments.estimates import Estimate, ratio
from onward.experiments.verdicts import Condition, Every, Question, Rule, Some, within

FIXED, SLOW = "fixed-full", "slow"
AT_MOST = 8.0  # times ridge's regret, with fixed arms of full norm
FREE = 1.05  # what clipping may cost
PAR = 0.1  # "on par": regrets within this share of each other


def final_regret(frame: pl.DataFrame, world: str, estimator: str, index: str) -> Vector:
    """Regret at the end, a number for each repeat."""
    return regret_matrix(frame, part=world, estimator=estimator, index=index)[:, -1]


def ratio_to_ridge(frame: pl.DataFrame, world: str, estimator: str, index: str) -> Estimate:
    """A regret at the end over that of ridge's plain index."""
    return ratio(final_regret(frame, world, estimator, index), final_regret(frame, world, "ridge", "plain"))


def decide_claims(worlds: Mapping[str, str], frame: pl.DataFrame) -> Sequence[Claim]:
    """All of them; worlds in words, by name."""
    still = {world: words for world, words in worlds.items() if world != SLOW}
    cost = f"costs at most {FREE - 1:.0%} of regret"
    return [
        _fixed_arms(worlds, frame),
        _less_than_tight(worlds, frame),
        _clipped("clipped", f"Ours: in the worlds of figure 3, cutting ridge's index at ‖x‖S {cost}.", still, frame),
        _clipped("clipped-slow", f"Ours: under slow change it {cost}, too.", {SLOW: worlds[SLOW]}, frame),
        _slow(frame),
    ]


def _fixed_arms(worlds: Mapping[str, str], frame: pl.DataFrame) -> Claim:
    sharp, tight = (ratio_to_ridge(frame, FIXED, "forward", index) for index in ("sharp", "tight"))
    most = Condition("sharp OFUL^f over OFUL", sharp, "below", AT_MOST, (FIXED,))
    return Claim(
        id="fixed-arms",
        statement=f"Ours: with {worlds[FIXED]}, OFUL^f with the sharp index loses at most {AT_MOST:g} times as much as "
        "OFUL.",
        rule=Rule(f"Ratio of mean regrets: supported if its 99% interval lies below {AT_MOST:g}. {DISTRUST}", most),
        numbers={"sharp OFUL^f over OFUL": sharp, "tight OFUL^f over OFUL": tight},
        findings=[
            Finding("regret of OFUL^f with the sharp index over OFUL's", sharp, headline=True),
            Finding("with the tight one", tight, headline=True),
        ],
        regimes=[Regime.of({"this setting": most})],
        ours=True,
    )


def _less_than_tight(worlds: Mapping[str, str], frame: pl.DataFrame) -> Claim:
    ratios = {
        world: ratio(final_regret(frame, world, "forward", "sharp"), final_regret(frame, world, "forward", "tight"))
        for world in worlds
    }
    return _below_in_each(
        "less-than-tight",
        "Ours: forward loses less with the sharp index than with the paper's.",
        "Ratio of the mean regret with the sharp index to that with the paper's in its tight form: supported if "
        "its 99% interval lies below 1 in every world, partly if in some.",
        "sharp over tight",
        {worlds[world]: (world, each) for world, each in ratios.items()},
        1.0,
    )


def _clipped(id: str, statement: str, worlds: Mapping[str, str], frame: pl.DataFrame) -> Claim:
    return _below_in_each(
        id,
        statement,
        "Ratio of the mean regret with the clipped index to that without: supported if its 99% interval lies below "
        f"{FREE:g} in each of these worlds, partly if in some.",
        "clipped over plain",
        {words: (world, ratio_to_ridge(frame, world, "ridge", "clipped")) for world, words in worlds.items()},
        FREE,
    )


def _below_in_each(
    id: str, statement: str, rule: str, name: str, found: Mapping[str, tuple[str, Estimate]], line: float
) -> Claim:
    """A claim that a ratio lies below a line in each world; worlds and their ratios by what they are in words."""
    ratios = {words: each for words, (_, each) in found.items()}
    below: dict[str, Question] = {
        words: Condition(f"{name}, {words}", each, "below", line, (world,)) for words, (world, each) in found.items()
    }
    return Claim(
        id=id,
        statement=statement,
        rule=Rule(f"{rule} {DISTRUST}", Every(list(below.values())), Some(list(below.values()))),
        numbers={f"{name}, {words}": each for words, each in ratios.items()},
        findings=[
            Finding(f"{name} with {words}" if i == 0 else f"with {words}", each, headline=True)
            for i, (words, each) in enumerate(ratios.items())
        ],
        regimes=[Regime.of(below)],
        ours=True,
    )


def _slow(frame: pl.DataFrame) -> Claim:
    ratios = {index: ratio_to_ridge(frame, SLOW, "forward", index) for index in ("sharp", "tight")}
    par = within("sharp D-LinUCB^f over D-LinUCB", ratios["sharp"], 1 - PAR, 1 + PAR, (SLOW,))
    return Claim(
        id="slow-change",
        statement="Ours: under slow change D-LinUCB^f with the sharp index is on par with D-LinUCB.",
        rule=Rule(
            f"Ratio of mean regrets: supported if its 99% interval lies within 1 ± {PAR:g}. {DISTRUST}",
            par,
        ),
        numbers={f"{index} D-LinUCB^f over D-LinUCB": each for index, each in ratios.items()},
        findings=[
            Finding("regret of D-LinUCB^f with the sharp index over D-LinUCB's", ratios["sharp"], headline=True),
            Finding("with the tight one", ratios["tight"], headline=True),
        ],
        regimes=[Regime.of({"this setting": par})],
        ours=True,
    )
