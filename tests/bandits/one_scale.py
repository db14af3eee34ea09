"""Policies of `test_policies.MAKES` with a scale that stays: arms and indices by hand do not tune it."""

from typing import Any

from onward.bandits import Policy
from tests.bandits.test_policies import MAKES


def make(name: str, **more: Any) -> Policy:
    """The policy of that name."""
    tuned = name in ("OFUL", "DLinUCB", "SWLinUCB", "OracleRestart", "LinTS")
    return MAKES[name](**({"scale": 0.3} if tuned else {}), **more)
