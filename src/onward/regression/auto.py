"""The learner with nothing to tune: ridge and forward over many λ and memories, weighed as they do."""

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onward import storage
from onward.core import Information
from onward.core.checks import is_real, plain_number
from onward.core.ensemble_state import LEAST_LAM, EnsembleState, Expert
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.regression.ensembles import FittedEnsemble
from onward.regression.fitted import ReadOut
from onward.regression.learners import ForwardRegressor, OnlineRegressor, RidgeRegressor

LAMS = (0.001, 0.01, 0.1, 1.0, 10.0)
HALF_LIVES = (None, 1000.0, 100.0, 10.0)
MEANS = (None, 100.0, 10.0, 1.0)
_NO_READ_OUT = ReadOut(shrinks=False, clip=math.inf)


@storage.kind("auto")
class AutoRegressor(OnlineRegressor):
    """Ridge and forward over many λ and memories, weighed by how they do: nothing to tune.

    A prediction is an average over experts: ridge and forward for every pair of a λ and a memory, and running means of
    the targets. The weights follow their errors, without a learning rate (`core.aggregation`). λ is in the features'
    own units: it counts rows of average size, so that neither a column's unit nor its zero matters, nor the target's.
    The constant is not regularised, and forward shrinks to the mean of the targets. On any sequence the squared error
    exceeds that of each expert by at most `bounds.aggregation_regret_so_far(model.ensemble_)`.

    It costs about 30 times as much as one learner. Rows are weighed in their order: such models do not merge, and a
    pass cannot be shared out. The defaults were chosen on simulated streams and four data sets, and tested on others.

    Args:
        lams: λ > 0 of the experts, relative to the features' own scale: about so many rows' worth of regularisation.
        half_lives: memories of the experts: rows after which a row counts half; None for one that keeps all alike.

    Raises:
        ValueError: when it first learns or predicts, if a λ or a half-life is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward import AutoRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((300, 2))
        >>> y = 3.0 + X @ [2.0, -1.0] + 0.1 * rng.standard_normal(300)
        >>> model = AutoRegressor().fit(X, y)
        >>> model.coef_.round(1), round(model.intercept_, 1)
        (array([ 2., -1.]), 3.0)
        >>> round(float(model.weights_.sum()), 6), len(model.experts)
        (1.0, 44)
        >>> model.leaning_
        "ridge (100%), λ about 0.00... of the features' scale, memory of all rows"
    """

    _kind: Literal["forward", "ridge", "auto"] = "auto"
    _learned_with = ("lams", "half_lives")
    _why_no_sets = (
        "AutoRegressor has no time-uniform confidence set: its coefficients are an average over learners that may "
        "forget; RidgeRegressor and ForwardRegressor have one"
    )
    lam = 1.0  # of a single feature: an ensemble has none, nor a prior
    fit_intercept = True
    intercept_lam = 0.0
    units = "own"
    half_life = None
    window = None
    prior_mean = None
    prior_intercept = 0.0

    def __init__(self, *, lams: Sequence[float] = LAMS, half_lives: Sequence[float | None] = HALF_LIVES) -> None:
        self.lams = lams
        self.half_lives = half_lives

    @property
    def forgets(self) -> bool:
        """Whether rows count less as others come: those of most experts do, if one of them has a half-life."""
        return any(half is not None for half in self.half_lives)

    @property
    def _has_sets(self) -> bool:
        return False

    @property
    def _has_contrasts(self) -> bool:
        return any(half is None for half in self.half_lives)

    def _state_of_all_rows(self, target: int) -> Information:
        state = self.ensemble_.state_of_all_rows(target)
        if state is None:
            raise ValueError(
                "coefficients have intervals where some learners keep all rows: expected None among half_lives, got "
                f"{list(self.half_lives)}"
            )
        return state

    @property
    def _read_out(self) -> ReadOut:
        return _NO_READ_OUT

    def _check_settings(self) -> None:
        try:
            lams = list(map(plain_number, self.lams)) if np.ndim(self.lams) == 1 else []
        except ValueError:  # lists of several lengths
            lams = []
        if not lams or not all(is_real(lam) and LEAST_LAM <= lam <= 1 / LEAST_LAM for lam in lams):
            raise ValueError(
                f"lams must be a list of numbers between {LEAST_LAM:g} and {1 / LEAST_LAM:g}, got {brief(self.lams)}"
            )
        try:
            half_lives = list(map(plain_number, self.half_lives))
        except TypeError:
            half_lives = []
        known = [half for half in half_lives if half is not None]
        if not half_lives or not all(is_real(half) and 1 <= half <= 1e12 for half in known):
            raise ValueError(f"half_lives must be a list of numbers from 1 on, or None, got {brief(self.half_lives)}")

    # What was learned

    @property
    def ensemble_(self) -> EnsembleState:
        """The state itself."""
        fitted = self._fitted()
        assert isinstance(fitted, FittedEnsemble)
        return fitted.state

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The weight of each expert in the next prediction: (experts,), or (targets, experts). They sum to 1."""
        state = self.ensemble_
        weights = np.array([state.weights(target) for target in range(state.n_targets)])
        return weights[0] if self._fitted().flat else weights

    @property
    def best_(self) -> Any:
        """The expert that weighs most now, an `Expert(learner, lam, half_life)`; a list of one for each target."""
        state = self.ensemble_
        experts = state.experts
        best = [experts[int(state.weights(target).argmax())] for target in range(state.n_targets)]
        return best[0] if self._fitted().flat else best

    @property
    def experts_(self) -> dict[str, Any]:
        """Columns `learner`, `lam`, `half_life`, `weight`, `loss`, a row for each expert; of several targets the first.

        `loss` is Σ w (ŷ − y)² over all rows but the first, of which nobody knew anything. A dict of columns, which
        every data frame library takes.
        """
        return self.experts_of(0)

    @property
    def experts(self) -> list[Expert]:
        """The experts, in the order of `weights_`."""
        return self.ensemble_.experts

    def experts_of(self, target: int) -> dict[str, Any]:
        """`experts_` of a target, by its number."""
        state = self.ensemble_
        experts = state.experts
        columns: dict[str, Any] = {name: [getattr(each, name) for each in experts] for name in Expert._fields}
        return columns | {"weight": state.weights(target), "loss": state.losses(target)}

    @property
    def leaning_(self) -> str:
        """Whom it leans on now, in words; of several targets, for the first."""
        state = self.ensemble_
        return describe_leaning(state.experts, state.weights(), state.rows)

    @property
    def information_(self) -> Information:
        """Not here: an ensemble has many states."""
        raise AttributeError("an AutoRegressor has many states, not one: see experts_, weights_ and coef_")

    @property
    def information_gain_(self) -> float:
        """Not here: an ensemble has many states."""
        raise AttributeError("an AutoRegressor has many states, not one: see experts_, weights_ and coef_")

    @property
    def regularized_loss_(self) -> Any:
        """Not here: an ensemble has many states."""
        raise AttributeError("an AutoRegressor has many states, not one: see experts_, weights_ and coef_")

    def describe(self) -> dict[str, str]:
        """What the model is, for a person: its settings by their names."""
        halves = [f"{half:g}" for half in self.half_lives if half is not None]
        lasting = ["all rows"] if None in list(self.half_lives) else []
        fading = [f"half-life {', '.join(halves)}"] if halves else []
        return {
            "λ": f"{', '.join(f'{lam:g}' for lam in self.lams)} of the features' scale",
            "memories": "; ".join([*lasting, *fading]),
            "leans on": self.leaning_,
            "coefficients": "averages over the learners, by their weights",
        }

    def _mean_squares(self) -> Vector:
        factor, d = self.ensemble_.factor(0, 0), self.n_features_in_ + 1
        triangle = np.triu(factor.U[:, :d], 1) + np.eye(d)
        return np.asarray(factor.D @ np.square(triangle) / factor.D[0])

    def _theta(self) -> Matrix:
        return self.ensemble_.coefficients()

    def _next_theta(self) -> Matrix:
        return self._theta()  # which its learners hold to the next row's size

    def _new_state(
        self, n_features: int, n_targets: int | None, flat: bool | None, names: list[Hashable] | None
    ) -> FittedEnsemble:
        if self.calibration_ is not None and n_targets is not None and n_targets > 1:
            raise ValueError(f"a calibrated model has one target, got {n_targets}")
        if self._tracks_sandwich and n_targets is not None and n_targets > 1:
            raise ValueError(f"robust intervals are for models of one target, got {n_targets}")
        state = self.new_ensemble(n_features, 1 if n_targets is None else n_targets)
        return FittedEnsemble(state, names, open=False, flat=state.n_targets == 1 if flat is None else flat)

    def new_ensemble(self, n_features: int, n_targets: int) -> EnsembleState:
        """A state of these settings that has learned nothing.

        Args:
            n_features: how many features.
            n_targets: how many targets.
        """
        half_lives = [None if half is None else float(half) for half in self.half_lives]
        return EnsembleState(n_features, n_targets, [float(lam) for lam in self.lams], half_lives, MEANS)

    # Model files

    def parameters_to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """The parameters that the model was made with, for a file; ValueError if one was set to what no model has."""
        self._check_settings()
        halves = [None if half is None else float(half) for half in self.half_lives]
        return {"lams": [float(lam) for lam in self.lams], "half_lives": halves}, {}

    @classmethod
    def from_parameters(cls, parameters: storage.Settings, arrays: storage.Arrays) -> Self:
        """A model that has learned nothing, of the parameters in a file.

        Args:
            arrays: arrays by name.
        """
        model = cls(lams=tuple(parameters["lams"]), half_lives=tuple(parameters["half_lives"]))
        model._check_settings()
        return model

    @classmethod
    def _fitted_from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> FittedEnsemble:
        fitted, parameters = FittedEnsemble.from_record(settings, arrays), settings["parameters"]
        expected = EnsembleState(0, 1, parameters["lams"], parameters["half_lives"], ()).experts
        if [expert for expert in fitted.state.experts if expert.learner != "mean"] != expected:
            raise ValueError(f"lams and half_lives of a model must be those that it has learned with, got {parameters}")
        return fitted

    # What it cannot do

    def merge(self, other: Any) -> Self:
        """Refused: the weights follow the order of the rows.

        Args:
            other: another learner of the same kind and settings.
        """
        raise ValueError(
            "cannot merge AutoRegressors: their weights follow the order of the rows; learn on with one of them, or "
            "use ForwardRegressor or RidgeRegressor, which merge"
        )

    def merge_part(self, part: Any) -> Self:
        """Refused: the weights follow the order of the rows.

        Args:
            part: what was learned without regularisation, from rows of its own.
        """
        return self.merge(part)


LEARNERS: dict[str, type[OnlineRegressor]] = {
    "auto": AutoRegressor,
    "forward": ForwardRegressor,
    "ridge": RidgeRegressor,
}
"""The learners by the names that `learner_name` gives."""


def describe_leaning(experts: Sequence[Expert], weights: Vector, rows: int) -> str:
    """Whom an ensemble that has seen so many rows leans on, in words: "ridge (81%), λ about 0.3 of …".

    Args:
        experts: the experts, as `AutoRegressor.experts` has them.
        weights: the weight of each, (experts,).
        rows: how many rows were learned.

    Returns:
        One line for a person.
    """
    if len(weights) > 1 and np.ptp(weights) == 0:
        return "nobody yet: its learners have not differed"
    shares = {
        name: float(sum(w for each, w in zip(experts, weights, strict=True) if each.learner == name))
        for name in ("ridge", "forward", "mean")
    }
    if shares["mean"] > 0.5:
        who = f"the mean of the targets ({shares['mean']:.0%})"
        chosen = [(each, w) for each, w in zip(experts, weights, strict=True) if each.learner == "mean"]
        rest = ""
    else:
        name = max(("ridge", "forward"), key=lambda each: shares[each])
        who = f"{name} ({shares[name]:.0%})"
        chosen = [(each, w) for each, w in zip(experts, weights, strict=True) if each.learner != "mean"]
        total = sum(w for _, w in chosen)
        middle = math.exp(sum(w * math.log(each.lam or 1.0) for each, w in chosen) / total) if total > 0 else 1.0
        rest = f", λ about {middle:.2g} of the features' scale"
    total = sum(w for _, w in chosen)
    lasting = sum(w for each, w in chosen if each.half_life is None or each.half_life >= rows)  # it forgets little yet
    if lasting > 0.5 * total:
        return f"{who}{rest}, memory of all rows"
    fading = [(math.log(half), w) for each, w in chosen if (half := each.half_life) is not None and half < rows]
    typical = math.exp(sum(value * w for value, w in fading) / sum(w for _, w in fading)) if fading else 1.0
    memory = float(f"{typical / math.log(2):.1g}")  # a memory of half-life h weighs as much as h / log 2 rows
    return f"{who}{rest}, memory of about {counted(int(max(memory, 1)), 'row')}"
