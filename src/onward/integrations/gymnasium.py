"""Bandit worlds as gymnasium environments, and bandit policies in any gymnasium environment with discrete actions.

    env = BanditEnv(LinearWorld(SphereArms(10, 5), Stationary.random(5), Gaussian(0.1)), horizon=1000)
    episodes = play_gymnasium(policy, env, episodes=20, seed=0)
    episodes.totals

In an environment with states, the policy is greedy for the next reward: it knows nothing of what follows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from onward.bandits.environments import Environment, EnvironmentRun
from onward.core.checks import whole
from onward.core.types import Matrix, Vector

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise ImportError(
        'onward.integrations.gymnasium needs gymnasium: pip install "onward[gymnasium]"', name="gymnasium"
    ) from None

__all__ = ["BanditEnv", "Episodes", "play_gymnasium"]

_ROUNDING = 1e-12  # a coordinate may exceed the bound on norms by this part of it

Features = Callable[[Any, int], ArrayLike]


class Policy(Protocol):
    """Something that chooses among actions and learns from rewards."""

    def choose(self, actions: Matrix, available: NDArray[np.bool_] | None = None) -> int:
        """The number of a row of actions, (k, d)."""

    def learn(self, action: Vector, reward: float) -> None:
        """What the action, (d,), gave."""


class BanditEnv(gymnasium.Env[Matrix, np.int64]):
    """A world of `onward.bandits` as an environment: an observation is the arms on offer, an action the choice of one.

    After a step, `info` has the arms' expected rewards in the round just played, "means", and what the choice cost
    against the best of them, "regret". `reset(seed=s)` begins the run that `world.start(SeedSequence(s))` would.

    Args:
        world: a `LinearWorld`, or any object whose runs always offer arms of one shape.
        horizon: rounds until an episode is truncated; None for an episode without end.

    Raises:
        ValueError: if the horizon is not whole and positive, or the world offers arms of another shape.

    Example:
        >>> from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
        >>> from onward.integrations.gymnasium import BanditEnv
        >>> env = BanditEnv(LinearWorld(SphereArms(10, 2), Stationary([0.6, -0.8]), Gaussian(0.1)), horizon=100)
        >>> arms, info = env.reset(seed=0)
        >>> arms.shape, env.action_space.n.item()
        ((10, 2), 10)
        >>> arms, reward, terminated, truncated, info = env.step(3)
        >>> sorted(info), info["regret"] >= 0.0
        (['means', 'regret'], True)
    """

    def __init__(self, world: Environment, horizon: int | None = None) -> None:
        if horizon is not None:
            whole("horizon", horizon)
        self.world, self.horizon = world, horizon
        shape = np.shape(world.start(SeedSequence(0)).offer())
        if len(shape) != 2:
            raise ValueError(f"the world must offer actions of shape (k, d), got shape {shape}")
        bound = float(getattr(world, "action_bound", math.inf)) * (1.0 + _ROUNDING)
        self.observation_space = spaces.Box(-bound, bound, shape, np.float64)
        self.action_space = spaces.Discrete(shape[0])
        self._shape = shape
        self._run: EnvironmentRun | None = None
        self._played = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Matrix, dict[str, Any]]:
        """Begin a run: the seed's, or without one the next of those that the last seed leads to.

        Args:
            seed: of the run; None for the next.
            options: none is used.

        Returns:
            The arms on offer, and an empty dict.
        """
        super().reset(seed=seed)
        entropy = self.np_random.integers(0, 2**32, 4).tolist() if seed is None else seed
        self._run, self._played = self.world.start(SeedSequence(entropy)), 0
        return self._offered(self._run), {}

    def step(self, action: np.int64 | int) -> tuple[Matrix, float, bool, bool, dict[str, Any]]:
        """Play an arm.

        Args:
            action: the number of an arm.

        Returns:
            The next arms, the reward, whether the episode ended or was truncated, and `info`.

        Raises:
            gymnasium.error.ResetNeeded: before `reset`, and after the last round.
            ValueError: if there is no such arm.
        """
        run = self._run
        if run is None or (self.horizon is not None and self._played >= self.horizon):
            state = "has not begun" if run is None else f"ended after its {self.horizon} rounds"
            raise gymnasium.error.ResetNeeded(f"the episode {state}: call reset() before step()")
        if not self.action_space.contains(action):
            raise ValueError(f"action must be a whole number from 0 to {self._shape[0] - 1}, got {action!r}")
        means = run.means()
        reward = float(run.reward(int(action)))
        self._played += 1
        info = {"regret": float(means.max() - means[action]), "means": means}
        return self._offered(run), reward, False, self._played == self.horizon, info

    def _offered(self, run: EnvironmentRun) -> Matrix:
        actions = np.asarray(run.offer(), dtype=np.float64)
        if actions.shape != self._shape:
            raise ValueError(f"the world offers actions of shape {actions.shape}, but began with {self._shape}")
        return actions


@dataclass(frozen=True, eq=False)
class Episodes:
    """What was earned: the rewards of each episode, step by step.

    Args:
        rewards: of each episode, in the order of its steps.

    Example:
        >>> from onward.bandits import LinUCB
        >>> from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
        >>> from onward.integrations.gymnasium import BanditEnv, play_gymnasium
        >>> env = BanditEnv(LinearWorld(SphereArms(10, 2), Stationary([0.6, -0.8]), Gaussian(0.1)), horizon=100)
        >>> episodes = play_gymnasium(LinUCB(seed=0), env, episodes=2, seed=0)
        >>> episodes.lengths.tolist(), episodes.totals.shape
        ([100, 100], (2,))
    """

    rewards: tuple[Vector, ...]

    @property
    def totals(self) -> Vector:
        """The sum of each episode's rewards."""
        return np.array([math.fsum(rewards) for rewards in self.rewards])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of steps of each episode."""
        return np.array([len(rewards) for rewards in self.rewards], dtype=np.int64)


def play_gymnasium(
    policy: Policy,
    env: gymnasium.Env[Any, Any],
    episodes: int = 1,
    seed: int | None = None,
    features: Features | None = None,
    learn: bool = True,
    max_steps: int | None = None,
) -> Episodes:
    """Let a policy play whole episodes of an environment with a Discrete action space.

    Args:
        policy: anything with `choose(actions)` and `learn(action, reward)`; where the environment's `info` has an
            "action_mask", it is given as `choose(actions, available)`.
        env: the environment; it is not closed.
        episodes: how many.
        seed: seeds the first episode; the others go on from there.
        features: from an observation and the number of actions, the features of each action, (n_actions, d).
            Without it, an observation of shape (n_actions, d) is taken as it is; any other is flattened, a 1 is put
            in front, and each action has a block of its own for it, so that it learns its own coefficients.
        learn: whether the policy is told the rewards.
        max_steps: an episode that has not ended by then is left; None for no limit.

    Returns:
        What was earned.

    Raises:
        ValueError: if the action space is not Discrete, an episode would not end, or features have another shape.

    Example:
        >>> from onward.bandits import LinUCB
        >>> from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
        >>> from onward.integrations.gymnasium import BanditEnv, play_gymnasium
        >>> env = BanditEnv(LinearWorld(SphereArms(10, 2), Stationary([0.6, -0.8]), Gaussian(0.1)), horizon=100)
        >>> episodes = play_gymnasium(LinUCB(seed=0), env, episodes=2, seed=0)
        >>> early, late = (float(rewards.mean()) for rewards in episodes.rewards)
        >>> early < late  # it knows more in the second
        True
    """
    whole("episodes", episodes)
    if max_steps is not None:
        whole("max_steps", max_steps)
    elif isinstance(env, BanditEnv) and env.horizon is None:
        raise ValueError("an episode of BanditEnv(horizon=None) never ends: expected max_steps, got None")
    space = env.action_space
    if not isinstance(space, spaces.Discrete):
        raise ValueError(f"the action space must be Discrete, for a policy that chooses among actions, got {space}")
    n, first = int(space.n), int(space.start)
    described = features or _Default(env.observation_space)
    return Episodes(
        tuple(
            _play_one(policy, env, seed if episode == 0 else None, described, n, first, learn, max_steps)
            for episode in range(episodes)
        )
    )


def _play_one(
    policy: Policy,
    env: gymnasium.Env[Any, Any],
    seed: int | None,
    features: Features,
    n: int,
    first: int,
    learn: bool,
    max_steps: int | None,
) -> Vector:
    rewards: list[float] = []
    observation, info = env.reset(seed=seed)
    ended = False
    while not ended and len(rewards) != max_steps:
        actions = np.ascontiguousarray(features(observation, n), dtype=np.float64)
        if actions.ndim != 2 or len(actions) != n:
            raise ValueError(f"features must return shape ({n}, d), a row for each action, got shape {actions.shape}")
        mask = info.get("action_mask")  # where some actions cannot be taken, gymnasium's own environments say so here
        chosen = policy.choose(actions) if mask is None else policy.choose(actions, np.asarray(mask) != 0)
        if not 0 <= chosen < n:
            raise ValueError(f"the policy must choose a number from 0 to {n - 1}, got {chosen!r}")
        observation, reward, terminated, truncated, info = env.step(first + int(chosen))
        if learn:
            policy.learn(actions[chosen], float(reward))
        rewards.append(float(reward))
        ended = terminated or truncated
    return np.array(rewards)


class _Default:
    """The features of actions that nothing is known of: the observation, in each action's own block."""

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self.space = space

    def __call__(self, observation: Any, n: int) -> Matrix:
        if isinstance(self.space, spaces.Box) and len(self.space.shape) == 2 and self.space.shape[0] == n:
            return np.asarray(observation, dtype=np.float64)
        if not self.space.is_np_flattenable:
            raise ValueError(f"observations of {self.space} have no fixed number of features: expected `features`")
        flat = np.asarray(spaces.utils.flatten(self.space, observation), dtype=np.float64)
        return np.kron(np.eye(n), np.concatenate([[1.0], flat]))
