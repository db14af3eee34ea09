"""The policies in good NumPy, as one writes them who knows BLAS: a yardstick, and a second opinion.

The inverse is in Fortran's order and Sherman–Morrison changes it in place, by one call of BLAS, where rows come and go.
Where all that was learned fades it comes from a Cholesky factor each round. `choose` takes the actions, an array
(k, d); `learn` the action taken and its reward. The index is there twice: `index` for all arms at once, and `index_of`
for one, which `ArmByArm` calls in a loop over the arms, as the code does that was published with figure 4's policies
(Russac et al. 2019). `bandit_blas.py` goes further and does what can be done for speed alone.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import erfinv

from onward.core.types import Matrix, Vector


class Policy(Protocol):
    """What a game asks of a policy."""

    def choose(self, actions: Matrix) -> int: ...

    def learn(self, action: Vector, reward: float) -> None: ...


def identity(d: int, size: float = 1.0) -> Matrix:
    """A multiple of the identity in Fortran's order, so that BLAS can change it in place."""
    return np.asfortranarray(size * np.eye(d))


class Indexed:
    """Plays the action of the largest index."""

    def index(self, actions: Matrix) -> Vector:
        raise NotImplementedError

    def index_of(self, x: Vector) -> float:
        raise NotImplementedError

    def playing(self) -> "Indexed":
        """The model whose index counts this round."""
        return self

    def learn(self, action: Vector, reward: float) -> None:
        raise NotImplementedError

    def choose(self, actions: Matrix) -> int:
        return int(np.argmax(self.index(actions)))


class ArmByArm:
    """A policy that looks at one arm after the other."""

    def __init__(self, policy: Indexed) -> None:
        self.policy = policy

    def choose(self, actions: Matrix) -> int:
        playing = self.policy.playing()
        return int(np.argmax([playing.index_of(x) for x in actions]))

    def learn(self, action: Vector, reward: float) -> None:
        self.policy.learn(action, reward)


class LinUCB(Indexed):
    """xᵀθ + α √q with one α for ever, as in most code that one finds."""

    def __init__(self, d: int, lam: float = 1.0, alpha: float = 1.0) -> None:
        self.inverse = identity(d, 1 / lam)
        self.theta = np.zeros(d)
        self.alpha = alpha

    def leverage(self, actions: Matrix) -> Vector:
        leverages: Vector = np.vecdot(actions.dot(self.inverse), actions)
        return leverages

    def index(self, actions: Matrix) -> Vector:
        values: Vector = actions.dot(self.theta) + self.alpha * np.sqrt(self.leverage(actions))
        return values

    def index_of(self, x: Vector) -> float:
        return float(x @ self.theta + self.alpha * math.sqrt(x @ self.inverse @ x))

    def learn(self, action: Vector, reward: float) -> None:
        g = self.inverse.dot(action)
        q = float(g.dot(action))
        dger(-1 / (1 + q), g, g, a=self.inverse, overwrite_a=1)
        self.theta += (reward - float(action.dot(self.theta))) / (1 + q) * g
        self.learned(q)

    def learned(self, q: float) -> None:
        """A row of leverage q was learned."""


class OFUL(LinUCB):
    """LinUCB whose α is the radius of the confidence set, with the determinant's width."""

    def __init__(self, d: int, lam: float = 1.0, sigma: float = 1.0, theta_bound: float = 1.0, delta: float = 0.01):
        super().__init__(d, lam)
        self.lam, self.sigma, self.theta_bound, self.delta = lam, sigma, theta_bound, delta
        self.gain = 0.0
        self.alpha = self.bias() + self.noise()

    def bias(self) -> float:
        return math.sqrt(self.lam) * self.theta_bound

    def noise(self) -> float:
        return self.sigma * math.sqrt(2 * math.log(1 / self.delta) + self.gain)

    def learned(self, q: float) -> None:
        self.gain += math.log1p(q)
        self.alpha = self.bias() + self.noise()


