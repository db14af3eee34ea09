"""What the harnesses and attacks of this folder have found, one case each."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_approximation import Nystroem

import onward
from onward import AutoRegressor, ForwardRegressor, OnlinePipeline, RidgeRegressor, storage
from onward.bandits import Disjoint, DLinUCB, Greedy, Hybrid, LinUCB, MetaOFUL, Policy
from onward.bandits.buffers import acting
from onward.bandits.tuning import N_TUNING, WAITING
from onward.confidence import ChangeAlarm
from onward.confidence.change_state import HEADER
from onward.core.types import Matrix, Vector
from onward.progressive import checkpoints
from onward.progressive.running_scores import new_totals
from onward.scale import chunk_results
from onward.scale.chunk_cache import ChunkCache
from onward.scale.chunk_results import Predicted
from onward.scale.summary import Summary
from tests.fuzz.forging import Contents, pack, unpack
from tests.fuzz.sample_files import FILES, data, resume

# Calibrated models of one target that comes in a column


@pytest.mark.parametrize("learner", [RidgeRegressor, AutoRegressor])
def test_one_target_in_a_column_is_learned_and_has_intervals(learner: Callable[[], Any]) -> None:
    X, y = data()
    flat, column = learner().calibrate().fit(X, y), learner().calibrate().fit(X, y[:, None])
    flat.learn_one(X[0], float(y[0]))
    column.learn_one(X[0], y[:1])
    ends = [model.interval(X, of="observation", method="conformal") for model in (flat, column)]
    np.testing.assert_array_equal(ends[0], ends[1][:, 0])


# Checkpoints with a right checksum


def _settings(name: str, value: object) -> Callable[[Contents], None]:
    def alter(contents: Contents) -> None:
        *path, last = name.split("/")
        place: Any = contents.header["settings"]
        for key in path:
            place = place[int(key) if isinstance(place, list) else key]
        place[int(last) if isinstance(place, list) else last] = value

    return alter


def _array(name: str, change: Callable[[Any], Any]) -> Callable[[Contents], None]:
    def alter(contents: Contents) -> None:
        place = [entry["name"] for entry in contents.header["arrays"]].index(name)
        contents.arrays[place] = change(contents.arrays[place].copy())
        contents.header["arrays"][place]["shape"] = list(contents.arrays[place].shape)

    return alter


def _with(place: Any, value: float) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return resume(tmp_path_factory.mktemp("first"))


@pytest.mark.parametrize(
    "alter",
    [
        _array("totals", _with((0, 0), np.inf)),  # 50007190
        _settings("files/0/name", 7),  # 50009207
        _settings("files", 407),  # 50014960
        _settings("models/model/settings/recipe/na", [None]),  # 50021735
        _array("totals", lambda totals: totals[:, :, None]),  # 50024445
        _settings("skipped", {"why": -1}),
        lambda contents: contents.header["settings"].update(models={}),  # 90016867
        _settings("recorder/widths/0", 1e9),
        _array("spans", _with((0, 0), np.nan)),
    ],
)
def test_a_checkpoint_that_lies_is_refused(
    tmp_path: Path, checkpoint: bytes, alter: Callable[[Contents], None]
) -> None:
    assert resume(tmp_path, checkpoint)
    contents = unpack(checkpoint)
    alter(contents)
    with pytest.raises(storage.StorageError, match="do not fit together") as caught:
        resume(tmp_path, pack(contents))
    assert len(str(caught.value)) < 600
    assert checkpoints.beside(tmp_path / "model.onward").exists()


# Intervals at extremes


def _rows(sx: float, sy: float) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((13, 2)) * sx, rng.standard_normal(13) * sy


@pytest.mark.parametrize(
    ("lam", "sx", "sy", "sigma", "theta_bound"),
    [
        (1.9e-81, 1.7e99, 2.2e97, 2.2e97, 2.6e-43),  # squares of moments overflow
        (2.9e16, 1.3e51, 6.6e107, 4e39, 5.2e56),
        (1e-5, 3e54, 8.7e135, 9e74, 2.8e81),
    ],
)
def test_the_ends_of_an_interval_are_in_order(
    lam: float, sx: float, sy: float, sigma: float, theta_bound: float
) -> None:
    X, y = _rows(sx, sy)
    model = RidgeRegressor(lam).fit(X, y)
    region = model.confidence_set(0.05, sigma, theta_bound, radius="convex")
    ends = model.interval(X, sigma=sigma, theta_bound=theta_bound, radius="convex")
    assert getattr(region, "empty", False) == np.isnan(ends).all()
    assert np.isnan(ends).all() or (ends[:, 0] <= ends[:, 1]).all()


def test_a_radius_whose_square_overflows_is_one() -> None:
    X, y = _rows(1.0, 1.0)
    ends = RidgeRegressor(1e250).fit(X, y).interval(X, sigma=1.0, theta_bound=1e80, radius="regret")
    assert (ends[:, 0] < ends[:, 1]).all()


# Probabilities of Thompson sampling


def test_probabilities_are_not_negative_by_rounding() -> None:
    contents = unpack((FILES / "LinTS.onward").read_bytes())
    place = [entry["name"] for entry in contents.header["arrays"]].index("memory")
    contents.arrays[place][18] = -1e9  # an estimate that lies far from the others
    policy, rng = storage.from_bytes(pack(contents)), np.random.default_rng(0)
    for _ in range(300):
        chances = policy.probabilities(rng.standard_normal((5, policy.dimension)))
        assert (chances >= 0).all()
        assert chances.sum() == pytest.approx(1.0, abs=1e-9)


# Ensembles and parameters


@pytest.mark.parametrize(("part", "value"), [("U", -1e300), ("D", 5e-324)])
def test_an_ensemble_that_overflows_is_refused(part: str, value: float) -> None:
    model = AutoRegressor().fit(*data())
    assert storage.from_bytes(model.to_bytes()) is not None
    state: Any = model._fitted().state
    factor = state.factor(0, 0)
    getattr(factor, part)[(0, 1) if part == "U" else 0] = value
    with pytest.raises(storage.StorageError, match="of an ensemble"):
        storage.from_bytes(model.to_bytes())


def test_whole_numbers_beyond_floats_are_no_parameters() -> None:
    X, y = data()
    contents = unpack(RidgeRegressor(prior_mean={"a": 1.0}).fit(pd.DataFrame(X, columns=list("abc")), y).to_bytes())
    contents.header["settings"]["parameters"]["prior_mean"]["values"] = [10**400]
    with pytest.raises(storage.StorageError, match="prior_mean"):
        storage.from_bytes(pack(contents))


# What lies behind a triangle, and pipelines


def test_numbers_behind_a_triangle_are_refused() -> None:  # 90020082
    contents = unpack((FILES / "DLinUCB.onward").read_bytes())
    assert storage.from_bytes(pack(contents)) is not None
    place = [entry["name"] for entry in contents.header["arrays"]].index("memory")
    contents.arrays[place][29] = -1e300
    with pytest.raises(storage.StorageError, match="behind the 6 columns"):
        storage.from_bytes(pack(contents))
    model = unpack(RidgeRegressor().fit(np.eye(4), np.ones(4)).to_bytes())
    at = [entry["name"] for entry in model.header["arrays"]].index("U")
    model.arrays[at][0, -1] = 1e300
    with pytest.raises(storage.StorageError, match="behind the 5 columns"):
        storage.from_bytes(pack(model))


def test_a_pipeline_of_arrays_knows_its_columns(tmp_path: Path) -> None:  # 90019928
    X, y = data()
    path = tmp_path / "pipeline.onward"
    OnlinePipeline(Nystroem(n_components=4, random_state=0), RidgeRegressor()).fit(X, y).save(path)
    contents = unpack(path.read_bytes())
    del contents.header["settings"]["columns"]
    with pytest.raises(storage.StorageError, match="a transformer of 3 columns without names"):
        storage.from_bytes(pack(contents))


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan])
def test_pivots_of_a_policy_are_positive(value: float) -> None:
    policy = Greedy(seed=1)
    policy.learn(np.ones(3), 1.0)
    assert storage.from_bytes(policy.to_bytes()) is not None
    acting(policy._buffer).factor.D[-1] = value
    with pytest.raises(storage.StorageError, match="with pivots > 0"):
        storage.from_bytes(policy.to_bytes())


def test_rows_of_a_window_are_those_of_its_factor() -> None:  # 300024911: a sign
    contents = unpack(RidgeRegressor(window=10).fit(*data()).to_bytes())
    assert storage.from_bytes(pack(contents)) is not None
    place = [entry["name"] for entry in contents.header["arrays"]].index("rows")
    contents.arrays[place][0, 1] *= -1
    with pytest.raises(storage.StorageError, match="other products than its factor"):
        storage.from_bytes(pack(contents))


# Results of chunks, and what a cache says of them


def _chunk(folder: Path, result: Predicted | Summary, alter: Callable[[Contents], None]) -> Predicted | Summary | None:
    path = folder / "chunk"
    chunk_results.write(path, result)
    kind: Any = type(result)
    assert chunk_results.read(path, kind) is not None
    contents = unpack(path.read_bytes())
    alter(contents)
    path.write_bytes(pack(contents))
    again: Predicted | Summary | None = chunk_results.read(path, kind)
    return again


_LIES = [
    *(_settings(name, value) for name in ("read", "skipped", "filled") for value in (None, "x", -1, {"a": "b"})),
    _array("means", lambda _: np.full(3, np.inf)),
    _array("means", _with(0, np.nan)),
    _array("means", _with(0, -1.0)),
]


@pytest.mark.parametrize(
    "alter",
    [
        *_LIES,
        _settings("chunks", "x"),
        _settings("chunks", -1),
        _settings("chunks", 1.5),
        _settings("chunks", 10**400),  # 260611952589
        _array("totals", _with(0, np.nan)),
        _array("totals", _with(2, -1.0)),
        _array("totals", lambda totals: totals[:3]),
    ],
)
def test_a_predicted_chunk_that_lies_is_done_again(tmp_path: Path, alter: Callable[[Contents], None]) -> None:
    model = RidgeRegressor().fit(*data())
    result = Predicted(2, new_totals(), 40, Counter(), Counter(), model, np.zeros(2))
    assert _chunk(tmp_path, result, alter) is None


@pytest.mark.parametrize("alter", [*_LIES, _settings("intercept", 1), _settings("intercept", False)])
def test_a_reduced_chunk_that_lies_is_done_again(tmp_path: Path, alter: Callable[[Contents], None]) -> None:
    result = Summary(True, ForwardRegressor(0.0).fit(*data()), np.array([40.0, 1.0]), 40)
    assert _chunk(tmp_path, result, alter) is None


@pytest.mark.parametrize("content", [b"null", b"[1]", b"Infinity", b"1e400", b"-5", b"0", b"9", b"1.5", b"true", b"["])
def test_a_front_that_cannot_be_one_does_not_count(tmp_path: Path, content: bytes) -> None:
    cache = ChunkCache(tmp_path, {}, resume=True)
    assert cache.front(3, 8) == 3
    assert cache.front(5, 8) == 3
    assert cache.folder is not None
    (cache.folder / "front.json").write_bytes(content)
    assert cache.front(4, 8) == 4
    assert cache.front(5, 8) == 4


# What a checkpoint says of its files and readings


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (_settings("files/0/size", None), "had an unknown number of bytes then"),
        (_settings("files/0/name", "\x1b[31m" * 20_000), "it was made of"),
        (_settings("files", [7] * 20_000), "a name, a size and a digest"),
        (_settings("settings/table", "x" * 50_000), "other settings"),
        (_array("coefficients", _with(0, np.nan)), "coefficients of reading 0 must be finite"),
        (_array("coefficients", _with(-1, np.nan)), "ends are in order"),
        (_array("latest", _with((0, 1), np.nan)), "the latest rows must be finite"),
        (_array("latest", _with((0, -1), np.nan)), "ends are in order"),
        (_array("sample", _with((0, 2), np.nan)), "rows of a sample must be finite"),
    ],
)
def test_what_a_checkpoint_says_is_told_in_a_line(
    tmp_path: Path, checkpoint: bytes, alter: Callable[[Contents], None], said: str
) -> None:
    contents = unpack(checkpoint)
    alter(contents)
    with pytest.raises(ValueError, match=said) as caught:
        resume(tmp_path, pack(contents))
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["share", "loud"])
def test_what_follows_from_the_coordinates_of_an_alarm_must(name: str) -> None:
    alarm = ChangeAlarm()
    alarm.learn(*data())
    file = storage.to_bytes("change alarm", *alarm.to_record())
    assert storage.from_bytes(file).n_seen_ == 40
    contents = unpack(file)
    contents.arrays[0][(HEADER.names or ()).index(name)] *= 2.0
    with pytest.raises(storage.StorageError, match="do not follow from 4 open coordinates"):
        storage.from_bytes(pack(contents))


# States that no rows leave


@pytest.fixture(scope="module")
def ensemble() -> bytes:
    X, y = data()
    return AutoRegressor().fit(X, y).to_bytes()


def _spoil(part: str, value: float) -> Callable[[Any], None]:
    def spoil(views: Any) -> None:
        getattr(views, part)[1] = value

    return spoil


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_spoil("scale", 1e300), "scales of an ensemble"),  # 1795067894423
        (_spoil("scale", 1e-200), "scales of an ensemble"),
        (_spoil("scale", -1.0), "scales of an ensemble"),
        (_spoil("weight", 5e-324), "weights of an ensemble"),  # 1795067897804
        (lambda views: views.header.__setitem__("counted", 0.0), "than it counts"),  # 1795067905072
    ],
)
def test_an_ensemble_that_no_rows_leave_is_refused(ensemble: bytes, spoil: Callable[[Any], None], said: str) -> None:
    model = storage.from_bytes(ensemble)
    spoil(model.ensemble_.views)
    with pytest.raises(storage.StorageError, match=said):
        storage.from_bytes(model.to_bytes())


def test_an_ensemble_that_has_not_begun_knows_nothing() -> None:
    X, y = data()
    model = AutoRegressor().partial_fit(X, y, sample_weight=np.zeros(len(X)))  # rows that do not count
    assert storage.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    model.ensemble_.factor(0, 0).U[0, 1] = 1.0
    with pytest.raises(storage.StorageError, match="must know nothing"):
        storage.from_bytes(model.to_bytes())


def test_a_model_with_a_recipe_has_one_flat_target() -> None:  # 1795067888627
    X, y = data()
    model = onward.fit(pd.DataFrame(X, columns=list("abc")).assign(y=y), "y", RidgeRegressor()).model
    contents = unpack(model.to_bytes())
    contents.header["settings"]["flat"] = False
    with pytest.raises(storage.StorageError, match="a model with a recipe has a single target"):
        storage.from_bytes(pack(contents))


def test_a_sandwich_has_squares_that_are_numbers() -> None:  # 1795067897449
    X, y = data()
    contents = unpack(RidgeRegressor().track_sandwich().fit(X, y).to_bytes())
    _array("sandwich", _with((0, 3), 1e140))(contents)
    model = storage.from_bytes(pack(contents))
    model.partial_fit(X * 1e60, y * 1e60)
    assert storage.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    _array("sandwich", _with((0, 3), -1e300))(contents)
    with pytest.raises(storage.StorageError, match="triangle of a sandwich"):
        storage.from_bytes(pack(contents))


@pytest.mark.parametrize("lam", [1e300, 1e-300])  # 1795067898239
def test_no_pivot_of_a_hybrid_model_is_below_its_lam(lam: float) -> None:
    policy = Hybrid(LinUCB(seed=1), ["x", "y"])
    policy.learn("x", [1.0, 2.0], [0.5], 1.0)
    contents = unpack(policy.to_bytes())
    assert storage.from_bytes(pack(contents)) is not None
    contents.header["settings"]["lam"] = lam
    with pytest.raises(storage.StorageError, match="no pivot of a hybrid model can be below its lam"):
        storage.from_bytes(pack(contents))


@pytest.mark.parametrize("name", ["next_octave", "mass", "to_come"])
def test_what_bets_of_an_alarm_begin_with_follows_from_its_octave(name: str) -> None:  # 777049711
    alarm = ChangeAlarm()
    X, y = data()
    alarm.learn(X, y)
    settings, arrays = alarm.to_record()
    ChangeAlarm.from_record(settings, arrays)
    arrays["state"][(HEADER.names or ()).index(name)] -= 1.0
    with pytest.raises(ValueError, match="mass, to_come and next_octave of an alarm do not follow from its octave"):
        ChangeAlarm.from_record(settings, arrays)


def test_numbers_of_arms_and_tasks_are_ones_that_floats_count_to() -> None:  # 777090572, 777109838
    arms = Disjoint(LinUCB(seed=0), ["left", "right"])
    arms.learn("left", [1.0], 1.0)
    settings, arrays = arms.to_record()
    for change in ({"next": 10**400}, {"serials": [0, 10**400], "next": 10**401}):
        with pytest.raises(ValueError, match=r"must be a whole number from 0 to 9,007,199,254,740,992"):
            Disjoint.from_record(settings | change, arrays)
    meta = MetaOFUL(10)
    with pytest.raises(ValueError, match="n_tasks must be a whole number from 0 to 9,007,199,254,740,992"):
        MetaOFUL.from_record(meta.to_record()[0] | {"n_tasks": 10**400}, meta.to_record()[1])


def test_the_length_of_actions_is_within_bounds() -> None:  # 777066980: indices were NaN
    with pytest.raises(ValueError, match="action_bound"):
        DLinUCB(0.9, action_bound=1e300)
    assert np.isfinite(DLinUCB(0.9, sigma=1.0, theta_bound=1.0, lam=1.0, action_bound=1e100).index([[1.0, 0.5]])).all()


def test_gains_of_scales_fit_their_spread() -> None:  # 777016022: probabilities were NaN
    policy, rng = LinUCB(seed=0), np.random.default_rng(0)
    for _ in range(50):
        actions = rng.standard_normal((5, 3))
        chosen = policy.choose(actions)
        policy.learn(actions[chosen], float(actions[chosen, 0] + rng.standard_normal()))
    settings, arrays = policy.to_record()
    Policy.from_record(settings, arrays)
    spread = arrays["buffer"][-N_TUNING]
    arrays["buffer"][-N_TUNING] = 5e-324
    with pytest.raises(ValueError, match="gains of scales are"):
        Policy.from_record(settings, arrays)
    arrays["buffer"][-N_TUNING] = spread
    policy.choose(actions)  # 888000512: a chance of a choice that waits, of which gains came that no file may have
    settings, arrays = policy.to_record()
    (row,) = (each for each in arrays["buffer"][-WAITING * 9 :].reshape(WAITING, 9) if each[2] == 1.0)
    row[5] = 1e18
    with pytest.raises(ValueError, match="chances of choices that wait must add up to their spread"):
        Policy.from_record(settings, arrays)
