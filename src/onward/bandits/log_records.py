"""Logs in which a record is a whole decision, with its actions or its context as a list: what `LogWriter` writes."""

import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onward.bandits.log_tables import Names, checked_arms, checked_kind
from onward.core.checks import is_hashable
from onward.core.shown import brief, several, shortened

ACTIONS, CONTEXT, N_ARMS, ARMS = "actions", "context", "n_arms", "arms"
PROBABILITIES, KEY, TIME = "probabilities", "key", "time"


class LogWarning(UserWarning):
    """Something in a log, or in how a policy fits it, speaks against believing an estimate.

    Example:
        >>> import warnings
        >>> from onward.bandits import Greedy, LoggedData, LogWarning, evaluate
        >>> offered = [[[1.0, 0.0], [0.0, 1.0]]] * 4
        >>> log = LoggedData(offered, taken=[0, 1, 0, 0], propensity=[0.5] * 4, reward=[1.0] * 4)
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     value = evaluate(Greedy(seed=0), log, method="ips")  # four events are few
        >>> [each.category is LogWarning for each in caught[:1]]
        [True]
    """


@dataclass
class Records:
    """The columns of such a log."""

    source: str
    taken: list[Any] = field(default_factory=list)
    propensity: list[Any] = field(default_factory=list)
    reward: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    contexts: list[Any] | None = None
    n_arms: int | None = None
    probabilities: list[Any] | None = None
    arms: tuple[Hashable, ...] | None = None
    """Their names, if these were logged."""
    waiting: int = 0
    """Decisions that have no reward."""
    orphans: int = 0
    """Rewards of keys that no decision before them has."""
    torn: tuple[int, ...] = ()
    """Lines that were not written to their end."""


def read_records(file: Path, names: Names, n_arms: int | None) -> Records | None:
    """The decisions of a file whose records hold actions or a context; None if it is a table of columns."""
    kind = checked_kind(file)
    if kind == "csv":
        return None
    if kind == "parquet":
        import polars as pl  # here, so that what reads no file does not wait for it

        try:
            columns = pl.scan_parquet(file).collect_schema().names()
            if ACTIONS not in columns and CONTEXT not in columns:
                return None
            return _collect_decisions(file, pl.read_parquet(file).iter_rows(named=True), names, n_arms)
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"{file}: cannot be read as .parquet ({shortened(str(error), 300)})") from error
    torn: list[int] = []
    for first in json_objects(file, torn):
        if ACTIONS in first or CONTEXT in first:
            break
        if set(first) != {KEY, names.reward}:  # of a decision in an earlier file
            return None
    else:
        if torn:
            raise ValueError(f"{file}: line {torn[0]} is not JSON, and there is no event, expected at least one")
        raise ValueError(f"{file}: a log must hold at least one event, got none")
    torn.clear()
    records = _collect_decisions(file, json_objects(file, torn), names, n_arms)
    records.torn = tuple(torn)
    return records


def json_objects(file: Path, torn: list[int]) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON lines; lines that begin one and do not end it are noted by their numbers."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                if line.startswith("{") and not line.rstrip("\n").endswith("}"):
                    torn.append(number)
                    continue
                raise ValueError(f"{file}: line {number} is not JSON ({error})") from error
            except RecursionError as error:
                raise ValueError(f"{file}: line {number} is nested too deeply, expected a JSON object") from error
            except ValueError as error:
                raise ValueError(f"{file}: line {number} holds a whole number of too many digits") from error
            if not isinstance(value, dict):
                raise ValueError(f"{file}: line {number} holds {brief(line.strip()[:40])}, expected a JSON object")
            yield value


def named_arms_in(record: Mapping[str, Any]) -> tuple[Hashable, ...] | None:
    """The names of the arms that a record holds, as a list, or as text in a column; None without any."""
    found = record.get(ARMS)
    if isinstance(found, str) and found.startswith("["):
        try:
            found = json.loads(found)
        except (RecursionError, ValueError):
            raise ValueError(f"{ARMS} must be a list of names, got {brief(found)}") from None
    if not isinstance(found, list):
        return None
    if not all(map(is_hashable, found)):
        raise ValueError(f"{ARMS} must be names, got {brief(next(each for each in found if not is_hashable(each)))}")
    return tuple(found)


def _arm_count(told: Any) -> int | None:
    """The number of arms in a record, in which it may be a float; None if there is none."""
    if isinstance(told, float) and told.is_integer():
        told = int(told)
    return None if told is None else checked_arms(told)


def _collect_decisions(file: Path, records: Iterable[Mapping[str, Any]], names: Names, n_arms: int | None) -> Records:
    """Decisions with their rewards, which may come in a later record of the same key."""
    decisions: list[dict[str, Any]] = []
    by_key: dict[Any, dict[str, Any]] = {}
    out = Records(f"{file}: ")
    for number, record in enumerate(records, start=1):
        try:
            arms = named_arms_in(record)
        except ValueError as error:
            raise ValueError(f"{file}: record {number}: {error}") from error
        if arms is not None and out.arms not in (None, arms):
            raise ValueError(
                f"{file}: record {number} has arms {several(arms)}, but those before it have {several(out.arms)}"
            )
        if not is_hashable(record.get(KEY)):
            raise ValueError(
                f"{file}: record {number} has the key {brief(record[KEY])}, expected text or a number for {KEY!r}"
            )
        out.arms = out.arms if arms is None else arms
        if names.taken in record:
            decisions.append(dict(record, number=number))
            if record.get(KEY) is not None:
                by_key[record[KEY]] = decisions[-1]
        elif record.get(KEY) in by_key and names.reward in record:
            by_key[record[KEY]][names.reward] = record[names.reward]
        elif set(record) == {KEY, names.reward}:
            out.orphans += 1
        else:
            raise ValueError(
                f"{file}: record {number} has no {names.taken!r} and is no reward of a key, "
                f"expected a decision, or a reward with its key, got {several(sorted(record))}"
            )
    rewarded = [each for each in decisions if each.get(names.reward) is not None]
    out.waiting = len(decisions) - len(rewarded)
    if not rewarded:
        raise ValueError(f"{file}: a log must hold at least one event with a reward, got none")
    contextual = rewarded[0].get(CONTEXT) is not None
    whole = all(each.get(PROBABILITIES) is not None for each in rewarded)
    out.contexts, out.probabilities, out.n_arms = [] if contextual else None, [] if whole else None, n_arms
    for each in rewarded:
        offered = each.get(CONTEXT if contextual else ACTIONS)
        if offered is None:
            wanted = CONTEXT if contextual else ACTIONS
            raise ValueError(f"{file}: record {each['number']} has no {wanted!r}, but the first has one")
        (out.actions if out.contexts is None else out.contexts).append(offered)
        out.taken.append(each[names.taken])
        out.propensity.append(each.get(names.propensity, math.nan))
        out.reward.append(each[names.reward])
        if out.probabilities is not None:
            out.probabilities.append(each[PROBABILITIES])
        try:
            told = _arm_count(each.get(N_ARMS)) if contextual else None
        except ValueError as error:
            raise ValueError(f"{file}: record {each['number']}: {error}") from error
        if contextual and (n_arms is None or told is not None):
            if told is None or out.n_arms not in (None, told):
                raise ValueError(
                    f"{file}: record {each['number']} has {N_ARMS}={told!r}, expected the same number in all records "
                    "(or n_arms=… when reading)"
                )
            out.n_arms = told
    if out.arms is not None and len(out.arms) != out.n_arms:
        raise ValueError(f"{file}: expected a name for each of {out.n_arms} arms, got {several(out.arms)}")
    return out
