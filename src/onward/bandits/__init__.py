"""Linear bandits: policies, worlds to play them in, the compiled game, and what a log says of a policy."""

from onward.bandits.disjoint import Disjoint
from onward.bandits.functions import index_function, width_function
from onward.bandits.labelled_world import from_classification
from onward.bandits.log_writer import LogWriter
from onward.bandits.memories import Detecting, Discounted, Everything, Restarting, Window
from onward.bandits.meta import MetaOFUL
from onward.bandits.policies import (
    OFUL,
    DetectingLinUCB,
    DLinUCB,
    EpsilonGreedy,
    Greedy,
    LinTS,
    LinUCB,
    OracleRestart,
    Random,
    SWLinUCB,
)
from onward.bandits.policy import Policy
from onward.bandits.policy_known import Known
from onward.bandits.replay import LoggedData, LogWarning, Value, compare_policies, evaluate
from onward.bandits.rules import AtRandom, EpsilonGreedily, Greedily, Optimistic, Sampling
from onward.bandits.runs import Runs
from onward.bandits.simulate import play
from onward.bandits.spectral import SpectralBandit
from onward.bandits.spectral_basis import SpectralBasis

__all__ = [
    "OFUL",
    "AtRandom",
    "DLinUCB",
    "Detecting",
    "DetectingLinUCB",
    "Discounted",
    "Disjoint",
    "EpsilonGreedily",
    "EpsilonGreedy",
    "Everything",
    "Greedily",
    "Greedy",
    "Known",
    "LinTS",
    "LinUCB",
    "LogWarning",
    "LogWriter",
    "LoggedData",
    "MetaOFUL",
    "Optimistic",
    "OracleRestart",
    "Policy",
    "Random",
    "Restarting",
    "Runs",
    "SWLinUCB",
    "Sampling",
    "SpectralBandit",
    "SpectralBasis",
    "Value",
    "Window",
    "compare_policies",
    "evaluate",
    "from_classification",
    "index_function",
    "play",
    "width_function",
]
