"""Reports of one's own data: complete, well-formed, honest about coverage, and never silly at the edges."""

import functools
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from onward import AutoRegressor, ForwardRegressor, RidgeRegressor
from onward.core.types import Matrix, Vector
from onward.progressive import fit_drawings, interval_drawings
from onward.progressive.comparison_report import save_comparison_plot, write_comparison_report
from onward.progressive.report import write_fit_report
from onward.progressive.results import Comparison, Fit, Scores
from tests.pages.browser import Browser
from tests.pages.looking import DESK, NARROW, show
from tests.pages.reader import Page
from tests.progressive.made_up_results import AWKWARD, DELTAS, a_comparison, a_fit

LONG = "a_very_long_name_" * 12
NOTHING = Scores(0, 0.0, 0.0, 0.0, 0.0, 0.0)


def read(path: Path) -> Page:
    """The page, once it was found to be well-formed and to ask for nothing."""
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    ids = page.values("id")
    assert len(set(ids)) == len(ids)
    assert page.values("src") == []
    assert {value for value in page.values("href") if not value.startswith("#")} == {"data:,"}
    assert not re.search(r"(?i)https?://", text)
    return page


def comparison_page(tmp_path: Path, comparison: Comparison, conclusion: str = "Forward is best.") -> Page:
    write_comparison_report(tmp_path / "comparison.html", comparison, conclusion, "onward compare data.csv")
    return read(tmp_path / "comparison.html")


def readings(page: Page) -> list[list[dict[str, Any]]]:
    """What can be read off each figure: its panels."""
    return [json.loads(text) for tag, text in page.texts if tag == "script" and text.startswith("[{")]


def said(page: Page) -> str:
    return " ".join(text for tag, text in page.texts if tag not in ("script", "style")).replace(
        "\N{NO-BREAK SPACE}", " "
    )


def constant(X: Matrix, noise: Vector) -> Vector:
    return np.full(len(X), 7.0)


def wide(X: Matrix, noise: Vector) -> Vector:
    exponents: Vector = 20 * np.abs(noise) / np.abs(noise).max()
    return 10**exponents


MADE: dict[str, Callable[[], Fit]] = {
    "usual": lambda: a_fit(2000, 3),
    "one row": lambda: a_fit(1, 2),
    "constant target": lambda: a_fit(60, 1, targets=constant),
    "target 0, ridge": lambda: a_fit(60, 1, model=RidgeRegressor(lam=0.1), targets=lambda X, noise: 0 * noise),
    "auto": lambda: a_fit(800, 3, model=AutoRegressor()),
    "one row, auto": lambda: a_fit(1, 2, model=AutoRegressor()),
    "300 features": lambda: a_fit(40, 300),
    "20 decades, λ = 0": lambda: a_fit(200, 2, model=ForwardRegressor(lam=0.0), targets=wide),
    "awkward names": lambda: a_fit(
        900,
        7,
        narrow=0.4,
        names=[AWKWARD, LONG, LONG + "x", "_hidden", "日本語", "", "a\nb"],
        source=AWKWARD,
        target=LONG,
        skipped={AWKWARD: 2, LONG: 1},
        filled={AWKWARD: 1, LONG: 1, "": 1},
    ),
}


@dataclass(frozen=True)
class Written:
    fit: Fit
    path: Path
    page: Page


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Written]:
    """Reports of what is made above, each written once."""
    folder = tmp_path_factory.mktemp("fits")

    @functools.cache
    def by_name(name: str) -> Written:
        fit, path = MADE[name](), folder / f"{name}.html"
        write_fit_report(path, fit, "onward fit data.csv --target price")
        return Written(fit, path, read(path))

    return by_name


@pytest.fixture(scope="module")
def usual(written: Callable[[str], Written]) -> Written:
    return written("usual")


