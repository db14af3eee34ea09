"""Runs put together and taken apart: further repeats, further policies, some of either."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onward.bandits.runs import Runs

Make = Callable[..., "Runs"]


def merged(make: Make, first: "Runs", second: "Runs") -> "Runs":
    """See `Runs.merge`."""
    _refuse_unlike("merge", first, second, ("names", "horizon", "seed", "settings"))
    both = sorted(set(first.repeat_numbers) & set(second.repeat_numbers))
    if both:
        raise ValueError(f"cannot merge: expected different repeats, got {both} in both")
    numbered = first.repeat_numbers + second.repeat_numbers
    order = np.argsort(numbered)

    def together(one: Any, other: Any) -> Any:
        return None if one is None else np.concatenate([one, other], axis=1)[:, order]

    seconds = {name: first.seconds[name] + second.seconds[name] for name in first.seconds if name in second.seconds}
    return make(
        first.names,
        together(first.regret, second.regret),
        first.rounds,
        together(first.chosen, second.chosen),
        horizon=first.horizon,
        seed=first.seed,
        settings=first.settings,
        seconds=seconds,
        complete=_complete_together(first, second),
        repeat_numbers=[numbered[i] for i in order],
        trace={name: together(first.trace[name], second.trace[name]) for name in first.trace},
        failures=sorted(first.failures + second.failures, key=lambda failure: failure.repeat),
    )


def joined(make: Make, first: "Runs", second: "Runs") -> "Runs":
    """See `Runs.join`."""
    _refuse_unlike("join", first, second, ("horizon", "seed", "repeat_numbers"))
    both = [name for name in first.names if name in second.names]
    if both:
        raise ValueError(f"cannot join: expected different policies, got {', '.join(both)} in both")
    mine, theirs = (
        {name: value for name, value in runs.settings.items() if name != "policies"} for runs in (first, second)
    )
    if mine != theirs:
        raise ValueError(f"cannot join: these runs were played with {mine}, the others with {theirs}")

    def together(one: Any, other: Any) -> Any:
        return None if one is None else np.concatenate([one, other])

    policies = {**first.settings.get("policies", {}), **second.settings.get("policies", {})}
    return make(
        first.names + second.names,
        together(first.regret, second.regret),
        first.rounds,
        together(first.chosen, second.chosen),
        horizon=first.horizon,
        seed=first.seed,
        settings={**first.settings, "policies": policies} if policies else first.settings,
        seconds={**first.seconds, **second.seconds},
        complete=first.complete and second.complete,
        repeat_numbers=first.repeat_numbers,
        trace={name: together(first.trace[name], second.trace[name]) for name in first.trace},
        failures=first.failures + second.failures,
    )


def selected(
    make: Make,
    runs: "Runs",
    policies: str | Iterable[str] | None,
    repeats: Iterable[int] | None,
    rounds: tuple[int, int] | None,
) -> "Runs":
    """See `Runs.select`."""
    names = runs.names if policies is None else (policies,) if isinstance(policies, str) else tuple(policies)
    for name in names:
        runs[name]  # says which there are
    numbers = runs.repeat_numbers if repeats is None else tuple(repeats)
    missing = [number for number in numbers if number not in runs.repeat_numbers]
    if missing or not numbers or not names:
        raise ValueError(f"there is no such selection: expected repeats among {runs.repeat_numbers}, got {numbers}")
    kept = np.ones(len(runs.rounds), dtype=bool)
    if rounds is not None:
        kept = (runs.rounds >= rounds[0]) & (runs.rounds <= rounds[1])
        if not kept.any():
            raise ValueError(f"no round from {rounds[0]} to {rounds[1]} was kept")
    rows = np.array([runs.names.index(name) for name in names])
    columns = np.array([runs.repeat_numbers.index(number) for number in numbers])
    settings = dict(runs.settings)
    if "policies" in settings:
        settings["policies"] = {name: settings["policies"][name] for name in names if name in settings["policies"]}
    share = len(columns) / runs.repeats
    return make(
        names,
        runs.regret[np.ix_(rows, columns, np.flatnonzero(kept))],
        runs.rounds[kept],
        None if runs.chosen is None else runs.chosen[np.ix_(rows, columns)],
        horizon=runs.horizon,
        seed=runs.seed,
        settings=settings,
        seconds={name: share * runs.seconds[name] for name in names if name in runs.seconds},
        complete=runs.complete,
        repeat_numbers=numbers,
        trace={name: values[np.ix_(rows, columns)] for name, values in runs.trace.items()},
        failures=[failure for failure in runs.failures if failure.policy in names and failure.repeat in numbers],
    )


def _refuse_unlike(verb: str, first: "Runs", second: "Runs", names: Sequence[str]) -> None:
    for name in names:
        if getattr(first, name) != getattr(second, name):
            raise ValueError(
                f"cannot {verb}: these runs have {name}={getattr(first, name)!r}, "
                f"the others have {name}={getattr(second, name)!r}"
            )
    if not np.array_equal(first.rounds, second.rounds):
        raise ValueError(
            f"cannot {verb}: these runs kept {len(first.rounds)} rounds, the others {len(second.rounds)}, not the same"
        )
    if (first.chosen is None) != (second.chosen is None):
        raise ValueError(f"cannot {verb}: expected both or neither to have kept the chosen actions, got one that did")
    if set(first.trace) != set(second.trace):
        raise ValueError(f"cannot {verb}: these runs traced {list(first.trace)}, the others {list(second.trace)}")


def _complete_together(first: "Runs", second: "Runs") -> bool:
    """Whether an interrupted game and its continuation make a whole one: no repeat is missing before the last."""
    last = max(first, second, key=lambda runs: max(runs.repeat_numbers))
    numbers = sorted(first.repeat_numbers + second.repeat_numbers)
    gapless = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return (first.complete and second.complete) or (last.complete and gapless)
