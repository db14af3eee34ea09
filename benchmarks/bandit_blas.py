"""The policies as fast as NumPy and SciPy let one make them: what ours are held against.

Unlike the policies in `bandit_numpy.py` these choose and learn in one call, `play`, so that what was computed to choose
serves to learn, and they know beforehand how many actions there will be. What they have in common:

- V⁻¹ and θ stand side by side in one matrix, M = [V⁻¹ θ]: one product with the actions gives V⁻¹x and xᵀθ for all of
  them, and one rank-one change of M learns a row.
- Results go into arrays that are there already, and V⁻¹ is changed in place by BLAS.
- *Pruned* loops read the leverages of those actions only that may still be the best, by ‖x‖²/λ, which no leverage
  exceeds. That pays when there are many coordinates and actions of different norms, and costs time otherwise.

They were timed against each other and the fastest kept: without pruning at d = 20 with 10 arms, with it at d = K = 100.
"""

import math
from math import log1p, sqrt
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import dgemm, dgemv, dger, dspmv, dspr, dsymv
from scipy.linalg.lapack import dpotrf, dpotrs

from benchmarks.bandit_numpy import identity
from onward.core.types import Matrix, Vector

dot, vecdot = np.dot, np.vecdot


class Loop(Protocol):
    """Plays rounds: chooses, and learns what the action chosen pays."""

    def play(self, seen: Any, rewards: list[float]) -> int: ...


def diagonal(matrix: Matrix) -> Vector:
    """The diagonal of a matrix in Fortran's order, as a view."""
    return matrix.ravel("K")[:: len(matrix) + 1]


class Radius:
    """β of OFUL: √λ S + σ√(2 log(1/δ) + I), with the gain I kept up to date."""

    def __init__(self, lam: float, sigma: float, theta_bound: float, delta: float) -> None:
        self.bias, self.sigma, self.sure, self.gain = sqrt(lam) * theta_bound, sigma, 2 * math.log(1 / delta), 0.0

    def noise(self) -> float:
        return self.sigma * sqrt(self.sure + self.gain)

    def now(self) -> float:
        return self.bias + self.sigma * sqrt(self.sure + self.gain)


# One θ, every action read


class OFUL:
    """OFUL with the determinant's width."""

    def __init__(
        self, d: int, k: int, lam: float = 1.0, sigma: float = 1.0, theta_bound: float = 1.0, delta: float = 0.01
    ) -> None:
        self.d, self.lam, self.theta_bound = d, lam, theta_bound
        self.radius = Radius(lam, sigma, theta_bound, delta)
        self.M = np.zeros((d, d + 1))
        self.M[:, :d] = np.eye(d) / lam
        self.turned = self.M.T  # for BLAS
        self.H = np.empty((k, d + 1))  # the actions times M
        self.half, self.p = self.H[:, :d], self.H[:, d]
        self.q, self.values = np.empty(k), np.empty(k)

    def play(self, actions: Matrix, rewards: list[float]) -> int:
        q = self.q
        dot(actions, self.M, out=self.H)
        vecdot(self.half, actions, out=q)
        i = int(self.index(actions).argmax())
        self.learn(i, q.item(i), rewards[i])
        return i

    def index(self, actions: Matrix) -> Vector:
        """From p and q. Overwrites values."""
        values = self.values
        np.sqrt(self.q, out=values)
        values *= self.radius.now()
        values += self.p
        return values

    def learn(self, i: int, q: float, reward: float) -> None:
        """M − (V⁻¹x)(V⁻¹x, xᵀθ − y)ᵀ/(1 + q). Overwrites M, and what was read of action i."""
        read = self.H[i]
        read[self.d] -= reward
        dger(-1.0 / (1.0 + q), read, self.half[i], a=self.turned, overwrite_a=1)
        self.radius.gain += log1p(q)


class ForwardOFUL(OFUL):
    """OFUL^f, with the tight bias."""

    def index(self, actions: Matrix) -> Vector:
        q, values = self.q, self.values
        bias = vecdot(actions, actions)
        bias += self.lam
        np.sqrt(bias, out=bias)
        bias *= self.theta_bound
        bias += self.radius.noise()
        above = q + 1.0
        np.multiply(q, above, out=values)
        np.sqrt(values, out=values)
        values *= bias
        values += self.p
        values /= above
        return values


