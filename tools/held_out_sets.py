"""More real data sets that come inside Python packages, kept apart: defaults are tested on them, never chosen by them.

What is predicted from what was written down before any learner was run on it.
"""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import polars as pl

from tools.own_data_sets import TARGET, DataSet, lagged, put_target_last

MOST_ROWS = 5_000  # of sets in which the order means nothing


def _with_sklearn_header(path: Path, names: list[str]) -> pl.DataFrame:
    """scikit-learn's CSV: the first line holds counts, the last column the class."""
    return pl.read_csv(path, skip_rows=1, has_header=False, new_columns=[*names, "class"])


def _breast_cancer(package: Path) -> pl.DataFrame:
    names = [f"x{j}" for j in range(1, 31)]
    return put_target_last(_with_sklearn_header(package / "datasets" / "data" / "breast_cancer.csv", names), "class")


def _wine(package: Path) -> pl.DataFrame:
    names = ["alcohol", "malic_acid", "ash", "alcalinity", "magnesium", "phenols", "flavanoids", "nonflavanoids"]
    names += ["proanthocyanins", "colour", "hue", "od280_od315", "proline"]
    frame = _with_sklearn_header(package / "datasets" / "data" / "wine_data.csv", names)
    return put_target_last(frame.drop("class"), "alcohol")


def _iris(package: Path) -> pl.DataFrame:
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    frame = _with_sklearn_header(package / "datasets" / "data" / "iris.csv", names)
    return put_target_last(frame.drop("class"), "petal_width")


def _digits(package: Path) -> pl.DataFrame:
    values = np.loadtxt(package / "datasets" / "data" / "digits.csv.gz", delimiter=",")
    return pl.DataFrame({f"p{j}": values[:, j] for j in range(64)} | {TARGET: values[:, 64]})


def _returns(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "sp500.csv.gz").drop("date").cast(pl.Float64)
    return put_target_last(frame, "next_day_return")


def _phishing(package: Path) -> pl.DataFrame:
    return put_target_last(pl.read_csv(package / "datasets" / "phishing.csv.gz"), "is_phishing")


def _shuttle(package: Path) -> pl.DataFrame:
    return put_target_last(pl.read_csv(package / "datasets" / "shuttle.csv.gz", n_rows=MOST_ROWS), "anomaly")


def _yeast(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "yeast.csv.gz", infer_schema_length=None)
    features = [name for name in frame.columns if name.startswith("Att")]
    return put_target_last(frame.select(*features, pl.col("Class1").cast(pl.Float64)), "Class1")


def _zipped(path: Path) -> bytes:
    with ZipFile(path) as archive:
        return archive.read(archive.namelist()[0])


