"""Frames of results: one value a row, with what it is the value of, its repeat and its round."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from onward.core.types import Matrix
from onward.experiments.figure import Piece

SCHEMA = pl.Schema(
    {
        "part": pl.String,  # of the experiment
        "quantity": pl.String,
        "learner": pl.String,
        "lam": pl.Float64,
        "sigma": pl.Float64,
        "repeat": pl.Int64,
        "round": pl.Int64,
        "value": pl.Float64,
    }
)


def make_frame(
    values: Matrix,
    *,
    part: str,
    quantity: str,
    learner: str,
    lam: float,
    sigma: float,
    first_repeat: int,
    rounds: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]],
) -> pl.DataFrame:
    """Values of successive repeats (rows) at some rounds (columns), one below the other."""
    repeats, width = values.shape
    return pl.DataFrame(
        {
            "repeat": np.repeat(np.arange(first_repeat, first_repeat + repeats), width),
            "round": np.tile(np.asarray(rounds, dtype=np.int64), repeats),
            "value": values.reshape(-1),
        }
    ).select(
        *(
            pl.lit(word, dtype=pl.String).alias(name)
            for name, word in zip(SCHEMA, (part, quantity, learner), strict=False)
        ),
        pl.lit(float(lam)).alias("lam"),
        pl.lit(float(sigma)).alias("sigma"),
        pl.col("repeat").cast(pl.Int64),
        "round",
        "value",
    )


def value_matrix(frame: pl.DataFrame, column: str = "value", **where: str | float) -> Matrix:
    """The values that match, a row for each repeat and a column for each round, both ascending.

    Whatever the order of the frame, the same array comes out. ValueError if a repeat lacks a round that another has.
    """
    matching = pl.all_horizontal(pl.lit(True), *(pl.col(name) == value for name, value in where.items()))
    found = frame.filter(matching).sort("repeat", "round")
    repeats = found["repeat"].n_unique()
    values = found[column].to_numpy()
    if not repeats or len(values) != repeats * found["round"].n_unique():
        named = ", ".join(f"{name}={value!r}" for name, value in where.items())
        raise ValueError(f"expected one value for each repeat and round of {named or 'all'}, got {len(values)} values")
    return values.reshape(repeats, -1)


def split_repeats(part: str, start: int, stop: int, size: int, **about: str) -> list[Piece]:
    """The repeats of a part from `start` up to `stop`, cut into pieces of at most `size`."""
    return [
        Piece(
            "-".join([part, *about.values(), f"{first:05d}", f"{last:05d}"]),
            {"part": part, **about, "start": first, "stop": last},
        )
        for first in range(start, stop, size)
        for last in (min(first + size, stop),)
    ]