class Window:
    """The last rows and their rewards, in a ring."""

    def __init__(self, d: int, size: int, lam: float) -> None:
        self.size, self.lam, self.rounds = size, lam, 0
        self.rows, self.rewards = np.zeros((size, d)), np.zeros(size)

    def anew(self) -> tuple[Matrix, Vector]:
        """V⁻¹ and θ of a full window."""
        V = self.rows.T @ self.rows
        diagonal(V)[:] += self.lam
        inverse: Matrix = np.linalg.inv(V).astype(np.float64, copy=False)
        return inverse, inverse @ (self.rows.T @ self.rewards)


def window_width(d: int, window: int, lam: float, sigma: float, theta_bound: float, delta: float) -> float:
    """β of SW-LinUCB, for actions of norm at most 1."""
    return sqrt(lam) * theta_bound + sigma * sqrt(d * math.log((1 + window / lam) / delta))


class SWLinUCB(OFUL):
    """SW-LinUCB with its authors' β: rows leave as they came, and once in a window all is made anew."""

    def __init__(
        self,
        d: int,
        k: int,
        window: int,
        lam: float = 1.0,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
    ) -> None:
        super().__init__(d, k, lam, sigma, theta_bound, delta)
        self.window = Window(d, window, lam)
        self.beta = window_width(d, window, lam, sigma, theta_bound, delta)
        self.read = np.empty(d + 1)

    def index(self, actions: Matrix) -> Vector:
        values = self.values
        np.sqrt(self.q, out=values)
        values *= self.beta
        values += self.p
        return values

    def play(self, actions: Matrix, rewards: list[float]) -> int:
        i = super().play(actions, rewards)
        ring, read = self.window, self.read
        at = ring.rounds % ring.size
        old = ring.rows[at]
        if ring.rounds >= ring.size:
            dot(old, self.M, out=read)
            g = read[: self.d]
            left = 1.0 - float(g.dot(old))
            read[self.d] -= ring.rewards[at]
            dger(1.0 / left, read, g, a=self.turned, overwrite_a=1)
        old[:] = actions[i]
        ring.rewards[at] = rewards[i]
        ring.rounds += 1
        if ring.rounds % ring.size == 0:
            self.M[:, : self.d], self.M[:, self.d] = ring.anew()
        return i


class DLinUCB:
    """D-LinUCB with β as printed, for actions of norm at most 1: every entry of V changes in every round.

    A Cholesky factor of V serves the actions and b at once.
    """

    def __init__(
        self,
        d: int,
        k: int,
        gamma: float = 0.99,
        lam: float = 1.0,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
    ) -> None:
        self.d, self.gamma, self.lam, self.sigma = d, gamma, lam, sigma
        self.bias, self.sure = sqrt(lam) * theta_bound, 2 * math.log(1 / delta)
        self.V, self.W, self.b = identity(d, lam), identity(d, lam), np.zeros(d)  # W is Ṽ
        self.on_V, self.on_W = diagonal(self.V), diagonal(self.W)
        self.faded = 1.0  # γ^2t
        self.solved = np.empty((k + 1, d))  # V⁻¹ times the actions and b
        self.half, self.theta, self.turned = self.solved[:k], self.solved[k], self.solved.T

    def width(self) -> float:
        """β after the rounds so far."""
        seen = (1 - self.faded) / (self.lam * self.d * (1 - self.gamma**2))
        return self.bias + self.sigma * sqrt(self.sure + self.d * log1p(seen))

    def play(self, actions: Matrix, rewards: list[float]) -> int:
        i = self.choose(actions)
        self.learn(actions[i], rewards[i])
        return i

    def choose(self, actions: Matrix) -> int:
        factor, _ = dpotrf(self.V, lower=1, clean=0)
        self.half[:], self.theta[:] = actions, self.b
        dpotrs(factor, self.turned, lower=1, overwrite_b=1)
        values = vecdot(self.half.dot(self.W), self.half)
        np.sqrt(values, out=values)
        values *= self.width()
        values += actions.dot(self.theta)
        return int(values.argmax())

    def learn(self, x: Vector, reward: float) -> None:
        gamma, square = self.gamma, self.gamma**2
        V, W, b = self.V, self.W, self.b
        np.multiply(V, gamma, out=V)
        np.multiply(W, square, out=W)
        dger(1.0, x, x, a=V, overwrite_a=1)
        dger(1.0, x, x, a=W, overwrite_a=1)
        self.on_V += (1 - gamma) * self.lam
        self.on_W += (1 - square) * self.lam
        b *= gamma
        b += reward * x
        self.faded *= square


