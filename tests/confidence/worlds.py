"""Settings to simulate confidence sets in: designs, noises, λ, all seeded."""

from dataclasses import dataclass

import numpy as np

from onward.core.types import Matrix

ROUNDS = 150


@dataclass(frozen=True)
class Setting:
    """θ* has norm 1; σ is the noise's sub-Gaussian constant."""

    d: int
    lam: float
    design: str
    noise: str
    sigma: float = 1.0

    def __str__(self) -> str:
        return f"d={self.d} lam={self.lam:g} {self.design} {self.noise}"


SETTINGS = [
    Setting(1, 1e-4, "iid", "gaussian"),
    Setting(1, 1.0, "basis", "rademacher"),
    Setting(1, 1e2, "growing", "bounded"),
    Setting(1, 1.0, "adaptive", "gaussian"),
    Setting(2, 1e-2, "iid", "rademacher"),
    Setting(2, 1.0, "adaptive", "gaussian"),
    Setting(2, 1e4, "basis", "gaussian"),
    Setting(2, 10.0, "growing", "rademacher", 0.1),
    Setting(5, 1e-4, "basis", "gaussian"),
    Setting(5, 1.0, "iid", "bounded", 3.0),
    Setting(5, 1e2, "adaptive", "rademacher"),
    Setting(5, 1.0, "growing", "gaussian"),
    Setting(5, 1e4, "iid", "gaussian"),
]


def noises(rng: np.random.Generator, kind: str, sigma: float, shape: tuple[int, ...]) -> Matrix:
    if kind == "gaussian":
        return sigma * rng.standard_normal(shape)
    if kind == "rademacher":
        return sigma * rng.choice([-1.0, 1.0], shape)
    if kind == "bounded":  # in [−σ, σ], which makes it σ-sub-Gaussian
        return rng.uniform(-sigma, sigma, shape)
    raise ValueError(kind)


def runs(setting: Setting, count: int, seed: int, rounds: int = ROUNDS) -> tuple[Matrix, Matrix, Matrix]:
    """X (count, rounds, d), noise (count, rounds) and θ* (count, d)."""
    rng = np.random.default_rng([seed, setting.d])
    d = setting.d
    noise = noises(rng, setting.noise, setting.sigma, (count, rounds))
    theta = rng.standard_normal((count, d))
    theta /= np.sqrt((theta**2).sum(axis=1, keepdims=True))
    X = rng.standard_normal((count, rounds, d))
    if setting.design == "basis":
        X = np.tile(np.eye(d), (count, rounds // d + 1, 1))[:, :rounds]
    elif setting.design == "growing":
        X *= np.sqrt(np.arange(1, rounds + 1))[:, None]
    elif setting.design == "adaptive":
        X = _adaptive(X, noise, theta, setting.lam)
    return X, noise, theta


def _adaptive(X: Matrix, noise: Matrix, theta: Matrix, lam: float) -> Matrix:
    """The next row points where least is known, on the side that the estimate favours. All runs are stepped at once."""
    count, rounds, d = X.shape
    G = np.tile(lam * np.eye(d), (count, 1, 1))
    b = np.zeros((count, d))
    for t in range(rounds):
        estimate = np.asarray(np.linalg.solve(G, b[..., None])[..., 0], dtype=np.float64)
        vectors = np.linalg.eigh(G)[1]
        toward = np.where((estimate * vectors[:, :, 0]).sum(axis=1, keepdims=True) >= 0, 1.0, -1.0)
        X[:, t] = toward * vectors[:, :, 0] * (1 + np.abs(X[:, t, :1])) + 0.1 * X[:, t]
        x = X[:, t]
        y = (x * theta).sum(axis=1) + noise[:, t]
        G += x[:, :, None] * x[:, None, :]
        b += y[:, None] * x
    return X
