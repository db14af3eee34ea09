"""What a game gives back: the regret of each policy in each repeat, and what can be said of it.

runs.summary(); runs.plot(); runs.difference("OFUL", "OFUL^f")
runs.save("runs.onward"); onward.load("runs.onward")
"""

import math
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import run_parts, run_tables
from onward.bandits.failures import Failure
from onward.bandits.mean_intervals import with_error
from onward.bandits.run_checks import (
    Whole,
    check_failed,
    checked_choices,
    checked_names,
    checked_regret,
    checked_repeats,
    checked_rounds,
    checked_seconds,
    checked_trace,
    plain_settings,
)
from onward.bandits.run_difference import Difference, difference
from onward.core.read_only import read_only
from onward.core.shown import brief
from onward.core.types import Matrix

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from onward.bandits.regret_plot import Band


_WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


@storage.kind("runs")
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Runs:
    """The regrets of policies in one game, played several times. In each repeat all met the same arms and noise.

    Attributes:
        names: of the policies.
        regret: (policy, repeat, kept round).
        rounds: (kept rounds,), which they are; None for all.
        chosen: the choices, (policy, repeat, kept round), or None.
        horizon: how many rounds the game had.
        seed: of the game.
        settings: of the game, as plain values.
        seconds: a round's time by the name of the policy.
        complete: whether all repeats that were asked for were played.
        repeat_numbers: the numbers of the repeats.
        trace: what was kept of each choice.
        failures: errors of policies that were recorded.

    Raises:
        ValueError: if regret is not finite, or shapes, rounds or numbers of repeats do not fit together.

    Example:
        >>> from onward.bandits import Runs
        >>> runs = Runs(["greedy", "oful"], regret=[[[1.0, 3.0], [2.0, 5.0]], [[1.0, 1.5], [1.0, 2.5]]])
        >>> runs.final
        array([[3. , 5. ],
               [1.5, 2.5]])
        >>> runs.difference("greedy", "oful").mean
        2.0
    """

    names: tuple[str, ...]
    regret: NDArray[np.float64]
    """Cumulative pseudo-regret, (policy, repeat, kept round)."""
    rounds: Whole
    """Which rounds were kept, counted from 1."""
    chosen: Whole | None
    """The action chosen, (policy, repeat, round), for every round; None if that was not kept."""
    horizon: int
    """How many rounds were played."""
    seed: int
    settings: dict[str, Any]
    """The policies and the environment, in plain JSON."""
    seconds: dict[str, float]
    """How long each policy took, all repeats together."""
    complete: bool
    """Whether the game was played to its end; otherwise there are fewer repeats than were asked for."""
    repeat_numbers: tuple[int, ...]
    """Which repeats these are: repeat i draws from `SeedSequence(seed, spawn_key=(i, …))`."""
    trace: dict[str, NDArray[np.float64]]
    """What was traced of each choice, by name, (policy, repeat, round): see `play`."""
    failures: tuple[Failure, ...]
    """Which policy failed in which repeat and round: there its regret is NaN from then on, and its choices are −1."""

    def __init__(
        self,
        names: Sequence[str],
        regret: ArrayLike,
        rounds: ArrayLike | None = None,
        chosen: ArrayLike | None = None,
        *,
        horizon: int | None = None,
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
        seconds: Mapping[str, float] | None = None,
        complete: bool = True,
        repeat_numbers: Sequence[int] | None = None,
        trace: Mapping[str, ArrayLike] | None = None,
        failures: Iterable[Failure] = (),
    ) -> None:
        names = checked_names(names)
        values = checked_regret(regret, len(names))
        _, repeats, kept = values.shape
        rounds, horizon = checked_rounds(rounds, horizon, kept)
        numbered = checked_repeats(repeat_numbers, repeats)
        failures = tuple(failures)
        check_failed(values, names, numbered, failures)
        shape = (len(names), repeats, horizon)
        fields = {
            "names": names,
            "regret": read_only(values),
            "rounds": read_only(rounds),
            "chosen": None if chosen is None else checked_choices(chosen, shape, -1 if failures else 0),
            "horizon": horizon,
            "seed": int(seed),
            "settings": plain_settings(settings or {}),
            "seconds": checked_seconds(seconds, names),
            "complete": bool(complete),
            "repeat_numbers": numbered,
            "trace": {name: checked_trace(name, column, shape) for name, column in (trace or {}).items()},
            "failures": failures,
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    # Numbers

    def __getitem__(self, name: str) -> Matrix:
        """A policy's cumulative regret, (repeat, kept round)."""
        regret: Matrix = self.regret[self._place(name)]
        return regret

    def __eq__(self, other: object) -> bool:
        """Whether all is equal, to the last bit, but for the time that it took."""
        if not isinstance(other, Runs):
            return NotImplemented
        mine, theirs = dict(vars(self)), dict(vars(other))
        del mine["seconds"], theirs["seconds"]
        arrays = [(mine.pop(name), theirs.pop(name)) for name in ("regret", "rounds", "chosen")]
        traces = mine.pop("trace"), theirs.pop("trace")
        if mine != theirs or set(traces[0]) != set(traces[1]):
            return False
        return all(_same(*pair) for pair in arrays + [(traces[0][name], traces[1][name]) for name in traces[0]])

    @property
    def repeats(self) -> int:
        """How many times the game was played."""
        return int(self.regret.shape[1])

    @property
    def final(self) -> Matrix:
        """The regret in the last round that was kept, (policy, repeat)."""
        return self.regret[:, :, -1]

    def mean(self) -> Matrix:
        """Over repeats, (policy, kept round)."""
        return np.asarray(self.regret.mean(axis=1))

    def standard_error(self) -> Matrix:
        """Of the mean, (policy, kept round); NaN if there is only one repeat."""
        return self._std() / math.sqrt(self.repeats)

    def quantile(self, q: float) -> Matrix:
        """Over repeats, (policy, kept round).

        Args:
            q: between 0 and 1.
        """
        if not isinstance(q, numbers.Real) or not 0 <= float(q) <= 1:
            raise ValueError(f"q must be a number between 0 and 1, got {brief(q)}")
        return np.asarray(np.quantile(self.regret, float(q), axis=1))

    def difference(self, first: str, second: str, delta: float = 0.05) -> Difference:
        """Final regret of `first` less that of `second`, paired over repeats: what both met cancels out.

        Args:
            first, second: names of policies.
            delta: the probability with which its interval may fail.

        Returns:
            The mean difference, with an interval.
        """
        return difference(self, first, second, delta)

    def failed(self, name: str) -> int:
        """In how many repeats a policy raised an error.

        Args:
            name: of the arm.
        """
        self._place(name)
        return sum(failure.policy == name for failure in self.failures)

    def merge(self, other: "Runs") -> "Runs":
        """These repeats and further ones of the same game, in the order of their numbers.

        Args:
            other: another policy of the same design.
        """
        return run_parts.merged(Runs, self, other)

    def join(self, other: "Runs") -> "Runs":
        """These policies and others, which played in the same repeats of the same world, with the same seed.

        Args:
            other: another policy of the same design.
        """
        return run_parts.joined(Runs, self, other)

    def select(
        self,
        policies: str | Iterable[str] | None = None,
        *,
        repeats: Iterable[int] | None = None,
        rounds: tuple[int, int] | None = None,
    ) -> "Runs":
        """Some policies, by name, in the order given; some repeats, by number; the kept rounds from one to another.

        Args:
            policies, repeats, rounds: which to take; None for all.

        Returns:
            The same game, smaller.
        """
        return run_parts.selected(Runs, self, policies, repeats, rounds)

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise KeyError(f"there is no policy {name!r}, expected one of {', '.join(self.names)}")
        return self.names.index(name)

    def _std(self) -> Matrix:
        if self.repeats < 2:
            return np.full((len(self.names), len(self.rounds)), math.nan)
        return np.asarray(self.regret.std(axis=1, ddof=1))

    # Tables

    def summary(self) -> "pl.DataFrame":
        """One row a policy: its regret at the end over repeats, and what a round cost in time."""
        return run_tables.summary(self)

    def to_frame(
        self, backend: Literal["polars", "pandas", "pyarrow"] = "polars", *, repeats: bool = False, every: int = 1
    ) -> Any:
        """A tidy frame: policy, round, mean, standard_error, q25, median, q75, or with `repeats` each repeat's regret.

        `every` thins the kept rounds to one in so many; the last is always there.

        Args:
            backend: "polars", "pandas" or "pyarrow".
        """
        return run_tables.tidy_frame(self, backend, repeats, every)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name} {with_error(*pair)}"
            for name, *pair in zip(self.names, self.mean()[:, -1], self.standard_error()[:, -1], strict=True)
        )
        stopped = "" if self.complete else ", stopped early"
        stopped += f", {len(self.failures)} failed" if self.failures else ""
        return f"Runs({self._size()}{stopped}; mean regret {self._when()}: {shown})"

    def _repr_html_(self) -> str:
        caption = self._size() + ("" if self.complete else ", stopped early") + f"; regret {self._when()}"
        return run_tables.html_table(self.summary(), caption)

    def _when(self) -> str:
        return "at the end" if self.rounds[-1] == self.horizon else f"in round {self.rounds[-1]:,}"

    def _size(self) -> str:
        counts = ((len(self.names), "policy", "policies"), (self.repeats, "repeat", "repeats"))
        said = ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in counts)
        return f"{said}, {self.horizon:,} rounds"

    def plot(self, band: "Band | None" = "standard_error", *, log: bool = False, ax: "Axes | None" = None) -> "Figure":
        """Regret over rounds, with a legend beside the lines in the order of their right ends.

        Args:
            band: what is shaded: around the mean its "standard_error" or the repeats' "std", around the median the
                "quartiles" or "deciles"; None for the mean alone. With more than 12 policies standard errors
                are left out.
            log: the regret on a logarithmic axis.
            ax: draw into it, instead of into a new figure.
        """
        from onward.bandits.regret_plot import plot  # here, so that what does not draw does not wait for it

        return plot(self, band, log, ax)

    def plot_final(self, parameter: str | None = None, *, log: bool = False, ax: "Axes | None" = None) -> "Figure":
        """The regret at the end, for many policies: ranked, or over a parameter in which they differ.

        Args:
            parameter: a number in the policies' descriptions, such as "lam" or "rule.scale"; None to rank them.
            log: the regret on a logarithmic axis.
            ax: draw into it, instead of into a new figure.
        """
        from onward.bandits.sweep_plot import plot_final

        return plot_final(self, parameter, log, ax)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a file that `onward.load` reads.

        Args:
            path: the name of the file.
        """
        settings = {
            name: getattr(self, name)
            for name in ("names", "horizon", "seed", "settings", "seconds", "complete", "repeat_numbers")
        }
        arrays: storage.Arrays = {"regret": self.regret, "rounds": self.rounds}
        if self.failures:
            settings["failures"] = [asdict(failure) for failure in self.failures]
        arrays |= {f"trace_{name}": values for name, values in self.trace.items()}
        if self.chosen is not None:
            settings["chosen"] = self.chosen.dtype.name
            arrays["chosen"] = self.chosen
        storage.save(path, "runs", settings, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Runs":
        """What `save` wrote.

        Args:
            path: the name of the file.
        """
        runs = storage.load(path)
        if not isinstance(runs, Runs):
            raise storage.StorageError(f"{path}: holds a {type(runs).__name__}, expected Runs")
        return runs

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The runs that a file holds.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        others = dict(settings)
        kind = others.pop("chosen", None)
        if kind is not None and kind not in _WHOLE:
            raise ValueError(f"chosen must be of one of {', '.join(_WHOLE)}, got {brief(kind)}")
        for name in ("chosen", "rounds"):
            if name in arrays and not (np.abs(arrays[name]) < 2**53).all():
                raise ValueError(f"{name} must be whole numbers, got others")
        chosen = None if kind is None else arrays["chosen"].astype(np.dtype(kind))
        failures = [Failure(**failure) for failure in others.pop("failures", ())]
        trace = {name.removeprefix("trace_"): arrays[name] for name in arrays if name.startswith("trace_")}
        rounds = arrays["rounds"].astype(np.int64)
        return cls(regret=arrays["regret"], rounds=rounds, chosen=chosen, trace=trace, failures=failures, **others)


def _same(a: Whole | None, b: Whole | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
