"""Tables to learn from, and small pieces to read them in."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from onward.tables import columnar, lines


def table(rows: int = 400, seed: int = 0) -> pl.DataFrame:
    """Numbers of several scales, a category whose levels come late, a flag, weights and some missing values."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=rows), 100 * rng.normal(size=rows)
    city = np.array(["Rome", "Oslo", "Lima", "Bonn"])[np.minimum(3, (np.arange(rows) // 60) * rng.integers(0, 2, rows))]
    flag = rng.integers(0, 2, rows).astype(bool)
    y = 2 * x - 0.03 * z + (city == "Oslo") + 0.5 * flag + 0.3 * rng.normal(size=rows)
    frame = pl.DataFrame({"x": x, "z": z, "city": city, "flag": flag, "w": rng.uniform(0.5, 2, rows), "y": y})
    holes = rng.random(rows) < 0.05
    return frame.with_columns(z=pl.Series([None if hole else value for hole, value in zip(holes, z, strict=True)]))


def small_pieces(monkeypatch: pytest.MonkeyPatch, size: int = 1500) -> None:
    """Read in many pieces, as a large file would be."""
    monkeypatch.setattr(lines, "CHUNK", size)
    monkeypatch.setattr(columnar, "VALUES", size // 20)


def written(folder: Path, frame: pl.DataFrame, name: str = "data.csv") -> Path:
    path = folder / name
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path, row_group_size=90)
    return path
