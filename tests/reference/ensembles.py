"""What an ensemble should say, by definition: dense solves of every expert at every row, from all rows before it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onward.core.types import Matrix, Vector


class Said(NamedTuple):
    """What an ensemble says of one row with several targets."""

    prediction: Vector  # (m,)
    leverage: float  # of the experts, averaged by their weights for the first target
    experts: Matrix  # (K, m)
    weights: Matrix  # (m, K)


class _Memory:
    """Rows that fade, and how much λ of each column is left of what it should be."""

    def __init__(self, half_life: float | None, n_features: int) -> None:
        self.gamma = 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)
        self.period = np.inf if half_life is None else max(1, round(2 * half_life))
        self.rows_since, self.left = 0, 1.0
        self.scale = np.zeros(n_features)
        self.ridge = np.zeros(n_features)  # Σ of what was added to the diagonal for λ = 1, as it has faded since

    def widen(self, scale: Vector) -> None:
        """Regularise by new scales what is there of the rows so far."""
        self.ridge = self.ridge + (scale**2 - self.scale**2) / 12
        self.scale = scale.copy()

    def fade(self, first: bool) -> None:
        """Let a row with a weight come."""
        if not first:
            self.ridge, self.left = self.ridge * self.gamma, self.left * self.gamma
        self.rows_since += 1
        if not first and self.rows_since >= self.period:
            self.ridge = self.ridge + (1 - self.left) * self.scale**2 / 12
            self.rows_since, self.left = 0, 1.0


class EnsembleReference:
    """Keeps all rows. Nothing is updated that can be computed anew."""

    def __init__(
        self,
        n_features: int,
        n_targets: int,
        lams: Sequence[float],
        half_lives: Sequence[float | None],
        means: Sequence[float | None],
    ) -> None:
        self.lams, self.half_lives, self.means, self.m = lams, half_lives, means, n_targets
        self.memories = [_Memory(each, n_features) for each in half_lives]
        self.X, self.Y, self.w = np.empty((0, n_features)), np.empty((0, n_targets)), np.empty(0)
        self.scale = np.zeros(n_features)
        self.mixtures = [MixtureReference(2 * len(lams) * len(half_lives) + len(means)) for _ in range(n_targets)]

    def predict(self, x: Vector, w: float) -> Said:
        """What is said of a row that comes next with weight w."""
        K = len(self.mixtures[0].loss())
        weights = np.array([each.weights() for each in self.mixtures])
        if not len(self.w):
            return Said(np.zeros(self.m), np.inf, np.zeros((K, self.m)), weights)
        scale = self.widened(x) if w > 0 else self.scale
        said, leverages = [], []
        for half_life, memory in zip(self.half_lives, self.memories, strict=True):
            age = np.arange(len(self.w), 0, -1)
            each = self.w * memory.gamma**age
            total, middle = each.sum(), each @ self.Y / each.sum()
            centre = each @ self.X / total
            A, r = self.X - centre, x - centre
            varied = scale > 0
            ridge = (memory.ridge + (scale**2 - memory.scale**2) / 12)[varied] * memory.gamma
            A, r = A[:, varied], r[varied]
            for lam in self.lams:
                G = A.T @ (each[:, None] * A) + lam * np.diag(ridge)
                size = np.sqrt(np.diag(G))
                solved = np.linalg.solve(G / np.outer(size, size), r / size) / size if len(r) else r
                p = middle + solved @ (A.T @ (each[:, None] * (self.Y - middle)))
                said += [p, middle + (p - middle) / (1 + w * (r @ solved))]
                leverages += 2 * [1 / total + r @ solved]
            assert half_life is None or memory.gamma < 1
        for half_life in self.means:
            gamma = 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)
            each = self.w * gamma ** np.arange(len(self.w) - 1, -1, -1)
            said.append(each @ self.Y / each.sum())
            leverages.append(1 / each.sum())
        low, high = self.Y.min(axis=0), self.Y.max(axis=0)
        experts = np.clip(np.array(said), low - (high - low), high + (high - low))
        prediction = (weights.T * experts).sum(axis=0)
        return Said(prediction, float(weights[0] @ leverages), experts, weights)

    def learn(self, x: Vector, y: Vector, w: float) -> Said:
        """What is said of a row, which is then learned."""
        said = self.predict(x, w)
        if w == 0:
            return said
        first = not len(self.w)
        if not first:
            self.scale = self.widened(x)
            for target, mixture in enumerate(self.mixtures):
                seen = np.append(self.Y[:, target], y[target])
                mixture.learn(said.experts[:, target], float(y[target]), w, float(np.ptp(seen)))
        for memory in self.memories:
            memory.widen(self.scale)
            memory.fade(first)
        self.X, self.Y = np.vstack([self.X, x]), np.vstack([self.Y, y])
        self.w = np.append(self.w, w)
        return said

    def widened(self, x: Vector) -> Vector:
        """The scales once a row is among those seen: lengths of the columns' intervals, which grow by half at least."""
        rows = np.vstack([self.X, x])
        length = rows.max(axis=0) - rows.min(axis=0)
        grows = (length > self.scale * (1 + 1e-9)) & (length > 1e-100)
        return np.where(grows, np.maximum(length, 1.5 * self.scale), self.scale)