class LinTS:
    """OFUL's radius, but a random θ instead of the best one.

    It keeps a square root of V⁻¹ = S Sᵀ that is not triangular: a row changes it by a matrix of rank one (Potter), so
    there is nothing to factorise. Normal numbers are drawn for many rounds at a time.
    """

    DRAWN = 64

    def __init__(
        self, d: int, k: int, lam: float = 1.0, sigma: float = 1.0, theta_bound: float = 1.0, delta: float = 0.01
    ) -> None:
        self.radius = Radius(lam, sigma, theta_bound, delta)
        self.S, self.theta = identity(d, 1 / sqrt(lam)), np.zeros(d)
        self.rng = np.random.default_rng(0)
        self.z, self.at = self.rng.standard_normal((self.DRAWN, d)), 0

    def play(self, actions: Matrix, rewards: list[float]) -> int:
        i = int(actions.dot(self.sample()).argmax())
        self.learn(actions[i], rewards[i])
        return i

    def sample(self) -> Vector:
        if self.at == self.DRAWN:
            self.z, self.at = self.rng.standard_normal(self.z.shape), 0
        z = self.z[self.at]
        self.at += 1
        return dgemv(self.radius.now(), self.S, z, beta=1.0, y=self.theta)

    def learn(self, x: Vector, reward: float) -> None:
        S, theta = self.S, self.theta
        w = dgemv(1.0, S, x, trans=1)
        g, q = dgemv(1.0, S, w), float(w.dot(w))
        dger((1.0 / sqrt(1.0 + q) - 1.0) / q, g, w, a=S, overwrite_a=1)
        theta += (reward - float(x.dot(theta))) / (1.0 + q) * g
        self.radius.gain += log1p(q)


# One θ, only those actions read that may be the best


class PrunedOFUL:
    """`OFUL`, pruned."""

    def __init__(
        self, d: int, k: int, lam: float = 1.0, sigma: float = 1.0, theta_bound: float = 1.0, delta: float = 0.01
    ) -> None:
        self.lam, self.theta_bound = lam, theta_bound
        self.radius = Radius(lam, sigma, theta_bound, delta)
        self.P, self.theta = identity(d, 1 / lam), np.zeros(d)

    def width(self) -> float:
        return self.radius.now()

    def play(self, actions: Matrix, rewards: list[float]) -> int:
        p = actions.dot(self.theta)
        i, g, q = self.best(actions, p)
        self.learn(g, q, rewards[i] - p.item(i))
        return i

    def best(self, actions: Matrix, p: Vector) -> tuple[int, Vector, float]:
        """The best action, its V⁻¹x and its leverage."""
        P, beta = self.P, self.width()
        most = vecdot(actions, actions)
        np.sqrt(most, out=most)
        most *= beta / sqrt(self.lam)
        most += p
        i = int(most.argmax())
        x = actions[i]
        g = dgemv(1.0, P, x)
        q = float(g.dot(x))
        some = (most > p.item(i) + beta * sqrt(q)).nonzero()[0]
        if len(some) < 2:
            return i, g, q
        left = actions[some]
        half = dgemm(1.0, P, left.T)
        leverage = vecdot(half.T, left)
        values = np.sqrt(leverage)
        values *= beta
        values += p[some]
        j = int(values.argmax())
        return int(some[j]), half[:, j], leverage.item(j)

    def learn(self, g: Vector, q: float, surprise: float) -> None:
        shrunk = 1.0 / (1.0 + q)
        dger(-shrunk, g, g, a=self.P, overwrite_a=1)
        self.theta += surprise * shrunk * g
        self.radius.gain += log1p(q)


