"""`LogWriter`: what a policy decided, with which chance, and what it earned, in a file that `LoggedData.read` reads."""

import json
import os
import time as clock
from collections.abc import Hashable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.atomic_files import replacing
from onward.bandits.log_records import (
    ACTIONS,
    ARMS,
    CONTEXT,
    KEY,
    N_ARMS,
    PROBABILITIES,
    TIME,
    json_objects,
    named_arms_in,
)
from onward.bandits.log_tables import KINDS, are_names
from onward.bandits.logs import LARGEST_REWARD, LEAST_PROPENSITY
from onward.bandits.pending import checked_key
from onward.core.checks import finite, is_hashable, is_real, is_whole
from onward.core.shown import brief, several
from onward.tables.number_arrays import as_numbers


class LogWriter:
    """Writes decisions to a file, one record each; close it, or use it in a `with` statement.

        with LogWriter("decisions.jsonl") as log:
            decision = policy.decide(actions)       # an action, its probability and its key
            log.write(decision, actions)
            log.reward(decision.key, 1.0)           # later

    Where the reward is known at once: `log.write(taken, actions, reward, propensity=…)`.

    JSON lines (.jsonl, .ndjson) are appended to what the file holds, and each is handed to the system at once. What
    waits in the file for its reward is looked up when it is opened, where keys may begin anew, and a last line that was
    not written to its end is ended; reading leaves it out. Parquet (.parquet, .pq) is written as a whole when the log
    is closed, in the place of what was there.

    Args:
        path: the file; its name says how it is written.
        arms: for policies that are shown a context: the names of the arms, in the order in which the log counts them.
            Text and whole numbers are logged, and a policy is then judged by the names of its arms.

    Raises:
        ValueError: if the name says no format, or arms are not different names.
        FileNotFoundError: if there is no such folder.

    Example:
        >>> from onward.bandits import EpsilonGreedy, LoggedData, LogWriter
        >>> policy, actions = EpsilonGreedy(seed=0), [[1.0, 0.0], [0.0, 1.0]]
        >>> with LogWriter("decisions.jsonl") as log:
        ...     for _ in range(5):
        ...         decision = policy.decide(actions)
        ...         log.write(decision, actions)
        ...         log.reward(decision.key, 1.0)
        >>> LoggedData.read("decisions.jsonl")
        LoggedData(5 events, 2 actions of 2 features)
    """

    def __init__(self, path: str | os.PathLike[str], *, arms: Sequence[Hashable] | None = None) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"path must be the name of a file, got {brief(path)}")
        self._path = Path(path)
        kind = KINDS.get(self._path.suffix.lower())
        if kind not in ("jsonl", "parquet"):
            raise ValueError(f"{brief(str(path))[1:-1]}: expected a name that ends in .jsonl, .ndjson, .parquet or .pq")
        if arms is not None and not are_names(arms):
            raise ValueError(f"arms must be different names, at least one, got {brief(arms)}")
        self._arms = None if arms is None else [int(arm) if is_whole(arm) else arm for arm in arms]
        for name in self._arms or ():
            if _is_plain(name):
                checked_key(name, "an arm's name")
        if not self._path.parent.is_dir():
            raise FileNotFoundError(f"cannot write to {path}: the folder {self._path.parent} does not exist")
        self._records: list[dict[str, Any]] = []  # of Parquet, until it is closed
        self._waiting: dict[Hashable, dict[str, Any]] = {}
        self._earlier: set[Hashable] = set()  # keys that wait in the file from before
        self._width: int | None = None  # how many features actions or contexts have
        self._names = self._arms if self._arms and all(map(_is_plain, self._arms)) else None
        self._file: TextIO | None = None
        if kind == "jsonl":
            self._go_on()
            self._file = self._path.open("a", encoding="utf-8")
        self._closed = False
        self.written = 0
        """How many decisions were written."""

    def __repr__(self) -> str:
        return f"LogWriter({str(self._path)!r})"

    def write(
        self,
        decision: Any,
        offered: ArrayLike,
        reward: float | np.bool_ | None = None,
        *,
        propensity: float | None = None,
        probabilities: ArrayLike | None = None,
        key: Hashable = None,
        time: float | None = None,
    ) -> None:
        """One decision.

        Args:
            decision: what `decide` returned, or the position or the name of what was taken.
            offered: the actions (k, d); for a log with arms, the context (c,).
            reward: what it earned; None if that is not known yet.
            propensity: the chance with which it was taken, in (0, 1]; that of the decision, or of `probabilities`,
                unless it is given.
            probabilities: the chances of all, if you have them: they make checks of the log sharper.
            key: text or a whole number, by which a later reward finds it; that of the decision unless it is given.
            time: when, in seconds since 1970; now unless it is given.
        """
        self._check_open()
        table = self._offered(offered)
        k = len(table) if self._arms is None else len(self._arms)
        taken = self._place(getattr(decision, "action", decision), k)
        record: dict[str, Any] = {"taken": taken}
        if probabilities is not None:
            expected = f"{k} numbers >= 0 that sum to 1"
            chances = as_numbers(probabilities, "probabilities", expected)
            if chances.shape != (k,) or not (chances.min() >= 0 and abs(chances.sum() - 1) <= 1e-6):
                raise ValueError(f"probabilities must be {expected}, got {brief(probabilities)}")
            if propensity is not None and not abs(float(chances[taken]) - finite("propensity", propensity)) <= 1e-6:
                raise ValueError(
                    f"probabilities say {chances[taken]:g} of the action that was taken, "
                    f"but propensity is {propensity!r}"
                )
            record[PROBABILITIES] = chances.tolist()
            propensity = float(chances[taken]) if propensity is None else propensity
        if propensity is None:
            propensity = getattr(decision, "probability", None)
        if not is_real(propensity) or not LEAST_PROPENSITY <= propensity <= 1:
            raise ValueError(f"propensity must be a number from {LEAST_PROPENSITY:g} to 1, got {brief(propensity)}")
        record |= {"propensity": float(propensity), "reward": _checked_reward(reward)}
        key = getattr(decision, "key", None) if key is None else key
        if key is not None:
            key = checked_key(key)
            if key in self._waiting:
                raise ValueError(
                    f"a decision already waits under key {brief(key)}; expected a new key for each decision"
                )
        elif reward is None:
            raise ValueError("expected a reward, or a key by which it comes later, got neither")
        record |= {KEY: key, TIME: clock.time() if time is None else finite("time", time)}
        record |= {ACTIONS: table.tolist()} if self._arms is None else {CONTEXT: table.tolist(), N_ARMS: k}
        if self._names is not None and self._file is None:
            record[ARMS] = json.dumps(self._names)  # a column
        elif self._names is not None and not self.written:
            record[ARMS] = self._names  # holds for what follows
        self._width = table.shape[-1]
        self._earlier.discard(key)  # a reward of this key is now that of this decision
        if reward is None:
            self._waiting[key] = record
        self._put(record)
        self.written += 1

    def reward(self, key: Hashable, reward: float | np.bool_) -> None:
        """The reward of a decision that was written without one.

        Args:
            key: that of the decision.
        """
        self._check_open()
        if not is_hashable(key) or (key not in self._waiting and key not in self._earlier):
            count = len(self._waiting) + len(self._earlier)
            raise ValueError(f"no decision waits under key {brief(key)} ({count:,} wait)")
        checked = _checked_reward(reward)
        if checked is None:
            raise ValueError("reward must be a finite number, got None")
        record = self._waiting.pop(key, {KEY: key if isinstance(key, str) else int(cast(Any, key))})
        self._earlier.discard(key)
        if self._file is not None:
            self._put({KEY: record[KEY], "reward": checked})
        else:
            record["reward"] = checked

    def _go_on(self) -> None:
        """Look up what waits in the file, and end its last line."""
        if not self._path.exists():
            return
        for record in json_objects(self._path, []):
            arms = named_arms_in(record)
            if arms is not None and arms != tuple(self._names or ()):
                raise ValueError(f"{self._path}: holds a log of arms {list(arms)}, got {self._arms}")
            offered = record.get(ACTIONS, [record.get(CONTEXT)])
            if self._width is None and isinstance(offered, list) and offered and isinstance(offered[0], list):
                self._width = len(offered[0])
            key = record.get(KEY)
            if key is not None and "taken" in record and record.get("reward") is None:
                self._earlier.add(key)
            elif key is not None:
                self._earlier.discard(key)
        with self._path.open("rb+") as file:
            if file.seek(0, os.SEEK_END) and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                file.write(b"\n")

    def _offered(self, offered: Any) -> NDArray[np.float64]:
        """What was offered, as numbers: actions (k, d), or a context (c,)."""
        what, axes = ("actions (k, d)", 2) if self._arms is None else ("a context (c,)", 1)
        try:
            table = as_numbers(offered, "offered", what)
        except ValueError as error:
            raise ValueError(
                f"a log holds arrays of numbers: expected {what}, got {brief(offered)}; features by name, as "
                "those of Named, NamedArms and Hybrid, are not logged"
            ) from error
        if table.ndim != axes or not table.size or not np.isfinite(table).all():
            raise ValueError(f"expected {what} of finite numbers, got shape {table.shape}: {brief(offered)}")
        if self._width not in (None, table.shape[-1]):
            raise ValueError(f"expected {what} of {self._width} features, as in this log so far, got {table.shape[-1]}")
        return table

    def _place(self, taken: Any, k: int) -> int:
        if self._arms is not None:
            if not is_hashable(taken) or taken not in self._arms:
                raise ValueError(f"there is no arm {brief(taken)}; expected one of {several(self._arms)}")
            return self._arms.index(taken)
        if not is_whole(taken) or not 0 <= int(taken) < k:
            raise ValueError(f"the action taken must be a position, 0 … {k - 1}, got {brief(taken)}")
        return int(taken)

    def _put(self, record: dict[str, Any]) -> None:
        if self._file is None:
            self._records.append(record)
            return
        plain = {name: value for name, value in record.items() if value is not None}
        self._file.write(json.dumps(plain, ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"{self._path}: this log is closed")

    def close(self) -> None:
        """Write what is left; nothing can be added then."""
        if self._closed:
            return
        self._closed = True
        if self._file is not None:
            self._file.close()
        elif self._records:
            import polars as pl  # here, so that what writes no Parquet does not wait for it

            keys = [record[KEY] for record in self._records if record[KEY] is not None]
            if any(isinstance(key, str) or abs(key) >= 1 << 63 for key in keys):  # a column holds one or the other
                for record in self._records:
                    record[KEY] = None if record[KEY] is None else str(record[KEY])
            frame = pl.DataFrame(self._records, infer_schema_length=None, strict=False)
            with replacing(self._path) as target:
                frame.write_parquet(target)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _checked_reward(reward: float | np.bool_ | None) -> float | None:
    if reward is None:
        return None
    earned = float(reward) if isinstance(reward, bool | np.bool_) else finite("reward", reward)
    if abs(earned) > LARGEST_REWARD:
        raise ValueError(f"reward must be a number of at most {LARGEST_REWARD:g}, got {earned:g}")
    return earned


def _is_plain(name: object) -> bool:
    """Whether it is text or a whole number, which a file gives back as it was."""
    return isinstance(name, str) or is_whole(name)
