"""A made-up reproduction of a realistic shape, to test the report with: nothing in it was measured."""

import math
from collections.abc import Sequence

import numpy as np

from onward.experiments.claims import Claim, Finding, Regime
from onward.experiments.estimates import Estimate
from onward.experiments.reproduction_report import Section
from onward.experiments.verdicts import Condition, Rule, Verdict
from tests.pages.made_up import AWKWARD, four_panels, heat_map, log_log, one_panel, two_panels

VERSIONS = {"onward": "0.1.0", "Python": "3.11.2", "numpy": "2.4.0", "numba": "0.63.1", "matplotlib": "3.11.2"}


def sections() -> list[Section]:
    """Five figures with one to four panels each, fifteen claims, every verdict, and awkward values."""
    settings = {
        "seed": 0,
        "repeats": 100,
        "rounds": 100_000,
        "sigma": 0.1,
        "lams": [1e-05, 0.145, 1, 10],
        "fresh": True,
    }
    return [
        Section("figure1", "The terms of the regret", settings, _claims(3), [two_panels()], 4.2),
        Section("figure2", "Dependence on λ", settings, _claims(4, start=3), [log_log(), heat_map()], 41.7),
        Section(
            "figure3",
            "A linear bandit in 100 dimensions",
            settings,
            _claims(3, start=7),
            [four_panels()],
            312.4,
            remarks=["The variant “as printed” ran at 25 repeats because all 100 would take more than ten minutes."],
        ),
        Section("figure4a", "Abrupt changes", settings, _claims(3, start=10), [one_panel("figure4a")], 27.0),
        Section("figure4b", "Slow change", {AWKWARD: AWKWARD}, _claims(2, start=13), [one_panel("figure4b")], 26.4),
    ]


def rule_with(verdict: Verdict) -> Rule:
    """A rule that comes out so."""
    words = "Supported if the 99 % interval of the ratio lies below 1.1 at every λ, partly if at some, else not."
    lines = {"supported": (1.1, 1.1), "partly": (0.9, 1.1), "not supported": (0.9, 0.9), "undecided": (0.9, 1.0)}
    full, partial = (
        Condition("ratio", Estimate(1.0, 0.95, 1.05, 100), "below", line, ("repeats",)) for line in lines[verdict]
    )
    return Rule(words, full, partial)


def _claims(count: int, start: int = 0) -> Sequence[Claim]:
    sayings = (
        "Ridge’s first term vanishes quickly.",
        "Forward’s first term is stable, and cancelled by its second term.",
        "The two strategies end on par.",
        "Ridge’s regret grows as 1/λ in the first rounds.",
        "Ridge settles once the design has full rank.",
        "Forward is robust to λ.",
        AWKWARD,
        "OFUL with the forward estimate is never much worse than OFUL.",
        "OFUL with the forward estimate is much more robust at λ = 1e-5.",
        "The bias term of the index can be dropped without loss, for every design of the arms that was tried and for "
        "all values of the regularisation, which makes this a claim that needs more than one line.",
        "D-LinUCB with the forward estimate is on par with D-LinUCB under abrupt change.",
        "A sliding window is better than discounting under abrupt change.",
        "Policies that forget beat LinUCB after the first change.",
        "D-LinUCB with the forward estimate is on par with D-LinUCB under slow change.",
        "Discounting is better than a sliding window under slow change.",
    )
    verdicts: tuple[Verdict, ...] = ("supported", "partly", "supported", "not supported", "undecided")
    return [
        Claim(
            id=f"claim-{number}",
            statement=sayings[number],
            rule=rule_with(verdicts[number % len(verdicts)]),
            numbers={
                "ratio": Estimate(1.1 + number / 7, 1.02, 1.31, 100),
                "by_lam": {"1e-05": {"slope": -0.98, "spread": math.nan}, "10": {"slope": math.inf, "spread": 3}},
                "grid": [0.1, np.float64(1.0), 12_345_678],
                "decided": np.bool_(True),
            },
            findings=[
                Finding("Made up: ratio of the regrets", Estimate(1.1 + number / 7, 1.02, 1.31, 100), headline=True)
            ],
            regimes=[Regime([1.0, 3.0] if number % 4 == 1 else [0.1, 1.0, 3.0], [0.1, 1.0, 3.0], "σ")],
            comments=["It falls below 1 where the noise is stronger than the signal."],
        )
        for number in range(start, start + count)
    ]
