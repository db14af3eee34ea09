"""The policies by name: each is an estimator, a memory and a rule.

| policy | memory | rule |
|---|---|---|
| `OFUL` | everything | optimism |
| `DLinUCB` | discounted | optimism |
| `SWLinUCB` | the last rewards | optimism |
| `OracleRestart` | everything since the last change, of which it is told | optimism |
| `DetectingLinUCB` | several models, dropped when they fail too often | optimism |
| `LinTS` | everything | sampling |
| `Greedy`, `EpsilonGreedy` | everything | the best estimate, now and then any |
| `Random` | nothing | any |

Each reads its memory as `estimator="forward"` (the ^f of the paper) or `"ridge"`. The widths are the theory's; there is
nothing to tune, though `scale` multiplies them for those who want to.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import erfinv

from onward.bandits import layout
from onward.bandits.policy import Bias, Estimator, Policy
from onward.confidence import Width
from onward.core.checks import not_negative, probability, whole
from onward.core.types import Vector

Seed = int | np.random.SeedSequence | None


class OFUL(Policy):
    """Optimism in the face of uncertainty, on everything learned so far: OFUL, and OFUL^f with forward.  [Alg 3]

    Index: `p + √q (√λ S + σ√(2 log(1/δ) + I))` with ridge, `p/(1+q) + √(q/(1+q)) (bias(x) S + σ√(2 log(1/δ) + I))`
    with forward.

    Args:
        lam: λ > 0.
        sigma: σ, the noise is σ-sub-Gaussian.
        theta_bound: S ≥ ‖θ*‖.
        delta: δ, the probability that some index is not optimistic, ever.
        estimator: "forward" or "ridge".
        width: "determinant" (tightest: I itself), "trace", or "uniform" (as in the paper). With forward, "printed" is
            the whole index as Algorithm 3 prints it, error and all: no guarantee, to reproduce the paper only.
        bias: for forward, "tight" √(λ + ‖x‖²) or "paper" √λ + ‖x‖; "none" drops the S-term, and the guarantee with it.
        scale: multiplies what is added to explore.
        action_bound: X, for the uniform width: no action is longer. None: the longest offered so far.
        seed: of the random numbers that break ties.
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
        estimator: Estimator = "forward",
        width: Width | Literal["printed"] = "determinant",
        bias: Bias = "tight",
        scale: float = 1.0,
        action_bound: float | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(lam, estimator, seed)
        if width == "printed" and (estimator, bias) != ("forward", "paper"):
            raise ValueError(
                "width='printed' is Algorithm 3 as printed: expected estimator='forward' and bias='paper', "
                f"got {estimator!r} and {bias!r}"
            )
        self._explore(sigma, theta_bound, delta, "uniform" if width == "printed" else width, bias, scale, action_bound)
        if width == "printed":
            self.parameters["width"] = width
            self._settings[layout.WIDTH] = layout.AS_PRINTED


class DLinUCB(Policy):
    """Optimism for worlds that drift: every new reward lets the past count γ times as much.  [Alg 4]

    Index: `aᵀV⁻¹b + β √(aᵀV⁻¹ṼV⁻¹a)`, and with forward the same on V + aaᵀ and Ṽ + aaᵀ (D-LinUCB^f). The width
    that its authors use is the default, `uniform`; `determinant` and `trace` use Ṽ itself. It holds for each round by
    itself: for a statement over T rounds, give δ/T.

    Args:
        gamma: γ in (0, 1]; 1 forgets nothing.
        lam, sigma, theta_bound, delta, estimator, width, bias, scale, action_bound, seed: as in `OFUL`.
    """

    MEMORY = layout.DISCOUNTED

    def __init__(
        self,
        gamma: float = 0.99,
        lam: float = 1.0,
        *,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
        estimator: Estimator = "forward",
        width: Width = "uniform",
        bias: Bias = "tight",
        scale: float = 1.0,
        action_bound: float | None = None,
        seed: Seed = None,
    ) -> None:
        if gamma != 1:
            try:
                probability("gamma", gamma)
            except ValueError:
                raise ValueError(f"gamma must be a number in (0, 1], got {gamma!r}") from None
        if gamma < 1e-100:
            raise ValueError(f"gamma must be at least 1e-100, or its square is no longer a number > 0, got {gamma!r}")
        super().__init__(lam, estimator, seed, gamma=float(gamma))
        self._explore(sigma, theta_bound, delta, width, bias, scale, action_bound)
        self._settings[layout.GAMMA] = gamma


