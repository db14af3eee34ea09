"""Entries of a log that none can have been written like: what they would make of a state could not be saved."""

from onward.bandits.buffer_checks import LARGEST
from onward.core.factor import ORDINARY
from onward.service.entries import Decide, Entry, Install, Learn, Reward

_LARGEST_ESTIMATE = 1e74  # so that its square is below LARGEST
_MOST_COUNTED = 2**53


def check_entry(entry: Entry, seq: int) -> None:
    """ValueError, with the place in the log, if an entry holds what no loop and no model writes down."""
    content, fault = entry.content, None
    if not (isinstance(entry.at, float | int) and abs(entry.at) < ORDINARY):
        fault = f"at must be a time in seconds since 1970, got {entry.at!r:.80}"
    elif isinstance(content, Decide):
        fault = fault_of(content)
    elif isinstance(content, Reward) and not abs(content.value) < ORDINARY:
        fault = f"a reward must be a number below {ORDINARY:g} in size, got {content.value!r:.80}"
    elif isinstance(content, Learn):
        sizes = {len(each) for each in (content.rows, content.targets, content.weights) if each is not None}
        fault = None if len(sizes) == 1 else "its rows, targets and weights are not of one number"
    elif isinstance(content, Install) and not 0 <= content.previous < _MOST_COUNTED:
        fault = "the snapshot of before is none"
    if fault is not None:
        raise ValueError(f"entry {seq} of {entry.loop!r:.80} is none that was written: {fault}")


def fault_of(decision: Decide) -> str | None:
    """What is wrong with the numbers of a decision; None if a state can take them in."""
    n, places, row = len(decision.actions), decision.ranking, decision.row.values()
    if not 0 <= decision.chosen < n == len(decision.probabilities) == len(decision.estimates):
        return "its actions, probabilities and estimates are not of one number"
    if not 0 <= min(places, default=0) <= max(places, default=0) < n or not 0 <= decision.left_out < _MOST_COUNTED:
        return "its places or counts are none"
    chances = decision.probability, decision.probabilities[decision.chosen], decision.shadow or 0.0
    if not all(map(is_chance, chances)) or not sum(map(abs, decision.probabilities)) <= n + 1.0:
        return "its probabilities are none"
    # Sums are finite, and small, only if all numbers are.
    numbers = decision.longest, decision.typical
    if not (all(0.0 <= each < LARGEST for each in numbers) and abs(decision.leverage) < LARGEST):
        return "the lengths of its actions are too large, or no numbers"
    if not (sum(map(abs, decision.estimates)) < _LARGEST_ESTIMATE and sum(map(abs, row)) < LARGEST):
        return "its estimates or features are too large, or no numbers"
    return None


def is_chance(value: float) -> bool:
    """Whether it is a probability, but for rounding."""
    return 0.0 <= value <= 1.0 + 1e-9
