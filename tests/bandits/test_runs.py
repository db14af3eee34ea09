"""What a game gives back: identities, tables, pictures and files."""

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import onward
from onward import RidgeRegressor, StorageError
from onward.bandits.runs import Runs

NAMES = ("OFUL", "OFUL^f", "greedy")
SETTINGS = {"policies": {name: {"lam": 0.1} for name in NAMES}, "environment": {"change_points": (10, 20, 50)}}


def game(repeats: int = 8, horizon: int = 40, seed: int = 0, start: int = 0, **changes: Any) -> Runs:
    """A game in which repeat i is the same, however many there are."""
    regret, chosen = [], []
    for i in range(start, start + repeats):
        rng = np.random.default_rng([seed, i])
        regret.append(np.cumsum(rng.exponential(size=(3, horizon)) * [[1.0], [2.0], [0.5]], axis=1))
        chosen.append(rng.integers(0, 50, (3, horizon), dtype=np.int16))
    settings: dict[str, Any] = {
        "names": NAMES,
        "regret": np.stack(regret, axis=1),
        "chosen": np.stack(chosen, axis=1),
        "horizon": horizon,
        "seed": seed,
        "settings": SETTINGS,
        "seconds": dict.fromkeys(NAMES, 0.004 * repeats),
        "repeat_numbers": range(start, start + repeats),
    }
    return Runs(**(settings | changes))


# Numbers


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 100))
def test_statistics_are_what_they_say(repeats: int, horizon: int, seed: int) -> None:
    runs = game(repeats, horizon, seed)
    assert (runs.repeats, runs.rounds.tolist()) == (repeats, list(range(1, horizon + 1)))
    for i, name in enumerate(NAMES):
        one = runs[name]
        assert one.shape == (repeats, horizon)
        assert_array_equal(runs.final[i], one[:, -1])
        assert_allclose(runs.mean()[i], sum(one) / repeats)
        assert_allclose(runs.quantile(0.5)[i], np.median(one, axis=0))
        if repeats > 1:
            squares = ((one - one.mean(axis=0)) ** 2).sum(axis=0)
            assert_allclose(runs.standard_error()[i] ** 2, squares / (repeats - 1) / repeats)
    assert np.isnan(runs.standard_error()).all() == (repeats == 1)
    # The tables say the same.
    frame = runs.to_frame()
    assert frame.columns == ["policy", "round", "mean", "standard_error", "q25", "median", "q75"]
    assert_array_equal(frame["mean"].to_numpy().reshape(3, horizon), runs.mean())
    assert_array_equal(frame["q25"].to_numpy().reshape(3, horizon), runs.quantile(0.25))
    each = runs.to_frame(repeats=True)
    assert_array_equal(each["regret"].to_numpy().reshape(3, repeats, horizon), runs.regret)
    again = each.group_by("policy", "round", maintain_order=True).agg(pl.col("regret").mean())
    assert again["policy"].to_list() == frame["policy"].to_list()
    assert again["round"].to_list() == frame["round"].to_list()
    assert_allclose(again["regret"].to_numpy(), frame["mean"].to_numpy())
    last = runs.summary()
    assert_allclose(last["mean"].to_numpy(), frame.filter(pl.col("round") == horizon)["mean"].to_numpy())


def test_summary() -> None:
    runs = game(seconds={"OFUL": 0.032, "greedy": 0.0})
    frame = runs.summary()
    assert frame["policy"].to_list() == list(NAMES)
    assert frame["repeats"].to_list() == [8] * 3
    assert frame["microseconds_a_round"].to_list() == [pytest.approx(100.0), None, 0.0]
    for i, row in enumerate(frame.iter_rows(named=True)):
        assert_allclose([row["q25"], row["median"], row["q75"]], np.quantile(runs.final[i], [0.25, 0.5, 0.75]))
    assert game(repeats=1).summary()["standard_error"].to_list() == [None] * 3


def test_thinned_frames_end_with_the_last_round() -> None:
    runs = game(repeats=2, horizon=10)
    frame = runs.to_frame(every=4)
    assert frame["round"].to_list() == [2, 6, 10] * 3
    assert_array_equal(frame["mean"].to_numpy(), runs.mean()[:, [1, 5, 9]].ravel())
    each = game(repeats=2, horizon=10, start=3).to_frame(repeats=True, every=5)
    assert each["repeat"].to_list() == [3, 3, 4, 4] * 3
    assert each["round"].to_list() == [5, 10] * 6
    backends: list[Literal["polars", "pandas", "pyarrow"]] = ["polars", "pandas", "pyarrow"]
    for backend in backends:
        for repeats in (False, True):
            assert type(runs.to_frame(backend, repeats=repeats)).__module__.startswith(backend)


