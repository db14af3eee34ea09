"""Real data sets that come inside Python packages, each as a table with one target and features known before it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

TARGET = "target"
FIRST = 20  # rows whose features tell the scales


@dataclass(frozen=True)
class DataSet:
    """A table that can be made of what a package holds. `options` are for `onward compare` and `onward fit`."""

    name: str
    package: str
    module: str
    about: str
    make: Callable[[Path], pl.DataFrame]
    options: Sequence[str] = ()

    @property
    def available(self) -> bool:
        """Whether its package is installed."""
        return find_spec(self.module) is not None

    def frame(self) -> pl.DataFrame:
        """The table, in the order of its rows, the target last."""
        spec = find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError(f"{self.name}: expected {self.package} to be installed")
        return self.make(Path(spec.submodule_search_locations[0]))  # the package itself need not be imported

    def scaled(self) -> pl.DataFrame:
        """The table with every feature less its mean, over its deviation, both of the first rows.

        A feature that does not vary in them keeps its scale, and a category stays as it is; so does the target.
        """
        frame = self.frame()
        for name in frame.columns:
            if name == TARGET or not frame[name].dtype.is_numeric():
                continue
            values = frame[name].cast(pl.Float64)
            first = values[:FIRST].drop_nulls().to_numpy()
            mean, spread = float(np.mean(first)), float(np.std(first))
            varies = spread > 1e-9 * abs(mean)  # what is left of rounding is no scale
            frame = frame.with_columns(((values - mean) / (spread if varies else 1.0)).alias(name))
        return frame


def put_target_last(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Call the column `target`, and put it last."""
    return frame.select(pl.exclude(column), pl.col(column).cast(pl.Float64).alias(TARGET))


def lagged(values: pl.Series, lags: Sequence[int]) -> pl.DataFrame:
    """The values as the target, and earlier ones as features; rows before the longest lag are left out."""
    columns = [values.shift(lag).alias(f"lag{lag}") for lag in lags]
    return pl.DataFrame([*columns, values.alias(TARGET)]).with_columns(pl.all().cast(pl.Float64))[max(lags) :]


def _diabetes(package: Path) -> pl.DataFrame:
    folder = package / "datasets" / "data"
    X = np.loadtxt(folder / "diabetes_data_raw.csv.gz")
    names = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
    y = np.loadtxt(folder / "diabetes_target.csv.gz")
    columns = {name: X[:, j] for j, name in enumerate(names)} | {TARGET: y}
    whole = [name for name, values in columns.items() if (values == np.round(values)).all()]
    return pl.DataFrame(columns).with_columns(pl.col(whole).cast(pl.Int64))


def _chick_weights(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "chick-weights.csv")
    return put_target_last(frame.select("time", pl.format("diet{}", "diet").alias("diet"), "weight"), "weight")


def _trump_approval(package: Path) -> pl.DataFrame:
    return put_target_last(pl.read_csv(package / "datasets" / "trump_approval.csv.gz"), "five_thirty_eight")


def _airline_passengers(package: Path) -> pl.DataFrame:
    return lagged(pl.read_csv(package / "datasets" / "airline-passengers.csv")["passengers"], (1, 12, 13))


def _water_flow(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "water-flow.csv", new_columns=["time", "flow"])
    return lagged(frame["flow"], (1, 2, 24))


def _inflation(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "macrodata" / "macrodata.csv")
    growth = [(100 * pl.col(name).log().diff()).shift(1).alias(f"{name}_growth") for name in ("realgdp", "m1")]
    before = [pl.col(name).shift(1).alias(f"{name}_before") for name in ("infl", "unemp", "tbilrate")]
    return frame.select(*before, *growth, pl.col("infl").alias(TARGET))[2:]


def _co2(package: Path) -> pl.DataFrame:
    return lagged(pl.read_csv(package / "datasets" / "co2" / "co2.csv")["co2"], (1, 2, 52))


def _sunspots(package: Path) -> pl.DataFrame:
    return lagged(pl.read_csv(package / "datasets" / "sunspots" / "sunspots.csv")["SUNACTIVITY"], (1, 2, 9, 11))


def _fair(package: Path) -> pl.DataFrame:
    return put_target_last(pl.read_csv(package / "datasets" / "fair" / "fair.csv"), "affairs")


def _visits(package: Path) -> pl.DataFrame:
    return put_target_last(
        pl.read_csv(package / "datasets" / "randhie" / "randhie.csv", infer_schema_length=None), "mdvis"
    )


def _el_nino(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "elnino" / "elnino.csv")
    months = pl.Series("t", frame.drop("YEAR").to_numpy().ravel())
    season = 2 * math.pi * pl.int_range(pl.len()) / 12
    return lagged(months, (1, 2, 12)).select(
        "lag1", "lag2", "lag12", season.sin().alias("sine"), season.cos().alias("cosine"), TARGET
    )


SETS = (
    DataSet(
        "diabetes",
        "scikit-learn",
        "sklearn",
        "How far the illness went in a year, of 442 patients, from ten measurements in their own units. The order "
        "means nothing.",
        _diabetes,
    ),
    DataSet(
        "chicks",
        "river",
        "river",
        "Weights of 50 chicks as they grow, in the order of weighing; age in days, and the diet as a category. Which "
        "chick it was is not used.",
        _chick_weights,
        ("--categorical", "diet"),
    ),
    DataSet(
        "approval",
        "river",
        "river",
        "A president's approval day by day as one site's model has it, from five pollsters' figures of the day and the "
        "date as a number of days (about 736,000).",
        _trump_approval,
    ),
    DataSet(
        "airline",
        "river",
        "river",
        "Passengers of each month, from those 1, 12 and 13 months before.",
        _airline_passengers,
    ),
    DataSet(
        "water",
        "river",
        "river",
        "Flow of water in a district each hour, from the flow 1, 2 and 24 records before.",
        _water_flow,
    ),
    DataSet(
        "inflation",
        "statsmodels",
        "statsmodels",
        "US inflation of a quarter, from the quarter before: inflation, unemployment, the bill rate, growth of GDP and "
        "of money in percent.",
        _inflation,
    ),
    DataSet(
        "co2",
        "statsmodels",
        "statsmodels",
        "CO₂ at Mauna Loa each week, from 1, 2 and 52 weeks before. Weeks are missing, and with them every row that "
        "would need them (`--missing skip`).",
        _co2,
        ("--missing", "skip"),
    ),
    DataSet(
        "sunspots",
        "statsmodels",
        "statsmodels",
        "Sunspots of each year since 1711, from 1, 2, 9 and 11 years before.",
        _sunspots,
    ),
    DataSet(
        "el-nino",
        "statsmodels",
        "statsmodels",
        "Temperature of the Pacific each month, from 1, 2 and 12 months before, and the season as a sine and a cosine.",
        _el_nino,
    ),
    DataSet(
        "affairs",
        "statsmodels",
        "statsmodels",
        "Time spent in affairs, from eight answers of 6,366 women. Sorted: those with affairs come first.",
        _fair,
    ),
    DataSet(
        "visits",
        "statsmodels",
        "statsmodels",
        "Visits to a doctor in a year, from the insurance and the health of 20,190 person-years; the years of a person "
        "stand together.",
        _visits,
    ),
)