def test_a_fit_says_everything(usual: Written) -> None:
    page, fit = usual.page, usual.fit
    words = said(page)
    for part in (
        "One pass over 2,012 rows",
        "2,000 learned, 12 skipped (the target is missing: 9, a value is not a number: 3)",
        "17 missing values counted as 0",
        f"{fit.scores.rmse:.4g}",
        f"{fit.scores.mae:.4g}",
        f"{fit.scores.r2:.4g}",
        "onward fit data.csv --target price",
        "ForwardRegressor",
        "All coefficients, by",
    ):
        assert part in words
    assert [tag for tag, _ in page.tags].count("figure") == 6
    assert fit.history is not None
    for name, value in zip(fit.history.names, fit.history.estimate[-1], strict=True):
        assert ("th", name) in page.texts
        assert ("td", f"{value:.4g}".replace("-", "−")) in page.texts


def test_curves_are_those_of_the_scores(usual: Written) -> None:
    (until, since), _, (at_end, over), _, _, coefficients = readings(usual.page)
    history = usual.fit.history
    assert history is not None
    lines = {line["label"]: line for line in until["lines"]}
    assert lines["model"]["y"] == pytest.approx([each.rmse for each in history.scores], rel=1e-5)
    assert lines["running mean"]["y"] == pytest.approx([each.mean_rmse for each in history.scores], rel=1e-5)
    before, last = history.scores[-2:]
    late = {line["label"]: line["y"][-1] for line in since["lines"]}
    rows = last.rows - before.rows
    assert late["model"] == pytest.approx(math.sqrt((last.squared - before.squared) / rows), rel=1e-5)
    assert late["running mean"] == pytest.approx(math.sqrt((last.mean_squared - before.mean_squared) / rows), rel=1e-5)
    assert at_end["grids"][0]["x"] == pytest.approx(np.sort(1 - DELTAS))
    assert at_end["lines"][0]["y"] == pytest.approx(np.sort(1 - history.misses[-1] / 2000), rel=1e-5)
    assert over["lines"][0]["y"][-1] == pytest.approx(1 - history.misses[-1, -1] / 2000, rel=1e-5)
    for panel in coefficients:
        column = history.names.index(panel["name"])
        assert panel["lines"][0]["y"][-1] == pytest.approx(history.estimate[-1, column], rel=1e-5)
        assert panel["lines"][0]["upper"][-1] == pytest.approx(history.upper[-1, column], rel=1e-5)
        assert panel["lines"][0]["lower"][0] == "−∞"  # still open at the first row


def test_shares_inside_have_exact_binomial_intervals() -> None:
    misses = np.array([0, 3, 50, 200])
    share, lower, upper = interval_drawings.shares_inside(misses, 200)
    for i, missed in enumerate(misses):
        exact = binomtest(200 - int(missed), 200).proportion_ci(0.95, method="exact")
        assert (lower[i], upper[i]) == pytest.approx((exact.low, exact.high))
        assert share[i] == 1 - missed / 200


def test_intervals_that_miss_too_often_are_warned_of(usual: Written, written: Callable[[str], Written]) -> None:
    assert "held fewer rows than they promise" not in said(usual.page)
    narrow = written("awkward names")
    assert narrow.fit.history is not None
    shares = 1 - narrow.fit.history.misses[-1] / 900
    assert shares[-1] < 0.97
    assert f"held fewer rows than they promise: {100 * shares[-1]:.1f} % instead of 99.0 %" in said(narrow.page)


def test_what_moves_predictions_is_seen_through_units() -> None:
    fit = a_fit(500, 3)
    assert fit.history is not None
    X = np.random.default_rng(503).normal(size=(500, 3)) * np.geomspace(1, 0.1, 3)
    wanted = np.abs(fit.history.estimate[-1, 1:]) * np.sqrt(np.mean(X**2, axis=0))
    assert fit_drawings.prediction_moves(fit, fit.history)[1:] == pytest.approx(wanted)
    assert fit_drawings.prediction_moves(fit, fit.history)[0] == pytest.approx(abs(fit.history.estimate[-1, 0]))


