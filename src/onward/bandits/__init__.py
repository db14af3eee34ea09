"""Linear bandits: policies, worlds to play them in, the compiled game, and what a log says of a policy."""

from onward.bandits.disjoint import Disjoint
from onward.bandits.functions import index_function, width_function
from onward.bandits.journal import read_journal
from onward.bandits.journaling import replay_journal
from onward.bandits.memories import Detecting, Discounted, Everything, Restarting, Window
from onward.bandits.meta import MetaOFUL
from onward.bandits.pending import Counts, Decision, PendingDecision
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
from onward.bandits.replay import LoggedData, Value, evaluate
from onward.bandits.rules import AtRandom, EpsilonGreedily, Greedily, Optimistic, Sampling
from onward.bandits.runs import Runs
from onward.bandits.simulate import play
from onward.bandits.spectral import SpectralBandit
from onward.bandits.spectral_basis import SpectralBasis

__all__ = [
    "OFUL",
    "AtRandom",
    "Counts",
    "DLinUCB",
    "Decision",
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
    "LoggedData",
    "MetaOFUL",
    "Optimistic",
    "OracleRestart",
    "PendingDecision",
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
    "evaluate",
    "index_function",
    "play",
    "read_journal",
    "replay_journal",
    "width_function",
]
