"""Made-up files as people have them: numbers of about six digits and a linear target with noise, in three formats."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

CHUNK = 250_000  # rows that are made at a time, so that ten million fit in any memory
TARGET = "y"


@dataclass(frozen=True)
class Files:
    """The same rows three times; `vw` is None where Vowpal Wabbit's own text was not asked for."""

    csv: Path
    parquet: Path
    vw: Path | None

    def sizes(self) -> dict[str, int]:
        """Bytes, by format."""
        return {path.suffix[1:]: path.stat().st_size for path in (self.csv, self.parquet, self.vw) if path}


def write(folder: Path, name: str, rows: int, features: int, seed: int, *, vw: bool = True) -> Files:
    """Write them; the first rows are the same however many there are."""
    files = Files(folder / f"{name}.csv", folder / f"{name}.parquet", folder / f"{name}.vw" if vw else None)
    with ExitStack() as stack:
        csv = stack.enter_context(files.csv.open("wb"))
        text = stack.enter_context(files.vw.open("wb")) if files.vw else None
        parquet: pq.ParquetWriter | None = None
        for number, frame in enumerate(frames(rows, features, seed)):
            frame.write_csv(csv, include_header=number == 0)
            table = frame.to_arrow()
            if parquet is None:
                parquet = stack.enter_context(pq.ParquetWriter(str(files.parquet), table.schema))
            parquet.write_table(table)
            if text is not None:
                frame.select(_as_vw(frame)).write_csv(text, include_header=False, quote_style="never")
    return files


def frames(rows: int, features: int, seed: int) -> Iterator[pl.DataFrame]:
    """The rows, some at a time: standard Gaussian features, a signal of variance 1, noise of deviation 0.5."""
    theta = np.random.default_rng([seed, 0]).standard_normal(features)
    theta /= np.linalg.norm(theta)
    for number, first in enumerate(range(0, rows, CHUNK)):
        rng = np.random.default_rng([seed, 1, number])
        X = np.round(rng.standard_normal((CHUNK, features)), 5)
        y = np.round(X @ theta + 0.5 * rng.standard_normal(CHUNK), 5)
        columns = {f"x{j}": X[:, j] for j in range(features)} | {TARGET: y}
        yield pl.DataFrame(columns)[: rows - first]


def _as_vw(frame: pl.DataFrame) -> pl.Expr:
    """`target | name:value name:value …`"""
    parts = [pl.col(TARGET).cast(pl.String), pl.lit(" |")]
    for name in frame.columns[:-1]:
        parts += [pl.lit(f" {name}:"), pl.col(name).cast(pl.String)]
    return pl.concat_str(parts)
