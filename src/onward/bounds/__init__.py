"""The paper's regret bounds, corrected: one function for each, named for what it bounds.

`<who>_regret_to_<whom>` bounds the loss of `who` less that of `whom`:

    who     ridge, forward, unregularized_forward, truth (θ* as if it were a learner); hinted_forward, which guesses at
            targets, and centred_forward, whose constant is not regularised
    whom    penalized   min_θ (L(θ) + λ‖θ‖²)
            best        min_θ L(θ), so this regret is the paper's R
            truth       L(θ*), so this regret is the paper's R̄
            path        Σ (y − xᵀu_t)² of coefficients that move

`<policy>_regret` bounds the pseudo-regret of a bandit policy, `aggregation_regret` what it costs to weigh experts,
`<what>_sum` a sum that the proofs need. `_sharp` is smaller than what the paper has, and as valid; of a policy, with
the index and radius that belong to it. Most names come in two forms:

    forward_regret_to_truth(horizon, *, d, lam, feature_bound, …)    from constants; horizon may be an array
    forward_regret_to_truth_along(trace, *, …)                       along a run, after each of its rounds
                                                                     (`_so_far`: after the last, from a state)

The second uses what was seen in place of what is possible, so it is smaller, and valid at all rounds at once as well.
`<who>_identity` gives exactly what the bounds bound, `<who>_expected_regret_to_truth` its mean. `conformal_misses` is
about intervals, and not from the paper. All logarithms are natural. A parameter that is out of its range is a
ValueError that says so.

Statements that the paper prints and that fail or lack a proof are in `onward.bounds.as_printed`, and only there.
"""

from onward.bounds import as_printed
from onward.bounds.bandits import (
    oful_forward_regret,
    oful_forward_regret_along,
    oful_regret,
    oful_regret_along,
    oful_regret_with_kappa,
    oful_regret_with_kappa_along,
)
from onward.bounds.deterministic import (
    forward_regret_to_best,
    forward_regret_to_best_along,
    forward_regret_to_penalized,
    forward_regret_to_penalized_along,
    minimax_regret,
    ridge_regret_to_best,
    ridge_regret_to_best_along,
    ridge_regret_to_penalized,
    ridge_regret_to_penalized_along,
    ridge_regret_to_penalized_small_loss,
    ridge_regret_to_penalized_small_loss_along,
)
from onward.bounds.discounting import (
    discounted_forward_predictions,
    discounted_forward_regret_to_path,
    discounted_forward_regret_to_path_along,
)
from onward.bounds.drifting_bandits import dlinucb_forward_regret, dlinucb_regret
from onward.bounds.expected import forward_beats_ridge, forward_expected_regret_to_truth, ridge_expected_regret_to_truth
from onward.bounds.expert_advice import aggregation_regret, aggregation_regret_so_far
from onward.bounds.growth import target_growth, target_growth_along, target_growth_at_least
from onward.bounds.hints import centred_forward_regret_to_penalized_along, hinted_forward_regret_to_penalized_along
from onward.bounds.identities import Terms, forward_identity, ridge_identity, truth_identity
from onward.bounds.lemmas import (
    information_gain,
    information_gain_along,
    leverage_after_sum,
    leverage_after_sum_along,
    leverage_before_sum,
    leverage_before_sum_along,
    noise_sum,
    reward_noise_sum,
)
from onward.bounds.linear_algebra import smallest_eigenvalues, smallest_positive_eigenvalues
from onward.bounds.minimax_ratio import MinimaxRatios, forward_to_minimax_ratio, forward_to_minimax_ratios
from onward.bounds.misses import conformal_misses
from onward.bounds.sharp_bandits import (
    oful_forward_regret_sharp,
    oful_forward_regret_sharp_along,
    oful_regret_sharp,
    oful_regret_sharp_along,
)
from onward.bounds.sharp_regression import (
    forward_regret_to_truth_seen_along,
    forward_regret_to_truth_sharp,
    forward_regret_to_truth_sharp_along,
    ridge_regret_to_truth_seen_along,
    ridge_regret_to_truth_sharp,
    ridge_regret_to_truth_sharp_along,
)
from onward.bounds.stochastic import (
    forward_regret_to_truth,
    forward_regret_to_truth_along,
    ridge_regret_to_truth,
    ridge_regret_to_truth_along,
    truth_regret_to_best,
    truth_regret_to_best_along,
)
from onward.bounds.unregularized import (
    unregularized_forward_regret_to_best,
    unregularized_forward_regret_to_best_along,
    unregularized_forward_regret_to_truth_along,
)

__all__ = [
    "MinimaxRatios",
    "Terms",
    "aggregation_regret",
    "aggregation_regret_so_far",
    "as_printed",
    "centred_forward_regret_to_penalized_along",
    "conformal_misses",
    "discounted_forward_predictions",
    "discounted_forward_regret_to_path",
    "discounted_forward_regret_to_path_along",
    "dlinucb_forward_regret",
    "dlinucb_regret",
    "forward_beats_ridge",
    "forward_expected_regret_to_truth",
    "forward_identity",
    "forward_regret_to_best",
    "forward_regret_to_best_along",
    "forward_regret_to_penalized",
    "forward_regret_to_penalized_along",
    "forward_regret_to_truth",
    "forward_regret_to_truth_along",
    "forward_regret_to_truth_seen_along",
    "forward_regret_to_truth_sharp",
    "forward_regret_to_truth_sharp_along",
    "forward_to_minimax_ratio",
    "forward_to_minimax_ratios",
    "hinted_forward_regret_to_penalized_along",
    "information_gain",
    "information_gain_along",
    "leverage_after_sum",
    "leverage_after_sum_along",
    "leverage_before_sum",
    "leverage_before_sum_along",
    "minimax_regret",
    "noise_sum",
    "oful_forward_regret",
    "oful_forward_regret_along",
    "oful_forward_regret_sharp",
    "oful_forward_regret_sharp_along",
    "oful_regret",
    "oful_regret_along",
    "oful_regret_sharp",
    "oful_regret_sharp_along",
    "oful_regret_with_kappa",
    "oful_regret_with_kappa_along",
    "reward_noise_sum",
    "ridge_expected_regret_to_truth",
    "ridge_identity",
    "ridge_regret_to_best",
    "ridge_regret_to_best_along",
    "ridge_regret_to_penalized",
    "ridge_regret_to_penalized_along",
    "ridge_regret_to_penalized_small_loss",
    "ridge_regret_to_penalized_small_loss_along",
    "ridge_regret_to_truth",
    "ridge_regret_to_truth_along",
    "ridge_regret_to_truth_seen_along",
    "ridge_regret_to_truth_sharp",
    "ridge_regret_to_truth_sharp_along",
    "smallest_eigenvalues",
    "smallest_positive_eigenvalues",
    "target_growth",
    "target_growth_along",
    "target_growth_at_least",
    "truth_identity",
    "truth_regret_to_best",
    "truth_regret_to_best_along",
    "unregularized_forward_regret_to_best",
    "unregularized_forward_regret_to_best_along",
    "unregularized_forward_regret_to_truth_along",
]
