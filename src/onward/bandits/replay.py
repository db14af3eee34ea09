"""What would this policy have earned on my log?

    from onward.bandits.replay import LoggedData, compare, compare_policies, evaluate

    log = LoggedData.read("clicks.parquet", n_arms=5)
    value = evaluate(policy, log, method="dr")
    print(value)                                     # with warnings, if something speaks against it
    print(compare_policies(log, greedy, optimistic)) # paired, on the same events
    compare({"greedy": greedy, "optimistic": optimistic}, log)

`replay` lets a policy learn as it would have learned, on the events in which it would have done what was done; it needs
a log that explored, and long enough, as it throws most of it away. The other methods weigh every event by
π(taken) / propensity; they judge a policy as it stands, or one that learns from the whole log as it goes. All of them
need an action that the policy might take to have had a chance of being taken: what was never tried, no log can tell.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from onward.bandits import mean_intervals
from onward.bandits.bounded_intervals import bounded_interval
from onward.bandits.disjoint import Disjoint
from onward.bandits.evaluation_settings import WITH_MODEL, check_settings
from onward.bandits.log_records import LogWarning
from onward.bandits.log_walk import Policy, RewardModel, Subject, knows_nothing, walk
from onward.bandits.logs import LoggedData
from onward.bandits.policy_value import Interval, Learn, Method, Value, ValueDifference, reward_bounds
from onward.bandits.value_estimators import terms
from onward.bandits.weight_checks import diagnose, model_alone_warning, refuse_deterministic, replay_warnings
from onward.regression import ForwardRegressor

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "LogWarning",
    "LoggedData",
    "Policy",
    "RewardModel",
    "Value",
    "ValueDifference",
    "compare",
    "compare_policies",
    "dm",
    "dr",
    "evaluate",
    "ips",
    "replay",
    "snips",
]

LOTS = (0x7265706C6179,)  # "replay", where no repeat of a game draws from


def evaluate(
    policy: Policy | Disjoint,
    log: LoggedData,
    *,
    method: Method = "replay",
    learn: Learn | None = None,
    delta: float = 0.05,
    seed: int | None = None,
    model: RewardModel | None = None,
    folds: int | None = None,
    clip: float | None = None,
    shrinkage: float | None = None,
    interval: Interval = "normal",
    reward_range: tuple[float, float] | None = None,
    allow_deterministic: bool = False,
) -> Value:
    """Estimate what the policy would have earned an event. It works on a copy: the policy stays as it was.

    A policy with `probabilities` is asked for them by the weighing methods; otherwise what it chooses counts as chosen
    with certainty, which is right for a policy that draws lots, too, only noisier. A `Disjoint` policy needs a log of
    contexts; its arms are matched by name, or where the log has no names by position.

    What speaks against the estimate (a mean weight that is not 1, propensities that cannot be right, too few effective
    samples) is in `Value.warnings`, with the numbers in `Value.diagnostics`, and is warned of as a `LogWarning`. A log
    whose policy left nothing to chance is refused.

    The normal interval is not to be trusted with few effective samples (`Value.reliable`) nor with rare rewards: if
    what matters was not in the log, nothing in the log says so. It says nothing of how another run of the learning
    would have gone. The empirical Bernstein interval holds at any size, the anytime one at all sizes at once, so that
    one may look at a growing log again and again; both are wider. All are cut to the range of the reward.

    Args:
        policy: anything with `choose(actions)` and `learn(action, reward)`, or a `Disjoint`.
        log: what happened.
        method: how.
            "replay" (Li et al., 2011): the mean reward over the events where the policy chooses what was taken. Where
            logging was not uniform, an event is kept with probability (least propensity in the log) / propensity, so
            that what is kept was taken as if uniformly; a uniform log is kept whole.
            "ips": the mean of w·r, with w = π(taken) / propensity. Unbiased.
            "snips": Σ w·r / Σ w. Slightly biased, but often far less noisy.
            "dm": the mean of Σ_a π(a) r̂(a): a reward model r̂ alone is believed, fitted on other folds of the log. It
            has no interval but the range of rewards, as nothing tells how wrong the model is.
            "dr": the mean of Σ_a π(a) r̂(a) + w·(r − r̂(taken)), with a reward model r̂ that learns each event only after
            it was used there. Unbiased whatever the model, and the better the model the less noise.
            "switch": as "dr", but where the weight is above a threshold the model alone is believed.
            "dros": as "dr", with weights λw / (w² + λ): optimistic shrinkage. Both for logs with heavy weights.
        learn: "matched": the policy learns the events that replay accepts; "all": it learns every event, after it was
            evaluated on it; "none": it stays as it is. Replay's default is "matched", the others' is "none", and they
            do not know "matched". Where the policy learns, the estimate is of the mean value of the policies that it
            was on the way: the events' errors form a martingale.
        delta: the interval may fail with this probability.
        seed: of replay's lots, one for each event, the same for all policies. Without it a new one each time.
        model: r̂, copied; by default `ForwardRegressor(lam=1.0)` on the features of the actions.
        folds: predict each event by a model that learned all other folds, in place of one that learned the events
            before. "dm" has 5 unless it is told; for the others that would tie events to later ones.
        clip: weights above it are cut down to it: less noise, for a bias towards 0 ("dr": towards the model). The
            interval is then about the clipped estimate's mean.
        shrinkage: the threshold of "switch" or λ of "dros"; by default the one with the least estimated error.
        interval: "normal", or for "ips" and "dr" "empirical_bernstein" or "anytime", which need the reward's range.
            They take weights to be bounded by `clip`, or else by 1 / (least propensity in the log); "anytime" with
            "ips" needs no bound, and with "dr" is the narrower of both kinds.
        reward_range: (low, high), of which no reward can be outside. Models then keep their predictions inside, too.
            By default intervals are cut to the range that the log shows.
        allow_deterministic: whether "dm" may be used on a log that explored nothing.

    Returns:
        The estimate with its interval, checks and warnings.

    Raises:
        ValueError: if a setting is out of its range, or the log cannot tell.

    Example:
        >>> import numpy as np
        >>> from onward.bandits import Greedy, LoggedData, evaluate
        >>> rng = np.random.default_rng(1)
        >>> taken = rng.integers(2, size=400)  # a coin was tossed
        >>> rewards = taken + rng.uniform(-0.1, 0.1, 400)
        >>> log = LoggedData([[[1.0, 0.0], [0.0, 1.0]]] * 400, taken, np.full(400, 0.5), rewards)
        >>> value = evaluate(Greedy(seed=0), log, method="replay", seed=0)  # it learns as it would have
        >>> 0.9 < value.value < 1.1, value.matched < 400
        (True, True)
    """
    learn, folds = check_settings(method, learn, delta, clip, interval, reward_range, model, folds, shrinkage)
    bounds, range_from = reward_bounds(log.reward, reward_range)
    if not (allow_deterministic and method == "dm"):
        refuse_deterministic(log)
    if method == "replay":
        replayed = _replay(policy, log, learn, delta, seed, bounds, reward_range is not None)
        for each in replayed.warnings:
            warnings.warn(each, LogWarning, stacklevel=2)
        return replayed
    if method in WITH_MODEL and model is None:
        model = ForwardRegressor(lam=1.0)
    walked = walk(policy, log, learn, model, folds, reward_range)
    weights = walked.chances / log.propensity
    diagnostics = diagnose(log, weights, walked.unsupported)
    clipped = 0
    if clip is not None:
        clipped, weights = int((weights > clip).sum()), np.minimum(weights, clip)
    made = terms(method, walked, weights, log.reward, shrinkage)
    total, matched = float(weights.sum()), int((weights > 0).sum())
    value = float(made.values.mean())
    error = made.standard_error if matched > 1 and method != "dm" else math.inf
    lower, upper = mean_intervals.normal(value, error, delta, made.values) if math.isfinite(value) else bounds
    if interval != "normal" and reward_range is not None:
        largest = 1 / float(log.propensity.min()) if clip is None else clip
        # A model that learns, or a policy that does, ties each event to those before it.
        tied = method == "dr" or learn != "none"
        lower, upper = bounded_interval(
            method, interval, made.values, weights, log.reward, largest, bounds, delta, tied
        )
    said = diagnostics.warnings() if method != "dm" else [model_alone_warning()]
    for each in said:
        warnings.warn(each, LogWarning, stacklevel=2)
    lower, upper = mean_intervals.cut(lower, upper, *bounds)
    return Value(
        method=method,
        learn=learn,
        value=value,
        standard_error=error,
        lower=lower,
        upper=upper,
        delta=delta,
        interval=interval,
        events=len(log),
        matched=matched,
        effective_sample_size=total**2 / float(weights @ weights) if total > 0 else 0.0,
        largest_weight=float(weights.max()),
        clipped=clipped,
        shrinkage=made.shrinkage,
        reward_range=bounds,
        range_from=range_from,
        diagnostics=diagnostics,
        warnings=tuple(said),
        terms=made.values,
        log=log,
    )


def replay(policy: Policy | Disjoint, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="replay": the policy learns as it would have."""
    return evaluate(policy, log, method="replay", **settings)


