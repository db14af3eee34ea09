"""Logged decisions: what was offered, what was taken and with what chance, and what it earned."""

import os
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits.action_sets import ActionSets, ArmsInContext, Chances, StackedSets, Whole
from onward.bandits.log_records import LogWarning, Records, read_records
from onward.bandits.log_tables import Names, NumberOrNames, Table, are_names, checked_arms, number_and_names
from onward.core.checks import is_iterable
from onward.core.read_only import read_only
from onward.core.shown import brief, several
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.tables.number_arrays import as_numbers

# Rewards are divided by propensities, and intervals take fourth powers of that.
LARGEST_REWARD, LEAST_PROPENSITY = 1e40, 1e-30
ROUNDING = 1e-9  # by which a sum of probabilities may be above 1


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LoggedData:
    """A log of n decisions, checked once, so that whatever reads it need not.

        log = LoggedData(actions=actions, taken=taken, propensity=propensity, reward=reward)

    Args:
        actions: what was offered: an array (n, k, d), or a list of n arrays (k_i, d) if the sets differ in size.
        taken: (n,), the position in its set of the action that was taken.
        propensity: (n,), the probability with which that action was taken then, in (0, 1]. It is what makes up for the
            choices of whoever wrote the log: take it from there, do not guess it afterwards.
        reward: (n,), what it earned.
        probabilities: if they were logged, the probabilities of all actions that were offered, (n, k) or a list of n
            arrays: they make checks of the propensities sharper, and tell what had no chance at all.

    Raises:
        ValueError: if the columns do not fit together, or a propensity is not in (0, 1].

    Example:
        >>> from onward.bandits import LoggedData
        >>> offered = [[[1.0, 0.0], [0.0, 1.0]]] * 3
        >>> LoggedData(offered, taken=[0, 1, 0], propensity=[0.5, 0.5, 0.5], reward=[1.0, 0.0, 1.0])
        LoggedData(3 events, 2 actions of 2 features)
    """

    actions: ActionSets
    taken: Whole
    propensity: Vector
    reward: Vector
    probabilities: Chances | None
    arms: tuple[Hashable, ...] | None
    """The names of the arms of a log of contexts, in its order; None if it has none."""
    columns: tuple[str, ...] | None
    """The columns of a table that its features are from; None if it is from none."""

    def __init__(
        self,
        actions: Any,
        taken: ArrayLike,
        propensity: ArrayLike,
        reward: ArrayLike,
        probabilities: Any = None,
    ) -> None:
        self._set(_action_sets(actions), taken, propensity, reward, probabilities)

    @classmethod
    def disjoint(
        cls,
        contexts: ArrayLike,
        n_arms: int,
        taken: ArrayLike,
        propensity: ArrayLike,
        reward: ArrayLike,
        probabilities: Any = None,
        arms: Sequence[Hashable] | None = None,
    ) -> Self:
        """A log of arms without features of their own: the context (n, c) of an event is put into the block of the arm.

        So each arm has coefficients of its own, and d = n_arms × c. Add a column of ones for a constant. With `arms`,
        their names in the log's order, a `Disjoint` policy is judged by the names of its arms.

        Args:
            contexts: (n, d), a row for each.
            taken: (n,), the number of the arm that was taken.
            propensity: (n,), the probability with which it was taken then.
            reward: (n,), what it earned.
            probabilities: (n, n_arms), of all arms, if they were logged.

        Returns:
            The log.
        """
        sets = ArmsInContext(_table(contexts), checked_arms(n_arms))
        if arms is not None and not (are_names(arms) and len(arms) == n_arms):
            raise ValueError(f"arms must be {n_arms} different names, got {brief(arms)}")
        names = None if arms is None else tuple(arms)
        log = cls._of(sets, taken, propensity, reward, probabilities)
        object.__setattr__(log, "arms", names)
        return log

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        n_arms: NumberOrNames = None,
        features: Sequence[str] | None = None,
        taken: str = "taken",
        propensity: str = "propensity",
        reward: str = "reward",
        event: str = "event",
    ) -> Self:
        """A log from a data frame, eager or lazy, of any library that narwhals knows.

        Wide, if `n_arms` is given: a row is an event, its features are the context that all arms share, and `taken` is
        the arm's number, from 0, or its name if names are given (see `disjoint`). Long otherwise: a row is an action
        that was offered, `event` says in which event, and `taken` is true on the one row that was taken; only there are
        `propensity` and `reward` read. The rows of an event need not stand together: events come in the order of their
        first row.

        Args:
            frame: the table.
            n_arms: how many arms there are, or their names, for the wide layout.
            features: the columns that hold features; by default all that are not named by another parameter.
            taken, propensity, reward, event: the names of these columns.

        Returns:
            The log.
        """
        names = Names(taken, propensity, reward, event)
        return cls._from_table(Table(frame, "", names, features, n_arms), names)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        n_arms: NumberOrNames = None,
        features: Sequence[str] | None = None,
        taken: str = "taken",
        propensity: str = "propensity",
        reward: str = "reward",
        event: str = "event",
    ) -> Self:
        """A log from a Parquet, CSV or JSON lines file, in either layout of `from_frame`, or as `LogWriter` writes it.

        Only columns that are used are kept. What `LogWriter` wrote needs no further argument: its records hold the
        actions or the context, and decisions without a reward are left out with a warning.

        Args:
            path: the file.
            n_arms, features, taken, propensity, reward, event: as of `from_frame`.

        Returns:
            The log.
        """
        names = Names(taken, propensity, reward, event)
        count, told = number_and_names(n_arms)
        records = read_records(Path(path), names, count)
        if records is not None:
            if told is not None and records.arms not in (None, told):
                raise ValueError(f"{path}: holds arms {several(records.arms)}, expected {several(told)}")
            records.arms = records.arms or told
            if features is not None or (n_arms is not None and records.contexts is None):
                given = "features" if features is not None else "arms"
                raise ValueError(f"{path}: holds decisions with what was offered; expected no {given}, got some")
            return cls._from_records(records)
        return cls._from_table(Table.read(Path(path), names, features, n_arms), names)

    @classmethod
    def _from_records(cls, records: Records) -> Self:
        if records.waiting:
            warnings.warn(
                f"{records.source}{records.waiting:,} of {records.waiting + len(records.taken):,} decisions have no "
                "reward and are left out: if it is more often the bad ones that are missing, values come out too high",
                LogWarning,
                stacklevel=3,
            )
        if records.orphans:
            warnings.warn(
                f"{records.source}{counted(records.orphans, 'reward')} of keys that no decision before has, left out",
                LogWarning,
                stacklevel=3,
            )
        if records.torn:
            warnings.warn(
                f"{records.source}{counted(len(records.torn), 'line')} not written to the end (line {records.torn[0]}) "
                "and left out",
                LogWarning,
                stacklevel=3,
            )
        rest = (records.taken, records.propensity, records.reward, records.probabilities)
        try:
            if records.contexts is not None and records.n_arms is not None:
                return cls.disjoint(records.contexts, records.n_arms, *rest, records.arms)
            return cls(records.actions, *rest)
        except ValueError as error:
            raise ValueError(f"{records.source}{error}") from error

    @classmethod
    def _from_table(cls, table: Table, names: Names) -> Self:
        contexts, n_arms = table.features(), table.n_arms
        if n_arms is not None:
            taken = table.places(names.taken)
            actions: ActionSets = ArmsInContext(contexts, n_arms)
            rows = np.arange(len(taken))
        else:
            flags = table.numbers(names.taken)
            table.check(names.taken, flags, np.isin(flags, [0.0, 1.0]), "true or false, 1 or 0")
            order, sizes = table.events(names.event)
            starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            counts = np.add.reduceat(flags[order], starts)
            if (counts != 1).any():
                wrong = int(np.argmax(counts != 1))
                row = int(order[starts[wrong]])
                raise ValueError(
                    f"{table.source}the event that begins in row {row} has {counts[wrong]:.0f} rows with "
                    f"{names.taken!r} true, expected 1"
                )
            rows = order[flags[order] == 1.0]
            taken = np.flatnonzero(flags[order]) - starts
            actions = StackedSets(contexts[order], sizes)
        propensity, reward = table.numbers(names.propensity), table.numbers(names.reward)
        right = (propensity > 0) & (propensity <= 1 + ROUNDING)
        table.check(names.propensity, propensity, right, "a number in (0, 1]", rows)
        table.check(names.reward, reward, np.isfinite(reward), "a finite number", rows)
        chances = None
        if n_arms is None and np.isfinite(propensity).all():
            # A propensity in every row may be that of each action: then those of an event sum to 1.
            sums = np.add.reduceat(propensity[order], starts)
            if (np.abs(sums - 1) < 1e-6).all() and (propensity >= 0).all():
                chances = np.split(propensity[order], starts[1:])
        log = cls._of(actions, taken, propensity[rows], reward[rows], chances)
        object.__setattr__(log, "arms", table.arms)
        object.__setattr__(log, "columns", table.columns)
        return log

    @classmethod
    def _of(
        cls, actions: ActionSets, taken: ArrayLike, propensity: ArrayLike, reward: ArrayLike, probabilities: Any
    ) -> Self:
        log = cls.__new__(cls)
        log._set(actions, taken, propensity, reward, probabilities)
        return log

    @property
    def contexts(self) -> Matrix | None:
        """The context of each event, (n, c), of a log of arms that share it; None of a log of actions with features."""
        return self.actions.contexts if isinstance(self.actions, ArmsInContext) else None

    def _set(
        self, actions: ActionSets, taken: ArrayLike, propensity: ArrayLike, reward: ArrayLike, probabilities: Any
    ) -> None:
        n = len(actions)
        positions, chances, earned = (
            _column(name, values, n)
            for name, values in (("taken", taken), ("propensity", propensity), ("reward", reward))
        )
        if n == 0:
            raise ValueError("a log must hold at least one event, got none")
        _check_events("reward", earned, np.isfinite(earned), "finite numbers")
        _check_events("reward", earned, np.abs(earned) <= LARGEST_REWARD, f"numbers of at most {LARGEST_REWARD:g}")
        chances[(chances > 1) & (chances <= 1 + ROUNDING)] = 1.0
        _check_events("propensity", chances, (chances > 0) & (chances <= 1), "numbers in (0, 1]")
        _check_events("propensity", chances, chances >= LEAST_PROPENSITY, f"numbers of at least {LEAST_PROPENSITY:g}")
        inside = (positions >= 0) & (positions < actions.sizes) & (positions == np.floor(positions))
        if not inside.all():
            event = int(np.argmin(inside))
            raise ValueError(
                f"taken must be the position of an action that was offered, 0 … {actions.sizes[event] - 1} "
                f"in event {event}, got {positions[event]:g}"
            )
        object.__setattr__(self, "arms", None)
        object.__setattr__(self, "columns", None)
        object.__setattr__(self, "actions", actions)
        object.__setattr__(self, "taken", read_only(positions.astype(np.int64)))
        object.__setattr__(self, "propensity", read_only(chances))
        object.__setattr__(self, "reward", read_only(earned))
        object.__setattr__(self, "probabilities", _chances(probabilities, actions.sizes, self.taken, chances))

    def __len__(self) -> int:
        return len(self.reward)

    def __repr__(self) -> str:
        least, most = self.actions.sizes.min(), self.actions.sizes.max()
        offered = f"{least}" if least == most else f"{least} to {most}"
        held = f"{self.actions.dimension} features"
        if self.columns is not None:
            held = f"features {several(self.columns)}"
        return f"LoggedData({len(self):,} events, {offered} {'actions' if self.contexts is None else 'arms'} of {held})"


