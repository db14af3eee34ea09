"""What a learner has learned: the state, and what its coordinates and targets mean."""

import numbers
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from onward import storage
from onward.core import Information, TooExtremeError, kernel
from onward.core.interrupts import interrupts_deferred
from onward.core.state import writeable
from onward.core.types import Matrix, Vector

ReadOut = Callable[[Matrix | None, Matrix, Vector, Vector], Matrix]
"""(prior's part, p, q, w) → predictions."""


@dataclass
class Knowledge:
    """A state with everything that is needed to go on from it.

    The state learns what is left of the targets once the prior's part is taken away, so the engine knows of no prior.
    """

    state: Information
    online_loss: Vector  # Σ w (ŷ − y)² for each target
    prior: Matrix | None  # (d, m), or None for zero
    names: list[Hashable] | None  # of the features, in order
    open: bool  # whether names not seen before are welcome
    flat: bool  # whether targets come without a second axis

    def __post_init__(self) -> None:
        self.columns = {name: column for column, name in enumerate(self.names or ())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(writeable(state))

    def base(self, X: Matrix) -> Matrix | None:
        """The prior's part of the predictions; None for zero."""
        return None if self.prior is None else kernel.multiply(X, self.state.intercept, self.prior)

    def learn(self, X: Matrix, Y: Matrix, w: Vector, read_out: ReadOut, squares: float) -> tuple[Matrix, Vector]:
        """Learn rows in order; returns predictions and leverages as of just before each. Changes nothing if it raises.

        `squares` is the sum of the squares of X.
        """
        base = self.base(X)
        left = Y if base is None else Y - base
        ordinary = self.state.is_ordinary(squares, left, w)
        before = None if ordinary else self.state.copy()
        with interrupts_deferred():
            p, q = self.state.absorb(X, left, w, ordinary)
            predictions = read_out(base, p, q, w)
            total = self.online_loss.copy()
            kernel.add_squared_errors(predictions, Y, w, total)
            if before is not None and not np.isfinite(total).all():
                self.state.restore(before)
                raise TooExtremeError(
                    "the rows cannot be learned in double precision: the squared error of a prediction is beyond "
                    "1e300; rescale the columns"
                )
            self.online_loss[:] = total
        return predictions, q

    def copy(self) -> Self:
        """A copy that can be learned on without touching this one."""
        return replace(
            self,
            state=self.state.copy(),
            online_loss=self.online_loss.copy(),
            names=None if self.names is None else list(self.names),
        )

    def grow(self, names: Sequence[Hashable], priors: Sequence[float]) -> None:
        """Add features that were 0 in every row so far."""
        if not names:
            return
        self.state.grow(len(names))
        self.columns |= {name: len(self.columns) + i for i, name in enumerate(names)}
        self.names = list(self.columns)
        self.open = True
        if self.prior is not None or any(priors):
            d, m = self.state.c.shape
            grown = np.zeros((d, m))
            if self.prior is not None:
                grown[: len(self.prior)] = self.prior
            grown[d - len(names) :] = np.asarray(priors)[:, None]
            self.prior = grown

    def missing(self, other: "Knowledge") -> list[Hashable]:
        """The names that only the other knows; an error if the features of the two do not fit together."""
        mine, theirs = self.state.n_features, other.state.n_features
        if self.names is None or other.names is None:
            if self.names is not other.names:
                raise ValueError("cannot merge: only one of the models has named features")
            if mine != theirs:
                raise ValueError(f"cannot merge: this model has {mine} features, the other has {theirs}")
            return []
        new = [name for name in other.names if name not in self.columns]
        if (new or mine != theirs) and not (self.open or other.open):
            raise ValueError(f"cannot merge: this model has features {self.names}, the other has {other.names}")
        return new

    def merge(self, other: "Knowledge") -> None:
        """Add what another learned from rows of its own. All of its features must be known here."""
        places = list(range(len(other.state.D)))
        if self.names is not None and other.names is not None:
            lead = int(self.state.intercept)
            places = [*range(lead), *(lead + self.columns[name] for name in other.names)]
        mine = np.zeros_like(other.state.c) if self.prior is None else self.prior[places]
        theirs = np.zeros_like(other.state.c) if other.prior is None else other.prior
        if not np.array_equal(mine, theirs):
            raise ValueError(
                f"cannot merge: this model started from coefficients {mine.T.tolist()}, "
                f"the other from {theirs.T.tolist()}"
            )
        self.state.merge(other.state, places)
        self.online_loss += other.online_loss
        self.open = self.open or other.open

    # Model files

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file."""
        names = None if self.names is None else [int(n) if isinstance(n, numbers.Integral) else n for n in self.names]
        if not all(isinstance(name, str | int) for name in names or ()):
            raise ValueError(f"cannot save: feature names must be text or whole numbers, got {self.names}")
        state = self.state
        settings = {
            "lam": state.lam,
            "intercept": state.intercept,
            "names": names,
            "open": self.open,
            "flat": self.flat,
        }
        arrays = {"U": state.U, "D": state.D, "c": state.c, "loss": state.loss, "tally": state.tally}
        arrays["online_loss"] = self.online_loss
        if self.prior is not None:
            arrays["prior"] = self.prior
        return settings, arrays

    @classmethod
    def from_record(cls, settings: dict[str, Any], arrays: storage.Arrays) -> Self:
        """What `to_record` described; ValueError or KeyError if it does not fit together."""
        d, m = arrays["c"].shape
        state = Information(d - settings["intercept"], m, settings["lam"], settings["intercept"])
        shapes = {"U": state.U.shape, "D": (d,), "c": (d, m), "loss": (m,), "online_loss": (m,), "tally": (3,)}
        for name, shape in (shapes | {"prior": (d, m)}).items():
            if name in arrays and (arrays[name].shape != shape or not np.isfinite(arrays[name]).all()):
                raise ValueError(f"array {name} must be finite and of shape {shape}, got shape {arrays[name].shape}")
        if (arrays["D"] < 0).any():
            raise ValueError("array D must not be negative")
        state.U, state.D, state.c, state.loss, state.tally = (arrays[n] for n in ("U", "D", "c", "loss", "tally"))
        names = settings["names"]
        if names is not None and len(set(names)) != state.n_features:
            raise ValueError(f"{len(set(names))} different names for {state.n_features} features")
        return cls(state, arrays["online_loss"], arrays.get("prior"), names, settings["open"], settings["flat"])
