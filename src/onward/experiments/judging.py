"""From estimates to verdicts: what is shared by the rules of all figures."""

from collections.abc import Sequence

from onward.experiments.base import Verdict


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
