"""What a pass over the data leaves behind: scores, and the readings that a report is drawn from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onward.confidence import Change
from onward.confidence.anytime import Contrast
from onward.core.inference import PLAIN, Inference
from onward.core.known import Known, Method
from onward.core.types import Matrix, Vector
from onward.progressive.changes import OnChange
from onward.progressive.coefficient_intervals import coefficient_table
from onward.progressive.coefficient_table import CoefficientTable
from onward.progressive.contrasts import find_contrasts
from onward.progressive.interval_course import IntervalCourse
from onward.regression import OnlineRegressor

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Scores:
    """The online losses of the predictions made before each target was seen, and of the running mean beside them.

    Sums are weighted by the rows' weights. The running mean predicts each target as the mean of those before (0 at
    first).

    Attributes:
        rows: how many were scored.
        weight: Σ w.
        squared, absolute: Σ w (ŷ − y)² and Σ w abs(ŷ − y).
        mean_squared, mean_absolute: the same for the running mean.

    Example:
        >>> from onward.progressive import Scores
        >>> scores = Scores(rows=4, weight=4.0, squared=1.0, absolute=2.0, mean_squared=4.0, mean_absolute=4.0)
        >>> scores.rmse, scores.mae, scores.r2
        (0.5, 0.5, 0.75)
    """

    rows: int
    weight: float  # Σ w
    squared: float  # Σ w (ŷ − y)²
    absolute: float  # Σ w |ŷ − y|
    mean_squared: float  # the same for the running mean
    mean_absolute: float

    @property
    def rmse(self) -> float:
        """Root of the mean squared error; NaN before any row."""
        return math.sqrt(self.squared / self.weight) if self.weight > 0 else math.nan

    @property
    def mae(self) -> float:
        """Mean absolute error; NaN before any row."""
        return self.absolute / self.weight if self.weight > 0 else math.nan

    @property
    def mean_rmse(self) -> float:
        """`rmse` of the running mean."""
        return math.sqrt(self.mean_squared / self.weight) if self.weight > 0 else math.nan

    @property
    def mean_mae(self) -> float:
        """`mae` of the running mean."""
        return self.mean_absolute / self.weight if self.weight > 0 else math.nan

    @property
    def r2(self) -> float:
        """1 − squared error over that of the running mean: 0 is no better than the mean, 1 is perfect."""
        return 1.0 - self.squared / self.mean_squared if self.mean_squared > 0 else math.nan


@dataclass(frozen=True)
class History:
    """Readings along a pass, k of them, at numbers of rows that rise by a few percent; the last is the end.

    Attributes:
        scores: the scores of all rows until each reading.
        names: of the coefficients at the end, "(intercept)" first if there is one.
        estimate, lower, upper: (k, d) ridge coefficients and their time-uniform intervals; NaN before a feature was
            first seen, ±inf where an interval is open.
        deltas: (L,) levels at which the intervals of the rows were judged: an interval for δ may miss with
            probability δ.
        misses: (k, L) rows until then whose target lay outside of the interval made before it was seen.
        open: (k, L) rows until then whose interval was infinite on a side, so that it could hardly miss.
        sample: at most 4,096 rows, evenly spaced: columns row, target, prediction, lower, upper, leverage; the
            interval is that of the run's own δ.
        weights: (k, experts) of a model that weighs experts; (k, 0) for others.
        course: what came of the rows' intervals, in spans of rows, and the latest of them; None if it was not kept.

    Example:
        >>> import polars as pl
        >>> from onward import RidgeRegressor, fit
        >>> data = pl.DataFrame({"x": [float(i) for i in range(100)], "y": [2.0 * i for i in range(100)]})
        >>> history = fit(data, "y", RidgeRegressor(), history=True).history
        >>> history.names, int(history.rows[-1])
        (['(intercept)', 'x'], 100)
    """

    scores: list[Scores]
    names: list[str]
    estimate: Matrix
    lower: Matrix
    upper: Matrix
    deltas: Vector
    misses: NDArray[np.int64]
    open: NDArray[np.int64]
    sample: Mapping[str, Vector]
    weights: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    course: IntervalCourse | None = None

    @property
    def rows(self) -> NDArray[np.int64]:
        """(k,) rows learned at each reading."""
        return np.array([each.rows for each in self.scores], dtype=np.int64)


@dataclass(frozen=True, repr=False)
class Fit:
    """A model with how it did while it learned. It shows itself on one screen, in terminals and notebooks.

    Attributes:
        model: what has learned.
        source, target: what was read, and the column that was predicted.
        known: what its intervals rely on.
        read: rows in the data.
        scores: of the rows that were learned.
        skipped: rows that were left out, by reason.
        filled: missing values that were counted as 0, by column.
        seconds: how long it took.
        history: readings along the way, if they were asked for.
        notes: remarks on how the columns were chosen.
        stopped: the signal that ended a stream.
        method: how intervals for targets were made.
        changes: of the relation, as noticed on the way; None where nobody looked.
        on_change: what was done then.
        forgotten: Σ w of the rows that the model no longer knows, as it started anew after them.
        inference: which contrasts were asked for, and how intervals of coefficients are made.

    Example:
        >>> import polars as pl
        >>> from onward import RidgeRegressor, fit
        >>> data = pl.DataFrame({"x": [float(i) for i in range(100)], "y": [2.0 * i for i in range(100)]})
        >>> done = fit(data, "y", RidgeRegressor(lam=1.0))
        >>> done.scores.rows, done.model.coef_.round(3)
        (100, array([2.]))
        >>> done.to_frame().columns[:3]
        ['feature', 'coefficient', 'estimate']
    """

    model: OnlineRegressor
    source: str  # what was read, as a person would name it
    target: str
    known: Known  # what its intervals rely on
    read: int  # rows in the data
    scores: Scores  # of the rows that were learned
    skipped: Mapping[str, int]  # reason → rows
    filled: Mapping[str, int]  # column → missing values that were counted as 0
    seconds: float
    history: History | None = None
    notes: Sequence[str] = ()  # remarks on how the columns were chosen
    stopped: int | None = None  # the signal that ended a stream
    method: Method = "conformal"  # how intervals for targets were made
    changes: Sequence[Change] | None = None  # of the relation, as noticed on the way; None where nobody looked
    on_change: OnChange = "ignore"  # what was done then
    forgotten: float = 0.0  # Σ w of the rows that the model no longer knows, as it started anew after them
    inference: Inference = PLAIN  # which contrasts were asked for, and how intervals of coefficients are made

    @property
    def is_restarted(self) -> bool:
        """Whether the model started anew on the way, as the relation changed."""
        return self.forgotten > 0

    def coefficients(self) -> CoefficientTable:
        """Coefficients with their intervals, for what is known of the noise."""
        return coefficient_table(self.model, self.known, self.inference, is_restarted=self.is_restarted)

    def contrasts(self) -> list[Contrast]:
        """The contrasts that were asked for, with intervals that hold at every row at once."""
        return find_contrasts(self.model, self.known, self.inference)

    def to_frame(self) -> "pl.DataFrame":
        """The coefficients with their intervals, a row for each."""
        return self.coefficients().to_frame()

    def plot(self) -> "Figure":
        """A picture of how the error fell, if readings were taken (`history=True`); else of the coefficients."""
        if self.history is None:
            return self.coefficients().plot()
        from onward.progressive.learning_plot import plot_learning

        return plot_learning(self.history, self.changes or ())

    def __repr__(self) -> str:
        from onward.progressive.summaries import fit_text

        return fit_text(self)

    def _repr_html_(self) -> str:
        from onward.progressive.summaries import fit_html

        return fit_html(self)


@dataclass(frozen=True, repr=False)
class Comparison:
    """Ridge and forward over a grid of λ, on the same rows in the same order, and auto beside them.

    It shows itself on one screen. `auto` has the scores of `AutoRegressor()`, None where it did not run; `auto_curve`
    its RMSE at each mark, `auto_leaning` whom it leaned on at the end.

    `scores[learner][i]` belongs to `lams[i]`; None where the learner is not defined (ridge at λ = 0).
    `curves[learner]` is (k, L): RMSE until `marks[j]` rows, NaN where not defined.

    Attributes:
        source, target: what was read, and the column that was predicted.
        lams: the λ.
        read: rows in the data.
        scores: of each learner, for each λ.
        marks: numbers of rows at which curves were read.
        skipped, filled: what was left out, and what was counted as 0.
        seconds: how long it took.
        n_features: how many features.
        notes: remarks on how the columns were chosen.

    Example:
        >>> import numpy as np
        >>> import polars as pl
        >>> from onward import compare
        >>> rng = np.random.default_rng(0)
        >>> x = rng.standard_normal(200)
        >>> result = compare(pl.DataFrame({"x": x, "y": x + rng.standard_normal(200)}), "y", lams=[0.1, 1.0, 10.0])
        >>> result.rmse("forward").shape, result.to_frame().height  # auto has a row of its own
        ((3,), 7)
    """

    source: str
    target: str
    lams: list[float]
    read: int
    scores: Mapping[str, list[Scores | None]]
    marks: NDArray[np.int64]
    curves: Mapping[str, Matrix]
    skipped: Mapping[str, int]
    filled: Mapping[str, int]
    seconds: float
    n_features: int = 0
    notes: list[str] = field(default_factory=list)
    auto: Scores | None = None
    auto_curve: Vector = field(default_factory=lambda: np.empty(0))
    auto_leaning: str = ""

    def rmse(self, learner: str) -> Vector:
        """(L,) RMSE for each λ, NaN where not defined.

        Args:
            learner: "ridge" or "forward".
        """
        return np.array([math.nan if each is None else each.rmse for each in self.scores[learner]])

    def to_frame(self) -> "pl.DataFrame":
        """A row for each learner and λ: rmse, mae and r2, null where the learner is not defined. Auto has no λ."""
        import polars as pl

        rows = [
            (learner, lam, *((None,) * 3 if each is None else (each.rmse, each.mae, each.r2)))
            for learner, scores in self.scores.items()
            for lam, each in zip(self.lams, scores, strict=True)
        ]
        if self.auto is not None:
            rows.append(("auto", None, self.auto.rmse, self.auto.mae, self.auto.r2))
        numbers = dict.fromkeys(("lam", "rmse", "mae", "r2"), pl.Float64)
        return pl.DataFrame(rows, schema={"learner": pl.String, **numbers}, orient="row")

    def plot(self) -> "Figure":
        """A picture of the error over λ."""
        from onward.progressive.comparison_drawings import draw_errors_over_lam

        return draw_errors_over_lam(self).figure

    def __repr__(self) -> str:
        from onward.progressive.summaries import comparison_text

        return comparison_text(self)

    def _repr_html_(self) -> str:
        from onward.progressive.summaries import comparison_html

        return comparison_html(self)