def ips(policy: Policy | Disjoint, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="ips": rewards weighed by inverse propensity."""
    return evaluate(policy, log, method="ips", **settings)


def snips(policy: Policy | Disjoint, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="snips": the same, divided by the sum of the weights."""
    return evaluate(policy, log, method="snips", **settings)


def dm(policy: Policy | Disjoint, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="dm": what a reward model expects, and nothing else."""
    return evaluate(policy, log, method="dm", **settings)


def dr(policy: Policy | Disjoint, log: LoggedData, **settings: Any) -> Value:
    """`evaluate` with method="dr": doubly robust, a reward model and weighed corrections of it."""
    return evaluate(policy, log, method="dr", **settings)


def compare_policies(
    log: LoggedData,
    first: Policy | Disjoint,
    second: Policy | Disjoint,
    *,
    method: Method = "dr",
    **settings: Any,
) -> ValueDifference:
    """By how much the first policy would have earned more than the second: paired, on the same events.

    The settings are those of `evaluate`; not for "replay", which judges each policy on other events.

    Args:
        log: what happened.
        first, second: the policies.
        method: how: as of `evaluate`, but for "replay".
        settings: as of `evaluate`.

    Returns:
        The difference with its interval.

    Raises:
        ValueError: if method is "replay", which judges policies on other events; and as `evaluate`.

    Example:
        >>> import numpy as np
        >>> from onward.bandits import Greedy, LoggedData, Random, compare_policies
        >>> rng = np.random.default_rng(1)
        >>> taken = rng.integers(2, size=400)
        >>> rewards = taken + rng.uniform(-0.1, 0.1, 400)
        >>> log = LoggedData([[[1.0, 0.0], [0.0, 1.0]]] * 400, taken, np.full(400, 0.5), rewards)
        >>> policy = Greedy(seed=0)
        >>> policy.learn([0.0, 1.0], 1.0)
        >>> gain = compare_policies(log, policy, Random(seed=0), method="ips")
        >>> gain.lower < 0.5 < gain.upper  # 1 rather than 1/2 on average
        True
    """
    if method == "replay":
        raise ValueError("method must be one that weighs events, got 'replay', which judges policies on other events")
    for policy in (first, second):
        if settings.get("learn") in (None, "none") and knows_nothing(policy):
            warnings.warn(
                f"a policy that has learned nothing ({type(policy).__name__}) is judged as it is, and so chooses by "
                'chance: expected one that has learned, or learn="all"',
                LogWarning,
                stacklevel=2,
            )
    values = [evaluate(policy, log, method=method, **settings) for policy in (first, second)]
    return values[0].difference(values[1])


def compare(
    policies: Mapping[str, Policy | Disjoint],
    log: LoggedData,
    *,
    methods: Sequence[Method] = ("replay", "ips", "snips", "dr"),
    learn: Learn | None = None,
    delta: float = 0.05,
    seed: int | None = 0,
    model: RewardModel | None = None,
    clip: float | None = None,
    reward_range: tuple[float, float] | None = None,
) -> "pl.DataFrame":
    """`evaluate` each policy by each method: a polars frame with a row for each.

    `clip` goes to the methods that weigh events, `model` to those that have one. What holds for one policy at a time
    holds for the best of many only with a smaller delta: divide it by their number.
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
                model=model if method in WITH_MODEL else None,
                clip=clip if method != "replay" else None,
                reward_range=reward_range,
            )
            rows.append({"policy": name} | as_row(value))
    return pl.DataFrame(rows)


def as_row(value: Value) -> dict[str, Any]:
    """A value as one row of a table: its numbers, and its warnings as one text."""
    apart = ("reward_range", "diagnostics", "warnings", "terms", "log")
    row = {each.name: getattr(value, each.name) for each in fields(value) if each.name not in apart}
    row |= {"reliable": value.reliable}
    mean = None if value.diagnostics is None else value.diagnostics.mean_weight
    return row | {"mean_weight": mean, "warnings": "\n".join(value.warnings)}


def _replay(
    policy: Policy | Disjoint,
    log: LoggedData,
    learn: Learn,
    delta: float,
    seed: int | None,
    bounds: tuple[float, float],
    given: bool,
) -> Value:
    subject = Subject(policy, log)
    least = log.propensity.min()
    # Lots of their own: a log that was simulated from default_rng(seed) must not meet the same numbers again.
    lots = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=LOTS)).random(len(log))
    # They do not hang on what is chosen, so an event that is dropped need not be asked about.
    kept = lots * log.propensity < least
    accepted: list[float] = []
    for event in np.flatnonzero(kept).tolist() if learn != "all" else range(len(log)):
        offer, taken, reward = subject.offer(event), int(log.taken[event]), float(log.reward[event])
        matches = bool(kept[event]) and subject.choose(offer, event) == taken
        if matches:
            accepted.append(reward)
        if learn == "all" or (matches and learn == "matched"):
            subject.learn(offer, event)
    n = len(accepted)
    value = float(np.mean(accepted)) if n else math.nan
    error = float(np.std(accepted, ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    ends = mean_intervals.normal(value, error, delta, np.array(accepted)) if n else bounds
    lower, upper = mean_intervals.cut(*ends, *bounds)
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
        reward_range=bounds,
        range_from="given" if given else "log",
        warnings=tuple(replay_warnings(log, n)),
        log=log,
    )
