"""Every policy's index from its definition, in 50 digits. Slow on purpose: nothing is kept but the rows, and V, Ṽ
and b are built from them anew; only whole answers are cached.

One definition serves all. With V = λI + Σ γ^{t−s} x_s x_sᵀ, Ṽ the same with γ², b = Σ γ^{t−s} y_s x_s (γ = 1 for a
policy that does not forget), and for the forward estimator V + xxᵀ and Ṽ + xxᵀ in their place:

    read-out = xᵀV⁻¹b      spread = √(xᵀV⁻¹ṼV⁻¹x)      index = read-out + scale · spread · (bias + noise)

A sharp forward index is (1−h)·ridge's + h · scale · ‖x‖S with h = xᵀ(V + xxᵀ)⁻¹x, and ridge's may have the radius
√(bias² + noise²). A clipped one is at most ‖x‖S.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Literal, NamedTuple, ParamSpec, TypeVar

import mpmath as mp
import numpy as np
from numpy.typing import ArrayLike

from onward.core.types import Vector

Kind = Literal["OFUL", "DLinUCB", "SWLinUCB", "DetectingLinUCB", "OracleRestart", "LinTS", "Greedy"]
Estimator = Literal["forward", "ridge"]
Width = Literal["determinant", "trace", "uniform"]
Bias = Literal["sharp", "tight", "paper", "none"]
Radius = Literal["joint", "sum"]

DIGITS = 50

Action = tuple[float, ...]
Learned = tuple[tuple[Action, float], ...]

P = ParamSpec("P")
R = TypeVar("R")


def in_full(function: Callable[P, R]) -> Callable[P, R]:
    """Compute in 50 digits, whatever the caller computes in: a rounded answer must never reach the caches."""

    @wraps(function)
    def computed(*args: P.args, **kwargs: P.kwargs) -> R:
        with mp.workdps(DIGITS):
            return function(*args, **kwargs)

    return computed


class Memory(NamedTuple):
    """What a list of rows comes to."""

    V: mp.matrix
    V_tilde: mp.matrix
    b: mp.matrix
    lam: mp.mpf
    gamma: mp.mpf
    learned: int
    squares: mp.mpf  # Σ γ^{2(t−s)} ‖x_s‖²


class Part(NamedTuple):
    """An index in its two parts, and how large they are when nothing cancels: what its error is measured by."""

    read_out: mp.mpf
    reach: mp.mpf
    size: mp.mpf

    @property
    @in_full
    def value(self) -> mp.mpf:
        return self.read_out + self.reach


def column(x: Sequence[float]) -> mp.matrix:
    return mp.matrix([mp.mpf(value) for value in x])


@lru_cache(maxsize=65536)
@in_full
def norm(x: Action) -> mp.mpf:
    return mp.sqrt(mp.fsum(mp.mpf(value) ** 2 for value in x))


@lru_cache(maxsize=4096)
@in_full
def remember(learned: Learned, d: int, lam: float, gamma: float) -> Memory:
    """The sums of the definition, oldest row first."""
    V = mp.mpf(lam) * mp.eye(d)
    V_tilde = mp.mpf(lam) * mp.eye(d)
    b = mp.zeros(d, 1)
    squares = mp.mpf(0)
    for age, (x, y) in zip(range(len(learned) - 1, -1, -1), learned, strict=True):
        v, weight = column(x), mp.mpf(gamma) ** age
        V += weight * (v * v.T)
        V_tilde += weight**2 * (v * v.T)
        b += weight * mp.mpf(y) * v
        squares += weight**2 * norm(x) ** 2
    return Memory(V, V_tilde, b, mp.mpf(lam), mp.mpf(gamma), len(learned), squares)


@in_full
def remember_runs(runs: Sequence[tuple[Action, Sequence[float]]], lam: float, gamma: float) -> Memory:
    """`remember` for long runs of one action each, by geometric sums: (action, its rewards in order), γ < 1."""
    d, g = len(runs[0][0]), mp.mpf(gamma)
    V = mp.mpf(lam) * mp.eye(d)
    V_tilde = mp.mpf(lam) * mp.eye(d)
    b = mp.zeros(d, 1)
    squares = mp.mpf(0)
    since = 0  # rounds after this run
    for x, rewards in reversed(runs):
        v, n = column(x), len(rewards)
        weight = g**since * (1 - g**n) / (1 - g)
        weight_tilde = g ** (2 * since) * (1 - g ** (2 * n)) / (1 - g**2)
        V += weight * (v * v.T)
        V_tilde += weight_tilde * (v * v.T)
        b += mp.fsum(g ** (since + n - 1 - i) * mp.mpf(y) for i, y in enumerate(rewards)) * v
        squares += weight_tilde * norm(x) ** 2
        since += n
    return Memory(V, V_tilde, b, mp.mpf(lam), g, since, squares)


@in_full
def read(memory: Memory, x: Action, estimator: Estimator) -> tuple[mp.mpf, mp.mpf]:
    """Read-out and spread of one action."""
    v, V, V_tilde = column(x), memory.V, memory.V_tilde
    if estimator == "forward":
        V, V_tilde = V + v * v.T, V_tilde + v * v.T
    solved = mp.lu_solve(V, v)
    return (solved.T * memory.b)[0], mp.sqrt((solved.T * V_tilde * solved)[0])


@in_full
def information(memory: Memory, width: Width, bound: mp.mpf) -> mp.mpf:
    """J: the information gain, or what bounds it."""
    d = mp.mpf(memory.V.rows)
    if width == "determinant":
        return mp.log(mp.det(memory.V_tilde)) - d * mp.log(memory.lam)
    if width == "trace":
        return d * mp.log(1 + memory.squares / (memory.lam * d))
    g = memory.gamma
    rounds = mp.mpf(memory.learned) if g == 1 else (1 - g ** (2 * memory.learned)) / (1 - g**2)
    return d * mp.log(1 + rounds * bound**2 / (memory.lam * d))


@lru_cache(maxsize=65536)
@in_full
def leverage_of(learned: Learned, x: Action, lam: float, gamma: float) -> mp.mpf:
    """xᵀV⁻¹x."""
    v = column(x)
    return (v.T * mp.lu_solve(remember(learned, len(x), lam, gamma).V, v))[0]


@lru_cache(maxsize=65536)
@in_full
def recall(learned: Learned, x: Action, lam: float, gamma: float, estimator: Estimator) -> tuple[mp.mpf, mp.mpf]:
    return read(remember(learned, len(x), lam, gamma), x, estimator)


@lru_cache(maxsize=65536)
@in_full
def gain(learned: Learned, d: int, lam: float, gamma: float, width: Width, bound: mp.mpf) -> mp.mpf:
    return information(remember(learned, d, lam, gamma), width, bound)


@lru_cache
@in_full
def noise_slack(sigma: float, delta: float) -> mp.mpf:
    """How far Gaussian noise alone takes a reward from its mean, but for a share δ of them."""
    return mp.sqrt(2) * mp.mpf(sigma) * mp.erfinv(1 - mp.mpf(delta))


@lru_cache(maxsize=65536)
@in_full
def estimated_noise(learned: Learned, lam: float, gamma: float, surprises: mp.mpf) -> mp.mpf:
    """σ̂² = L/(n + 1) + (d/(n + d))² Σ w y²/n, with L the least regularised loss, w the discounts and n their sum.

    The squared errors of a detector's surprises, which it does not learn, are added to both sums.
    """
    if not learned:
        return mp.sqrt(surprises) if surprises else mp.mpf(1)
    memory = remember(learned, len(learned[0][0]), lam, gamma)
    weights = [mp.mpf(gamma) ** (len(learned) - 1 - s) for s in range(len(learned))]
    squares = mp.fsum(w * mp.mpf(y) ** 2 for w, (_, y) in zip(weights, learned, strict=True))
    n, d = mp.fsum(weights), mp.mpf(len(learned[0][0]))
    loss = squares - (memory.b.T * mp.lu_solve(memory.V, memory.b))[0]
    return mp.sqrt((loss + surprises) / (n + 1) + (d / (n + d)) ** 2 * (squares + surprises) / n)


@dataclass(eq=False)  # models are told apart even if they know the same
class Model:
    """One model of dLinUCB: the rows that it learned and its record of failures (1) and hits (0)."""

    learned: Learned = ()
    records: list[int] = field(default_factory=list)
    surprises: mp.mpf = field(default_factory=lambda: mp.mpf(0))  # Σ of their squared errors


@dataclass(kw_only=True)
class ReferencePolicy:
    """Any policy, by name and settings. It learns what it is told and gives indices; choosing is the caller's."""

    kind: Kind
    lam: float = 1.0
    sigma: float | None = 1.0  # None: estimated
    multiple: float | None = None  # the width is so many σ, and there is no bias term
    theta_bound: float = 1.0
    delta: float = 0.01
    estimator: Estimator = "forward"
    width: Width = "determinant"
    bias: Bias | None = None
    radius: Radius | None = None
    clipped: bool = False
    scale: float = 1.0
    action_bound: float | None = None
    gamma: float = 0.99  # DLinUCB
    window: int = 100  # SWLinUCB; DetectingLinUCB's τ
    failure_delta: float = 0.01  # DetectingLinUCB's δ₂
    tolerance: float = 0.002  # DetectingLinUCB's δ̃
    change_points: tuple[int, ...] = ()  # OracleRestart

    def __post_init__(self) -> None:
        self.largest = mp.mpf(0)
        self.rewards = 0
        self.checking = False
        self.surprises = mp.mpf(0)
        if self.bias is None:
            self.bias = "tight" if self.kind == "LinTS" else "sharp"
        if self.radius is None:
            proven = self.kind in ("OFUL", "OracleRestart") and (self.estimator, self.bias) not in (
                ("forward", "tight"),
                ("forward", "paper"),
            )
            self.radius = "joint" if proven else "sum"
        self.learned: Learned = ()
        self.models = [Model()]

    # What happens to it

    @in_full
    def offered(self, actions: ArrayLike) -> None:
        self.largest = max([self.largest, *(norm(x) for x in as_actions(actions))])

    @in_full
    def learn(self, x: Sequence[float] | Vector, y: float) -> None:
        action, reward = tuple(float(value) for value in x), float(y)
        self.largest = max(self.largest, norm(action))
        self.rewards += 1
        if self.kind == "DetectingLinUCB":
            self._check_models(action, reward)
        else:
            self.learned = (*self.learned, (action, reward))
        if self.kind == "SWLinUCB":
            self.learned = self.learned[-self.window :]
        if self.kind == "OracleRestart" and self.rewards in self.change_points:
            self.restart()

    def restart(self) -> None:
        """Forget every row. The largest norm offered is about the actions, not about what was learned: it stays."""
        self.learned = ()
        self.models = [Model()]

    # What it answers

    @in_full
    def index(self, actions: ArrayLike) -> list[mp.mpf]:
        return [part.value for part in self.parts(actions)]

    @in_full
    def parts(self, actions: ArrayLike) -> list[Part]:
        rows = as_actions(actions)
        learned = self.playing.learned if self.kind == "DetectingLinUCB" else self.learned
        self.surprises = self.playing.surprises if self.kind == "DetectingLinUCB" else mp.mpf(0)
        bound = self._bound(rows)
        return [self._part(learned, x, bound) for x in rows]

    @in_full
    def parts_from(self, memory: Memory, actions: ArrayLike) -> list[Part]:
        """`parts` if this memory were its own: for streams too long to be kept as rows."""
        rows = as_actions(actions)
        bound = self._bound(rows)
        out = []
        for x in rows:
            assert self.sigma is not None
            radius = self._radius_at(x, information(memory, self.width, bound), bound, mp.mpf(self.sigma))
            if self._is_sharp:
                leverage = read(memory._replace(V_tilde=memory.V), x, "ridge")[1] ** 2
                out.append(self._sharp(x, *read(memory, x, "ridge"), leverage, radius))
            else:
                out.append(self._plain(x, *read(memory, x, self.estimator), radius))
        return out

    @in_full
    def sampled(self, actions: ArrayLike, eta: Sequence[float] | Vector) -> list[Part]:
        """LinTS: the read-out, and how far the draw z = xᵀU⁻¹D^{−1/2}η moves it, where V = UᵀDU."""
        rows = as_actions(actions)
        bound = self._bound(rows)
        U, D = factor(self.learned, len(rows[0]), self.lam)
        direction = mp.lu_solve(U, mp.matrix([mp.mpf(float(e)) / mp.sqrt(D[k]) for k, e in enumerate(eta)]))
        out = []
        for x in rows:
            read_out, spread = recall(self.learned, x, self.lam, 1.0, self.estimator)
            radius = mp.mpf(self.scale) * self._radius(self.learned, x, bound)
            z = (column(x).T * direction)[0]
            if self.estimator == "forward":
                z /= mp.sqrt(1 + recall(self.learned, x, self.lam, 1.0, "ridge")[1] ** 2)
            out.append(Part(read_out, radius * z, abs(read_out) + radius * spread))
        return out

    @property
    @in_full
    def playing(self) -> Model:
        """The model of dLinUCB whose arm would be played now: min takes the first, that is the oldest, of equals."""
        root = mp.sqrt(mp.log(self.window))
        return min(self.models, key=lambda model: self._badness(model)[0] - root * self._badness(model)[1])

    # Its formulas

    def _bound(self, rows: Sequence[Action]) -> mp.mpf:
        if self.action_bound is not None:
            return mp.mpf(self.action_bound)
        return max([self.largest, *(norm(x) for x in rows)])

    def _part(self, learned: Learned, x: Action, bound: mp.mpf) -> Part:
        read_out, spread = recall(learned, x, self.lam, self._gamma, self.estimator)
        if self.kind == "Greedy":
            return Part(read_out, mp.mpf(0), abs(read_out))
        radius = self._radius(learned, x, bound)
        if not self._is_sharp:
            return self._plain(x, read_out, spread, radius)
        leverage = leverage_of(learned, x, self.lam, self._gamma)
        return self._sharp(x, *recall(learned, x, self.lam, self._gamma, "ridge"), leverage, radius)

    @property
    def _is_sharp(self) -> bool:
        return self.estimator == "forward" and self.bias == "sharp" and self.multiple is None

    def _plain(self, x: Action, read_out: mp.mpf, spread: mp.mpf, radius: mp.mpf) -> Part:
        return self._cut(x, Part(read_out, mp.mpf(self.scale) * spread * radius, mp.mpf(0)))

    def _sharp(self, x: Action, read_out: mp.mpf, spread: mp.mpf, leverage: mp.mpf, radius: mp.mpf) -> Part:
        """Of ridge's read-out and spread, and xᵀV⁻¹x."""
        h = leverage / (1 + leverage)
        reach = mp.mpf(self.scale) * ((1 - h) * spread * radius + h * norm(x) * mp.mpf(self.theta_bound))
        return self._cut(x, Part((1 - h) * read_out, reach, mp.mpf(0)))

    def _cut(self, x: Action, part: Part) -> Part:
        size = abs(part.read_out) + part.reach
        most = norm(x) * mp.mpf(self.theta_bound)
        if self.clipped and not self.checking and part.value > most:
            return Part(part.read_out, most - part.read_out, size)
        return part._replace(size=size)

    @property
    def _gamma(self) -> float:
        return self.gamma if self.kind == "DLinUCB" else 1.0

    def _radius(self, learned: Learned, x: Action, bound: mp.mpf) -> mp.mpf:
        relevant = bound if self.width == "uniform" else mp.mpf(0)  # else one answer would be cached many times
        J = gain(learned, len(x), self.lam, self._gamma, self.width, relevant)
        return self._radius_at(x, J, bound, self._noise(learned))

    def _noise(self, learned: Learned) -> mp.mpf:
        if self.sigma is not None:
            return mp.mpf(self.sigma)
        return estimated_noise(learned, self.lam, self._gamma, self.surprises)

    def _radius_at(self, x: Action, J: mp.mpf, bound: mp.mpf, sigma: mp.mpf) -> mp.mpf:
        delta, lam, S = mp.mpf(self.delta), mp.mpf(self.lam), mp.mpf(self.theta_bound)
        if self.multiple is not None:
            return mp.mpf(self.multiple) * sigma
        d = len(x)
        if self.kind == "SWLinUCB" and self.width == "uniform":
            noise = sigma * mp.sqrt(d * mp.log((1 + self.window * bound**2 / lam) / delta))
        else:
            noise = sigma * mp.sqrt(2 * mp.log(1 / delta) + J)
        if self.bias == "none":
            return noise
        if self.estimator == "ridge" or self.bias == "sharp":
            bias = mp.sqrt(lam) * S
            return mp.sqrt(bias**2 + noise**2) if self.radius == "joint" else bias + noise
        if self.bias == "tight":
            return mp.sqrt(lam + norm(x) ** 2) * S + noise
        return (mp.sqrt(lam) + norm(x)) * S + noise

    # dLinUCB's test of its models

    def _badness(self, model: Model) -> tuple[mp.mpf, mp.mpf]:
        """The mean of the last records, and cb, the width around it."""
        recent = model.records[-self.window :]
        if not recent:
            return mp.mpf(0), mp.mpf(0.5)
        m = mp.mpf(len(recent))
        return mp.mpf(sum(recent)) / m, mp.sqrt(mp.log(1 / mp.mpf(self.failure_delta)) / (2 * m))

    def _check_models(self, x: Action, y: float) -> None:
        bound = self._bound([])
        unit = noise_slack(1.0, self.delta)
        for model in self.models:
            self.surprises = model.surprises
            self.checking = True  # by the whole width: what is cut off above is not off the other side
            part = self._part(model.learned, x, bound)
            self.checking = False
            if abs(part.read_out - mp.mpf(y)) <= part.reach + unit * self._noise(model.learned):
                model.records.append(0)
                model.learned = (*model.learned, (x, y))
            else:
                model.records.append(1)
                model.surprises += (part.read_out - mp.mpf(y)) ** 2
        judged = [(model, *self._badness(model)) for model in self.models]
        kept = [one for one in judged if one[1] < one[2] + mp.mpf(self.delta)]
        self.models = [model for model, _, _ in kept]
        if not any(badness < cb + mp.mpf(self.tolerance) for _, badness, cb in kept):
            self.models.append(Model())


def as_actions(actions: ArrayLike) -> list[Action]:
    return [tuple(float(value) for value in x) for x in np.asarray(actions, dtype=float)]


@lru_cache(maxsize=4096)
@in_full
def factor(learned: Learned, d: int, lam: float) -> tuple[mp.matrix, list[mp.mpf]]:
    return unit_upper(remember(learned, d, lam, 1.0).V)


@in_full
def unit_upper(V: mp.matrix) -> tuple[mp.matrix, list[mp.mpf]]:
    """V = UᵀDU by elimination: U unit upper triangular, D the pivots."""
    d = V.rows
    left, U, D = V.copy(), mp.eye(d), []
    for k in range(d):
        D.append(left[k, k])
        for j in range(k, d):
            U[k, j] = left[k, j] / D[k]
        for i in range(k + 1, d):
            for j in range(k + 1, d):
                left[i, j] -= U[k, i] * D[k] * U[k, j]
    return U, D
