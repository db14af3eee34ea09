"""The regret ledger of a run: what was lost, what could have been, and what was promised, round by round.

from onward.ledger import Ledger

ledger = Ledger.of(X, y, lam=1.0, theta=theta, sigma=1.0, theta_bound=1.0)
ledger.to_frame(); ledger.plot()
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike

from onward import bounds
from onward.bounds.linear_algebra import unpenalized
from onward.core.checks import probability
from onward.core.trace import Trace
from onward.core.types import Matrix, Vector
from onward.tables import as_rows, as_targets, blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MEANING", "Ledger"]

MEANING = {
    "round": "t, from 1",
    "target": "y",
    "ridge": "online ridge's prediction, made before y was seen",
    "forward": "the forward algorithm's",
    "leverage": "q, before the row",
    "ridge_loss": "loss of online ridge so far",
    "forward_loss": "loss of forward so far",
    "best_loss": "loss of the best fixed θ in hindsight, min L(θ)",
    "penalized_loss": "min L(θ) + λ‖θ‖²",
    "true_loss": "loss of θ*",
    "ridge_regret": "R: loss of ridge less the best fixed θ's",
    "forward_regret": "R: loss of forward less the best fixed θ's",
    "ridge_regret_to_truth": "R̄: loss of ridge less that of θ*",
    "forward_regret_to_truth": "R̄: loss of forward less that of θ*",
    "ridge_first": "what the round adds to ridge's regret to the penalised minimum, (p − y)² h",
    "forward_first": "what the round adds to forward's, y² h",
    "forward_second": "what it takes off again, q ŷ²",
    "ridge_bound_to_penalized": "bound on ridge_loss − penalized_loss  [Thm 2.1]",
    "forward_bound_to_penalized": "bound on forward_loss − penalized_loss  [Thm 2.2]",
    "ridge_bound_to_truth": "bound on ridge_regret_to_truth, probability 1 − δ  [Thm 3.2]",
    "forward_bound_to_truth": "bound on forward_regret_to_truth, probability 1 − δ  [Thm 3.3]",
}
"""What each column says. Those of θ* and of the noise are there if these were given."""


@dataclass(frozen=True)
class Ledger:
    """Columns of T numbers each; `MEANING` says what they are. `penalized` regrets telescope exactly from the terms.

    The bound on the regret to the best fixed θ (Cor 2.3.1) needs an eigenvalue each round, O(d³): it is not kept here,
    but `bounds.forward_regret_to_best_along` has it.

    Attributes:
        columns: numbers of each round by the name of the column, (T,) each.
        lam: λ of both learners.

    Example:
        >>> import numpy as np
        >>> from onward.ledger import Ledger
        >>> rng = np.random.default_rng(0)
        >>> X, theta = rng.uniform(-1, 1, (100, 2)), np.array([0.5, -0.5])
        >>> y = X @ theta + rng.standard_normal(100)
        >>> ledger = Ledger.of(X, y, lam=1.0, theta=theta, sigma=1.0, theta_bound=1.0)
        >>> last = ledger.to_frame()[-1].to_dicts()[0]
        >>> last["forward_regret_to_truth"] < last["forward_bound_to_truth"]
        True
    """

    columns: dict[str, Vector]
    lam: float

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        lam: float = 1.0,
        *,
        fit_intercept: bool = False,
        theta: ArrayLike | None = None,
        sigma: float | None = None,
        theta_bound: float | None = None,
        delta: float = 0.05,
    ) -> Self:
        """Keep the books of online ridge and forward over the rows of X with targets y: one pass, O(d²) a row.

        Args:
            X, y: the run, in order; X may be an array or a data frame.
            lam: λ > 0.
            fit_intercept: a constant feature comes first, with the λ of all others: the paper's algorithms have one λ.
            theta: θ*, if known (simulations), the constant first if there is one.
            sigma, theta_bound: the noise is sigma-sub-Gaussian and ‖θ*‖ ≤ theta_bound: adds the bounds to the truth.
            delta: the probability that these may fail.

        Returns:
            The ledger.

        Raises:
            ValueError: if only one of sigma and theta_bound is given, or a number is out of its range.
        """
        rows, targets = _run(X, y, fit_intercept)
        if (sigma is None) != (theta_bound is None):
            raise ValueError(f"sigma and theta_bound go together, got sigma={sigma!r} and theta_bound={theta_bound!r}")
        probability("delta", delta)
        trace = Trace.of(rows, targets, lam)
        forward = trace.forward
        # Without regularisation, and a row that raises the rank costs the best θ nothing: q is infinite there.
        p, q = unpenalized(rows, targets)
        first, second = bounds.forward_identity(trace).first, bounds.forward_identity(trace).second
        columns = {
            "round": np.arange(1.0, len(targets) + 1),
            "target": targets,
            "ridge": trace.p,
            "forward": forward,
            "leverage": trace.q,
            "ridge_loss": np.cumsum((trace.p - targets) ** 2),
            "forward_loss": np.cumsum((forward - targets) ** 2),
            "best_loss": np.cumsum((targets - p) ** 2 / (1 + q)),
            "penalized_loss": np.cumsum((targets - trace.p) ** 2 / (1 + trace.q)),
            "ridge_first": bounds.ridge_identity(trace).first,
            "forward_first": first,
            "forward_second": second,
            "ridge_bound_to_penalized": bounds.ridge_regret_to_penalized_along(trace),
            "forward_bound_to_penalized": bounds.forward_regret_to_penalized_along(trace),
        }
        for name in ("ridge", "forward"):
            columns[f"{name}_regret"] = columns[f"{name}_loss"] - columns["best_loss"]
        if theta is not None:
            columns["true_loss"] = np.cumsum((targets - rows @ _theta(theta, rows.shape[1])) ** 2)
            for name in ("ridge", "forward"):
                columns[f"{name}_regret_to_truth"] = columns[f"{name}_loss"] - columns["true_loss"]
        if sigma is not None and theta_bound is not None:
            known = {"sigma": sigma, "theta_bound": theta_bound, "delta": delta}
            columns["ridge_bound_to_truth"] = bounds.ridge_regret_to_truth_sharp_along(trace, **known)
            columns["forward_bound_to_truth"] = bounds.forward_regret_to_truth_sharp_along(trace, **known)
        return cls({name: columns[name] for name in MEANING if name in columns}, trace.lam)

    def __getitem__(self, column: str) -> Vector:
        """A column (T,)."""
        return self.columns[column]

    def __len__(self) -> int:
        return len(self.columns["round"])

    def to_frame(self, backend: Literal["polars", "pandas", "pyarrow"] = "polars") -> Any:
        """The ledger as a data frame of the library that is named.

        Args:
            backend: "polars", "pandas" or "pyarrow".

        Returns:
            A row for each round.
        """
        columns = {**self.columns, "round": self.columns["round"].astype(np.int64)}
        return nw.from_dict(columns, backend=backend).to_native()

    def plot(self) -> "Figure":
        """Regrets with their bounds, and the terms that they telescope from.

        Returns:
            A figure of matplotlib.
        """
        from matplotlib.figure import Figure  # here, so that what does not draw does not wait for it

        figure = Figure(figsize=(9, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        t = self["round"]
        # Against θ* where it is known, else against the penalised minimum: a bound is drawn only beside what it bounds.
        against = "truth" if "true_loss" in self.columns else "penalized"
        reference = self["true_loss" if against == "truth" else "penalized_loss"]
        colors = {"ridge": "#c1552d", "forward": "#2a6f97"}
        regrets = {name: self[f"{name}_loss"] - reference for name in colors}
        for name, color in colors.items():
            left.plot(t, regrets[name], color=color, label=name)
            bound = self.columns.get(f"{name}_bound_to_{against}")
            if bound is not None:
                left.plot(t, bound, color=color, linestyle="--", linewidth=1, label=f"{name}, bound")
        left.set(
            xlabel="round",
            ylabel="cumulative loss − " + ("that of θ*" if against == "truth" else "min (L(θ) + λ‖θ‖²)"),
            title="Regret",
        )
        lowest = min(float(regret.min()) for regret in regrets.values())
        terms = {"ridge_first": ("ridge", "-"), "forward_first": ("forward", "-"), "forward_second": ("forward", ":")}
        labels = {
            "ridge_first": "ridge: Σ (p − y)² h",
            "forward_first": "forward: Σ y² h",
            "forward_second": "forward, taken off: Σ q ŷ²",
        }
        for name, (learner, style) in terms.items():
            right.plot(t, np.cumsum(self[name]), color=colors[learner], linestyle=style, label=labels[name])
        right.set(xlabel="round", ylabel="sum so far", title="What it telescopes from")
        for axis in (left, right):
            axis.set_xscale("log")
            axis.set_yscale("symlog", linthresh=0.1)  # a regret may be negative
            axis.set_ylim(bottom=min(0.0, 1.5 * lowest) if axis is left else 0.0)
            axis.grid(alpha=0.25)
            axis.legend(frameon=False, fontsize="small")
        figure.suptitle(f"Regret ledger over {len(self):,} rounds, λ = {self.lam:g}", fontsize="medium")
        return figure


def _run(X: Any, y: Any, fit_intercept: bool) -> tuple[Matrix, Vector]:
    source = as_rows(X)
    targets, flat = as_targets(y, source.shape[0])
    if not flat:
        raise ValueError(f"y must be a single target of shape (n,), got {targets.shape[1]} target column(s)")
    rows = np.concatenate([block for _, block, _ in blocks(source)])
    return (np.column_stack([np.ones(len(rows)), rows]) if fit_intercept else rows), targets[:, 0].copy()


def _theta(theta: ArrayLike, d: int) -> Vector:
    vector = np.asarray(theta, dtype=np.float64)
    if vector.shape != (d,) or not np.isfinite(vector).all():
        raise ValueError(f"theta must hold {d} finite numbers, got {theta!r}")
    return vector
