"""What would this policy have earned on my log?

    from onward.bandits.replay import LoggedData, compare, evaluate

    log = LoggedData.read("clicks.parquet", n_arms=5)
    print(evaluate(policy, log, method="dr"))
    compare({"greedy": greedy, "optimistic": optimistic}, log)

`replay` lets a policy learn as it would have learned, on the events in which it would have done what was done; it needs
a log that explored, and long enough, as it throws most of it away. `ips`, `snips` and `dr` weigh every event by
π(taken) / propensity; they judge a policy as it stands, or one that learns from the whole log as it goes. All of them
need an action that the policy might take to have had a chance of being taken: what was never tried, no log can tell.
"""

import copy
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from onward.bandits import mean_intervals
from onward.bandits.logs import LoggedData
from onward.bandits.policy_value import Interval, Learn, Method, Value
from onward.core.checks import positive, probability
from onward.core.types import Matrix, Vector
from onward.regression import ForwardRegressor

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LoggedData", "Policy", "RewardModel", "Value", "compare", "dr", "evaluate", "ips", "replay", "snips"]

LOTS = (0x7265706C6179,)  # "replay", where no repeat of a game draws from


class Policy(Protocol):
    """What chooses. It may also have `probabilities(actions)`: the chance with which it would now choose each."""

    def choose(self, actions: Matrix, /) -> int:
        """The position of one of the actions (k, d)."""

    def learn(self, action: Vector, reward: float, /) -> Any:
        """Learn what an action earned."""


class RewardModel(Protocol):
    """What predicts the reward of an action, for `dr`."""

    def predict_one(self, x: Vector, /) -> float:
        """The reward to expect."""

    def learn_one(self, x: Vector, y: float, /) -> Any:
        """Learn what came."""


def evaluate(
    policy: Policy,
    log: LoggedData,
    *,
    method: Method = "replay",
    learn: Learn | None = None,
    delta: float = 0.05,
    seed: int | None = None,
    model: RewardModel | None = None,
    clip: float | None = None,
    interval: Interval = "normal",
    reward_range: tuple[float, float] | None = None,
) -> Value:
    """Estimate what the policy would have earned an event. It works on a copy: the policy stays as it was.

    A policy with `probabilities` is asked for them by the weighing methods; otherwise what it chooses counts as chosen
    with certainty, which is right for a policy that draws lots, too, only noisier.

    The normal interval is not to be trusted with few effective samples (`Value.reliable`) nor with rare rewards: if
    what matters was not in the log, nothing in the log says so. It says nothing of how another run of the learning
    would have gone. The empirical Bernstein interval holds at any size, and is wide.

    Args:
        policy: anything with `choose(actions)` and `learn(action, reward)`.
        log: what happened.
        method: how.
            "replay" (Li et al., 2011): the mean reward over the events where the policy chooses what was taken. Where
            logging was not uniform, an event is kept with probability (least propensity in the log) / propensity, so
            that what is kept was taken as if uniformly; a uniform log is kept whole.
            "ips": the mean of w·r, with w = π(taken) / propensity. Unbiased.
            "snips": Σ w·r / Σ w. Slightly biased, but often far less noisy.
            "dr": the mean of Σ_a π(a) r̂(a) + w·(r − r̂(taken)), with a reward model r̂ that learns each event only after
            it was used there. Unbiased whatever the model, and the better the model the less noise.
        learn: "matched": the policy learns the events that replay accepts; "all": it learns every event, after it was
            evaluated on it; "none": it stays as it is. Replay's default is "matched", the others' is "none", and they
            do not know "matched". Where the policy learns, the estimate is of the mean value of the policies that it
            was on the way: the events' errors form a martingale.
        delta: the interval may fail with this probability.
        seed: of replay's lots, one for each event, the same for all policies. Without it a new one each time.
        model: r̂ of "dr", copied; by default `ForwardRegressor(lam=1.0)` on the features of the actions.
        clip: weights above it are cut down to it: less noise, for a bias towards 0 ("dr": towards the model). The
            interval is then about the clipped estimate's mean.
        interval: "normal", or for "ips" and "dr" "empirical_bernstein", which needs the reward's range. It takes
            weights to be bounded by `clip`, or else by 1 / (least propensity in the log).
        reward_range: (low, high), of which no reward can be outside. "dr" then keeps its predictions inside, too.
    """
    learn = _checked(method, learn, delta, model, clip, interval, reward_range)
    _check_rewards(log, reward_range)
    policy = copy.deepcopy(policy)
    if method == "replay":
        return _replay(policy, log, learn, delta, seed)
    if method == "dr":
        model = ForwardRegressor(lam=1.0) if model is None else copy.deepcopy(model)
    chances, expected, residuals = _walk(policy, log, learn, model, reward_range)
    weights = chances / log.propensity
    clipped = 0
    if clip is not None:
        clipped, weights = int((weights > clip).sum()), np.minimum(weights, clip)
    n, total = len(log), float(weights.sum())
    if method == "snips":
        value = float(weights @ log.reward) / total if total > 0 else math.nan
        # What an event moves the ratio by, to first order.
        values = weights * (log.reward - value) * (n / total) if total > 0 else np.zeros(n)
    else:
        values = expected + weights * residuals
        value = float(values.mean())
    matched = int((weights > 0).sum())
    error = float(values.std(ddof=1)) / math.sqrt(n) if matched > 1 else math.inf
    lower, upper = mean_intervals.normal(value, error, delta)
    if interval == "empirical_bernstein" and reward_range is not None:
        largest = 1 / float(log.propensity.min()) if clip is None else clip
        low, high = _value_range(method, reward_range, largest)
        # A model that learns, or a policy that does, ties each event to those before it.
        tied = method == "dr" or learn != "none"
        lower, upper = (mean_intervals.martingale_bernstein if tied else mean_intervals.empirical_bernstein)(
            values, low, high, delta
        )
    return Value(
        method=method,
        learn=learn,
        value=value,
        standard_error=error,
        lower=lower,
        upper=upper,
        delta=delta,
        interval=interval,
        events=n,
        matched=matched,
        effective_sample_size=total**2 / float(weights @ weights) if total > 0 else 0.0,
        largest_weight=float(weights.max()),
        clipped=clipped,
    )


