"""What a learner has learned: the state, and what its coordinates and targets mean."""

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from onward import storage
from onward.core import Information, TooExtremeError, kernel
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Matrix, Vector
from onward.core.words import counted


@dataclass
class FittedState:
    """A state with everything that is needed to go on from it."""

    state: Information
    names: list[Hashable] | None  # of the features, in order
    open: bool  # whether names not seen before are welcome
    flat: bool  # whether targets come without a second axis

    def __post_init__(self) -> None:
        self.columns = {name: column for column, name in enumerate(self.names or ())}

    def learn(
        self, X: Matrix, Y: Matrix, w: Vector, squares: float, shrinks: bool, clip: float, p: Matrix, q: Vector
    ) -> None:
        """Learn rows in order; overwrites p and q with predictions and leverages as of just before each.

        `squares` is the sum of the squares of X. Changes nothing of the state if it raises.
        """
        state = self.state
        base = state.base(X)
        left = Y - base if len(base) else Y
        if state.is_ordinary(squares, left, w):
            state.check(X, left, w, p, q)
            kernel.learn(state.buffer, X, Y, w, base, left, shrinks, clip, p, q)
            return
        before = state.buffer.copy()
        with interrupts_deferred():
            state.absorb(X, left, w, False, (p, q))
            kernel.read_out_rows(base, p, q, w, shrinks, clip)
            total = state.online_loss.copy()
            kernel.add_squared_errors(p, Y, w, total)
            if not np.isfinite(total).all():
                state.buffer[:] = before
                raise TooExtremeError(
                    "the rows cannot be learned in double precision: the squared error of a prediction is beyond "
                    "1e300; rescale the columns"
                )
            state.online_loss[:] = total

    def copy(self) -> Self:
        """A copy that can be learned on without touching this one."""
        return replace(self, state=self.state.copy(), names=None if self.names is None else list(self.names))

    def grow(self, names: Sequence[Hashable], lams: Sequence[float], priors: Sequence[float]) -> None:
        """Add features that were 0 in every row so far, with a λ and a prior mean each."""
        if not names:
            return
        self.state.grow(len(names), lams, np.array(priors)[:, None])
        self.columns |= {name: len(self.columns) + i for i, name in enumerate(names)}
        self.names = list(self.columns)
        self.open = True

    def missing(self, other: "FittedState") -> list[Hashable]:
        """The names that only the other knows; an error if the features of the two do not fit together."""
        mine, theirs = self.state.n_features, other.state.n_features
        if self.names is None or other.names is None:
            if self.names is not other.names:
                raise ValueError("cannot merge: only one of the models has named features")
            if mine != theirs:
                raise ValueError(f"cannot merge: this model has {counted(mine, 'feature')}, the other has {theirs}")
            return []
        new = [name for name in other.names if name not in self.columns]
        if (new or mine != theirs) and not (self.open or other.open):
            raise ValueError(f"cannot merge: this model has features {self.names}, the other has {other.names}")
        return new

    def merge(self, other: "FittedState") -> None:
        """Add what another learned from rows of its own. All of its features must be known here."""
        places = list(range(len(other.state.D)))
        if self.names is not None and other.names is not None:
            lead = int(self.state.intercept)
            places = [*range(lead), *(lead + self.columns[name] for name in other.names)]
        mine, theirs = self.state.prior[places], other.state.prior
        if not np.array_equal(mine, theirs):
            raise ValueError(
                f"cannot merge: this model started from coefficients {mine.T.tolist()}, "
                f"the other from {theirs.T.tolist()}"
            )
        self.state.merge(other.state, places)
        self.open = self.open or other.open

    # Model files

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file."""
        names = None if self.names is None else [int(n) if isinstance(n, numbers.Integral) else n for n in self.names]
        if not all(isinstance(name, str | int) for name in names or ()):
            raise ValueError(f"cannot save: feature names must be text or whole numbers, got {self.names}")
        state, lam = self.state, self.state.lam.tolist()
        settings = {
            "lam": lam[0] if len(set(lam)) == 1 else lam,
            "intercept": state.intercept,
            "names": names,
            "open": self.open,
            "flat": self.flat,
        }
        arrays = {"U": state.U, "D": state.D, "c": state.c, "loss": state.loss, "tally": state.tally}
        arrays["online_loss"] = state.online_loss
        if state.prior.any():
            arrays["prior"] = state.prior
        return settings, arrays

    @classmethod
    def from_record(cls, settings: dict[str, Any], arrays: storage.Arrays) -> Self:
        """What `to_record` described; ValueError or KeyError if it does not fit together."""
        d, m = arrays["c"].shape
        lam = np.broadcast_to(np.array(settings["lam"], dtype=np.float64), (d,))  # earlier files: one number for all
        if not (np.isfinite(lam).all() and (lam >= 0).all()):
            raise ValueError(f"lam must be finite and not negative, got {settings['lam']}")
        state = Information(d - settings["intercept"], m, lam, settings["intercept"])
        shapes = {"U": state.U.shape, "D": (d,), "c": (d, m), "loss": (m,), "online_loss": (m,), "tally": (3,)}
        for name, shape in (shapes | {"prior": (d, m)}).items():
            if name in arrays and (arrays[name].shape != shape or not np.isfinite(arrays[name]).all()):
                raise ValueError(f"array {name} must be finite and of shape {shape}, got shape {arrays[name].shape}")
        if (arrays["D"] < 0).any():
            raise ValueError("array D must not be negative")
        state.U[:], state.D[:], state.c[:], state.loss[:] = (arrays[name] for name in ("U", "D", "c", "loss"))
        state.tally, state.online_loss[:] = arrays["tally"], arrays["online_loss"]
        state.set_prior(arrays.get("prior", 0.0))
        names = settings["names"]
        if names is not None and len(set(names)) != state.n_features:
            raise ValueError(f"{counted(len(set(names)), 'different name')} for {counted(state.n_features, 'feature')}")
        return cls(state, names, settings["open"], settings["flat"])
