"""Real files of every kind of model, policy and result that the library writes: what the forger alters."""

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import onward
from onward import AutoRegressor, ForwardRegressor, OnlinePipeline, RandomFeatures, RidgeRegressor
from onward.bandits import (
    OFUL,
    Boltzmann,
    DetectingLinUCB,
    Disjoint,
    DLinUCB,
    EpsilonGreedy,
    Greedy,
    Hybrid,
    LinTS,
    LinUCB,
    MetaOFUL,
    Named,
    NamedArms,
    OracleRestart,
    Random,
    SpectralBandit,
    SquareCB,
    SWLinUCB,
    play,
)
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
from onward.confidence import ChangeAlarm
from onward.core.types import Matrix, Vector
from onward.progressive import checkpoints
from onward.progressive.running_scores import new_totals
from onward.scale import chunk_results
from onward.scale.chunk_results import Predicted
from onward.scale.summary import Summary

FILES = Path(__file__).parents[1] / "bandits" / "files"  # written by the first version
NAMES = ["a", "b", "c"]
FITTED_ROWS = 400  # of the table that checkpoints are of


def data(n: int = 40, d: int = 3, seed: int = 0) -> tuple[Matrix, Vector]:
    """Rows and targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ np.linspace(-1.0, 1.0, d) + 0.1 * rng.standard_normal(n)


def _regressors() -> Iterator[tuple[str, Any]]:
    X, y = data()
    frame = pd.DataFrame(X, columns=NAMES)
    yield "forward", ForwardRegressor(0.1).fit(X, y)
    yield "ridge", RidgeRegressor(clip=5.0, prior_mean=[0.5, 0.0, 1.0]).fit(X, y)
    yield "two targets", ForwardRegressor().fit(X, np.column_stack([y, -y]))
    yield "deficient", ForwardRegressor(0.0).fit(X[:2], y[:2])
    named = ForwardRegressor({"a": 0.5, None: 2.0}, prior_mean={"a": 1.0})
    named.learn_many(frame, y)
    yield "named", named
    yield "own units", RidgeRegressor(units="own").fit(X, y)
    yield "half-life", ForwardRegressor(half_life=20.0).fit(X, y)
    yield "half-life in time", RidgeRegressor(half_life=20.0).fit(X, y, times=np.arange(40.0))
    yield "window", RidgeRegressor(window=12).fit(X, y)
    yield "window with room", ForwardRegressor(window=100).fit(X[:9], y[:9])
    yield "calibrated", ForwardRegressor().calibrate([0.1, 0.05]).fit(X, y)
    robust = RidgeRegressor().track_sandwich().fit(X, y)
    robust.coefficient_table(robust=True)
    yield "robust", robust
    anytime = RidgeRegressor().fit(X, y)
    anytime.coefficient_table()
    yield "anchored", anytime
    yield "auto", AutoRegressor(lams=(0.1, 1.0), half_lives=(None, 10.0)).calibrate().fit(X, y)
    auto = AutoRegressor(lams=(0.1,), half_lives=(None, 3.0))
    auto.learn_many(frame, y)
    yield "auto named", auto
    yield "random features", OnlinePipeline(RandomFeatures(n=5), RidgeRegressor()).fit(X, y)
    steps = [("scale", StandardScaler()), ("features", RBFSampler(n_components=4, random_state=0))]
    yield "pipeline", OnlinePipeline(Pipeline(steps), ForwardRegressor()).fit(frame, y)
    yield "nystroem", OnlinePipeline(Nystroem(n_components=4, random_state=0), ForwardRegressor()).fit(X, y)
    yield from _with_recipes()
    alarm = ChangeAlarm()
    alarm.learn(X, y)
    yield "change alarm", alarm
    early = ChangeAlarm()
    early.learn(X[:1], y[:1])
    yield "early change alarm", early


def _with_recipes() -> Iterator[tuple[str, Any]]:
    """Models that read columns: categories, terms, lags, times."""
    X, y = data(60)
    when = pd.date_range("2026-01-01", periods=60, freq="h")
    frame = pd.DataFrame(X, columns=NAMES).assign(city=["Rome", "Oslo", "Bern"] * 20, when=when, y=y)
    terms = (
        "log(b)",
        "a:b",
        "a:city",
        "lag(a, 2)",
        "lag(y, 1)",
        "hour(when)",
        "spline(c, -2, 2, 5)",
        "random(2, 1, a, b)",
    )
    for name, learner, table in (
        ("recipe", RidgeRegressor(), onward.Table("y", categorical=["city"], terms=terms, missing="zero")),
        ("recipe first levels", ForwardRegressor(), onward.Table("y", categorical=["city"], drop_first=True)),
        ("recipe in time", RidgeRegressor(half_life="2d"), onward.Table("y", exclude=["city"], time="when", na=["-9"])),
        (
            "recipe auto",
            AutoRegressor(),
            onward.Table("y", exclude=["city", "when"], terms=["lag(b, 3)"], missing="skip"),
        ),
    ):
        yield name, onward.fit(frame, table, learner).model


def played(policy: Any, rounds: int = 30, d: int = 3, arms: int = 4, seed: int = 0) -> Any:
    """A policy that has learned some rewards and waits for others."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        actions = rng.standard_normal((arms, d))
        chosen = policy.choose(actions)
        policy.learn(actions[chosen], float(actions[chosen].sum() + rng.standard_normal()))
    for key in (None, "late", 7):
        policy.decide(rng.standard_normal((arms, d)), key)
    return policy