def replay(policy: Policy, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="replay": the policy learns as it would have."""
    return evaluate(policy, log, method="replay", **settings)


def ips(policy: Policy, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="ips": rewards weighed by inverse propensity."""
    return evaluate(policy, log, method="ips", **settings)


def snips(policy: Policy, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="snips": the same, divided by the sum of the weights."""
    return evaluate(policy, log, method="snips", **settings)


def dr(policy: Policy, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="dr": doubly robust, a reward model and weighed corrections of it."""
    return evaluate(policy, log, method="dr", **settings)


def compare(
    policies: Mapping[str, Policy],
    log: LoggedData,
    *,
    methods: Sequence[Method] = get_args(Method),
    learn: Learn | None = None,
    delta: float = 0.05,
    seed: int | None = 0,
    model: RewardModel | None = None,
    clip: float | None = None,
) -> "pl.DataFrame":
    """`evaluate` each policy by each method: a polars frame with a row for each.

    `clip` goes to the methods that weigh events, `model` to "dr". What holds for one policy at a time holds for the
    best of many only with a smaller delta: divide it by their number.
    """
    import polars as pl  # here, so that what makes no frame does not wait for it

    if not policies or not methods:
        raise ValueError(f"expected at least one policy and one method, got {list(policies)} and {list(methods)}")
    rows = []
    for name, policy in policies.items():
        for method in methods:
            value = evaluate(
                policy,
                log,
                method=method,
                learn=learn,
                delta=delta,
                seed=seed,
                model=model if method == "dr" else None,
                clip=clip if method != "replay" else None,
            )
            rows.append({"policy": name} | vars(value) | {"reliable": value.reliable})
    return pl.DataFrame(rows)


def _replay(policy: Policy, log: LoggedData, learn: Learn, delta: float, seed: int | None) -> Value:
    least = log.propensity.min()
    # Lots of their own: a log that was simulated from default_rng(seed) must not meet the same numbers again.
    lots = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=LOTS)).random(len(log))
    # They do not hang on what is chosen, so an event that is dropped need not be asked about.
    kept = lots * log.propensity < least
    accepted: list[float] = []
    for event in np.flatnonzero(kept).tolist() if learn != "all" else range(len(log)):
        actions, taken, reward = log.actions[event], int(log.taken[event]), float(log.reward[event])
        matches = bool(kept[event]) and _choice(policy, actions, event) == taken
        if matches:
            accepted.append(reward)
        if learn == "all" or (matches and learn == "matched"):
            policy.learn(actions[taken], reward)
    n = len(accepted)
    value = float(np.mean(accepted)) if n else math.nan
    error = float(np.std(accepted, ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    lower, upper = mean_intervals.normal(value, error, delta)
    return Value(
        method="replay",
        learn=learn,
        value=value,
        standard_error=error,
        lower=lower,
        upper=upper,
        delta=delta,
        interval="normal",
        events=len(log),
        matched=n,
        effective_sample_size=float(n),
        largest_weight=float(n > 0),
        clipped=0,
    )


def _walk(
    policy: Policy,
    log: LoggedData,
    learn: Learn,
    model: RewardModel | None,
    reward_range: tuple[float, float] | None,
) -> tuple[Vector, Vector, Vector]:
    """For each event π(taken), what the model expects of π, and what the reward was more than the model expected."""
    chances, expected, residuals = np.empty(len(log)), np.zeros(len(log)), log.reward.copy()
    low, high = reward_range or (-math.inf, math.inf)
    for event in range(len(log)):
        actions, taken, reward = log.actions[event], int(log.taken[event]), float(log.reward[event])
        pi = _probabilities(policy, actions, event)
        chances[event] = pi[taken]
        if model is not None:
            possible = {taken, *pi.nonzero()[0].tolist()}
            predicted = {a: min(max(float(model.predict_one(actions[a])), low), high) for a in possible}
            expected[event] = sum(pi[a] * prediction for a, prediction in predicted.items())
            residuals[event] -= predicted[taken]
            model.learn_one(actions[taken], reward)
        if learn == "all":
            policy.learn(actions[taken], reward)
    if not (np.isfinite(expected).all() and np.isfinite(residuals).all()):
        event = int(np.argmin(np.isfinite(expected) & np.isfinite(residuals)))
        raise ValueError(f"the model must predict finite numbers, got another in event {event}")
    return chances, expected, residuals


def _choice(policy: Policy, actions: Matrix, event: int) -> int:
    choice = policy.choose(actions)
    if not isinstance(choice, numbers.Integral) or not 0 <= choice < len(actions):
        raise ValueError(f"a policy must choose 0 … {len(actions) - 1} in event {event}, got {choice!r}")
    return int(choice)


def _probabilities(policy: Policy, actions: Matrix, event: int) -> NDArray[np.float64]:
    ask = getattr(policy, "probabilities", None)
    if ask is None:
        pi = np.zeros(len(actions))
        pi[_choice(policy, actions, event)] = 1.0
        return pi
    pi = np.asarray(ask(actions), dtype=np.float64)
    if pi.shape != (len(actions),) or not (pi.min() >= 0 and abs(pi.sum() - 1) <= 1e-6):
        raise ValueError(
            f"a policy's probabilities must be {len(actions)} numbers >= 0 that sum to 1 in event {event}, got {pi}"
        )
    return pi


def _checked(
    method: Method,
    learn: Learn | None,
    delta: float,
    model: RewardModel | None,
    clip: float | None,
    interval: Interval,
    reward_range: tuple[float, float] | None,
) -> Learn:
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    known: tuple[Learn, ...] = ("matched", "all", "none") if method == "replay" else ("none", "all")
    if learn is None:
        learn = known[0]
    if learn not in known:
        raise ValueError(f"learn must be one of {', '.join(known)} with method={method!r}, got {learn!r}")
    probability("delta", delta)
    if model is not None and method != "dr":
        raise ValueError(f"a model is for method='dr', got one with method={method!r}")
    if clip is not None:
        positive("clip", clip)
        if method == "replay":
            raise ValueError(f"clip is for methods that weigh events, got clip={clip!r} with method='replay'")
    if interval not in get_args(Interval):
        raise ValueError(f"interval must be one of {', '.join(get_args(Interval))}, got {interval!r}")
    if interval == "empirical_bernstein":
        if method not in ("ips", "dr"):
            raise ValueError(f"interval='empirical_bernstein' is for methods ips and dr, got method={method!r}")
        if reward_range is None:
            raise ValueError("interval='empirical_bernstein' needs reward_range=(low, high), got None")
    return learn


def _check_rewards(log: LoggedData, reward_range: tuple[float, float] | None) -> None:
    if reward_range is None:
        return
    low, high = reward_range
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"reward_range must be two finite numbers, low <= high, got {reward_range!r}")
    inside = (log.reward >= low) & (log.reward <= high)
    if not inside.all():
        event = int(np.argmin(inside))
        raise ValueError(
            f"rewards must be in reward_range=({low:g}, {high:g}), got {log.reward[event]:g} in event {event}"
        )


def _value_range(method: Method, reward_range: tuple[float, float], largest: float) -> tuple[float, float]:
    """Between what an event's value can be, with rewards in the range and weights up to the largest."""
    low, high = reward_range
    if method == "ips":
        return min(0.0, largest * low), max(0.0, largest * high)
    reach = largest * (high - low)
    return low - reach, high + reach
