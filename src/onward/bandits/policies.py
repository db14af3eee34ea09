"""The policies by name: each is a memory, a rule, an estimator and what is known.

| policy | memory | rule |
|---|---|---|
| `LinUCB` | everything | optimism, a number of standard deviations |
| `OFUL` | everything | optimism, by the theory's widths |
| `DLinUCB` | discounted | optimism |
| `SWLinUCB` | the last rewards | optimism |
| `OracleRestart` | everything since the last change, of which it is told | optimism |
| `DetectingLinUCB` | several models, dropped when they fail too often | optimism |
| `LinTS` | everything | sampling |
| `Greedy`, `EpsilonGreedy` | everything | the best estimate, now and then any |
| `SquareCB` | everything | the better by inverse gaps, the more likely |
| `Boltzmann` | everything | the same by softmax |
| `Random` | nothing | any |

Each reads its memory as `estimator="ridge"` or `"forward"` (the ^f of the paper). With nothing told, the noise is
estimated from the rewards, and of a few widths those are taken oftener that have earned more. With `sigma` and
`theta_bound` told, the widths of `OFUL` and the others are the theory's, with its guarantee.
"""

from collections.abc import Sequence
from typing import Any, Literal, Unpack

from onward.bandits.design import Lam
from onward.bandits.memories import Detecting, Discounted, Everything, Restarting, Window
from onward.bandits.policy_arguments import Common, Exploration, ExploringPolicy, ToldPolicy
from onward.bandits.policy_known import Known
from onward.bandits.randomness import Seed
from onward.bandits.rules import AtRandom, EpsilonGreedily, Greedily, InverseGap, Sampling, Softmax
from onward.core.checks import not_negative
from onward.core.shown import brief


