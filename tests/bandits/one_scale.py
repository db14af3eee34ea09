"""Policies of `test_policies.MAKES` with a scale that stays and σ told, so that arms know nothing of each other."""

from typing import Any

from onward.bandits import Policy
from tests.bandits.test_policies import MAKES


def make(name: str, **more: Any) -> Policy:
    """The policy of that name."""
    tuned = name in ("OFUL", "DLinUCB", "SWLinUCB", "OracleRestart", "LinTS")
    return MAKES[name](**({"scale": 0.3, "sigma": 0.7} if tuned else {}), **more)