class ForwardOFUL(OFUL):
    """OFUL^f, with the tight bias."""

    def index(self, actions: Matrix) -> Vector:
        q = self.leverage(actions)
        bias = self.theta_bound * np.sqrt(self.lam + np.vecdot(actions, actions))
        values: Vector = actions.dot(self.theta) / (1 + q) + np.sqrt(q / (1 + q)) * (bias + self.noise())
        return values


class LinTS(OFUL):
    """OFUL's radius, but a random θ instead of the best one, by a Cholesky factor of the inverse."""

    def __init__(self, d: int, lam: float = 1.0, sigma: float = 1.0, theta_bound: float = 1.0, delta: float = 0.01):
        super().__init__(d, lam, sigma, theta_bound, delta)
        self.rng = np.random.default_rng(0)

    def index(self, actions: Matrix) -> Vector:
        root, _ = dpotrf(self.inverse, lower=1)
        spread = root.dot(self.rng.standard_normal(len(self.theta)))
        values: Vector = actions.dot(self.theta + self.alpha * spread)
        return values


class RestartingOFUL(Indexed):
    """LinUCB-OR: OFUL that is told after how many rounds to start anew."""

    def __init__(self, d: int, change_points: Sequence[int], **settings: float) -> None:
        self.d, self.settings, self.change_points = d, settings, frozenset(change_points)
        self.rounds = 0
        self.model = OFUL(d, **settings)

    def index(self, actions: Matrix) -> Vector:
        return self.model.index(actions)

    def playing(self) -> Indexed:
        return self.model

    def learn(self, action: Vector, reward: float) -> None:
        self.model.learn(action, reward)
        self.rounds += 1
        if self.rounds in self.change_points:
            self.model = OFUL(self.d, **self.settings)


class DLinUCB(Indexed):
    """D-LinUCB with β as printed, for actions of norm at most 1.  [Alg. 4]"""

    def __init__(
        self,
        d: int,
        gamma: float = 0.99,
        lam: float = 1.0,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
    ) -> None:
        self.d, self.lam, self.sigma, self.theta_bound, self.delta, self.gamma = (
            d,
            lam,
            sigma,
            theta_bound,
            delta,
            gamma,
        )
        self.V, self.W, self.b = identity(d, lam), identity(d, lam), np.zeros(d)  # W is Ṽ
        self.rounds = 0
        self.above = np.triu(np.ones((d, d), dtype=bool), 1)
        self.refresh()

    def refresh(self) -> None:
        factor, _ = dpotrf(self.V, lower=1, clean=0)
        self.inverse, _ = dpotri(factor, lower=1, overwrite_c=1)  # its lower half
        np.copyto(self.inverse, self.inverse.T, where=self.above)
        self.theta = self.inverse.dot(self.b)

    def noise(self) -> float:
        gamma, d = self.gamma, self.d
        seen = (1 - gamma ** (2 * self.rounds)) / (self.lam * d * (1 - gamma**2))
        return self.sigma * math.sqrt(2 * math.log(1 / self.delta) + d * math.log1p(seen))

    def spread(self, actions: Matrix) -> Vector:
        """xᵀV⁻¹ṼV⁻¹x for each action."""
        half = actions.dot(self.inverse)
        squares: Vector = np.vecdot(half.dot(self.W), half)
        return squares

    def index(self, actions: Matrix) -> Vector:
        beta = math.sqrt(self.lam) * self.theta_bound + self.noise()
        values: Vector = actions.dot(self.theta) + beta * np.sqrt(self.spread(actions))
        return values

    def index_of(self, x: Vector) -> float:
        beta, half = math.sqrt(self.lam) * self.theta_bound + self.noise(), self.inverse @ x
        return float(x @ self.theta + beta * math.sqrt(half @ self.W @ half))

    def learn(self, action: Vector, reward: float) -> None:
        for matrix, kept in ((self.V, self.gamma), (self.W, self.gamma**2)):
            matrix *= kept
            dger(1.0, action, action, a=matrix, overwrite_a=1)
            matrix.ravel("K")[:: self.d + 1] += (1 - kept) * self.lam
        self.b *= self.gamma
        self.b += reward * action
        self.rounds += 1
        self.refresh()