class LinUCB(ExploringPolicy):
    """The largest of estimate + α standard deviations (Li et al. 2010): `p + α σ √q`.

    Args:
        alpha: α ≥ 0, how many standard deviations; "auto" takes ¼, ½, 1 or 2 for each choice, those oftener that have
            earned more: see `tuning`.
        lam, settings: as in `OFUL`; σ is estimated unless it is told. With `sigma=1` α is the textbook's constant.

    Raises:
        TypeError: if a setting is none of these.
        ValueError: if a setting is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bandits import LinUCB
        >>> policy = LinUCB(seed=0)  # nothing to tune: σ and α are found as it plays
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8, 0.0])
        >>> for _ in range(200):
        ...     actions = rng.standard_normal((10, 3))
        ...     i = policy.choose(actions)
        ...     policy.learn(actions[i], actions[i] @ theta + 0.1 * rng.standard_normal())
        >>> policy.coef.round(1) + 0.0
        array([ 0.6, -0.8,  0. ])
    """

    def __init__(
        self, alpha: float | Literal["auto"] = "auto", lam: Lam = None, **settings: Unpack[Exploration]
    ) -> None:
        for name in ("width", "scale", "index", "bias", "theta_bound", "clipped"):
            if name in settings:
                raise TypeError(f"LinUCB has no parameter {name!r}: alpha is its width; OFUL has what theory has")
        if isinstance(alpha, str):
            if alpha != "auto":
                raise ValueError(f"alpha must be a number ≥ 0 or 'auto', got {brief(alpha)}")
            self._explore(Everything(), lam, {**settings, "width": 1.0, "scale": "auto"})
        else:
            self._explore(Everything(), lam, {**settings, "width": not_negative("alpha", alpha), "scale": 1.0})

    @property
    def alpha(self) -> float | Literal["auto"]:
        """How many standard deviations."""
        return "auto" if vars(self.rule)["scale"] == "auto" else float(vars(self.rule)["width"])

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that would make it again, as plain values."""
        left = ("width", "scale", "bias", "radius", "theta_bound")
        given = {name: value for name, value in super().parameters.items() if name not in left}
        return {"alpha": self.alpha, **given}


class OFUL(ExploringPolicy):
    """Optimism in the face of uncertainty, on everything learned so far: OFUL, and OFUL^f with forward.  [Alg 3]

    Index: `p + √q W` with ridge, W = √(σ²(2 log(1/δ) + I) + λS²); with forward `(p + √q W + q‖x‖S)/(1+q)`. The paper's
    own are `radius="sum"`, W = σ√(2 log(1/δ) + I) + √λ S, and for forward also `bias="tight"` or "paper",
    `p/(1+q) + √(q/(1+q)) (bias(x) S + σ√(2 log(1/δ) + I))`.

    Args:
        lam: λ > 0, a number or one for each feature: how much is known beforehand, in rewards of an action of length 1.
        settings: sigma, theta_bound, delta, action_bound, width, bias, radius, clipped, scale, estimator, prior_mean,
            seed: see `Exploration`.

    Raises:
        ValueError: if a setting is out of its range.

    Example:
        >>> from onward.bandits import OFUL
        >>> policy = OFUL(lam=1.0, sigma=0.1, theta_bound=1.0, seed=0)  # with estimator="forward", OFUL^f
        >>> policy.learn([1.0, 0.0], 0.9)
        >>> policy.learn([0.0, 1.0], 0.2)
        >>> actions = [[1.0, 0.0], [0.0, 1.0]]
        >>> policy.choose(actions), policy.estimate(actions).round(3)
        (0, array([0.45, 0.1 ]))
        >>> bool((policy.index(actions) > policy.estimate(actions)).all())
        True
    """

    def __init__(self, lam: Lam = None, **settings: Unpack[Exploration]) -> None:
        self._explore(Everything(), lam, settings)


class DLinUCB(ExploringPolicy):
    """Optimism for worlds that drift: every new reward lets the past count γ times as much.  [Alg 4]

    Index: `aᵀV⁻¹b + β √(aᵀV⁻¹ṼV⁻¹a)`. With forward that and ‖a‖S, in shares of 1/(1+q) and q/(1+q) with q = aᵀV⁻¹a;
    or with `bias="tight"` or "paper" as in the paper, the same on V + aaᵀ and Ṽ + aaᵀ (D-LinUCB^f). The width
    that its authors use is the default, `uniform`; `determinant` and `trace` use Ṽ itself. It holds for each round by
    itself: for a statement over T rounds, give δ/T.

    Args:
        gamma: γ in (0, 1]; 1 forgets nothing.
        lam, settings: as in `OFUL`.

    Example:
        >>> from onward.bandits import DLinUCB
        >>> policy = DLinUCB(gamma=0.5, lam=0.1, sigma=0.1, theta_bound=1.0, seed=0)
        >>> policy.learn_many([[1.0]] * 20, [0.0] * 10 + [1.0] * 10)  # the reward has changed
        >>> policy.estimate([[1.0]]).round(2)
        array([0.95])
    """

    _width = "uniform"

    def __init__(self, gamma: float = 0.99, lam: Lam = None, **settings: Unpack[Exploration]) -> None:
        self._explore(Discounted(gamma), lam, settings)


class SWLinUCB(ExploringPolicy):
    """Optimism on the last rewards only (Cheung et al. 2019).

    The width that its authors use is the default, `uniform`: `√λ S + σ√(d log((1 + τX²/λ)/δ))`; `determinant` and
    `trace` use the rows in the window.

    Args:
        window: τ ≥ 1, how many rewards count.
        lam, settings: as in `OFUL`.

    Example:
        >>> from onward.bandits import SWLinUCB
        >>> policy = SWLinUCB(window=10, lam=0.1, sigma=0.1, theta_bound=1.0, seed=0)
        >>> policy.learn_many([[1.0]] * 20, [0.0] * 10 + [1.0] * 10)  # the first ten no longer count
        >>> policy.estimate([[1.0]]).round(2)
        array([0.99])
    """

    _width = "uniform"

    def __init__(self, window: int = 100, lam: Lam = None, **settings: Unpack[Exploration]) -> None:
        self._explore(Window(window), lam, settings)


class OracleRestart(ExploringPolicy):
    """OFUL that is told when the world changes, and starts over there: what others are measured against.

    Args:
        change_points: after so many rewards (increasing whole numbers) it forgets everything. Rewards of a warm start
            (`learn_many`, `start_from`) do not count.
        lam, settings: as in `OFUL`.

    Example:
        >>> from onward.bandits import OracleRestart
        >>> policy = OracleRestart(change_points=[10], lam=0.1, sigma=0.1, theta_bound=1.0, seed=0)
        >>> for reward in [0.0] * 10 + [1.0] * 10:
        ...     policy.learn([1.0], reward)
        >>> policy.estimate([[1.0]]).round(2)
        array([0.99])
    """

    def __init__(self, change_points: Sequence[int] = (), lam: Lam = None, **settings: Unpack[Exploration]) -> None:
        self._explore(Restarting(change_points), lam, settings)


class DetectingLinUCB(ExploringPolicy):
    """Several OFUL models, each with a record of failures; those that fail too often are dropped (Wu et al. 2018).

    A model plays while its badness, less what chance explains, is the least. Every reward is checked by every model:
    one that finds it too far from what it expects records a failure and does not learn it.

    Args:
        window: τ, over how many rewards failures are counted.
        failure_delta: δ₂ of the margin `√(log(1/δ₂)/(2m))` for chance.
        tolerance: δ̃, a model is good while its badness is below the margin plus this. It is dropped at the margin
            plus `delta`; when none is good, a new one begins.
        lam, settings: as in `OFUL`.

    Example:
        >>> from onward.bandits import DetectingLinUCB
        >>> policy = DetectingLinUCB(window=20, lam=0.1, sigma=0.1, theta_bound=1.0, seed=0)
        >>> policy.learn_many([[1.0]] * 40, [0.0] * 20 + [1.0] * 20)
        >>> policy.estimate([[1.0]]).round(2), policy.n_models
        (array([0.99]), 1)
    """

    def __init__(
        self,
        window: int = 200,
        lam: Lam = None,
        *,
        failure_delta: float = 0.01,
        tolerance: float = 0.002,
        **settings: Unpack[Exploration],
    ) -> None:
        self._explore(Detecting(window, failure_delta, tolerance), lam, settings)


class LinTS(ExploringPolicy):
    """Thompson sampling: the best action for coefficients drawn from the posterior, N(θ̂, σ²G⁻¹).

    With η standard normal and G = UᵀDU, action x is worth `p + radius · xᵀU⁻¹D^(−1/2)η` with ridge; with forward,
    `p/(1+q)` and the deviation divided by √(1+q): a draw from N(θ(x), (G + xxᵀ)⁻¹), with one η for all actions. The
    radius is σ, estimated unless it is told; with `width="determinant"` it is as wide as OFUL's set, as theory has it.

    Args:
        lam, settings: as in `OFUL`; the seed is that of the samples.

    Example:
        >>> from onward.bandits import LinTS
        >>> policy = LinTS(lam=1.0, sigma=0.1, seed=0)
        >>> policy.learn_many([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.2])
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(3)
        array([1., 0.])
    """

    _rule = Sampling
    _width = 1.0

    def __init__(self, lam: Lam = None, **settings: Unpack[Exploration]) -> None:
        self._explore(Everything(), lam, settings)


class Greedy(ToldPolicy):
    """The action with the best estimate: no exploration at all. A baseline.

    Args:
        lam, settings: as in `OFUL`; of settings those of `Common`: estimator, prior_mean, explore, seed.

    Example:
        >>> from onward.bandits import Greedy
        >>> policy = Greedy(seed=0)
        >>> policy.learn_many([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.2])
        >>> policy.choose([[1.0, 0.0], [0.0, 1.0]])
        0
    """

    def __init__(self, lam: Lam = None, **settings: Unpack[Common]) -> None:
        self._begin(Everything(), Greedily(), lam, None, settings)


class EpsilonGreedy(ToldPolicy):
    """The action with the best estimate, but any available one with probability epsilon. A baseline.

    Args:
        epsilon: the probability, from 0 to 1.
        lam, settings: as in `OFUL`; of settings those of `Common`: estimator, prior_mean, explore, seed.

    Example:
        >>> from onward.bandits import EpsilonGreedy
        >>> policy = EpsilonGreedy(epsilon=0.1, seed=0)
        >>> policy.learn_many([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.2])
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(3)  # for a log: what each action's chance was
        array([0.95, 0.05])
    """

    def __init__(self, epsilon: float = 0.05, lam: Lam = None, **settings: Unpack[Common]) -> None:
        self._begin(Everything(), EpsilonGreedily(epsilon), lam, None, settings)


class SquareCB(ToldPolicy):
    """Inverse-gap weighting of the estimates (Foster & Rakhlin 2020): see `rules.InverseGap`.

    Args:
        scale, gamma: how much it explores: as in `InverseGap`.
        sigma: the noise; None to estimate it from the rewards.
        lam, settings: as in `OFUL`; of settings those of `Common`: estimator, prior_mean, explore, seed.

    Example:
        >>> from onward.bandits import SquareCB
        >>> policy = SquareCB(gamma=10.0, lam=0.01, seed=0)
        >>> policy.learn_many([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.2])
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(2)
        array([0.89, 0.11])
    """

    def __init__(
        self,
        lam: Lam = None,
        *,
        scale: float | None = None,
        gamma: float | None = None,
        sigma: float | None = None,
        **settings: Unpack[Common],
    ) -> None:
        self._begin(Everything(), InverseGap(scale, gamma), lam, Known(sigma), settings)


class Boltzmann(ToldPolicy):
    """Softmax of the estimates: see `rules.Softmax`.

    Args:
        scale, temperature: how much it explores: as in `Softmax`.
        sigma, lam, settings: as in `SquareCB`.

    Example:
        >>> from onward.bandits import Boltzmann
        >>> policy = Boltzmann(temperature=0.5, lam=0.01, seed=0)
        >>> policy.learn_many([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.2])
        >>> policy.probabilities([[1.0, 0.0], [0.0, 1.0]]).round(2)
        array([0.8, 0.2])
    """

    def __init__(
        self,
        lam: Lam = None,
        *,
        scale: float | None = None,
        temperature: float | None = None,
        sigma: float | None = None,
        **settings: Unpack[Common],
    ) -> None:
        self._begin(Everything(), Softmax(scale, temperature), lam, Known(sigma), settings)


class Random(ToldPolicy):
    """Any available action, each with the same chance: learns nothing. A baseline.

    Args:
        seed: of its random numbers.

    Example:
        >>> from onward.bandits import Random
        >>> Random(seed=0).probabilities([[1.0], [2.0]])
        array([0.5, 0.5])
    """

    def __init__(self, seed: Seed = None) -> None:
        super().__init__(Everything(), AtRandom(), "ridge", seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """Empty: there is nothing to set."""
        return {}