class SWLinUCB(Policy):
    """Optimism on the last rewards only (Cheung et al. 2019).

    The width that its authors use is the default, `uniform`: `√λ S + σ√(d log((1 + τX²/λ)/δ))`; `determinant` and
    `trace` use the rows in the window.

    Args:
        window: τ ≥ 1, how many rewards count.
        lam, sigma, theta_bound, delta, estimator, width, bias, scale, action_bound, seed: as in `OFUL`.
    """

    MEMORY = layout.SLIDING

    def __init__(
        self,
        window: int = 100,
        lam: float = 1.0,
        *,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
        estimator: Estimator = "forward",
        width: Width = "uniform",
        bias: Bias = "tight",
        scale: float = 1.0,
        action_bound: float | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(lam, estimator, seed, window=whole("window", window, 1))
        self._explore(sigma, theta_bound, delta, width, bias, scale, action_bound)
        self._settings[layout.WINDOW] = window


class OracleRestart(Policy):
    """OFUL that is told when the world changes, and starts over there: what others are measured against.

    Args:
        change_points: after so many rewards (increasing whole numbers) it forgets everything. Rewards of a warm start
            (`learn_many`, `start_from`) do not count.
        lam, sigma, theta_bound, delta, estimator, width, bias, scale, action_bound, seed: as in `OFUL`.
    """

    MEMORY = layout.RESTARTING

    def __init__(
        self,
        change_points: Sequence[int] = (),
        lam: float = 1.0,
        *,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
        estimator: Estimator = "forward",
        width: Width = "determinant",
        bias: Bias = "tight",
        scale: float = 1.0,
        action_bound: float | None = None,
        seed: Seed = None,
    ) -> None:
        if not isinstance(change_points, Sequence | np.ndarray) or isinstance(change_points, str):
            raise ValueError(f"change_points must be whole numbers in a list, got {change_points!r}")
        points = [whole("each of change_points", point, 1) for point in change_points]
        if any(later <= earlier for earlier, later in pairwise(points)):
            raise ValueError(f"change_points must increase, got {list(change_points)}")
        super().__init__(lam, estimator, seed, change_points=points)
        self._explore(sigma, theta_bound, delta, width, bias, scale, action_bound)

    def _capacity(self) -> int:
        return len(self.parameters["change_points"])

    def _new_memory(self, d: int, given: int | None = None) -> tuple[Vector, Vector]:
        settings, memory = super()._new_memory(d, given)
        memory[len(memory) - self._capacity() :] = self.parameters["change_points"]
        return settings, memory


class DetectingLinUCB(Policy):
    """Several OFUL models, each with a record of failures; those that fail too often are dropped (Wu et al. 2018).

    A model plays while its badness, less what chance explains, is the least. Every reward is checked by every model:
    one that finds it too far from what it expects records a failure and does not learn it.

    Args:
        window: τ, over how many rewards failures are counted.
        failure_delta: δ₂ of the margin `√(log(1/δ₂)/(2m))` for chance.
        tolerance: δ̃, a model is good while its badness is below the margin plus this. It is dropped at the margin
            plus `delta`; when none is good, a new one begins.
        lam, sigma, theta_bound, delta, estimator, width, bias, scale, action_bound, seed: as in `OFUL`.
    """

    MEMORY = layout.DETECTING

    def __init__(
        self,
        window: int = 200,
        lam: float = 1.0,
        *,
        failure_delta: float = 0.01,
        tolerance: float = 0.002,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
        estimator: Estimator = "forward",
        width: Width = "determinant",
        bias: Bias = "tight",
        scale: float = 1.0,
        action_bound: float | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            lam,
            estimator,
            seed,
            window=whole("window", window, 1),
            failure_delta=probability("failure_delta", failure_delta),
            tolerance=not_negative("tolerance", tolerance),
        )
        self._explore(sigma, theta_bound, delta, width, bias, scale, action_bound)
        self._settings[layout.WINDOW] = window
        self._settings[layout.FAILURE_DELTA] = failure_delta
        self._settings[layout.TOLERANCE] = tolerance
        self._settings[layout.SLACK] = math.sqrt(2) * sigma * float(erfinv(1 - delta))


class LinTS(Policy):
    """Thompson sampling: the best action for coefficients drawn around the estimate, as wide as OFUL's set.

    With η standard normal and G = UᵀDU, action x is worth `p + radius · xᵀU⁻¹D^(−1/2)η` with ridge; with forward,
    `p/(1+q)` and the deviation divided by √(1+q): a draw from N(θ(x), (G + xxᵀ)⁻¹), with one η for all actions.

    Args:
        lam, sigma, theta_bound, delta, estimator, width, bias, scale, action_bound: as in `OFUL`.
        seed: of the samples.
    """

    RULE = layout.SAMPLING

    def __init__(
        self,
        lam: float = 1.0,
        *,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
        estimator: Estimator = "forward",
        width: Width = "determinant",
        bias: Bias = "tight",
        scale: float = 1.0,
        action_bound: float | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(lam, estimator, seed)
        self._explore(sigma, theta_bound, delta, width, bias, scale, action_bound)


class Greedy(Policy):
    """The action with the best estimate: no exploration at all. A baseline."""

    RULE = layout.GREEDY

    def __init__(self, lam: float = 1.0, *, estimator: Estimator = "forward", seed: Seed = None) -> None:
        super().__init__(lam, estimator, seed)


class EpsilonGreedy(Policy):
    """The action with the best estimate, but any available one with probability epsilon. A baseline.

    Args:
        epsilon: the probability, from 0 to 1.
        lam, estimator: as in `OFUL`.
        seed: of the random numbers.
    """

    RULE = layout.EPSILON_GREEDY

    def __init__(
        self, epsilon: float = 0.05, lam: float = 1.0, *, estimator: Estimator = "forward", seed: Seed = None
    ) -> None:
        if not (isinstance(epsilon, int | float) and 0 <= epsilon <= 1):
            raise ValueError(f"epsilon must be a number from 0 to 1, got {epsilon!r}")
        super().__init__(lam, estimator, seed, epsilon=float(epsilon))
        self._settings[layout.EPSILON] = epsilon


class Random(Policy):
    """Any available action, each with the same chance: learns nothing. A baseline."""

    RULE = layout.UNIFORM_AT_RANDOM

    def __init__(self, seed: Seed = None) -> None:
        super().__init__(1.0, "ridge", seed)
        self.parameters.clear()