def test_differences_are_paired() -> None:
    rng = np.random.default_rng(0)
    misses = {"paired": 0, "half": 0, "unpaired": 0}
    for _ in range(200):
        luck = 10 * rng.standard_normal(12)  # what both met
        first, second = luck + 1.5 + rng.standard_normal(12), luck + rng.standard_normal(12)
        runs = Runs(["a", "b"], np.stack([first, second])[:, :, None])
        gap = runs.difference("a", "b")
        assert_allclose((gap.lower, gap.upper), stats.ttest_rel(first, second).confidence_interval(0.95))
        misses["paired"] += not gap.lower <= 1.5 <= gap.upper
        misses["half"] += abs(gap.mean - 1.5) > 0.5 * (gap.upper - gap.mean)
        misses["unpaired"] += gap.upper > 5.0
    assert misses["paired"] <= 19 < misses["half"]  # δ = 0.05 allows 10, and three standard deviations are 9
    assert misses["unpaired"] == 0
    back = runs.difference("b", "a", delta=0.5)
    assert_allclose((back.mean, back.repeats), (-gap.mean, 12))
    assert back.upper - back.lower < gap.upper - gap.lower
    assert str(back).startswith("b − a: ")
    assert "50% interval" in str(back)
    with pytest.raises(ValueError, match="at least 2 repeats, got 1"):
        game(repeats=1).difference("OFUL", "greedy")


def test_merged_repeats_are_as_if_played_together() -> None:
    whole = game(repeats=8)
    first, second, third = game(repeats=3), game(repeats=4, start=3), game(repeats=1, start=7)
    assert first.merge(second).merge(third) == whole
    assert third.merge(first).merge(second) == whole
    assert not first.merge(game(repeats=5, start=3, complete=False)).complete
    assert first.merge(third).repeat_numbers == (0, 1, 2, 7)


MISFITS: list[tuple[dict[str, Any], str]] = [
    ({"start": 2}, r"expected different repeats, got \[2\] in both"),
    ({"names": ("OFUL", "OFUL^f", "other"), "seconds": {}}, "these runs have names="),
    ({"seed": 1}, "these runs have seed=0, the others have seed=1"),
    ({"settings": {}}, "these runs have settings="),
    ({"chosen": None}, "expected both or neither to have kept the chosen actions"),
    ({"horizon": 41, "regret": np.ones((3, 2, 40)), "chosen": None}, "horizon=40, the others have horizon=41"),
    (
        {"regret": np.ones((3, 2, 2)), "rounds": [20, 40]},
        "these runs kept 40 rounds, the others 2",
    ),
]


@pytest.mark.parametrize(("change", "message"), MISFITS)
def test_what_cannot_be_merged(change: dict[str, Any], message: str) -> None:
    if "horizon" in change:
        other = Runs(NAMES, change["regret"], horizon=41, settings=SETTINGS, repeat_numbers=(3, 4), rounds=range(1, 41))
    else:
        other = game(**({"repeats": 2, "start": 3} | change))
    with pytest.raises(ValueError, match=message):
        game(repeats=3).merge(other)


# Files


@pytest.mark.parametrize("chosen", [True, False])
def test_files_bring_back_every_bit(tmp_path: Path, chosen: bool) -> None:
    changes: dict[str, Any] = {} if chosen else {"chosen": None}
    runs = game(repeats=3, horizon=20, complete=False, seed=2**80, **changes)
    runs.save(tmp_path / "runs.onward")
    for back in (Runs.load(tmp_path / "runs.onward"), onward.load(tmp_path / "runs.onward")):
        assert isinstance(back, Runs)
        assert back == runs
        assert back.regret.tobytes() == runs.regret.tobytes()
        assert back.settings == runs.settings
        assert (back.names, back.seed, back.seconds, back.complete) == (NAMES, 2**80, runs.seconds, False)
        if runs.chosen is None:
            assert back.chosen is None
        else:
            assert back.chosen is not None
            assert back.chosen.dtype == np.int16
            assert_array_equal(back.chosen, runs.chosen)
    thin = Runs(NAMES, runs.regret[:, :, [4, 19]], [5, 20], horizon=30)
    thin.save(tmp_path / "thin.onward")
    assert Runs.load(tmp_path / "thin.onward") == thin
    assert thin != runs