@pytest.mark.parametrize("name", MADE)
def test_edges_of_fits_are_shown(name: str, written: Callable[[str], Written]) -> None:
    page = written(name).page
    words = said(page)
    assert not re.search(r"\bnan\b|\binf\b|None,|no value", words)
    learning, *weights, residuals, _, course, latest, coefficients = readings(page)
    assert all(panel["lines"] for panel in (*learning, *residuals, *course, *latest, *coefficients))
    assert len(weights) == ("auto" in name)
    if "one row" in name:
        assert "here of one row" in words
    if name == "300 features":
        assert "The 12 of 301 coefficients that matter most" in words
        assert "101 more coefficients not shown here" in words
        assert len(coefficients) == 12
        assert [tag for tag, _ in page.tags].count("tr") > 200
    if name in ("300 features", "20 decades, λ = 0"):
        assert ("None of them has a finite interval at the end" in words) == (name == "300 features")
        assert "no such row" in words
    if name == "target 0, ridge":
        assert ("dd", "undefined") in page.texts
    if name == "awkward names":
        assert ("h1", f"Forward on {AWKWARD}") in page.texts
        assert ("th", AWKWARD) in page.texts
        assert ("th", LONG) in page.texts
        assert ("th", "(no name)") in page.texts
        labels = [panel["lines"][0]["label"] for panel in coefficients]
        assert len(set(labels)) == 8
        assert max(map(len, labels)) <= 32


def test_of_auto_the_page_says_whom_it_leaned_on(written: Callable[[str], Written]) -> None:
    made = written("auto")
    model, words = made.fit.model, said(made.page)
    assert isinstance(model, AutoRegressor)
    assert ("h1", "Auto on made-up.csv") in made.page.texts
    assert words.count(f"It leans on {model.leaning_}.") == 1
    assert "lines are the averages of the learners', by their weights, and may leave them." in words
    heads = [text for tag, text in made.page.texts if tag == "th"]
    assert {"Coefficient", "Estimate", "Std. error", "Lower", "Upper", "p-value"} <= set(heads)
    assert (
        words.count(
            "at every row at once with probability 0.95, if the target is linear in the columns, noise is Gaussian"
        )
        == 2
    )
    _, panels, *_ = readings(made.page)
    assert len(panels) == 3
    for panel, of_each in zip(panels, ("learner", "lam", "half_life"), strict=True):
        assert {line["label"] for line in panel["lines"]} >= {"running means"}
        assert np.sum([line["y"] for line in panel["lines"]], axis=0) == pytest.approx(1.0, abs=1e-5)
        assert len(panel["lines"]) == 1 + len({getattr(e, of_each) for e in model.experts if e.learner != "mean"})
    shares = {line["label"]: line["y"][-1] for line in panels[0]["lines"]}
    own = model.experts_
    ridge = sum(w for w, name in zip(own["weight"], own["learner"], strict=True) if name == "ridge")
    assert shares["ridge"] == pytest.approx(ridge, rel=1e-4)


def test_a_report_does_not_wait_for_matplotlib(tmp_path: Path) -> None:
    code = (
        "import sys, polars as pl; from onward import ForwardRegressor, fit; "
        "from onward.progressive.report import write_fit_report; "
        "x = [float(i % 7) for i in range(90)]; "
        "done = fit(pl.DataFrame({'x': x, 'y': x}), 'y', ForwardRegressor(), history=True); "
        "write_fit_report(sys.argv[1], done); "
        "print(sorted({'matplotlib', 'PIL'} & set(sys.modules))); done.plot(); print('matplotlib' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "fit.html")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n") == ["[]", "True", ""]


