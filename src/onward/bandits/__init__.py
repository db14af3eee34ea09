"""Linear bandits: policies, worlds to play them in, the compiled game, and what a log says of a policy."""

from onward.bandits.policies import (
    OFUL,
    DetectingLinUCB,
    DLinUCB,
    EpsilonGreedy,
    Greedy,
    LinTS,
    OracleRestart,
    Random,
    SWLinUCB,
)
from onward.bandits.policy import Policy

__all__ = [
    "OFUL",
    "DLinUCB",
    "DetectingLinUCB",
    "EpsilonGreedy",
    "Greedy",
    "LinTS",
    "OracleRestart",
    "Policy",
    "Random",
    "SWLinUCB",
]