def _action_sets(actions: Any) -> ActionSets:
    if isinstance(actions, np.ndarray) and actions.ndim == 3:
        n, k, d = actions.shape
        sets, sizes = actions.reshape(n * k, d), np.full(n, k, dtype=np.int64)
    else:
        if isinstance(actions, np.ndarray) and actions.dtype.kind != "O":
            raise ValueError(f"actions must have shape (n, k, d) or be a list of n sets, got shape {actions.shape}")
        if isinstance(actions, str | bytes) or not is_iterable(actions):
            raise ValueError(f"actions must have shape (n, k, d) or be a list of n sets, got {brief(actions)}")
        parts = [_numbers(f"actions of event {event}", each) for event, each in enumerate(actions)]
        for event, part in enumerate(parts):
            if part.ndim != 2:
                raise ValueError(f"actions of event {event} must have shape (k, d), got shape {part.shape}")
            if part.shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"actions of event {event} have {part.shape[1]} features, "
                    f"but those of event 0 have {parts[0].shape[1]}"
                )
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        sets = np.concatenate(parts) if parts else np.empty((0, 1))
    rows = np.array(_numbers("actions", sets), order="C")
    if len(sizes) and (sizes.min() == 0 or rows.shape[1] == 0):
        event = int(np.argmin(sizes))
        raise ValueError(f"actions of event {event} must be at least one, of at least one feature, got none")
    if not np.isfinite(rows).all():
        row = int(np.argmin(np.isfinite(rows).all(axis=1)))
        event = int(np.searchsorted(np.cumsum(sizes), row, side="right"))
        raise ValueError(f"actions must hold finite numbers, got {_first_bad(rows[row])} in event {event}")
    return StackedSets(rows, sizes)


