"""From estimates to verdicts: what is shared by the rules of all figures."""

from collections.abc import Sequence

from onward.experiments.base import Verdict
from onward.experiments.statistics import LEVEL, TRUSTED, Estimate

IN_BRACKETS = f"({100 * LEVEL:g} % intervals in brackets)"
DISTRUST = f"An estimate is undecided if one repeat makes up more than {TRUSTED:.0%} of a mean behind it."


def verdict(full: bool, partial: bool) -> Verdict:
    """Supported if the whole rule holds, partly if its lesser part does."""
    return "supported" if full else "partly" if partial else "not supported"


def listed(values: Sequence[float]) -> str:
    """Numbers in a row: "0.1, 0.3 and 1"."""
    words = [f"{value:.3g}" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def regime(symbol: str, held: Sequence[float], tried: Sequence[float]) -> str:
    """Where something held, of all settings tried, in words."""
    if not held:
        return f"nowhere tried ({symbol} = {listed(tried)})"
    if len(held) == len(tried):
        return f"everywhere tried ({symbol} = {listed(tried)})"
    return f"{symbol} = {listed(held)} (of {listed(tried)} tried)"


def doubts(estimates: Sequence[Estimate]) -> str:
    """How many estimates are not to be trusted, in a sentence to follow others; empty if there are none."""
    count = sum(not each.trusted for each in estimates)
    if not count:
        return ""
    return (
        f" Of {len(estimates)} estimates {count} (marked ≈) have a mean of which one repeat makes up more than "
        f"{TRUSTED:.0%}; they count as undecided."
    )
