"""Contrasts by what a person calls them, in a pass, live, in files and on the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import onward
from onward import AutoRegressor, DataError, ForwardRegressor, Known, RidgeRegressor, Table, fit, scale
from onward.cli import app
from onward.confidence.assumptions import has_binary_targets, noise_bound
from onward.core.inference import Inference
from onward.progressive import Progress
from onward.progressive.contrasts import (
    check_contrasts,
    contrast_weights,
    parse_contrast,
    why_left_out,
    with_contrast_terms,
)
from onward.progressive.json_results import fit_record
from onward.progressive.summaries import said_of_contrasts


def visits(n: int = 400, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age, treated = rng.uniform(20, 60, n), rng.integers(0, 2, n)
    variant = rng.choice(["A", "B", "C"], n)
    spent = 5 + 0.1 * age + treated + 0.02 * treated * age + 0.5 * (variant == "B") + rng.standard_normal(n)
    columns = {"age": age, "treated": treated, "variant": variant, "spent": spent}
    return pl.DataFrame(columns).with_columns(bought=(pl.col("spent") > 10).cast(pl.Int64))


TABLE = Table("spent", categorical=["variant"], exclude=["bought"])


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("treated", {"treated": 1.0}),
        ("b - a", {"b": 1.0, "a": -1.0}),
        ("city=New-York - city=a*b", {"city=New-York": 1.0, "city=a*b": -1.0}),
        ("treated + 40*treated:age", {"treated": 1.0, "treated:age": 40.0}),
        ("-2*a - .5 * b + 1e3*a", {"a": 998.0, "b": -0.5}),
    ],
)
def test_combinations_are_read(text: str, weights: dict[str, float]) -> None:
    assert parse_contrast(text) == weights


def test_products_that_are_asked_for_become_terms() -> None:
    assert with_contrast_terms(TABLE, ["treated", "age", "variant=B - variant=A"]) == TABLE
    asked = with_contrast_terms(TABLE, ["treated + 40*treated:age", "treated:variant", "treated:age"])
    assert asked.terms == ("treated:age", "treated:variant")
    assert with_contrast_terms(asked, ["treated:age"]) == asked


@pytest.mark.parametrize("model", [AutoRegressor(), ForwardRegressor(), RidgeRegressor(1e-6)])
def test_contrasts_of_a_pass_are_those_of_least_squares(model: Any) -> None:
    data, asked = visits(), ["treated + 40*treated:age", "variant", "treated:age"]
    done = fit(data, TABLE, model.copy(), inference=Inference(contrasts=asked))
    a = data["age"].to_numpy()
    t = data["treated"].to_numpy().astype(float)
    levels = [(data["variant"] == level).to_numpy().astype(float) for level in "BC"]
    A = np.column_stack([np.ones(400), a, t, t * a, *levels])
    theta = np.linalg.lstsq(A, data["spent"].to_numpy(), rcond=None)[0]
    found = {each.name: each for each in done.contrasts()}
    first = data["variant"][0]
    expected = {"A": 0.0, "B": theta[4], "C": theta[5]}
    assert_allclose(found["treated + 40*treated:age"].estimate, theta[2] + 40 * theta[3], rtol=1e-6)
    assert_allclose(found["treated:age"].estimate, theta[3], rtol=1e-6)
    for level in {"A", "B", "C"} - {first}:
        name = f"variant={level} - variant={first}"
        assert_allclose(found[name].estimate, expected[level] - expected[first], rtol=1e-6)
    assert len(found) == 4
    assert found["treated + 40*treated:age"].p_value < 1e-6
    said = " ".join(str(done).split())
    assert "Contrasts, adjusted for all other columns" in said
    assert "at once with probability 0.95, if the target is linear in the columns, noise is Gaussian" in said
    record = fit_record(done)
    assert [each["contrast"] for each in record["contrasts"]] == list(found)
    json.dumps(record, allow_nan=False)
    assert record["model"]["intervals"]["method"] == "anytime"


def test_levels_less_a_first_one_that_makes_no_feature() -> None:
    data = visits()
    dropped = Table("spent", categorical=["variant"], exclude=["bought"], drop_first=True)
    asked = Inference(contrasts=["variant", "treated:variant"])
    whole, less = (fit(data, table, inference=asked).contrasts() for table in (TABLE, dropped))
    assert [each.name for each in whole][:2] == [each.name for each in less][:2]
    alone = Inference(contrasts=["variant"])
    whole, less = (fit(data, table, inference=alone).contrasts() for table in (TABLE, dropped))
    for one, other in zip(whole, less, strict=True):
        assert_allclose([one.estimate, one.upper, one.p_value], [other.estimate, other.upper, other.p_value], rtol=1e-6)


def test_a_first_level_without_a_feature_counts_as_0() -> None:
    data = visits()
    first, other, third = data["variant"].unique(maintain_order=True).to_list()
    dropped = Table("spent", categorical=["variant"], exclude=["bought"], drop_first=True)
    for asked in (
        f"variant={other} - variant={first}",
        f"variant={first} - variant={third}",
        f"treated:variant={other} - treated:variant={first}",
    ):
        whole, less = (
            fit(data, table, inference=Inference(contrasts=[asked])).contrasts() for table in (TABLE, dropped)
        )
        assert np.isfinite(whole[0].upper)
        assert_allclose([less[0].estimate, less[0].upper], [whole[0].estimate, whole[0].upper], rtol=1e-6)
        assert less[0].name == asked
    alone = Inference(contrasts=[f"variant={first}"])
    model = fit(data, dropped, inference=alone).model
    assert why_left_out(model, alone) == {
        f"variant={first}": f"variant={first}, the first level, counts as 0; expected a difference from it"
    }


def test_a_product_with_a_category_gives_differences_of_slopes() -> None:
    data = visits()
    a, t = data["age"].to_numpy(), data["treated"].to_numpy().astype(float)
    levels = data["variant"].unique(maintain_order=True).to_list()
    flags = [(data["variant"] == level).to_numpy().astype(float) for level in levels[1:]]
    A = np.column_stack([np.ones(400), a, t, *flags, *(t * flag for flag in flags)])
    theta = np.linalg.lstsq(A, data["spent"].to_numpy(), rcond=None)[0]
    found = fit(data, TABLE, inference=Inference(contrasts=["treated:variant"])).contrasts()
    assert [each.name for each in found] == [
        f"treated:variant={level} - treated:variant={levels[0]}" for level in levels[1:]
    ]
    assert_allclose([each.estimate for each in found], theta[5:], rtol=1e-6)
    assert np.isfinite([each.upper for each in found]).all()


def test_a_contrast_that_is_asked_for_twice_counts_once() -> None:
    first, other = visits()["variant"].unique(maintain_order=True).to_list()[:2]
    same, opposite = f"variant={other} - variant={first}", f"variant={first} - variant={other}"

    def found(*asked: str) -> dict[str, Any]:
        inference = Inference(contrasts=asked, simultaneous=True)
        return {each.name: each for each in fit(visits(), TABLE, inference=inference).contrasts()}

    plain = found("variant")
    assert found("variant", same, f"-variant={first} + 1*variant={other}") == plain
    turned = found("variant", opposite)
    assert [turned[name] for name in plain] == list(plain.values())
    assert (turned[opposite].lower, turned[opposite].upper) == (-plain[same].upper, -plain[same].lower)
    assert turned[opposite].estimate == -plain[same].estimate
    assert turned[opposite].p_value == plain[same].p_value
    assert found("variant", "age")[same].upper > plain[same].upper  # which another one does not leave alone


def test_a_contrast_of_nothing_is_refused_before_the_pass() -> None:
    with pytest.raises(
        ValueError, match=r"the contrast 'treatd' is of 'treatd', which is no feature: expected one of age"
    ):
        fit(visits(), TABLE, inference=Inference(contrasts=["treatd"]))
    with pytest.raises(ValueError, match="which is no feature"):
        fit(visits(), TABLE, inference=Inference(contrasts=["variant - age"]))
    with pytest.raises(ValueError, match="'age - age' is of nothing"):
        fit(visits(), TABLE, inference=Inference(contrasts=["age - age"]))
    with pytest.raises(ValueError, match="a model that forgets"):
        fit(visits(), TABLE, RidgeRegressor(half_life=9), inference=Inference(contrasts=["age"]))
    with pytest.raises(TypeError, match="inference must be an Inference"):
        fit(visits(), TABLE, inference=["age"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="contrasts must be a list of texts"):
        Inference(contrasts="age")
    with pytest.raises(ValueError, match="tuned_for must be"):
        Inference(tuned_for=0)
    done = fit(visits(), TABLE)
    assert done.model.recipe_ is not None
    check_contrasts(done.model.recipe_, ["variant=never", "(intercept)"])
    assert contrast_weights(done.model, "variant=never") == []


def test_several_contrasts_hold_at_once_by_bonferroni() -> None:
    asked = ["treated", "age"]
    one, both = (
        fit(visits(), TABLE, inference=Inference(contrasts=asked, simultaneous=each)).contrasts()
        for each in (False, True)
    )
    model = fit(visits(), TABLE).model
    for alone, together in zip(one, both, strict=True):
        assert_allclose(together.upper, model.contrast(alone.name, 0.025).upper)
        assert_allclose(together.log_e_value, alone.log_e_value - np.log(2))


def test_a_followed_pass_says_how_contrasts_stand(tmp_path: Path) -> None:
    frames: list[pl.DataFrame] = []
    data = visits(300)
    path = tmp_path / "rows.csv"
    data.write_csv(path)
    done = fit(path, TABLE, inference=Inference(contrasts=["treated", "variant"]), follow=frames.append)
    told = pl.concat(frames)
    assert told.columns == ["row", "contrast", "estimate", "standard_error", "lower", "upper", "e_value", "p_value"]
    last = told.filter(pl.col("row") == 300).to_dicts()
    assert [each["contrast"] for each in last] == [each.name for each in done.contrasts()]
    assert_allclose([each["upper"] for each in last], [each.upper for each in done.contrasts()])
    assert told["estimate"].is_null().any()  # before something was known
    assert told.filter(pl.col("estimate").is_null())["p_value"].to_list()[0] == 1.0


def test_scales_are_fixed_at_one_row_whoever_looks_on_the_way(tmp_path: Path) -> None:
    data = visits(1000)
    path = tmp_path / "rows.csv"
    data.write_csv(path)
    at_end = fit(path, TABLE).model
    looked = fit(path, TABLE, save=tmp_path / "m.onward", save_every=100).model
    drawn = fit(path, TABLE, history=True).model
    early = fit(data[:64], TABLE).model
    taken = [model.anchors_.to_record() for model in (early, at_end, looked, drawn) if model.anchors_]
    assert taken[0] == taken[1] == taken[2] == taken[3]
    saved = onward.load(tmp_path / "m.onward")
    assert_allclose(saved.coefficient_table()["upper"], looked.coefficient_table()["upper"])


def test_a_resumed_pass_has_the_same_contrasts(tmp_path: Path) -> None:
    files, model = [tmp_path / f"{part}.csv" for part in range(3)], tmp_path / "m.onward"
    for part, path in enumerate(files):
        visits(300, part).write_csv(path)
    asked: dict[str, Any] = {"inference": Inference(contrasts=["treated"], robust=True), "history": True}
    whole = fit(files, TABLE, **asked)

    def stop(progress: Progress) -> None:
        if progress.read > 600:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fit(files, TABLE, save=model, checkpoint_every=100, watch=stop, **asked)
    resumed = fit(files, TABLE, save=model, checkpoint_every=100, resume=True, **asked)
    assert whole.contrasts() == resumed.contrasts()
    assert whole.contrasts()[0].robust


def test_workers_give_the_same_contrasts(tmp_path: Path) -> None:
    for part in range(3):
        visits(200, part).write_csv(tmp_path / f"{part}.csv")
    asked = Inference(contrasts=["treated:age", "variant"])
    alone = fit(tmp_path, TABLE, ForwardRegressor(), inference=asked).contrasts()
    shared = scale.fit(tmp_path, TABLE, ForwardRegressor(), engine=scale.Engine(1), inference=asked).contrasts()
    for one, other in zip(alone, shared, strict=True):
        assert one.name == other.name
        assert_allclose([one.estimate, one.upper, one.e_value], [other.estimate, other.upper, other.e_value], rtol=1e-6)
    with pytest.raises(ValueError, match="robust intervals go along one pass"):
        scale.fit(tmp_path, TABLE, ForwardRegressor(), inference=Inference(robust=True))


# Targets within bounds


def test_targets_of_0_and_1_are_seen_in_the_state() -> None:
    data = visits()
    X = data.select("age", "treated").to_numpy().astype(float)
    y = data["bought"].to_numpy().astype(float)
    for model in (ForwardRegressor(), RidgeRegressor(30.0), AutoRegressor()):
        assert model.fit(X, y).has_binary_targets()
        assert model.fit(X, y, np.linspace(0.1, 3, 400)).has_binary_targets()
        for other in (y + 1e-3, 2 * y, np.where(np.arange(400) == 7, 2.0, y), np.where(np.arange(400) == 7, 0.5, y)):
            assert not model.fit(X, other).has_binary_targets()
    assert not has_binary_targets(RidgeRegressor(fit_intercept=False).fit(X, y).information_)  # it cannot tell
    assert not has_binary_targets(RidgeRegressor(prior_mean=[1.0, 1.0]).fit(X, y).information_)


def test_rows_that_weigh_more_are_not_within_bounds(tmp_path: Path) -> None:
    """A set takes a row of weight w for one of smaller noise, which that of a bounded target is not."""
    data = visits().with_columns(w=pl.lit(4.0))
    data.write_csv(tmp_path / "heavy.csv")
    X, y = data.select("age", "treated").to_numpy().astype(float), data["bought"].to_numpy().astype(float)
    plain, heavy = RidgeRegressor().fit(X, y), RidgeRegressor().fit(X, y, np.full(400, 4.0))
    assert noise_bound(plain.state_for_sets(), None) == 0.5
    assert noise_bound(heavy.state_for_sets(), None) is None
    assert noise_bound(heavy.state_for_sets(), 1.0) == 1.0
    table = Table("bought", features=["age", "treated"], weight="w")
    with pytest.raises(ValueError, match="row 1 of the data: expected weights up to 1 beside bounds, got 4"):
        fit(tmp_path / "heavy.csv", table, RidgeRegressor(), known=Known(bounds=(0, 1)))


def test_sets_of_targets_of_0_and_1_rely_on_their_bounds() -> None:
    data = visits()
    X, y = data.select("age", "treated").to_numpy().astype(float), data["bought"].to_numpy().astype(float)
    model = RidgeRegressor().fit(X, y)
    assert_allclose(model.confidence_set().radius, model.confidence_set(sigma=0.5).radius)
    assert_allclose(model.interval(X[:3]), model.interval(X[:3], sigma=0.5))
    kinds: dict[str, Any] = {"of": "observation", "method": "uniform"}
    assert_allclose(model.interval(X[:3], **kinds), model.interval(X[:3], sigma=0.5, **kinds))
    told = fit(data, Table("bought", exclude=["spent", "variant"]), known=Known(bounds=(0, 1)), model=RidgeRegressor())
    assert told.known.sigma == 0.5
    assert "and targets stay within [0, 1]; rows may depend on those before" in " ".join(str(told).split())
    plain = fit(data, Table("bought", exclude=["spent", "variant"]))
    assert "Targets are 0 or 1: it holds nearly, not exactly" in " ".join(str(plain).split())


def test_bounds_are_checked() -> None:
    assert Known(bounds=(-1, 3)).sigma == 2.0
    assert Known(bounds=(-1, 3), sigma=0.3).sigma == 0.3
    for wrong in ((1, 0), (0, np.inf), (0, 0)):
        with pytest.raises(ValueError, match="bounds must be two finite numbers"):
            Known(bounds=wrong)
    with pytest.raises(DataError, match=r"row \d+ of the data: expected a target within \[0, 5\], got"):
        fit(visits(), TABLE, RidgeRegressor(), known=Known(bounds=(0, 5)))


# The command line


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, " ".join((result.output or str(result.exception)).replace("│", " ").split())


def test_the_command_line_says_what_the_treatment_does(tmp_path: Path) -> None:
    path, model = str(tmp_path / "v.csv"), str(tmp_path / "m.onward")
    visits().write_csv(path)
    reading = ["-t", "spent", "--exclude", "bought", "--categorical", "variant"]
    code, said = run("fit", path, *reading, "--contrast", "treated", "--contrast", "variant=B - variant=A", "-s", model)
    assert code == 0
    for words in ("Contrasts, adjusted for all other columns", "e-value", "variant=B - variant=A", "std. error"):
        assert words in said
    code, said = run("show", model, "--contrast", "treated", "--simultaneous")
    assert code == 0
    assert "All intervals hold at every row at once" in said
    code, said = run("show", model, "--contrast", "treated", "--json", "--delta", "0.01")
    record = json.loads(said)
    assert record["contrasts"][0]["contrast"] == "treated"
    assert record["coefficients"][1].keys() >= {"coefficient", "estimate", "lower", "e_value", "p_value"}
    code, said = run("fit", path, *reading, "--contrast", "treated", "--follow")
    assert code == 0
    assert "row,contrast,estimate,standard_error,lower,upper,e_value,p_value" in said
    code, said = run("fit", path, *reading, "--robust")
    assert "once rows are many (asymptotic)" in said
    for arguments, words in (
        (["--contrast", "nothing"], "which is no feature"),
        (["--bounds", "0"], "two numbers with a comma between them"),
        (["--bounds", "3,2", "--learner", "ridge"], "the lower one first"),
        (["--contrast", "treated", "--learner", "ridge", "--window", "9"], "not for a model that forgets"),
        (["--simultaneous", "--learner", "ridge", "--sigma", "1"], "expected no --simultaneous"),
        (["--robust", "--learner", "ridge", "--jobs", "2"], "--robust goes along one pass"),
    ):
        code, said = run("fit", path, *reading, *arguments)
        assert code != 0
        assert words in said


def test_a_level_that_never_came_is_named_at_the_end(tmp_path: Path) -> None:
    path, page = str(tmp_path / "v.csv"), tmp_path / "r.html"
    visits().write_csv(path)
    reading = ["fit", path, "-t", "spent", "--exclude", "bought", "--categorical", "variant"]
    words = "The contrast 'variant=Z - variant=A' is left out: variant=Z was never seen."
    asked = ["--contrast", "variant=Z - variant=A"]
    code, said = run(*reading, *asked, "--report", str(page))
    assert code == 0
    assert words in said
    assert "Contrasts, adjusted" not in said  # a table without rows
    assert "variant=Z was never seen" in page.read_text()
    for more in ([], ["--follow"], ["--json"]):
        assert run(*reading, *asked, "--contrast", "treated", *more)[1].count("variant=Z was never seen.") == 1
    code, said = run(*reading, "--contrast", "variant=B - variant=A")
    assert "left out" not in said
    done = fit(visits(), TABLE, inference=Inference(contrasts=["variant=Z"]))
    assert "variant=Z was never seen." in " ".join(str(done).split())
    assert "variant=Z was never seen." in done._repr_html_()
    one = fit(visits().filter(pl.col("variant") == "A"), TABLE, inference=Inference(contrasts=["variant"]))
    assert "The contrast 'variant' is left out: no two levels were seen." in str(one)


def test_open_contrasts_are_explained() -> None:
    for asked, is_open in (("variant=B", True), ("variant", False)):
        done = fit(visits(), TABLE, inference=Inference(contrasts=[asked]))
        assert np.isinf(done.contrasts()[0].upper) == is_open
        notes = said_of_contrasts(done, done.contrasts())
        assert any(note.startswith("∞: too little is known for an end.") for note in notes) == is_open
        assert all(note.split()[0] in str(done) for note in notes)


def test_contrasts_say_that_they_do_not_use_sigma_or_bounds() -> None:
    for known, words in (
        (Known(sigma=1.0), "Contrasts do not use sigma: their intervals are anytime ones for Gaussian noise. Each"),
        (Known(bounds=(-99, 99)), "Contrasts do not use sigma or bounds: their"),
        (Known(), None),
    ):
        done = fit(visits(), TABLE, RidgeRegressor(), known=known, inference=Inference(contrasts=["treated"]))
        said = " ".join(said_of_contrasts(done, done.contrasts()))
        assert ("do not use" in said) == (words is not None)
        assert (words or "Each interval holds") in said
        assert (words or "Each interval holds") in fit_record(done)["contrast_intervals"]["assumed"]


def test_after_a_restart_nothing_is_promised() -> None:
    before, after = visits(600), visits(600, 1)
    data = pl.concat([before, after.with_columns(spent=40 - pl.col("spent"))])
    for model, known in ((AutoRegressor(), Known()), (RidgeRegressor(), Known(sigma=1.0))):
        asked: dict[str, Any] = {"inference": Inference(contrasts=["treated"]), "known": known}
        whole = fit(data, TABLE, model.copy(), **asked)
        anew = fit(data, TABLE, model.copy(), **asked, on_change="restart")
        rows = anew.model.n_seen_
        assert 300 < rows < 620
        words = f"Only the {rows:,} rows since the restart are in it. As the restart depends on the targets, neither"
        for done, is_restarted in ((anew, True), (whole, False)):
            record = fit_record(done)
            lines = [record["contrast_intervals"]["assumed"], record["model"]["intervals"]["assumed"]]
            lines += [*said_of_contrasts(done, done.contrasts()), done.coefficients().assumed]
            assert [words in line for line in lines] == [is_restarted] * len(lines)
            said = " ".join(str(done).split())
            assert ("at every row at once" in said) != is_restarted
            if known.sigma is None:
                assert ("least squares on the rows since the restart" in said) == is_restarted
                assert ("least squares on all rows" in said) != is_restarted


def test_json_says_what_holds_of_contrasts_and_coefficients(tmp_path: Path) -> None:
    path, model = str(tmp_path / "v.csv"), str(tmp_path / "m.onward")
    visits().write_csv(path)
    reading = ["fit", path, "-t", "spent", "--exclude", "bought", "--categorical", "variant", "--json"]
    more = ["--contrast", "treated", "--delta", "0.01", "--json"]
    fitted = json.loads(run(*reading, *more, "-s", model)[1])
    shown = json.loads(run("show", model, *more)[1])
    assert fitted["contrast_intervals"] == shown["contrast_intervals"]
    for about in (shown["contrast_intervals"], shown["intervals"], fitted["model"]["intervals"]):
        assert (about["delta"], about["null"], about["rows"]) == (0.01, 0.0, 400)
        assert about["assumed"].startswith("Each interval holds at every row at once with probability 0.99")
    assert shown["contrasts"][0].items() >= {"delta": 0.01, "null": 0.0, "rows": 400}.items()
    assert json.loads(run(*reading)[1])["contrast_intervals"] is None
    assert "contrasts" not in json.loads(run("show", model, "--json")[1])


@pytest.mark.parametrize("target", ["spent", "bought"])
def test_a_followed_pass_says_once_what_holds(tmp_path: Path, target: str) -> None:
    path = str(tmp_path / "v.csv")
    visits().write_csv(path)
    other = {"spent": "bought", "bought": "spent"}[target]
    asked = [
        "fit",
        path,
        "-t",
        target,
        "--exclude",
        other,
        "--categorical",
        "variant",
        "--follow",
        "--contrast",
        "treated",
    ]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0
    assert done.stdout.count("treated") > 1  # it is told with the first of several
    assert done.stderr.count("Each interval holds at every row at once") == 1
    assert done.stderr.count("Targets are 0 or 1") == (target == "bought")
    assert "interval" not in done.stdout
    assert CliRunner().invoke(app, [*asked, "--quiet"]).stderr == ""
    assert "interval" not in CliRunner().invoke(app, [*asked, "--contrast", "nothing"]).stderr  # but the error


def test_what_a_model_cannot_tell_is_refused_when_it_is_shown(tmp_path: Path) -> None:
    path = str(tmp_path / "m.onward")
    fit(visits(), TABLE, save=path)
    for asked, words in (
        ("nonsense", "is of 'nonsense', which is no feature"),
        ("treated:age", "is of 'treated:age', which is no feature"),
        ("3", "is of '3', which is no feature"),
        ("treated-age", "is of 'treated-age', which is no feature"),
        ("variant=Z - variant=A", "variant=Z was never seen; the model's features are (intercept), age"),
    ):
        for more in ([], ["--json"]):
            code, said = run("show", path, "--contrast", asked, *more)
            assert code == 2
            assert words in said
    bare = str(tmp_path / "bare.onward")
    RidgeRegressor().fit(np.eye(9)[:, :2], np.arange(9.0)).save(bare)
    assert run("show", bare, "--contrast", "x1 - x0")[0] == 0
    code, said = run("show", bare, "--contrast", "x1 - x7")
    assert code == 2
    assert "x7 was never seen; the model's features are (intercept), x0, x1" in said
