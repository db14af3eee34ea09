"""A regression model behind the service: rows by name come with their targets, predictions go out with intervals."""

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import polars as pl

from onward import storage
from onward.core.factor import ORDINARY
from onward.regression import OnlineRegressor
from onward.regression.auto import LEARNERS
from onward.service import snapshots
from onward.service.closed_values import meant
from onward.service.configuration import FeatureRule, ModelConfig
from onward.service.encoder import Encoder
from onward.service.entries import BeginModel, Entry, Learn, Values
from onward.service.entry_checks import check_entry
from onward.service.loop_checks import check_name_of_each, check_retain, check_settings
from onward.service.outcomes import Outcome
from onward.service.request_errors import RequestError
from onward.service.snapshots import ModelSnapshot
from onward.storage import StorageError, brief

_LONGEST = 300  # characters of a message


class Prediction(NamedTuple):
    """A prediction, and the interval in which the target will be.

    Attributes:
        value: the prediction.
        low, high: the ends of the interval; None while it is open.

    Example:
        >>> from onward.service import Model
        >>> Model("fares").predict([{"km": 2.0}])
        [Prediction(value=0.0, low=None, high=None)]
    """

    value: float
    low: float | None  # None while too little is known
    high: float | None


class Model:
    """A regression model whose state is a fold over its log, as that of a `Loop` is.

    Args:
        name: of the model.
        config: what it is told.

    Example:
        >>> from onward.service import Model, ModelConfig
        >>> model = Model("fares", ModelConfig(learner="ridge", settings={"lam": 0.1}))
        >>> entry = model.propose_learn([{"km": 1.0}, {"km": 3.0}], [5.0, 9.0], at=0.0)
        >>> model.fold(entry).status
        'learned'
        >>> round(model.predict([{"km": 2.0}])[0].value, 6)
        7.0
    """

    kind = "model"

    def __init__(self, name: str, config: ModelConfig | None = None) -> None:
        self.name, self.config = name, ModelConfig() if config is None else config
        check_settings(self.config)
        check_retain(self.config.retain)
        self.seq = self.version = self.refused = 0
        self.encoder = Encoder(FeatureRule(False, False, self.config.max_features, self.config.max_levels))
        self.learner = _make_learner(self.config)

    # Asking

    def predict(self, rows: Sequence[Values]) -> list[Prediction]:
        """The prediction of each row as if it came next, with its interval. Names that are not known count for nothing.

        Changes nothing.

        Args:
            rows: a mapping of values by name for each.
        """
        for i, row in enumerate(rows):
            check_name_of_each(row, f"rows[{i}]")
        encoded = [self.encoder.named_values(row, f"rows[{i}]", learning=False)[0] for i, row in enumerate(rows)]
        if self.version == 0:
            return [Prediction(0.0, None, None) for _ in rows]
        names = list(self.encoder.columns)
        frame = pl.DataFrame({name: [row.get(name, 0.0) for row in encoded] for name in names})
        values = np.asarray(self.learner.predict(frame), dtype=np.float64)
        ends = self.learner.interval(frame, 1.0 - self.config.level, of="observation", method="conformal")
        return [
            Prediction(value, _finite(low), _finite(high))
            for value, (low, high) in zip(values.tolist(), ends.tolist(), strict=True)
        ]

    def propose_learn(
        self,
        rows: Sequence[Values],
        targets: Sequence[float],
        weights: Sequence[float] | None = None,
        *,
        event_id: str | None = None,
        at: float,
    ) -> Entry:
        """The entry of rows to be learned; RequestError if they cannot be.

        Args:
            rows: a mapping of values by name for each.
            targets: a number for each row.
            weights: of the rows; None for 1.
            event_id: of these rows, which are learned once under it.
            at: the time, in seconds since 1970.
        """
        if not rows or len(rows) != len(targets):
            raise RequestError(
                "bad_request", f"expected as many targets as rows, got {len(targets)} and {len(rows)}", "targets"
            )
        if weights is not None and len(weights) != len(rows):
            raise RequestError("bad_request", f"expected {len(rows)} weights, got {len(weights)}", "weights")
        for i, row in enumerate(rows):
            check_name_of_each(row, f"rows[{i}]")
            if not self.encoder.named_values(row, f"rows[{i}]", learning=True)[0]:
                raise RequestError("bad_request", "a row has no features", f"rows[{i}]")
        for name, column, least in (("targets", targets, -ORDINARY), ("weights", weights or (), 0.0)):
            for i, value in enumerate(column):
                if not least < value < ORDINARY:
                    raise RequestError(
                        "bad_request",
                        f"expected a number in ({least:g}, {ORDINARY:g}), got {value!r:.80}",
                        f"{name}[{i}]",
                    )
        content = Learn(
            list(rows), [float(y) for y in targets], None if weights is None else [float(w) for w in weights]
        )
        return Entry(self.name, content, event_id, at)

    # Folding

    @classmethod
    def begin(cls, entry: Entry) -> Self:
        """The model that the first entry of a log makes."""
        if not isinstance(entry.content, BeginModel):
            raise TypeError(f"a log begins with the model's settings, got a {type(entry.content).__name__}")
        model = cls(entry.loop, entry.content.config)
        model.seq = entry.seq
        return model

    def fold(self, entry: Entry) -> Outcome:
        """Take in an entry that was written down. What it does depends on the entries before it alone."""
        if entry.seq and entry.seq != self.seq + 1:
            raise ValueError(f"entry {entry.seq} of {self.name!r} came after {self.seq}, expected {self.seq + 1}")
        check_entry(entry, self.seq + 1)
        content = entry.content
        if isinstance(content, BeginModel):
            self.config = msgspec.structs.replace(self.config, retain=content.config.retain)
            self.seq += 1
            return Outcome("done")
        if not isinstance(content, Learn):
            raise TypeError(f"a {type(content).__name__} is no entry of a model")
        self.seq += 1
        learned = 0
        for i, (row, y) in enumerate(zip(content.rows, content.targets, strict=True)):
            weight = 1.0 if content.weights is None else content.weights[i]
            try:
                values, born = self.encoder.named_values(row, "rows", learning=True)
                self.learner.learn_one(values, y, weight)
            except ValueError:  # whatever could not be seen before it was written down
                self.refused += 1
                if self.version == 0:
                    self.learner = _make_learner(self.config)  # as a snapshot gives it
                continue
            self.encoder.add(born)
            self.version += 1
            learned += 1
        return Outcome("learned", learned, refused=len(content.rows) - learned)

    # What is known

    def due(self, now: float) -> bool:
        """Nothing of a model ever expires.

        Args:
            now: the time, in seconds since 1970.
        """
        return False

    def check_change(self, config: ModelConfig) -> None:
        """RequestError: a model that has begun goes on as it is, but for how long its log is kept.

        Args:
            config: settings.
        """
        if msgspec.structs.replace(config, retain=self.config.retain) != self.config:
            said = "settings of a model cannot change, but for retain: delete it and make another"
            raise RequestError("conflict", said, "settings")
        check_retain(config.retain)

    def summary(self) -> dict[str, Any]:
        """What people are told of it in short: plain values."""
        known = self.version > 0
        error = math.sqrt(max(float(self.learner.online_loss_) / self.learner.n_seen_, 0.0)) if known else None
        return {
            "model": self.name,
            "version": self.version,
            "seq": self.seq,
            "learned": self.version,
            "refused": self.refused,
            "features": list(self.encoder.columns),
            "error": error,
            "config": msgspec.to_builtins(self.config),
        }

    def state(self) -> dict[str, Any]:
        """All that people are told of it: plain values."""
        known = dict(zip(self.encoder.columns, self._coefficients(), strict=False))
        return self.summary() | {"coefficients": known}

    def _coefficients(self) -> list[float]:
        """The intercept is no column, as that of a loop is."""
        return [float(each) for each in self.learner.coef_] if self.version else []

    # Snapshots

    def to_snapshot(self) -> tuple[bytes, str]:
        """What `to_bytes` and `digest` give."""
        return self.to_bytes(), self.digest()

    def begin_snapshot(self) -> Callable[[], tuple[bytes, str]]:
        """`to_snapshot` of the state as it is now, to be had later: it is small, and made at once."""
        made = self.to_snapshot()
        return lambda: made

    def to_bytes(self) -> bytes:
        """Everything, for a snapshot: `from_bytes` goes on from there to the last bit."""
        return snapshots.pack(
            ModelSnapshot(
                name=self.name,
                config=self.config,
                seq=self.seq,
                version=self.version,
                features=list(self.encoder.names.items()),
                learner=self.learner.to_bytes() if self.version else b"",
                refused=self.refused,
            )
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The model of a snapshot; StorageError if it is damaged.

        Args:
            data: the bytes.
        """
        held = snapshots.unpack(data, ModelSnapshot)
        if min(held.seq, held.version, held.refused) < 0 or (held.features and not held.version):
            raise StorageError("a snapshot has counts that no model has")
        try:
            model = cls(held.name, held.config)
        except RequestError as error:
            raise StorageError(f"a snapshot has settings that no model has: {brief(str(error))}") from error
        model.seq, model.version, model.refused = held.seq, held.version, held.refused
        model.encoder.add(held.features)
        if held.version:  # of one that has learned nothing, there is nothing to store
            learner = storage.from_bytes(held.learner)
            if not isinstance(learner, type(model.learner)):
                raise StorageError(f"a snapshot holds a {type(learner).__name__}, not a {type(model.learner).__name__}")
            mine, theirs = model.learner.calibration_, learner.calibration_
            names = {*getattr(learner, "feature_names_in_", ())}
            if names != {*model.encoder.columns} or theirs is None or theirs.deltas != getattr(mine, "deltas", None):
                raise StorageError("a snapshot holds a learner of other features or intervals than its model")
            model.learner = learner
        return model

    def digest(self) -> str:
        """What two models share only if they know the same, to the last bit."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


def _make_learner(config: ModelConfig) -> OnlineRegressor:
    kind = LEARNERS[config.learner]
    there = list(kind().get_params())
    for name in config.settings:
        if name not in there:
            told = f"{config.learner} has no setting {name!r:.80}; there are {', '.join(there)}{meant(name, there)}"
            raise RequestError("bad_request", told, "settings")
    try:
        return kind(**config.settings).calibrate([1.0 - config.level])
    except (TypeError, ValueError, OverflowError) as error:
        raise RequestError("bad_request", f"{config.learner}: {error}"[:_LONGEST], "settings") from error


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