class ForwardDLinUCB(DLinUCB):
    """D-LinUCB^f by its closed form, with the tight bias."""

    def index(self, actions: Matrix) -> Vector:
        half = actions.dot(self.inverse)
        q, spread = np.vecdot(half, actions), np.vecdot(half.dot(self.W), half)
        bias = self.theta_bound * np.sqrt(self.lam + np.vecdot(actions, actions))
        values: Vector = (actions.dot(self.theta) + (bias + self.noise()) * np.sqrt(spread + q**2)) / (1 + q)
        return values

    def index_of(self, x: Vector) -> float:
        half = self.inverse @ x
        q, bias = x @ half, self.theta_bound * math.sqrt(self.lam + x @ x)
        return float((x @ self.theta + (bias + self.noise()) * math.sqrt(half @ self.W @ half + q**2)) / (1 + q))


class SWLinUCB(LinUCB):
    """SW-LinUCB with its authors' β, for actions of norm at most 1.

    Rows leave as they came, by Sherman–Morrison. Rounding adds up on the way, so once in a window all is made anew.
    """

    def __init__(
        self,
        d: int,
        window: int = 100,
        lam: float = 1.0,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
    ) -> None:
        beta = math.sqrt(lam) * theta_bound + sigma * math.sqrt(d * math.log((1 + window / lam) / delta))
        super().__init__(d, lam, beta)
        self.lam, self.window, self.rounds = lam, window, 0
        self.rows, self.rewards = np.zeros((window, d)), np.zeros(window)

    def learn(self, action: Vector, reward: float) -> None:
        at = self.rounds % self.window
        super().learn(action, reward)
        if self.rounds >= self.window:
            old = self.rows[at]
            g = self.inverse.dot(old)
            left = 1 - float(g.dot(old))
            dger(1 / left, g, g, a=self.inverse, overwrite_a=1)
            self.theta -= (self.rewards[at] - float(old.dot(self.theta))) / left * g
        self.rows[at], self.rewards[at] = action, reward
        self.rounds += 1
        if self.rounds % self.window == 0:
            V = self.rows.T @ self.rows
            V.ravel("K")[:: len(V) + 1] += self.lam
            self.inverse[:] = np.linalg.inv(V)
            self.theta = self.inverse.dot(self.rows.T @ self.rewards)


class DetectingLinUCB(Indexed):
    """dLinUCB: models that are tested against every reward, dropped when they fail too often, and added when all do."""

    def __init__(
        self,
        d: int,
        window: int = 200,
        failure_delta: float = 0.01,
        tolerance: float = 0.002,
        sigma: float = 1.0,
        delta: float = 0.01,
        **settings: float,
    ) -> None:
        self.d, self.window, self.failure_delta, self.tolerance, self.delta = d, window, failure_delta, tolerance, delta
        self.settings = {"sigma": sigma, "delta": delta} | settings
        self.slack = math.sqrt(2) * sigma * float(erfinv(1 - delta))
        self.models = [self.fresh()]

    def fresh(self) -> tuple[OFUL, deque[bool]]:
        return OFUL(self.d, **self.settings), deque(maxlen=self.window)

    def judge(self, failures: deque[bool]) -> tuple[float, float]:
        """Badness and how sure it is."""
        if not failures:
            return 0.0, 0.5
        m = len(failures)
        return sum(failures) / m, math.sqrt(math.log(1 / self.failure_delta) / (2 * m))

    def index(self, actions: Matrix) -> Vector:
        return self.playing().index(actions)

    def playing(self) -> OFUL:
        scores = [badness - math.sqrt(math.log(self.window)) * cb for badness, cb in self.verdicts()]
        return self.models[scores.index(min(scores))][0]

    def verdicts(self) -> list[tuple[float, float]]:
        return [self.judge(failures) for _, failures in self.models]

    def learn(self, action: Vector, reward: float) -> None:
        for model, failures in self.models:
            reach = model.alpha * math.sqrt(action @ model.inverse @ action)
            failed = bool(abs(action @ model.theta - reward) > reach + self.slack)
            failures.append(failed)
            if not failed:
                model.learn(action, reward)
        verdicts = self.verdicts()
        kept = [i for i, (badness, cb) in enumerate(verdicts) if badness < cb + self.delta]
        good = any(verdicts[i][0] < verdicts[i][1] + self.tolerance for i in kept)
        self.models = [self.models[i] for i in kept]
        if not good:
            self.models.append(self.fresh())