def test_equal_means_equal_to_the_last_bit() -> None:
    regret = game().regret.copy()
    assert game(regret=regret) == game()
    regret[0, 0, 0] = np.nextafter(regret[0, 0, 0], 2.0)
    assert game(regret=regret) != game()
    assert game(chosen=None) != game()
    assert game(settings={}) != game()
    assert game() != "runs"


def test_a_new_process_knows_the_files(tmp_path: Path) -> None:
    game().save(tmp_path / "runs.onward")
    program = f"import onward; print(onward.load({str(tmp_path / 'runs.onward')!r}).repeats)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "8"


def test_other_files_are_refused(tmp_path: Path) -> None:
    RidgeRegressor().fit([[1.0]], [1.0]).save(tmp_path / "model.onward")
    with pytest.raises(StorageError, match="holds a RidgeRegressor, expected Runs"):
        Runs.load(tmp_path / "model.onward")
    onward.storage.save(tmp_path / "odd.onward", "runs", {"names": ["a"]}, {"regret": np.ones((2, 1, 1))})
    with pytest.raises(StorageError, match="do not fit together"):
        Runs.load(tmp_path / "odd.onward")


# Pictures and words


BANDS: list[Any] = ["standard_error", "std", "quartiles", "deciles", None]


@pytest.mark.parametrize(("band", "log"), [(band, False) for band in BANDS] + [("quartiles", True)])
def test_plots(tmp_path: Path, band: Any, log: bool) -> None:
    runs = game()
    figure = runs.plot(band, log=log)
    assert isinstance(figure, Figure)
    (axis,) = figure.axes
    assert len(axis.lines) == 3 + 2  # a line each, and the change points that are inside the game
    assert len(axis.collections) == (0 if band is None else 3)
    middle = runs.quantile(0.5) if band in ("quartiles", "deciles") else runs.mean()
    drawn = [np.asarray(line.get_ydata()) for line in axis.lines[:3]]
    assert_allclose(drawn, middle[[1, 0, 2]])  # from the highest end to the lowest
    assert axis.get_ylabel() == "cumulative regret"
    assert "8 repeats" in axis.get_title()
    assert axis.get_yscale() == ("log" if log else "linear")
    legend = axis.get_legend()
    assert legend is not None
    assert [text.get_text().split("  ")[0] for text in legend.get_texts()] == ["OFUL^f", "OFUL", "greedy"]
    figure.savefig(tmp_path / "runs.png")
    assert (tmp_path / "runs.png").stat().st_size > 10_000
    frame = figure.canvas.get_width_height()
    box, area = legend.get_window_extent(), axis.get_window_extent()
    assert area.x1 <= box.x0  # beside the lines, not over them
    assert box.x1 <= frame[0]


def test_bands_are_as_wide_as_they_say() -> None:
    runs = game()
    one, all_ = runs.standard_error()[1, -1], runs.regret[1, :, -1].std(ddof=1)
    edges = {"standard_error": 2 * one, "std": 2 * all_}
    edges["quartiles"] = runs.quantile(0.75)[1, -1] - runs.quantile(0.25)[1, -1]
    edges["deciles"] = runs.quantile(0.9)[1, -1] - runs.quantile(0.1)[1, -1]
    for band in BANDS[:-1]:
        (axis,) = runs.plot(band).axes
        corners = np.asarray(axis.collections[0].get_paths()[0].vertices)
        end = corners[corners[:, 0] == 40][:, 1]
        assert_allclose(end.max() - end.min(), edges[band])


def test_plots_into_given_axes_of_few_repeats_and_many_policies() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert game().plot(ax=right) is figure
    assert (len(left.lines), len(right.lines)) == (0, 5)
    (axis,) = game(repeats=1, settings={}, complete=False).plot("quartiles").axes
    assert (len(axis.lines), len(axis.collections)) == (3, 0)
    assert axis.get_title() == "one repeat, stopped early"
    many = Runs([f"_{i}$" for i in range(20)], np.ones((20, 2, 3)).cumsum(axis=2))
    (axis,) = many.plot().axes
    looks = {(str(line.get_color()), line.get_linestyle()) for line in axis.lines}
    assert len(looks) == 20
    long = Runs(["a"], np.ones((1, 2, 5000)).cumsum(axis=2))
    (axis,) = long.plot(log=True).axes
    drawn = np.asarray(axis.lines[0].get_xdata())
    assert (len(drawn) <= 600, drawn[0], drawn[-1]) == (True, 1, 5000)
    with pytest.raises(ValueError, match="band must be one of 'standard_error'"):
        game().plot(BANDS[0] + "s")