def test_nothing_learned_and_no_history_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit.html"
    empty = a_fit(5, 1, scores=NOTHING, read=8, skipped={"no target": 8}, read_off=False)
    with pytest.raises(
        ValueError, match=r"nothing was learned from made-up\.csv \(8 rows read, 8 skipped \(no target: 8"
    ):
        write_fit_report(path, empty)
    with pytest.raises(ValueError, match="history is None"):
        write_fit_report(path, a_fit(5, 1, read_off=False))
    nobody: dict[str, list[Scores | None]] = {"ridge": [None], "forward": [NOTHING]}
    nothing = replace(a_comparison([0.0]), scores=nobody)
    with pytest.raises(ValueError, match=r"nothing was learned from made-up\.csv .*nothing to compare"):
        write_comparison_report(path, nothing, "None.")
    with pytest.raises(ValueError, match="nothing to compare"):
        save_comparison_plot(tmp_path / "plot.png", nothing)
    with pytest.raises(ValueError, match="at least one λ"):
        write_comparison_report(path, a_comparison([]), "None.")
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_says_everything(tmp_path: Path) -> None:
    comparison = a_comparison()
    page = comparison_page(tmp_path, replace(comparison, notes=["A note."]), AWKWARD)
    words = said(page)
    assert ("p", AWKWARD) in page.texts
    for part in ("A note.", "8 values of λ", "Not defined, so not drawn: ridge at λ = 0", "stands at the left edge"):
        assert part in words
    ((panel,), (courses,)) = readings(page)
    lines = {line["label"]: line for line in panel["lines"]}
    for learner in ("ridge", "forward"):
        wanted = [None if math.isnan(each) else pytest.approx(each, rel=1e-5) for each in comparison.rmse(learner)]
        assert lines[learner]["y"] == wanted
    assert panel["grids"][0]["x"] == comparison.lams  # 0 among them, at its place
    at = panel["grids"][0]["at"]
    assert 0 < at[0] < at[1] < at[2]
    assert at[0] < 0.03
    assert np.diff(at[1:]) == pytest.approx(np.diff(at[1:])[0], abs=1e-3)  # decades, evenly
    assert lines["running mean"]["y"] == [pytest.approx(math.sqrt(1.3), rel=1e-5)] * 8
    assert [line["label"].replace("\N{NO-BREAK SPACE}", " ") for line in courses["lines"]] == [
        "ridge, λ = 0.1 (best)",
        "ridge, λ = 0.0001 (worst)",
        "forward, λ = 0.1 (best)",
        "forward, λ = 100 (worst)",
    ]
    for line, place in zip(courses["lines"], (4, 1, 4, 7), strict=True):
        learner = line["label"].partition(",")[0]
        assert line["y"] == pytest.approx(comparison.curves[learner][:, place], rel=1e-5)
    bold = [text for tag, text in page.texts if tag == "strong"]
    best = [each for each in comparison.scores["forward"] if each is not None][4]
    assert f"{best.rmse:.4g}" in bold
    assert f"{best.r2:.4g}" in bold
    assert len(bold) == 6


def test_a_comparison_shows_auto_beside_the_grid(tmp_path: Path) -> None:
    comparison = a_comparison(auto=True)
    page = comparison_page(tmp_path, comparison)
    assert comparison.auto is not None
    assert "Auto beside them, without a λ." in said(page)
    ((panel,), (courses,)) = readings(page)
    lines = {line["label"]: line for line in panel["lines"]}
    assert lines["auto"]["y"] == [pytest.approx(comparison.auto.rmse, rel=1e-5)] * 8
    assert courses["lines"][-1]["label"] == "auto"
    assert courses["lines"][-1]["y"] == pytest.approx(comparison.auto_curve, rel=1e-5)
    cells = [text for tag, text in page.texts if tag in ("td", "th")]
    row = cells[cells.index("auto") + 1 :][:6]
    assert row == [
        f"{each:.4g}" for each in (comparison.auto.rmse, comparison.auto.mae, comparison.auto.r2) for _ in "12"
    ]


