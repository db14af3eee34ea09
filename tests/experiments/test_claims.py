"""Claims as data: verdicts by a rule, and the sentences that one template makes of them."""

import math
from typing import Any

from onward.experiments.claims import Claim, Finding, Regime, list_values
from onward.experiments.estimates import Estimate
from onward.experiments.verdicts import Condition, Rule

SURE, DOUBTFUL = Estimate(0.5, 0.4, 0.6, 100, 0.01), Estimate(-0.25, -0.5, 0.125, 100, 0.2)


def claim(**changes: Any) -> Claim:
    settings: dict[str, Any] = {
        "id": "a-claim",
        "statement": "It is so.",
        "rule": Rule("supported if below 1", Condition("ratio", SURE, "below", 1.0, ("repeats",))),
        "numbers": {"ratio": SURE, "pairs": 7},
        "findings": [Finding("ratio", SURE, headline=True), Finding("pairs", 12_000)],
        "regimes": [Regime([1, 2], [1, 2, 3], "σ")],
    }
    return Claim(**settings | changes)


def test_words_of_judgement() -> None:
    assert claim().verdict == "supported"
    assert list_values([0.1]) == "0.1"
    for held, words in (
        ([], "nowhere tried (σ = 1 and 2)"),
        ([1, 2], "everywhere tried (σ = 1 and 2)"),
        ([2], "σ = 2 (of 1 and 2 tried)"),
    ):
        assert claim(regimes=[Regime(held, [1, 2], "σ")]).regime == words
    twice = [Regime([2], [1, 2], "σ", "much"), Regime([1, 2], [1, 2], "σ", "more"), Regime([3], [3, 4], "λ")]
    assert (
        claim(regimes=twice).regime
        == "much: σ = 2 (of 1 and 2 tried); more: everywhere tried; λ = 3 (of 3 and 4 tried)"
    )
    open_at = Regime([2], [1, 2, 3], "σ", "so", [3])
    assert claim(regimes=[open_at]).regime == "so: σ = 2 (of 1, 2 and 3 tried) (undecided: σ = 3)"
    assert claim(regimes=[Regime([], ["a", "b"], undecided=["b"])]).regime == "nowhere tried (undecided: b)"
    variants = [Regime(["a", "b"], ["a", "b", "c"]), Regime([], ["a"], words="worse"), Regime(["a"], ["a"])]
    assert claim(regimes=variants).regime == "a; b; worse: nowhere tried; everywhere tried"


def test_a_finding_is_made_of_its_values() -> None:
    assert claim().finding == "Ratio: 0.5 [0.4, 0.6] (99 % intervals in brackets); pairs: 12,000."
    assert claim().effect == "Ratio: 0.5 [0.4, 0.6]"
    said = claim(
        findings=[Finding("left", SURE, "percent", "without λ = 1"), Finding("power", DOUBTFUL, "power")],
        comments=["It falls."],
    ).finding
    values = "Left: 50 % [40, 60] (99 % intervals in brackets) (without λ = 1); power: ≈ −0.25 [−0.5, +0.12]."
    assert said == f"{values} It falls."
    assert claim(findings=[Finding("pairs", 7)], comments=[]).finding == "Pairs: 7."


def test_an_undecided_claim_says_what_it_hangs_on() -> None:
    straddles = Condition("ratio", SURE, "below", 0.5, ("repeats",))
    doubtful = Condition("power", DOUBTFUL, "above", -9.0, ("repeats",))
    said = claim(rule=Rule("", straddles, doubtful)).finding
    assert "Undecided between supported, partly supported and not supported: " in said
    assert "not supported: ratio (0.5 [0.4, 0.6], 100 repeats) straddles 0.5." in said
    said = claim(rule=Rule("", Condition("ratio", SURE, "above", 1.0, ()), doubtful)).finding
    assert "Undecided between partly supported and not supported: power" in said
    assert "100 repeats) rests too much on one repeat." in said
    assert "Undecided" not in claim().finding


def test_estimates_that_are_not_to_be_trusted_are_counted() -> None:
    assert "marked" not in claim().finding
    said = claim(numbers={"ratio": SURE, "power": DOUBTFUL, "pairs": 7}).finding
    assert "1 of 2 estimates (marked ≈) have a mean of which one repeat makes up more than 5%" in said


def test_what_is_awkward_stays_as_it_is() -> None:
    """The sentences are plain text: a page escapes them."""
    assert claim(comments=["1 < 2 & “so”."]).finding.endswith(" 1 < 2 & “so”.")


def test_what_could_not_be_measured_is_undecided() -> None:
    found = Finding("ratio", Estimate(math.nan, -math.inf, math.inf, 3), headline=True)
    assert (found.text, found.brief) == ("undecided", "undecided")
    assert Finding("difference", Estimate(-3.0, -4.0, -2.0, 9)).text == "−3 [−4, −2]"


def test_records_are_plain_values() -> None:
    record = {"value": 0.5, "lower": 0.4, "upper": 0.6, "repeats": 100, "top_share": 0.01}
    assert claim().records == {"ratio": record, "pairs": 7}
