"""Statements as the paper prints them that are not proven or do not hold. Not for use as bounds.

They are here to be compared with: each function says what is wrong and where docs/errata.md shows it. A function that
has the name of one in `onward.bounds` is about the same quantity.
"""

from onward.bounds.as_printed.printed_bandits import (
    dlinucb_forward_regret,
    dlinucb_regret,
    oful_forward_regret,
    oful_regret,
    oful_regret_with_kappa,
)
from onward.bounds.as_printed.printed_regression import (
    forward_leading_term,
    forward_regret_to_truth,
    forward_width,
    hindsight_noise_sum,
    least_squares_width,
    minimax_regret,
    ridge_leading_term,
    ridge_regret_to_truth,
    ridge_width,
    target_growth,
)
from onward.bounds.as_printed.printed_unregularized import (
    RankStructure,
    unregularized_forward_regret_to_truth,
    unregularized_forward_structure,
)

__all__ = [
    "RankStructure",
    "dlinucb_forward_regret",
    "dlinucb_regret",
    "forward_leading_term",
    "forward_regret_to_truth",
    "forward_width",
    "hindsight_noise_sum",
    "least_squares_width",
    "minimax_regret",
    "oful_forward_regret",
    "oful_regret",
    "oful_regret_with_kappa",
    "ridge_leading_term",
    "ridge_regret_to_truth",
    "ridge_width",
    "target_growth",
    "unregularized_forward_regret_to_truth",
    "unregularized_forward_structure",
]
