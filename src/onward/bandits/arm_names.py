"""The names of arms: text or whole numbers, each there once."""

from collections.abc import Collection, Hashable, Iterable

from onward.bandits.pending import checked_key
from onward.core.checks import is_iterable, whole
from onward.core.shown import brief

_SHOWN = 20  # so many names are listed in a message


def told_names(n_arms: int | Iterable[Hashable]) -> Iterable[Hashable]:
    """The names that were given, or numbers in place of them if it was said how many arms there are."""
    if is_iterable(n_arms) and not isinstance(n_arms, str):
        return n_arms
    return range(whole("n_arms", n_arms, 1))


def check_new_arm(name: Hashable, taken: Collection[Hashable]) -> None:
    """ValueError unless an arm can have this name beside those that are taken."""
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise ValueError(f"an arm's name must be text or a whole number, got {brief(name)}")
    checked_key(name, "an arm's name")
    if name in taken:
        raise ValueError(f"there is an arm {brief(name)} already; expected a new name")


def no_arm(name: Hashable, names: Collection[Hashable]) -> ValueError:
    """The error for a name that no arm has."""
    more = [f"… ({len(names)} in all)"] * (len(names) > _SHOWN)
    shown = ", ".join([*map(repr, list(names)[:_SHOWN]), *more])
    return ValueError(f"there is no arm {brief(name)}; expected one of {shown}")
