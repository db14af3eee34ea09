"""An alarm for a linear relation that changes: one may look at it after every row, for as long as one likes.

The residuals z of least squares over the rows so far, each divided by its standard deviation, are independent with
mean 0 as long as nothing changes. Four memories, of 16 to 1,024 rows, say what late residuals would have the next one
be, and some of a pot of 1 is bet on its sign and size: a fair game, so the pot rarely grows 1/δ-fold (Ville). After a
change the bets win. The pot is spread over all rows N at which betting may begin: it is the e-value

    E_t = Σ_N π_N Π_{N ≤ s ≤ t} (1 + b_s z_s),        |b_s z_s| ≤ 0.9,    π_N = 1/(2ᵏ(k + 1)(k + 2)) for 2ᵏ ≤ N < 2ᵏ⁺¹

averaged over the memories. A bet is made only where a memory is larger than noise explains, so that little is lost
while nothing changes. It never wins more than it would

- if the next residual went on from the one before as residuals have done until now, so that noise which is correlated
  from row to row is not taken for a change; nor
- by the residual of a second fit, whose targets are drawn in to four standard deviations, so that what an outlier did
  to the first is not.

The size of the noise is no part of the relation: noise that grows, shrinks or depends on the row raises no alarm.
"""

import os
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from onward import storage
from onward.confidence.change_rows import LOUD, learn_rows
from onward.confidence.change_state import HEADER, N_HEADER, change_size, clear_change, view_change
from onward.core.checks import probability, whole
from onward.core.sharing import Shared
from onward.core.types import Matrix, Vector
from onward.core.views import owned
from onward.tables import Rows, as_rows, as_targets, as_weights, blocks, in_one_block

KIND = "change alarm"


@dataclass(frozen=True)
class Change:
    """A change of the relation, as an alarm has seen it. The first row is row 1.

    Attributes:
        row: from which on the relation seems to be another.
        noticed: the row of the alarm.

    Example:
        >>> from onward.confidence import Change
        >>> change = Change(row=101, noticed=124)
        >>> change.noticed - change.row
        23
    """

    row: int  # from which on the relation seems to be another, about
    noticed: int  # the row at which there was enough evidence


