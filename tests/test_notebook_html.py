"""What objects show in notebooks: the values, and nothing that the data could run there."""

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import ForwardRegressor, RidgeRegressor, Table, fit, stream
from onward.bandits import (
    Disjoint,
    Greedy,
    Hybrid,
    LinUCB,
    LoggedData,
    Named,
    NamedArms,
    Runs,
    SpectralBandit,
    evaluate,
)
from onward.bandits.policy_value import ValueDifference
from onward.confidence import ConformalIntervals, RunningIntersection, TIntervals
from onward.confidence.anytime import Contrast
from onward.core.shown_html import html_values
from onward.progressive import score

HOSTILE = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def value() -> Any:
    taken = np.random.default_rng(1).integers(2, size=60)
    log = LoggedData([[[1.0, 0.0], [0.0, 1.0]]] * 60, taken, np.full(60, 0.5), taken + 0.0)
    return evaluate(Greedy(seed=0), log, method="snips")


def region(kind: Any, **said: Any) -> Any:
    model = kind(lam=1.0).fit([[1.0, 0.0], [0.0, 1.0]], [0.4, 0.6])
    return model.confidence_set(delta=0.05, sigma=0.5, theta_bound=1.0, **said)


def seen(region: Any) -> RunningIntersection:
    return RunningIntersection([[1.0, 0.0]]).update(region)


def named() -> Named:
    policy = Named(LinUCB(lam=1.0, seed=0))
    policy.learn({HOSTILE: 1.0}, 1.0)
    return policy


def arms() -> NamedArms:
    policy = NamedArms(Disjoint(LinUCB(lam=1.0, seed=0), ["tea"]))
    policy.learn("tea", {HOSTILE: 1.0}, 1.0)
    return policy


def scores() -> Any:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 5.0], HOSTILE: [1.0, 2.0, 2.0, 4.0]})
    return score(fit(frame, Table(HOSTILE), RidgeRegressor()).model, frame)


SHOWN: dict[str, tuple[Callable[[], Any], str]] = {
    "Table": (lambda: Table(HOSTILE, categorical=[HOSTILE]), HOSTILE),
    "Value": (value, "interval"),
    "difference": (lambda: ValueDifference(value(), value(), 0.1, 0.2, -0.3, 0.5, 0.05, 0.6), "[-0.3, 0.5]"),
    "policy": (lambda: LinUCB(alpha=2.0), "alpha"),
    "conformal": (lambda: ConformalIntervals([0.1]), "0.1"),
    "t": (lambda: TIntervals(RidgeRegressor().fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0]).state_for_sets()), "freedom"),
    "contrast": (lambda: Contrast(HOSTILE, 1.0, 0.1, 0.5, 1.5, 3.0, 0.0, 0.05, 10, False, 10.0), "[0.5, 1.5]"),
    "difference of runs": (
        lambda: Runs([HOSTILE, "b"], [[[1.0], [2.0]], [[3.0], [5.0]]]).difference(HOSTILE, "b"),
        "-2.5 ± 0.5",
    ),
    "set without S": (
        lambda: RidgeRegressor().fit([[1.0], [2.0]], [0.4, 0.6]).confidence_set(sigma=0.5),
        "coordinate 1",
    ),
    "ellipsoid": (lambda: region(RidgeRegressor), "coordinate 2"),
    "forward set": (lambda: region(ForwardRegressor), "coordinate 2"),
    "arms": (lambda: Disjoint(LinUCB(seed=0), [HOSTILE, "tea"]), "'tea' (0)"),
    "hybrid": (lambda: Hybrid(LinUCB(lam=1.0, seed=0), [HOSTILE, "tea"]), "'tea'"),
    "named": (named, HOSTILE),
    "named arms": (arms, HOSTILE),
    "nodes": (lambda: SpectralBandit([("a", "b")], smoothness=1.0, sigma=0.1), "smoothness"),
    "scores": (scores, "4 of 4"),
    "running": (lambda: seen(region(RidgeRegressor)), "row 0"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_objects_show_themselves(name: str) -> None:
    make, part = SHOWN[name]
    shown = make()
    page = Tags(shown._repr_html_())
    assert page.open == []
    assert page.seen <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert part in page.text
    assert " object at 0x" not in repr(shown)


def test_intervals_are_told_in_words_that_a_terminal_does_not_obey() -> None:
    contrast = Contrast("a\x1b[2J", 1.0, 0.1, 0.5, 1.5, 3.0, 0.0, 0.05, 1200, False, 10.0)
    assert repr(contrast) == (
        r"a\x1b[2J: 1, 95% interval [0.5, 1.5] at every row at once; "
        "against 0: e-value 20.09, p-value 0.05 (1,200 rows)"
    )
    difference = Runs(["a\x1b[2J", "b"], [[[1.0], [2.0]], [[3.0], [5.0]]]).difference("a\x1b[2J", "b")
    assert repr(difference) == r"a\x1b[2J − b: -2.5, 95% interval [-8.853, 3.853] over 2 repeats"


def test_html_of_many_values_is_cut() -> None:
    page = Tags(html_values("many", {f"name {i}": i for i in range(25)}))
    assert "name 19" in page.text
    assert "name 20" not in page.text
    assert "and 5 more" in page.text


def test_a_stream_says_what_it_reads() -> None:
    with stream(pl.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]}), "y") as rows:
        assert repr(rows) == "Stream(['data frame 1'], 0 rows read so far)"
        assert sum(len(block.X) for block in rows) == 2
        assert repr(rows).endswith("2 rows read so far)")