class PrunedForwardOFUL(PrunedOFUL):
    """`ForwardOFUL`, pruned: p/(1 + q) is at most p if p ≥ 0, else at most p/(1 + ‖x‖²/λ)."""

    def best(self, actions: Matrix, p: Vector) -> tuple[int, Vector, float]:
        P = self.P
        most = vecdot(actions, actions)
        reach = most + self.lam
        np.sqrt(reach, out=reach)
        reach *= self.theta_bound
        reach += self.radius.noise()
        most /= self.lam
        above = most + 1.0
        most /= above
        np.sqrt(most, out=most)
        most *= reach
        most += np.maximum(p, p / above)
        i = int(most.argmax())
        x = actions[i]
        g = dgemv(1.0, P, x)
        q = float(g.dot(x))
        some = (most > (p.item(i) + reach.item(i) * sqrt(q * (1.0 + q))) / (1.0 + q)).nonzero()[0]
        if len(some) < 2:
            return i, g, q
        left = actions[some]
        half = dgemm(1.0, P, left.T)
        leverage = vecdot(half.T, left)
        above = leverage + 1.0
        values = np.sqrt(leverage * above)
        values *= reach[some]
        values += p[some]
        values /= above
        j = int(values.argmax())
        return int(some[j]), half[:, j], leverage.item(j)


class PrunedSWLinUCB(PrunedOFUL):
    """`SWLinUCB`, pruned."""

    def __init__(
        self,
        d: int,
        k: int,
        window: int,
        lam: float = 1.0,
        sigma: float = 1.0,
        theta_bound: float = 1.0,
        delta: float = 0.01,
    ) -> None:
        super().__init__(d, k, lam, sigma, theta_bound, delta)
        self.window = Window(d, window, lam)
        self.beta = window_width(d, window, lam, sigma, theta_bound, delta)

    def width(self) -> float:
        return self.beta

    def play(self, actions: Matrix, rewards: list[float]) -> int:
        i = super().play(actions, rewards)
        ring, theta = self.window, self.theta
        at = ring.rounds % ring.size
        old = ring.rows[at]
        if ring.rounds >= ring.size:
            g = dgemv(1.0, self.P, old)
            left = 1.0 - float(g.dot(old))
            dger(1.0 / left, g, g, a=self.P, overwrite_a=1)
            theta -= (ring.rewards[at] - float(old.dot(theta))) / left * g
        old[:] = actions[i]
        ring.rewards[at] = rewards[i]
        ring.rounds += 1
        if ring.rounds % ring.size == 0:
            self.P[:], self.theta = ring.anew()
        return i


class PrunedDLinUCB(DLinUCB):
    """`DLinUCB`, pruned: xᵀV⁻¹ṼV⁻¹x is at most the leverage, because Ṽ is at most V."""

    def choose(self, actions: Matrix) -> int:
        beta = self.width()
        factor, _ = dpotrf(self.V, lower=1, clean=0)
        p = actions.dot(dpotrs(factor, self.b, lower=1)[0])
        most = vecdot(actions, actions)
        np.sqrt(most, out=most)
        most *= beta / sqrt(self.lam)
        most += p
        i = int(most.argmax())
        g, _ = dpotrs(factor, actions[i], lower=1)
        some = (most > p.item(i) + beta * sqrt(float(dsymv(1.0, self.W, g).dot(g)))).nonzero()[0]
        if len(some) < 2:
            return i
        half, _ = dpotrs(factor, actions[some].T, lower=1, overwrite_b=1)
        values = vecdot(dgemm(1.0, self.W, half).T, half.T)
        np.sqrt(values, out=values)
        values *= beta
        values += p[some]
        return int(some[values.argmax()])


# Actions that stay the same


class FixedOFUL:
    """OFUL over one set of actions: estimates and leverages of all are kept, and one product a round changes them."""

    def __init__(
        self, actions: Matrix, lam: float = 1.0, sigma: float = 1.0, theta_bound: float = 1.0, delta: float = 0.01
    ) -> None:
        self.radius = Radius(lam, sigma, theta_bound, delta)
        self.P = identity(actions.shape[1], 1 / lam)
        self.p, self.q = np.zeros(len(actions)), vecdot(actions, actions) / lam
        self.values = np.empty(len(actions))

    def play(self, actions: Matrix, rewards: list[float]) -> int:
        p, q, values = self.p, self.q, self.values
        np.sqrt(q, out=values)
        values *= self.radius.now()
        values += p
        i = int(values.argmax())
        x, leverage = actions[i], q.item(i)
        g = dgemv(1.0, self.P, x)
        shrunk = 1.0 / (1.0 + leverage)
        along = actions.dot(g)
        p += (rewards[i] - p.item(i)) * shrunk * along
        along *= along
        along *= shrunk
        q -= along
        dger(-shrunk, g, g, a=self.P, overwrite_a=1)
        self.radius.gain += log1p(leverage)
        return i


# A θ for each arm