@storage.kind(KIND)
class ChangeAlarm(Shared):
    """Says when the linear relation between features and target has changed, at a false alarm probability of δ.

        alarm = ChangeAlarm()
        for change in alarm.learn(X, y):
            print(f"changed at about row {change.row}, noticed at row {change.noticed}")

    Proven for normal noise of one variance (1/w of it for weight w) and rows that do not depend on it: with
    probability at least 1 − δ there is never an alarm before a change. Only measured elsewhere: see docs/guarantees.md.

    After an alarm it forgets everything and starts anew, with the same δ for the rows from there on: where nothing ever
    changes, δ/(1 − δ) false alarms are expected in all.

    Args:
        delta: δ, the false alarm probability until the next change, over all time.

    Attributes:
        changes_: the changes so far, in order.
        e_value_: the evidence for a change since the latest alarm: 1 at first, an alarm at 1/δ.
        n_seen_: how many rows were given.

    Raises:
        ValueError: if delta is not between 0 and 1.

    Example:
        >>> import numpy as np
        >>> from onward.confidence import ChangeAlarm
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((400, 1))
        >>> slope = np.where(np.arange(400) < 200, 1.0, -1.0)
        >>> alarm = ChangeAlarm(delta=0.01)
        >>> [change] = alarm.learn(X, slope * X[:, 0] + 0.5 * rng.standard_normal(400))
        >>> 195 < change.row < 210, change.noticed < 250
        (True, True)
    """

    def __init__(self, delta: float = 0.05) -> None:
        self.delta = probability("delta", delta)
        self.changes_: list[Change] = []
        self.n_seen_ = 0
        self._buffer: Vector | None = None

    @property
    def fired_(self) -> bool:
        """Whether there was an alarm."""
        return bool(self.changes_)

    @property
    def change_row_(self) -> int | None:
        """The row from which on the relation seems to be another, at the latest alarm."""
        return self.changes_[-1].row if self.changes_ else None

    @property
    def alarm_row_(self) -> int | None:
        """The row of the latest alarm."""
        return self.changes_[-1].noticed if self.changes_ else None

    @property
    def e_value_(self) -> float:
        """The evidence for a change since the latest alarm."""
        return 1.0 if self._buffer is None else float(_header(self._buffer)["e_value"][0])

    @property
    def n_features_(self) -> int:
        """How many features rows have; 0 before any came."""
        return 0 if self._buffer is None else int(_header(self._buffer)["coordinates"][0]) - 1

    def learn(self, X: Any, y: Any, w: Any = None) -> list[Change]:
        """Take in rows in order, with targets and weights (1 for None); the changes noticed at them.

        Any batching gives the same bits. Rows may come to have more features than before: new ones stand last, and
        count as 0 in the rows before. Rows of weight 0 are passed over, as are ones with numbers beyond 1e20.

        Args:
            X: rows (n, features), or one row.
            y: targets (n,).
            w: weights (n,); None for 1.
        """
        given = as_rows(X)
        n = given.shape[0]
        targets, _ = as_targets(y, n)
        if targets.shape[1] != 1:
            raise ValueError(f"an alarm watches one target: expected y of shape ({n},), got {targets.shape[1]} targets")
        weights = as_weights(w, n)
        with self._lock:
            return self._learn(given, targets, weights)

    def _learn(self, given: Rows, targets: Matrix, weights: Vector) -> list[Change]:
        """`learn` for rows that are checked by themselves."""
        if given.shape[1] < self.n_features_:
            raise ValueError(f"X has {given.shape[1]} features, but this alarm has seen rows with {self.n_features_}")
        learner = self if in_one_block(given) else self.copy()  # a later block may be refused
        found: list[Change] = []
        for where, block, _ in blocks(given):
            rows = np.arange(learner.n_seen_ + 1.0, learner.n_seen_ + len(block) + 1.0)
            start, arrays = 0, (block, targets[where, 0].copy(), np.array(weights[where]), rows)
            while start < len(block):
                taken, change = learner.learn_until_change(*(array[start:] for array in arrays))
                start += taken
                found += [] if change is None else [change]
        self.changes_, self.n_seen_, self._buffer = learner.changes_, learner.n_seen_, learner._buffer
        return found

    def learn_until_change(self, X: Matrix, y: Vector, w: Vector, rows: Vector) -> tuple[int, Change | None]:
        """Take in rows until there is an alarm: how many were taken in, and the change that was then noticed.

        All are finite, float64 and C-contiguous. `rows` are the numbers by which the rows are known.

        Args:
            X: rows (n, features), or one row.
            y: targets (n,).
            w: weights (n,); None for 1.
        """
        n, width = X.shape
        for name, array, shape in (("X", X, (n, width)), ("y", y, (n,)), ("w", w, (n,)), ("rows", rows, (n,))):
            if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous:
                raise ValueError(f"{name} must be a C-contiguous float64 array of shape {shape}, got {array.shape}")
        with self._lock:  # and not the interpreter's
            return self._take_in(X, y, w, rows)

    def _take_in(self, X: Matrix, y: Vector, w: Vector, rows: Vector) -> tuple[int, Change | None]:
        width = X.shape[1]
        if self._buffer is None:
            self._buffer = _new_buffer(width, self.delta)
        elif width > self.n_features_:
            self._buffer = _grown(self._buffer, width)
        elif width < self.n_features_:
            raise ValueError(f"X has {width} features, but this alarm has seen rows with {self.n_features_}")
        taken = learn_rows(self._buffer, X, y, w, rows)
        self.n_seen_ += taken
        header = _header(self._buffer)[0]
        if not header["e_value"] >= header["threshold"]:
            return taken, None
        change = Change(int(header["change"]), int(rows[taken - 1]))
        self.changes_.append(change)
        clear_change(self._buffer)
        return taken, change

    def __repr__(self) -> str:
        return f"{type(self).__name__}(delta={self.delta:g})"

    # Copies and files

    def copy(self) -> Self:
        """An alarm that goes on without touching this one."""
        return self.from_record(*self.to_record())

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a file."""
        with self._lock:
            changes = [asdict(change) for change in self.changes_]
            settings = {"delta": self.delta, "n_seen": self.n_seen_, "changes": changes}
            return settings, {} if self._buffer is None else {"state": self._buffer.copy()}

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """What `to_record` gave; KeyError, TypeError or ValueError if it does not fit together.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        alarm = cls(settings["delta"])
        alarm.n_seen_ = whole("n_seen", settings["n_seen"], 0)
        alarm.changes_ = [
            Change(*(whole(name, each[name], 0) for name in ("row", "noticed"))) for each in settings["changes"]
        ]
        if alarm.n_seen_ >= 2**53:
            raise ValueError(f"n_seen must be a number of rows, got {alarm.n_seen_}")
        if "state" in arrays:
            buffer = np.array(arrays["state"], dtype=np.float64)
            d = _header(buffer)["coordinates"][0] if buffer.ndim == 1 and len(buffer) >= N_HEADER else 0.0
            if not (1 <= d < 2**31 and d == int(d) and len(buffer) == change_size(int(d))):
                raise ValueError(
                    f"the state of an alarm has {buffer.shape} numbers, which are not those of {d:g} features"
                )
            if _header(buffer)["threshold"][0] != 1.0 / alarm.delta or not np.isfinite(buffer).all():
                raise ValueError("the state of an alarm does not fit its delta, or holds numbers that are not finite")
            _check_state(buffer)
            alarm._buffer = buffer
        return alarm

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, which `onward.load` reads.

        Args:
            path: the name of the file.
        """
        storage.save(path, KIND, *self.to_record())


def _check_state(buffer: Vector) -> None:
    """ValueError if a state of the right size holds what no alarm has."""
    state = owned(buffer, view_change(buffer))
    header = state.header[0]
    for name in ("open", "rows", "residuals", "octave", "next_octave"):
        least = -1 if name == "octave" else 0  # before the first residual
        if not (least <= header[name] < 2**53 and header[name] == int(header[name])):
            raise ValueError(f"{name} of an alarm must be a count, got {header[name]}")
    kept = state.kept_rows, state.kept_counts
    if any((each < -1).any() or (each != np.round(each)).any() or (each >= 2**53).any() for each in kept):
        raise ValueError("the rows whose sums an alarm keeps must be counts")
    if not np.isin(state.opened, (0.0, 1.0)).all() or state.opened.sum() != header["open"]:
        raise ValueError(f"{header['open']:g} coordinates of an alarm are open, got {state.opened}")
    share = 1.0 / header["open"] if header["open"] else 0.0
    loud = 1.0 + LOUD * np.sqrt(2.0 * share) if share else 0.0
    if not np.allclose((header["share"], header["loud"]), (share, loud), rtol=1e-9, atol=0.0):
        raise ValueError(f"share and loud of an alarm do not follow from {header['open']:g} open coordinates")
    _check_shares(header)
    not_negative = (state.evidence, state.noise, [header[name] for name in ("e_value", "squares")])
    if not (state.D > 0).all() or any((np.asarray(each) < 0).any() for each in not_negative):
        raise ValueError("the pivots of an alarm must be positive, and its evidence and noise not negative")
    if not (np.abs(buffer) < 1e150).all() or not (state.D > 1e-150).all():
        raise ValueError("the state of an alarm must hold numbers whose squares double precision can hold")


def _check_shares(header: Any) -> None:
    """ValueError if what bets begin with does not follow from the octave: π, and the share that is to come."""
    octave = float(header["octave"])
    mass, left = (0.5**octave / ((octave + 1) * (octave + 2)), 1.0 / (octave + 1)) if octave >= 0 else (0.0, 0.0)
    follows = header["next_octave"] == 2.0 ** (octave + 1) and np.isclose(header["mass"], mass, rtol=1e-9, atol=0.0)
    if not (follows and -1e-9 <= header["to_come"] <= (1 + 1e-9) * left):
        raise ValueError(f"mass, to_come and next_octave of an alarm do not follow from its octave, got {octave:g}")


def _header(buffer: Vector) -> Any:
    return buffer[:N_HEADER].view(HEADER)


def _new_buffer(n_features: int, delta: float) -> Vector:
    buffer = np.zeros(change_size(n_features + 1))
    header = _header(buffer)
    header["coordinates"], header["threshold"] = n_features + 1, 1.0 / delta
    clear_change(buffer)
    return buffer


def _grown(buffer: Vector, n_features: int) -> Vector:
    """The state with features that were 0 in every row so far."""
    old = owned(buffer, view_change(buffer))
    out = _new_buffer(n_features, 1.0 / float(old.header["threshold"][0]))
    new, d = owned(out, view_change(out)), len(old.D)
    for name in HEADER.names or ():
        if name != "coordinates":
            new.header[name] = old.header[name]
    new.evidence[:], new.noise[:] = old.evidence, old.noise
    for before, after in zip(
        (old.opened, old.D, old.c, old.winsorized, old.score, old.B),
        (new.opened, new.D, new.c, new.winsorized, new.score, new.B),
        strict=True,
    ):
        after[:d] = before
    new.U[:d, :d] = old.U[:, :d]
    new.kept_rows[:], new.kept_counts[:], new.kept_scores[:, :d] = old.kept_rows, old.kept_counts, old.kept_scores
    return out