@pytest.mark.parametrize(
    "comparison",
    [
        a_comparison([1.0]),
        a_comparison([0.0]),
        a_comparison([10.0, 0.1, 0.0, 3e-5]),
        a_comparison([1e-12, 1e-6, 1.0, 1e3], factor=100.0),
        a_comparison(rows=1),
        a_comparison(source=AWKWARD + LONG),
    ],
    ids=["one λ", "only 0", "out of order", "20 decades", "one row", "awkward"],
)
def test_edges_of_comparisons_are_shown(comparison: Comparison, tmp_path: Path) -> None:
    page = comparison_page(tmp_path, comparison)
    assert not re.search(r"\bnan\b|\binf\b", said(page))
    ((panel,), (courses,)) = readings(page)
    assert panel["grids"][0]["x"] == sorted(comparison.lams)
    assert (
        len(courses["lines"]) == 2 * len({"best", "worst"})
        if len(comparison.lams) > 1
        else 1 + (comparison.lams[0] > 0)
    )
    rows = [text for tag, text in page.texts if tag == "th"]
    assert "running mean" in rows


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")])
def test_plots_are_what_their_names_end_in(name: str, start: bytes, tmp_path: Path) -> None:
    save_comparison_plot(tmp_path / name, a_comparison([0.1, 1.0]))
    written = (tmp_path / name).read_bytes()
    assert written.startswith(start)
    save_comparison_plot(tmp_path / name, a_comparison([0.1, 1.0]))
    assert (tmp_path / name).read_bytes() == written


def test_other_plots_are_refused(tmp_path: Path) -> None:
    for name in ("a.jpg", "a", "png"):
        with pytest.raises(ValueError, match=r"must end in one of \.png, \.svg, \.pdf, got '.*a?"):
            save_comparison_plot(tmp_path / name, a_comparison([1.0]))
    assert list(tmp_path.iterdir()) == []


def test_files_are_the_same_again_and_written_wholly_or_not_at_all(
    usual: Written, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, comparison, seen = tmp_path / "report.html", a_comparison([1.0]), []
    path.write_text("earlier")

    def full(source: str, _: object) -> None:
        seen.append(Path(source).read_bytes())
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        with pytest.raises(OSError, match="no space left"):
            write_fit_report(path, usual.fit, "onward fit data.csv --target price")
        with pytest.raises(OSError, match="no space left"):
            write_comparison_report(path, comparison, "None.")
        with pytest.raises(OSError, match="no space left"):
            save_comparison_plot(tmp_path / "plot.svg", comparison)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "earlier"
    assert seen[0] == usual.path.read_bytes()


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, NARROW], ids=["desk", "narrow"])
def test_pages_open_without_error_request_or_overflow(
    window: Browser, written: Callable[[str], Written], tmp_path: Path, size: tuple[int, int, bool], theme: str
) -> None:
    comparison = tmp_path / "comparison.html"
    write_comparison_report(comparison, a_comparison(source=AWKWARD + LONG, auto=True), LONG, LONG)
    for path in (written("awkward names").path, written("auto").path, comparison):
        window.requests(), window.messages()
        show(window, path, size, theme)
        wide, inner = window.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert inner == size[0]
        assert wide <= inner
        assert window.requests() == [path.as_uri()]
        assert window.messages() == []


@pytest.mark.xdist_group("browser")
def test_open_ends_of_bands_are_said_to_be_open(window: Browser, usual: Written) -> None:
    show(window, usual.path)
    window.run("document.querySelector('#drawing-coefficients .panel').focus({focusVisible: true})")
    window.press("Home")
    assert window.run("return document.querySelector('.box td small').textContent") == "−∞ to ∞"
    window.press("End")
    assert re.fullmatch(r"−?\d\S* to −?\d\S*", window.run("return document.querySelector('.box td small').textContent"))