def _policies() -> Iterator[tuple[str, Any]]:
    yield "LinUCB", played(LinUCB(seed=1))
    yield "OFUL", played(OFUL(sigma=1.0, theta_bound=2.0, prior_mean=[0.0, 1.0, 0.0], seed=1))
    yield "OFUL of many lam", played(OFUL(lam=[1.0, 2.0, 3.0], sigma=1.0, theta_bound=2.0, seed=1))
    yield "LinTS", played(LinTS(seed=1))
    yield "Greedy", played(Greedy(seed=1), d=6)
    yield "EpsilonGreedy", played(EpsilonGreedy(seed=1, explore=0.1))
    yield "Random", played(Random(seed=1))
    yield "SquareCB", played(SquareCB(seed=1))
    yield "Boltzmann", played(Boltzmann(seed=1))
    yield "DLinUCB", played(DLinUCB(0.9, sigma=1.0, theta_bound=2.0, seed=1))
    yield "SWLinUCB", played(SWLinUCB(20, sigma=1.0, theta_bound=2.0, seed=1))
    yield "SWLinUCB with room", played(SWLinUCB(100, sigma=1.0, theta_bound=2.0, seed=1), rounds=11)
    yield "OracleRestart", played(OracleRestart([10, 20, 50], sigma=1.0, theta_bound=2.0, seed=1))
    yield "DetectingLinUCB", played(DetectingLinUCB(window=10, sigma=0.3, theta_bound=2.0, seed=1))
    yield "fresh LinUCB", LinUCB(seed=1)
    yield "fresh DetectingLinUCB", DetectingLinUCB(window=10, sigma=0.3, theta_bound=2.0, seed=1)
    rng = np.random.default_rng(0)
    for name, policy in (
        ("Disjoint", LinUCB(seed=1)),
        ("Disjoint LinTS", LinTS(seed=1)),
        ("Disjoint window", SWLinUCB(5, sigma=1.0, theta_bound=2.0, seed=1)),
        ("Disjoint detecting", DetectingLinUCB(window=5, sigma=0.3, theta_bound=2.0, seed=1)),
        ("Disjoint discounted", DLinUCB(0.9, sigma=1.0, theta_bound=2.0, seed=1)),
    ):
        arms = Disjoint(policy, ["x", "y", 3])
        for x in rng.standard_normal((20, 3)):
            arms.learn(arms.choose(x), x, float(x.sum()))
        arms.add_arm("z")
        arms.remove_arm("y")
        arms.decide(rng.standard_normal(3), "late")
        yield name, arms
    hybrid = Hybrid(LinUCB(seed=1), ["x", "y", 3])
    for x in rng.standard_normal((20, 5)):
        hybrid.learn(hybrid.choose(x[:2], x[2:]), x[:2], x[2:], float(x.sum()))
    hybrid.remove_arm("y")
    hybrid.decide(x[:2], x[2:], "late")
    yield "Hybrid", hybrid
    named = Named(LinUCB(seed=1), intercept=True, interactions=True, lam={"a": 2.0, None: 1.0}, prior_mean={"a": 1.0})
    for a, b in rng.standard_normal((20, 2)).tolist():
        actions = [{"a": a, "kind": "u"}, {"a": b, "kind": "v"}]
        named.learn(actions[named.choose(actions, {"c": b})], a, {"c": b})
    named.decide(actions, "late", {"c": b})
    yield "Named", named
    named_arms = NamedArms(Disjoint(LinUCB(seed=1), ["x", "y"]), intercept=True)
    for a, b in rng.standard_normal((20, 2)).tolist():
        named_arms.learn(named_arms.choose({"a": a, "b": b}), {"a": a, "b": b}, a)
    named_arms.decide({"a": 1.0, "b": 1.0}, "late")
    yield "NamedArms", named_arms
    meta = MetaOFUL(10, spread=0.1, sigma=0.1, theta_bound=3.0, seed=1)
    for _ in range(25):
        offered = rng.standard_normal((4, 3))
        chosen = meta.choose(offered)
        meta.learn(offered[chosen], float(offered[chosen].sum()))
    yield "MetaOFUL", meta
    spectral = SpectralBandit([("a", "b", 2.0), ("b", "c", 1.0), ("c", "d", 3.0)], sigma=0.1, smoothness=2.0, seed=1)
    for _ in range(10):
        spectral.learn(spectral.choose(), 1.0)
    spectral.decide("late")
    yield "SpectralBandit", spectral
    world = LinearWorld(SphereArms(4, 3), Stationary([1.0, 0.0, 0.0]), Gaussian(0.1))
    yield "Runs", play({"LinUCB": LinUCB(), "Random": Random()}, world, horizon=20, repeats=2, seed=0)


