"""Make the small files that README.md's shell lines and the smoke test read: python smoke_data.py FOLDER.

Run by an environment that has onward installed, and nothing of the repository.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_iris

from onward.bandits import LinUCB, LogWriter


def trips(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"km": rng.uniform(1, 9, rows), "city": rng.choice(["Oslo", "Rome"], rows)})
    return frame.with_columns(fare=3 + 2 * pl.col("km") + 4 * (pl.col("city") == "Oslo") + rng.standard_normal(rows))


def visits(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"age": rng.uniform(18, 80, rows), "treatment": rng.integers(0, 2, rows)})
    return frame.with_columns(spent=5 + 0.1 * pl.col("age") + pl.col("treatment") + rng.standard_normal(rows))


def iris() -> pl.DataFrame:
    data = load_iris()
    frame = pl.DataFrame(data.data, schema=["sepal_length", "sepal_width", "petal_length", "petal_width"])
    return frame.with_columns(species=pl.Series([str(data.target_names[each]) for each in data.target]))


def write_log(path: Path, events: int) -> None:
    rng = np.random.default_rng(3)
    policy = LinUCB(explore=0.2, seed=0)
    with LogWriter(path) as log:
        for visitor in range(events):
            actions = rng.standard_normal((4, 3))
            decision = policy.decide(actions, key=visitor)
            log.write(decision, actions)
            reward = float(actions[decision.action] @ [0.6, -0.8, 0.0] + 0.3 * rng.standard_normal())
            log.reward(decision.key, reward)
            policy.reward(decision.key, reward)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    trips(300, 0).write_csv(folder / "trips.csv")
    trips(60, 1).drop("fare").write_csv(folder / "new.csv")
    trips(120, 4).write_csv(folder / "held-out.csv")
    visits(200).write_csv(folder / "visits.csv")
    iris().write_csv(folder / "iris.csv")
    trips(50, 5).select("km", y="fare").write_csv(folder / "live.csv")
    write_log(folder / "log.parquet", 200)