def _segments(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(BytesIO(_zipped(package / "datasets" / "segment.csv.zip")), infer_schema_length=None)
    return put_target_last(frame.drop("category"), "hue-mean")


def _solar_flares(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(BytesIO(_zipped(package / "datasets" / "solar-flare.csv.zip")))
    letters = ("zurich-class", "largest-spot-size", "spot-distribution")
    return put_target_last(frame.drop("m-class-flares", "x-class-flares"), "c-class-flares").with_columns(
        pl.col(letters).cast(pl.String)
    )


def _banana(package: Path) -> pl.DataFrame:
    lines = _zipped(package / "datasets" / "banana.zip").decode().splitlines()
    rows = [[float(part.rpartition(":")[2]) for part in line.split()] for line in lines[:MOST_ROWS]]
    return pl.DataFrame(rows, schema=[TARGET, "a", "b"], orient="row").select("a", "b", TARGET)


def _engel(package: Path) -> pl.DataFrame:
    return put_target_last(pl.read_csv(package / "datasets" / "engel" / "engel.csv"), "foodexp")


def _investment(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "grunfeld" / "grunfeld.csv").sort("year", maintain_order=True)
    return put_target_last(frame.drop("year"), "invest")


def _equipment(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "elec_equip" / "elec_equip.csv", new_columns=["month", "index"])
    return lagged(frame["index"], (1, 2, 12))


def _cancer(package: Path) -> pl.DataFrame:
    return put_target_last(pl.read_csv(package / "datasets" / "cancer" / "cancer.csv"), "cancer")


def _schools(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "star98" / "star98.csv", infer_schema_length=None)
    above = 100 * pl.col("PR50M") / pl.col("MATHTOT")
    return frame.select(pl.exclude("PR50M", "MATHTOT"), above.alias(TARGET))


def _party(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "anes96" / "anes96.csv", separator="\t", quote_char="'")
    return put_target_last(frame.drop("vote"), "PID")


def _travel(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "modechoice" / "modechoice.csv", separator=";")
    mode = pl.format("mode{}", "mode").alias("mode")
    return put_target_last(frame.select(mode, "ttme", "invc", "hinc", "psize", "invt"), "invt")


def _rates(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "interest_inflation" / "E6.csv")
    before = [pl.col(name).shift(1).alias(f"{name}_before") for name in ("R", "Dp")]
    quarter = pl.format("q{}", "quarter").alias("quarter")
    return frame.select(*before, quarter, pl.col("R").alias(TARGET))[1:]


def _nile(package: Path) -> pl.DataFrame:
    return lagged(pl.read_csv(package / "datasets" / "nile" / "nile.csv")["volume"], (1, 2))


def _fertility(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "datasets" / "fertility" / "fertility.csv", infer_schema_length=None)
    earlier = [pl.col(year).alias(f"in_{year}") for year in ("1970", "1990", "2000")]
    return frame.select(*earlier, pl.col("2010").alias(TARGET))


def _cars(package: Path) -> pl.DataFrame:
    records = json.loads((package / "_data" / "cars.json").read_text(encoding="utf-8"))
    frame = pl.DataFrame(records, infer_schema_length=None).drop("Name")
    return put_target_last(frame.with_columns(pl.col("Year").str.head(4).cast(pl.Int64)), "Miles_per_Gallon")


def _barley(package: Path) -> pl.DataFrame:
    records = json.loads((package / "_data" / "barley.json").read_text(encoding="utf-8"))
    year = pl.format("y{}", "year").alias("year")
    return put_target_last(pl.DataFrame(records, infer_schema_length=None).with_columns(year), "yield")


def _weather(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "_data" / "seattle-weather.csv")
    names = ("temp_max", "temp_min", "precipitation", "wind", "weather")
    before = [pl.col(name).shift(1).alias(f"{name}_before") for name in names]
    return frame.select(*before, pl.col("temp_max").alias(TARGET))[1:]


def _hours(package: Path) -> pl.DataFrame:
    return lagged(pl.read_csv(package / "_data" / "seattle-temps.csv")["temp"], (1, 2, 24))


def _stocks(package: Path) -> pl.DataFrame:
    frame = pl.read_csv(package / "_data" / "stocks.csv")
    before = pl.col("price").shift(1).over("symbol").alias("price_before")
    return put_target_last(frame.select("symbol", before, "price").drop_nulls(), "price")


def _jobs(package: Path) -> pl.DataFrame:
    return lagged(pl.read_csv(package / "_data" / "us-employment.csv")["nonfarm"], (1, 2, 12))


def _from_sklearn(name: str, about: str, make: Callable[[Path], pl.DataFrame]) -> DataSet:
    return DataSet(name, "scikit-learn", "sklearn", about, make)


def _from_river(name: str, about: str, make: Callable[[Path], pl.DataFrame], *options: str) -> DataSet:
    return DataSet(name, "river", "river", about, make, options)


def _from_statsmodels(name: str, about: str, make: Callable[[Path], pl.DataFrame], *options: str) -> DataSet:
    return DataSet(name, "statsmodels", "statsmodels", about, make, options)


def _from_vega(name: str, about: str, make: Callable[[Path], pl.DataFrame], *options: str) -> DataSet:
    return DataSet(name, "vega-datasets", "vega_datasets", about, make, options)


SKIP = ("--missing", "skip")

HELD_OUT = (
    _from_sklearn("tumours", "Whether a tumour is benign (1 or 0), from 30 measurements of it.", _breast_cancer),
    _from_sklearn("wine", "Alcohol of wines, from 12 other measurements; one grower after the other.", _wine),
    _from_sklearn("iris", "Width of petals, from three other lengths; one species after the other.", _iris),
    _from_sklearn("digits", "The digit that was written, as a number, from 64 pixels of 1,797 drawings.", _digits),
    _from_river("returns", "A share index's return of the next day, from those of ten shares today.", _returns),
    _from_river("phishing", "Whether a page is a fraud (1 or 0), from nine marks of it.", _phishing),
    _from_river("shuttle", f"Whether a reading is abnormal, from nine sensors; {MOST_ROWS:,} rows.", _shuttle),
    _from_river("yeast", "Whether a gene has a function, from 103 measurements.", _yeast),
    _from_river("segments", "Mean hue of a piece of a picture, from 17 other measurements.", _segments),
    _from_river(
        "flares",
        "Flares of the common class in a day, from three letters and seven grades of a group of sunspots.",
        _solar_flares,
        *("--categorical", "zurich-class,largest-spot-size,spot-distribution"),
    ),
    _from_river("banana", f"Which of two bent clouds a point is of (1 or −1); {MOST_ROWS:,} rows.", _banana),
    _from_statsmodels("food", "What a household spends on food, from its income; spread grows with it.", _engel),
    _from_statsmodels(
        "investment",
        "What 11 firms invest in a year, from value, capital and the firm, year by year.",
        _investment,
        *("--categorical", "firm"),
    ),
    _from_statsmodels("equipment", "Turnover of electrical equipment, from 1, 2 and 12 months before.", _equipment),
    _from_statsmodels("counties", "Deaths of a county by a cancer, from its population; sorted by it.", _cancer),
    _from_statsmodels("schools", "Share of pupils above the median, from 20 figures of a district.", _schools),
    _from_statsmodels("party", "Where people see themselves between two parties, from eight answers.", _party),
    _from_statsmodels(
        "travel",
        "Time that a journey takes, from means, waiting, cost, income and company; four means for each person.",
        _travel,
        *("--categorical", "mode"),
    ),
    _from_statsmodels(
        "rates",
        "Germany's interest rate of a quarter, from that and inflation of the quarter before, and the quarter.",
        _rates,
        *("--categorical", "quarter"),
    ),
    _from_statsmodels("nile", "Flow of the Nile in a year, from 1 and 2 years before; a dam lowers it.", _nile),
    _from_statsmodels("births", "Births per woman in 2010, from 1970, 1990 and 2000, by country.", _fertility, *SKIP),
    _from_vega(
        "cars",
        "Miles per gallon of cars from 1970 to 1982, from seven properties.",
        _cars,
        *("--categorical", "Origin", *SKIP),
    ),
    _from_vega(
        "barley",
        "Yield of barley, from variety, year and site: categories alone.",
        _barley,
        *("--categorical", "variety,year,site"),
    ),
    _from_vega(
        "weather",
        "Highest temperature of a day, from temperatures, rain, wind and weather of the day before.",
        _weather,
        *("--categorical", "weather_before"),
    ),
    _from_vega("hours", "Temperature of each hour, from 1, 2 and 24 hours before.", _hours),
    _from_vega(
        "stocks",
        "Price of a share, from that of the month before and which share; one share after the other.",
        _stocks,
        *("--categorical", "symbol"),
    ),
    _from_vega("jobs", "Employment in the US, from 1, 2 and 12 months before, with a crisis inside.", _jobs),
)