def table_of_checkpoint() -> pd.DataFrame:
    """The table over which a pass was stopped."""
    X, y = data(FITTED_ROWS)
    return pd.DataFrame(X, columns=NAMES).assign(y=y)


def resume(folder: Path, content: bytes | None = None) -> bytes:
    """A pass over the table: the checkpoint that it wrote on the way; or the model, if it goes on from these bytes."""
    table, save = Path("table.csv"), Path("model.onward")
    place = checkpoints.beside(save)
    options: dict[str, Any] = {"save": save, "checkpoint_every": 100, "history": True}
    with contextlib.chdir(folder):  # a checkpoint knows the names of its files
        table_of_checkpoint().to_csv(table, index=False)
        if content is None:
            with mock.patch.object(checkpoints, "remove"):
                onward.fit(table, "y", RidgeRegressor(), **options)
            return place.read_bytes()
        place.write_bytes(content)
        onward.fit(table, "y", RidgeRegressor(), resume=True, **options)
        return save.read_bytes()


def _results() -> Iterator[tuple[str, Summary | Predicted]]:
    X, y = data()
    part = ForwardRegressor(0.0).fit(X, y)
    yield "chunk reduced", Summary(True, part, np.array([40.0, float(y.sum())]), 40)
    model, totals = RidgeRegressor().fit(X, y), new_totals()
    yield "chunk predicted", Predicted(2, totals, 40, Counter(), Counter(), model, X[0, :2])


def sample_files() -> dict[str, bytes]:
    """The bytes of each file, by a name for it."""
    out: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "file"
        makers: tuple[Callable[[], Iterator[tuple[str, Any]]], ...] = (_regressors, _policies)
        for maker in makers:
            for label, saved in maker():
                saved.save(path)
                out[label] = path.read_bytes()
        for label, result in _results():
            chunk_results.write(path, result)
            out[label] = path.read_bytes()
        out["checkpoint"] = resume(Path(name))
    for file in sorted(FILES.glob("*.onward")):
        out[f"first {file.stem}"] = file.read_bytes()
    return out
