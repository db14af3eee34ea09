"""Linear bandits: policies, worlds to play them in, the compiled game, and what a log says of a policy."""

from onward.bandits.context_worlds import ContextWorld, TableWorld
from onward.bandits.delays import FixedDelay, GeometricDelay, UniformDelay
from onward.bandits.disjoint import Disjoint
from onward.bandits.functions import index_function, width_function
from onward.bandits.hybrid import Hybrid
from onward.bandits.journal import read_journal
from onward.bandits.journaling import replay_journal
from onward.bandits.labelled_world import from_classification
from onward.bandits.log_writer import LogWriter
from onward.bandits.memories import Detecting, Discounted, Everything, Restarting, Window
from onward.bandits.meta import MetaOFUL
from onward.bandits.named_arms import NamedArms
from onward.bandits.named_policy import Named
from onward.bandits.pending import Counts, Decision, PendingDecision
from onward.bandits.policies import (
    OFUL,
    Boltzmann,
    DetectingLinUCB,
    DLinUCB,
    EpsilonGreedy,
    Greedy,
    LinTS,
    LinUCB,
    OracleRestart,
    Random,
    SquareCB,
    SWLinUCB,
)
from onward.bandits.policy import Policy
from onward.bandits.policy_known import Known
from onward.bandits.replay import LoggedData, LogWarning, Value, compare_policies, evaluate
from onward.bandits.rules import AtRandom, EpsilonGreedily, Greedily, InverseGap, Optimistic, Sampling, Softmax
from onward.bandits.runs import Runs
from onward.bandits.simulate import play
from onward.bandits.spectral import SpectralBandit
from onward.bandits.spectral_basis import SpectralBasis

__all__ = [
    "OFUL",
    "AtRandom",
    "Boltzmann",
    "ContextWorld",
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
    "FixedDelay",
    "GeometricDelay",
    "Greedily",
    "Greedy",
    "Hybrid",
    "InverseGap",
    "Known",
    "LinTS",
    "LinUCB",
    "LogWarning",
    "LogWriter",
    "LoggedData",
    "MetaOFUL",
    "Named",
    "NamedArms",
    "Optimistic",
    "OracleRestart",
    "PendingDecision",
    "Policy",
    "Random",
    "Restarting",
    "Runs",
    "SWLinUCB",
    "Sampling",
    "Softmax",
    "SpectralBandit",
    "SpectralBasis",
    "SquareCB",
    "TableWorld",
    "UniformDelay",
    "Value",
    "Window",
    "compare_policies",
    "evaluate",
    "from_classification",
    "index_function",
    "play",
    "read_journal",
    "replay_journal",
    "width_function",
]
