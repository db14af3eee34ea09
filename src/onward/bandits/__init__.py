"""Linear bandits: policies, worlds to play them in, the compiled game, and what a log says of a policy."""

from onward.bandits.disjoint import Disjoint
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
from onward.bandits.replay import LoggedData, Value, evaluate
from onward.bandits.runs import Runs
from onward.bandits.simulate import play

__all__ = [
    "OFUL",
    "DLinUCB",
    "DetectingLinUCB",
    "Disjoint",
    "EpsilonGreedy",
    "Greedy",
    "LinTS",
    "LoggedData",
    "OracleRestart",
    "Policy",
    "Random",
    "Runs",
    "SWLinUCB",
    "Value",
    "evaluate",
    "play",
]