class Disjoint:
    """OFUL with a model of its own for each of so many arms; all arms see one context. The inverses are one array."""

    def __init__(
        self,
        d: int,
        n_arms: int,
        lam: float = 1.0,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
    ) -> None:
        self.inverse = np.tile(np.eye(d) / lam, (n_arms, 1, 1))
        self.theta = np.zeros((n_arms, d))
        self.sigma, self.sure, self.bias = sigma, 2 * math.log(1 / delta), math.sqrt(lam) * theta_bound
        self.gain = [0.0] * n_arms
        self.alpha = np.full(n_arms, self.bias + sigma * math.sqrt(self.sure))

    def leverage(self, context: Vector) -> Vector:
        n_arms, d = self.theta.shape
        leverages: Vector = self.inverse.reshape(n_arms * d, d).dot(context).reshape(n_arms, d).dot(context)
        return leverages

    def index(self, context: Vector) -> Vector:
        values: Vector = self.theta.dot(context) + self.alpha * np.sqrt(self.leverage(context))
        return values

    def choose(self, context: Vector) -> int:
        return int(np.argmax(self.index(context)))

    def learn(self, arm: int, context: Vector, reward: float) -> None:
        inverse, theta = self.inverse[arm].T, self.theta[arm]
        g = inverse.dot(context)
        q = float(g.dot(context))
        dger(-1 / (1 + q), g, g, a=inverse, overwrite_a=1)
        theta += (reward - float(context.dot(theta))) / (1 + q) * g
        self.gain[arm] += math.log1p(q)
        self.alpha[arm] = self.bias + self.sigma * math.sqrt(self.sure + self.gain[arm])


def play(policy: Policy, actions: Matrix, means: Matrix, noise: Vector) -> Vector:
    """The cumulative regret over rounds drawn beforehand."""
    chosen = np.empty(len(noise), dtype=np.intp)
    for t in range(len(noise)):
        i = chosen[t] = policy.choose(actions[t])
        policy.learn(actions[t, i], means[t, i] + noise[t])
    return regret(means, chosen)


def follow(
    policy: Indexed, actions: Matrix, means: Matrix, noise: Vector, others: NDArray[np.integer]
) -> tuple[Vector, int]:
    """`play`, but where actions tie, up to rounding, take the one that another player took. And how often that was.

    Ties are common: before anything is learned, all actions of the largest norm are equally good.
    """
    chosen, ties = np.empty(len(noise), dtype=np.intp), 0
    for t in range(len(noise)):
        index = policy.index(actions[t])
        i, other = int(np.argmax(index)), int(others[t])
        if other != i and index[i] - index[other] <= 1e-9 * abs(index[i]):
            i, ties = other, ties + 1
        chosen[t] = i
        policy.learn(actions[t, i], means[t, i] + noise[t])
    return regret(means, chosen), ties


def regret(means: Matrix, chosen: NDArray[np.integer]) -> Vector:
    """What was lost in expectation, summed up."""
    return np.cumsum(means.max(axis=1) - means[np.arange(len(means)), chosen])