class Disjoint:
    """OFUL with a model of its own for each arm. The inverses are one array, and one product reads them all."""

    def __init__(
        self, d: int, k: int, lam: float = 1.0, sigma: float = 1.0, theta_bound: float = 1.0, delta: float = 0.01
    ) -> None:
        self.d, self.k, self.lam = d, k, lam
        self.radii = [Radius(lam, sigma, theta_bound, delta) for _ in range(k)]
        self.beta, self.theta = np.full(k, self.radii[0].now()), np.zeros((k, d))
        self.start()

    def start(self) -> None:
        self.inverse = np.tile(np.eye(self.d) / self.lam, (self.k, 1, 1))
        self.flat = self.inverse.reshape(self.k * self.d, self.d)
        self.product = np.empty(self.k * self.d)
        self.half = self.product.reshape(self.k, self.d)

    def leverages(self, context: Vector) -> Vector:
        """Of all arms. Overwrites half."""
        dot(self.flat, context, out=self.product)
        found: Vector = self.half.dot(context)
        return found

    def change(self, i: int, context: Vector, q: float) -> Vector:
        """Learn a row's features. Returns V⁻¹x as it was."""
        g: Vector = self.half[i]
        dger(-1.0 / (1.0 + q), g, g, a=self.inverse[i].T, overwrite_a=1)
        return g

    def play(self, context: Vector, rewards: list[float]) -> int:
        q, p = self.leverages(context), self.theta.dot(context)
        values = np.sqrt(q)
        values *= self.beta
        values += p
        i = int(values.argmax())
        leverage = q.item(i)
        g = self.change(i, context, leverage)
        self.theta[i] += (rewards[i] - p.item(i)) / (1.0 + leverage) * g
        radius = self.radii[i]
        radius.gain += log1p(leverage)
        self.beta[i] = radius.now()
        return i


class PackedDisjoint(Disjoint):
    """`Disjoint` with half of each symmetric inverse, packed: half as many numbers to read.

    xᵀV⁻¹x is the product of packed V⁻¹ and packed xxᵀ, whose entries off the diagonal count twice.
    """

    def start(self) -> None:
        d = self.d
        on_diagonal = np.cumsum(np.arange(1, d + 1)) - 1
        self.twice = np.full(d * (d + 1) // 2, 2.0)
        self.twice[on_diagonal] = 1.0
        self.nothing = np.zeros(len(self.twice))
        self.packed = np.zeros((self.k, len(self.twice)))
        self.packed[:, on_diagonal] = 1 / self.lam

    def leverages(self, context: Vector) -> Vector:
        square = dspr(self.d, 1.0, context, self.nothing)
        square *= self.twice
        found: Vector = self.packed.dot(square)
        return found

    def change(self, i: int, context: Vector, q: float) -> Vector:
        half = self.packed[i]
        g = dspmv(self.d, 1.0, half, context)
        dspr(self.d, -1.0 / (1.0 + q), g, half, overwrite_ap=1)
        return g


class EarlyDisjoint(Disjoint):
    """`Disjoint` from the rows themselves: V⁻¹ = I/λ − RᵀR with a row of R for each that the arm learned.

    As long as an arm has learned far fewer rows than it has coordinates there is little to read. Its time grows with
    the rounds.
    """

    ROOM = 1024

    def start(self) -> None:
        self.R, self.owner = np.empty((self.ROOM, self.d)), np.empty(self.ROOM, dtype=np.intp)
        self.learned, self.rows = 0, [list[int]() for _ in range(self.k)]
        self.along = np.empty(0)

    def leverages(self, context: Vector) -> Vector:
        n = self.learned
        self.along = self.R[:n].dot(context)
        read = np.bincount(self.owner[:n], self.along * self.along, minlength=self.k)
        found: Vector = float(context.dot(context)) / self.lam - read.astype(np.float64, copy=False)
        return found

    def change(self, i: int, context: Vector, q: float) -> Vector:
        n, mine = self.learned, self.rows[i]
        if n == len(self.R):
            self.R, self.owner = np.concatenate([self.R, self.R]), np.concatenate([self.owner, self.owner])
        g: Vector = context / self.lam
        if mine:
            g -= self.along[mine].dot(self.R[mine])
        self.R[n] = g / sqrt(1.0 + q)
        self.owner[n] = i
        mine.append(n)
        self.learned = n + 1
        return g
