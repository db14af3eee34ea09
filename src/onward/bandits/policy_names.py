"""Policies by name with their parameters, as one types them: `linucb alpha=1`, `disjoint thompson lam=0.5`."""

import ast
import shlex
from collections.abc import Hashable, Sequence
from typing import Any

from onward.bandits import policies
from onward.bandits.disjoint import Disjoint
from onward.bandits.policy import Policy
from onward.core.shown import brief

ALIASES = {
    "thompson": "lints",
    "ucb": "linucb",
    "uniform": "random",
    "egreedy": "epsilongreedy",
    "ε-greedy": "epsilongreedy",
    "discounted": "dlinucb",
    "window": "swlinucb",
    "detecting": "detectinglinucb",
}


def policy_kinds() -> dict[str, type[Policy]]:
    """The policies that have a name of their own, by that name in small letters."""
    found = {
        name.lower(): kind
        for name, kind in vars(policies).items()
        if isinstance(kind, type) and issubclass(kind, Policy) and kind.__module__ == policies.__name__
    }
    return dict(sorted(found.items()))


def named_policy(text: str, n_arms: int | Sequence[Hashable] | None = None, seed: int = 0) -> Policy | Disjoint:
    """The policy that a text names: `NAME parameter=value …`.

    Args:
        text: a name (in any case, hyphens or not) and parameters; with `disjoint` before it, each arm has a policy.
        n_arms: how many arms there are, or their names, for `disjoint`.
        seed: of its random numbers, unless the text says otherwise.
    """
    words = shlex.split(text)
    if not words:
        raise ValueError("expected the name of a policy, got nothing")
    apart = words[0].lower() == "disjoint"
    words = words[1:] if apart else words
    kinds = policy_kinds()
    wanted = words[0].lower() if words else ""
    wanted = ALIASES.get(wanted, ALIASES.get(_plain(wanted), _plain(wanted)))
    if wanted not in kinds:
        said = words[0] if words else text
        raise ValueError(f"there is no policy {said!r}; expected one of {', '.join([*kinds, *ALIASES])}")
    given: dict[str, Any] = {"seed": seed}
    for word in words[1:]:
        name, found, value = word.partition("=")
        if not found or not name:
            raise ValueError(f"policy {text!r}: expected parameter=value, got {brief(word)}")
        given[name] = _value(value)
    try:
        policy = kinds[wanted](**given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"policy {text!r}: {error}") from error
    if not apart:
        return policy
    if n_arms is None:
        raise ValueError(f"policy {text!r}: disjoint arms need contexts that arms share, and their number")
    return Disjoint(policy, n_arms)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "")


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