def _chances(probabilities: Any, sizes: Whole, taken: Whole, propensity: Vector) -> Chances | None:
    if probabilities is None:
        return None
    if isinstance(probabilities, str | bytes) or not is_iterable(probabilities):
        raise ValueError(f"probabilities must be {len(sizes)} arrays, one for each event, got {brief(probabilities)}")
    parts = [_numbers(f"probabilities of event {event}", each) for event, each in enumerate(probabilities)]
    if len(parts) != len(sizes):
        raise ValueError(f"probabilities must be of {len(sizes)} events, as actions are, got {len(parts)}")
    for event, part in enumerate(parts):
        if part.shape != (sizes[event],) or not (part.min() >= 0 and abs(part.sum() - 1) <= 1e-6):
            raise ValueError(
                f"probabilities of event {event} must be {sizes[event]} numbers >= 0 that sum to 1, "
                f"got {brief(part.tolist())}"
            )
        if abs(part[taken[event]] - propensity[event]) > 1e-6:
            raise ValueError(
                f"probabilities of event {event} say {part[taken[event]]:g} of the action that was taken, "
                f"but its propensity is {propensity[event]:g}"
            )
    return Chances(np.concatenate(parts), sizes)


def _table(contexts: ArrayLike) -> Matrix:
    table = np.array(_numbers("contexts", contexts), order="C")
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"contexts must have shape (n, c) with at least one feature, got shape {table.shape}")
    if not np.isfinite(table).all():
        event = int(np.argmin(np.isfinite(table).all(axis=1)))
        raise ValueError(f"contexts must hold finite numbers, got {_first_bad(table[event])} in event {event}")
    return table


def _column(name: str, values: ArrayLike, n: int) -> Vector:
    array = np.array(_numbers(name, values))
    if array.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},) as actions hold {n} events, got {array.shape}")
    return array


def _numbers(name: str, values: Any) -> NDArray[np.float64]:
    return as_numbers(values, name, "an array of numbers")


def _check_events(name: str, values: Vector, right: NDArray[np.bool_], expected: str) -> None:
    if not right.all():
        event, wrong = int(np.argmin(right)), int((~right).sum())
        more = f" ({wrong:,} of {len(right):,} events are wrong)" if wrong > 1 else ""
        raise ValueError(f"{name} must hold {expected}, got {values[event]:g} in event {event}{more}")


def _first_bad(values: Vector) -> float:
    return float(values[np.argmin(np.isfinite(values))])