class MixtureReference:
    """Weights of experts from all that they have said."""

    def __init__(self, K: int) -> None:
        self.K = K
        self.costs: list[Vector] = []  # w (f_k − y)²
        self.w: list[float] = []
        self.regrets: list[Vector] = []  # of the polynomial weighing against each expert
        self.top_regrets: list[Vector] = []  # of the whole against each way
        self.losses: list[float] = []  # of the polynomial weighing, and of the whole
        self.top_losses: list[float] = []

    def loss(self) -> Vector:
        return np.sum(self.costs, axis=0) if self.costs else np.zeros(self.K)

    def ways(self) -> Matrix:
        """The weights of the experts in each way of weighing (3, K)."""
        if not self.costs:
            return np.full((3, self.K), 1 / self.K)
        fading = 2.0 ** (-np.arange(len(self.costs) - 1, -1, -1) / 10)
        return np.array(
            [
                _polynomial(np.array(self.regrets)),
                _exponential(self.loss(), sum(self.w)),
                _exponential(fading @ np.array(self.costs), fading @ np.array(self.w)),
            ]
        )

    def top(self) -> Vector:
        """The weights of the ways: row t of the stream counts t times, and the first is not among these."""
        if not self.top_regrets:
            return np.full(3, 1 / 3)
        return _polynomial(np.arange(2.0, len(self.w) + 2)[:, None] * np.array(self.top_regrets))

    def weights(self) -> Vector:
        return self.top() @ self.ways()

    def learn(self, said: Vector, y: float, w: float, span: float) -> None:
        """`span`: the length of the interval of the targets. What differs by less than 1e-9 of it is the same."""
        ways, top = self.ways() @ said, self.top()
        whole = top @ ways
        for regrets, followed, each in ((self.regrets, ways[0], said), (self.top_regrets, whole, ways)):
            apart = followed - each
            regrets.append(2 * w * (followed - y) * apart * bool(np.abs(apart).max() > 1e-9 * span > 0))
        self.losses.append(float(w * (ways[0] - y) ** 2))
        self.top_losses.append(float(w * (whole - y) ** 2))
        self.costs.append(w * (said - y) ** 2)
        self.w.append(w)


def _polynomial(regrets: Matrix) -> Vector:
    peak = (regrets**2).max()
    ahead = np.maximum(regrets.sum(axis=0), 0) / (peak + (regrets**2).sum(axis=0)) if peak > 0 else regrets[0]
    return ahead / ahead.sum() if ahead.sum() > 0 else np.full(regrets.shape[1], 1 / regrets.shape[1])


def _exponential(loss: Vector, weight: float) -> Vector:
    least = loss.min()
    if least > 1e-250:
        weights = np.exp(np.maximum(-0.5 * weight * (loss / least - 1), -700))
    else:
        weights = (loss <= 1e-250).astype(float)
    return np.asarray(weights / weights.sum())