def test_words() -> None:
    runs = Runs(["a<b", "c"], [[[1.0, 2.0], [1.0, 4.0]], [[0.0, 100.0], [0.0, 140.0]]], complete=False)
    assert repr(runs) == (
        "Runs(2 policies, 2 repeats, 2 rounds, stopped early; mean regret at the end: a<b 3.0 ± 1.0, c 120 ± 20)"
    )
    assert "a&lt;b" in runs._repr_html_()
    assert runs._repr_html_().count("<tr>") == 3
    assert "1 policy, 1 repeat," in repr(Runs(["a"], [[[1.0]]]))


# What is refused


BAD: list[tuple[dict[str, Any], str]] = [
    ({"names": []}, "names must be at least one policy's name"),
    ({"names": "abc"}, "names must be at least one policy's name"),
    ({"names": ("a", "a", "b")}, "names must be different"),
    ({"names": ("a", "b"), "seconds": {}}, r"regret must have shape .* with 2 policies.* got \(3, 8, 40\)"),
    ({"regret": np.ones((3, 40))}, r"regret must have shape .* got \(3, 40\)"),
    ({"regret": np.ones((3, 0, 40))}, r"got \(3, 0, 40\)"),
    ({"regret": np.full((3, 8, 40), np.nan)}, "finite numbers, got another for 'OFUL' in repeat 0"),
    ({"rounds": [1, 2]}, "rounds must be 40 whole numbers"),
    ({"rounds": np.linspace(1, 40, 40)}, "rounds must be 40 whole numbers"),
    ({"rounds": range(0, 40)}, r"rounds must increase from 1 or more to 40 \(the horizon\) or less"),
    ({"rounds": range(2, 42)}, "rounds must increase"),
    ({"rounds": range(40, 0, -1)}, "rounds must increase"),
    ({"horizon": 39}, "rounds must increase"),
    ({"horizon": 0}, "horizon must be a whole number >= 1, got 0"),
    ({"horizon": 41}, r"chosen must be whole numbers of shape \(3, 8, 41\)"),
    ({"chosen": np.ones((3, 8, 40))}, "chosen must be whole numbers .* got float64"),
    ({"chosen": np.full((3, 8, 40), -1)}, "chosen must hold positions of actions, >= 0, got -1"),
    ({"settings": {"a": np.ones(1)}}, "settings must be plain text, finite numbers"),
    ({"settings": {"a": float("nan")}}, "settings must be plain text, finite numbers"),
    ({"seconds": {"other": 1.0}}, "seconds must be numbers >= 0 for some of OFUL"),
    ({"seconds": {"OFUL": -1.0}}, "seconds must be numbers >= 0"),
    ({"repeat_numbers": [1, 2]}, "repeat_numbers must be 8 different whole numbers >= 0"),
    ({"repeat_numbers": [1] * 8}, "repeat_numbers must be 8 different whole numbers >= 0"),
    ({"repeat_numbers": range(-1, 7)}, "repeat_numbers must be 8 different whole numbers >= 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_runs(change: dict[str, Any], message: str) -> None:
    good = {name: getattr(game(), name) for name in Runs.__dataclass_fields__}
    assert Runs(**good) == game()
    with pytest.raises(ValueError, match=message):
        Runs(**(good | change))


def test_what_does_not_exist_and_what_does_not_change() -> None:
    runs = game()
    with pytest.raises(KeyError, match="there is no policy 'x', expected one of OFUL"):
        runs["x"]
    bad: list[Any] = [-0.1, 1.1, "a"]
    for q in bad:
        with pytest.raises(ValueError, match="q must be a number between 0 and 1"):
            runs.quantile(q)
    for every in (0, -1):
        with pytest.raises(ValueError, match="every must be a whole number >= 1"):
            runs.to_frame(every=every)
    with pytest.raises(ValueError, match="read-only"):
        runs.regret[0] = 0.0
    name = "seed"
    with pytest.raises(FrozenInstanceError):
        setattr(runs, name, 1)
