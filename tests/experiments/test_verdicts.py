"""Rules as data: three answers, the verdicts that follow, and what an open one hangs on."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from onward.experiments.estimates import UNKNOWN, Estimate, mean
from onward.experiments.verdicts import NEVER, Condition, Every, Question, Rule, Some, split_by_answer, within

GROUPS = ("repeats",)
ANSWERS = (True, False, None)


def answer(holds: bool | None, name: str = "x") -> Condition:
    """A condition with that answer: the line is 1."""
    interval = {True: (1.5, 2.0), False: (0.2, 0.5), None: (0.5, 1.5)}[holds]
    return Condition(name, Estimate(sum(interval) / 2, *interval, 100), "above", 1.0, (name,))


def test_a_condition_is_open_while_its_interval_straddles_the_line() -> None:
    found = Estimate(1.0, 0.9, 1.1, 50)
    for line, above in ((0.8, True), (1.2, False), (0.95, None), (0.9, None), (1.1, None)):
        below = None if above is None else not above
        assert Condition("x", found, "above", line, GROUPS).holds is above
        assert Condition("x", found, "below", line, GROUPS).holds is below
    heavy = Estimate(1.0, 0.9, 1.1, 50, top_share=0.2)
    for estimate in (heavy, UNKNOWN):
        assert Condition("x", estimate, "above", 0.1, GROUPS).holds is None
    assert within("x", found, 0.8, 1.2, GROUPS).holds is True
    assert within("x", found, 1.2, 1.3, GROUPS).holds is False
    assert within("x", found, 0.8, 1.05, GROUPS).holds is None


@pytest.mark.parametrize("answers", list(itertools.product(ANSWERS, repeat=3)))
def test_answers_combine_as_if_open_ones_could_come_out_either_way(answers: tuple[bool | None, ...]) -> None:
    """`Every` and `Some` are certain exactly where all ways to settle what is open agree."""
    ways = list(itertools.product(*[(True, False) if each is None else (each,) for each in answers]))
    questions = [answer(each) for each in answers]
    for combined, rule in ((Every(questions), all), (Some(questions), any)):
        outcomes = {rule(way) for way in ways}
        assert combined.holds is (outcomes.pop() if len(outcomes) == 1 else None)
        assert (not list(combined.open_conditions())) == (combined.holds is not None)


@pytest.mark.parametrize(("full", "partial"), list(itertools.product(ANSWERS, repeat=2)))
def test_a_verdict_is_given_only_if_nothing_that_is_open_could_change_it(
    full: bool | None, partial: bool | None
) -> None:
    def decide(full: bool, partial: bool) -> str:
        return "supported" if full else "partly" if partial else "not supported"

    rule = Rule("", answer(full, "full"), answer(partial, "partial"))
    ways = itertools.product(*[(True, False) if each is None else (each,) for each in (full, partial)])
    possible = {decide(*way) for way in ways}
    assert set(rule.possible) == possible
    assert rule.verdict == (possible.pop() if len(possible) == 1 else "undecided")
    hanging = {condition.name for condition in rule.open_conditions()}
    assert bool(hanging) == (rule.verdict == "undecided")
    assert hanging <= {name for name, each in (("full", full), ("partial", partial)) if each is None}


def test_what_does_not_matter_is_not_waited_for() -> None:
    """One variant is surely bad and one surely good: it is partly so, whatever becomes of the third."""
    parts: list[Question] = [answer(True, "a"), answer(False, "b"), answer(None, "c")]
    rule = Rule("", Every(parts), Some(parts))
    assert (rule.verdict, rule.open_conditions()) == ("partly", [])
    rule = Rule("", Every([parts[0], parts[2]]), Some(parts))
    assert rule.verdict == "undecided"
    assert [condition.name for condition in rule.open_conditions()] == ["c"]
    assert split_by_answer({"good": parts[0], "bad": parts[1], "open": parts[2]}) == (["good"], ["open"])
    assert NEVER.holds is False


@dataclass(frozen=True)
class Looks:
    """What became of many studies whose repeats are doubled until they decide."""

    wrong: float
    undecided: float
    repeats: float


def looks(truth: float, level: float, studies: int = 2000) -> Looks:
    """Means of normal repeats around a truth, held to the line 0, looked at with 25, 50 and 100 repeats."""
    rng = np.random.default_rng(8)
    wrong, undecided, spent = 0, 0, 0
    for repeats in truth + rng.standard_normal((studies, 100)):
        for n in (25, 50, 100):
            holds = Condition("x", mean(repeats[:n], level), "above", 0.0, GROUPS).holds
            if holds is not None:
                break
        wrong += holds is False
        undecided += holds is None
        spent += n
    return Looks(wrong / studies, undecided / studies, spent / studies)


def test_three_looks_go_wrong_as_seldom_as_their_intervals_say() -> None:
    """Just above its line, a number is put below it at most in half a hundredth of studies at each look."""
    assert 0.001 < looks(1e-9, 0.99).wrong < 3 * 0.005 < looks(1e-9, 0.9).wrong
    far = looks(1.0, 0.99)
    assert (far.wrong, far.undecided) == (0.0, 0.0)
    assert far.repeats < 30  # nothing is added where nothing is open
    assert looks(0.05, 0.99).undecided > 0.9  # and what is too near stays undecided
