"""Runs as tables: a row a policy, a row a round, and HTML."""

import html
import math
import numbers
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from onward.core.shown import brief

if TYPE_CHECKING:
    import polars as pl

    from onward.bandits.runs import Runs


def summary(runs: "Runs") -> "pl.DataFrame":
    """See `Runs.summary`; with failures, also in how many repeats each policy failed."""
    import polars as pl  # here, so that what makes no frame does not wait for it

    q25, median, q75 = np.quantile(runs.final, [0.25, 0.5, 0.75], axis=1)
    played = runs.repeats * runs.horizon
    failed = {"failed": [runs.failed(name) for name in runs.names]} if runs.failures else {}
    return pl.DataFrame(
        {
            "policy": runs.names,
            "mean": runs.mean()[:, -1],
            "standard_error": runs.standard_error()[:, -1],
            "q25": q25,
            "median": median,
            "q75": q75,
            "repeats": [runs.repeats] * len(runs.names),
            **failed,
            "microseconds_a_round": 1e6 / played * np.array([runs.seconds.get(n, math.nan) for n in runs.names]),
        },
        nan_to_null=True,  # of arrays
    )


def tidy_frame(runs: "Runs", backend: Literal["polars", "pandas", "pyarrow"], repeats: bool, every: int) -> Any:
    """See `Runs.to_frame`."""
    if isinstance(every, bool) or not isinstance(every, numbers.Integral) or every < 1:
        raise ValueError(f"every must be a whole number >= 1, got {brief(every)}")
    kept = np.arange(len(runs.rounds) - 1, -1, -int(every))[::-1]
    names, rounds = np.array(runs.names, dtype=object), runs.rounds[kept]
    columns: dict[str, Any]
    if repeats:
        each = runs.repeats * len(kept)
        columns = {
            "policy": np.repeat(names, each).tolist(),
            "repeat": np.tile(np.repeat(runs.repeat_numbers, len(kept)), len(names)),
            "round": np.tile(rounds, len(names) * runs.repeats),
            "regret": runs.regret[:, :, kept].ravel(),
        }
    else:
        statistics = {
            "mean": runs.mean(),
            "standard_error": runs.standard_error(),
            "q25": runs.quantile(0.25),
            "median": runs.quantile(0.5),
            "q75": runs.quantile(0.75),
        }
        columns = {"policy": np.repeat(names, len(kept)).tolist(), "round": np.tile(rounds, len(names))}
        columns |= {name: values[:, kept].ravel() for name, values in statistics.items()}
    return nw.from_dict(columns, backend=backend).to_native()


def html_table(frame: "pl.DataFrame", caption: str) -> str:
    """A frame with a caption, for notebooks."""
    head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in frame.columns)
    rows = ("".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) for row in frame.iter_rows())
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
