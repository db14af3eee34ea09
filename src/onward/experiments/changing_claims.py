"""The claims of figures 4a and 4b: the forward form is on par, and which policy suits such changes better."""

from collections.abc import Mapping

import polars as pl

from onward.core.types import Vector
from onward.experiments.bandit_games import regret_matrix
from onward.experiments.claims import DISTRUST, Claim, Finding, Regime
from onward.experiments.estimates import Estimate, mean, ratio
from onward.experiments.verdicts import Condition, Rule, Some, within

PAR = 0.1  # "on par": regrets within this share of each other
GROUPS = ("repeats",)


def final_regret(frame: pl.DataFrame, policy: str, beta: str = "") -> Vector:
    """Regret at the end, a number for each repeat."""
    return regret_matrix(frame, policy=policy, beta=beta)[:, -1]


def forward_ratio(frame: pl.DataFrame, beta: str) -> Estimate:
    """The regret of D-LinUCB^f with that β over D-LinUCB's, at the end."""
    return ratio(final_regret(frame, "D-LinUCB^f", beta), final_regret(frame, "D-LinUCB"))


def decide_on_par(betas: Mapping[str, str], frame: pl.DataFrame) -> Claim:
    """D-LinUCB^f beside D-LinUCB, for each β in words; the first is the figure's."""
    ratios = {beta: forward_ratio(frame, beta) for beta in betas}
    questions = {
        beta: within(f"ratio with {words}", ratios[beta], 1 - PAR, 1 + PAR, GROUPS) for beta, words in betas.items()
    }
    own = next(iter(betas))
    found = ratios[own]
    who = "loses more" if found.lower > 1 else "loses less" if found.upper < 1 else "is neither ahead nor behind"
    return Claim(
        id="forward-on-par",
        statement="D-LinUCB^f compares on par with D-LinUCB.",
        rule=Rule(
            f"Ratio of mean regrets, paired over repeats: supported if its 99% interval lies within 1 ± {PAR:g} with "
            f"the figure's β ({betas[own]}); partly if with another β tried. {DISTRUST}",
            questions[own],
            Some(list(questions.values())),
        ),
        numbers={f"ratio with {words}": ratios[beta] for beta, words in betas.items()},
        findings=[
            Finding(
                "regret of D-LinUCB^f over D-LinUCB's at the end" if beta == own else f"with {betas[beta]}",
                each,
                note=betas[own] if beta == own else "",
                headline=beta == own,
            )
            for beta, each in ratios.items()
        ],
        regimes=[Regime.of({betas[beta]: each for beta, each in questions.items()})],
        comments=[f"D-LinUCB^f {who}."],
    )


def decide_better_suited(better: str, worse: str, changes: str, frame: pl.DataFrame) -> Claim:
    """The policy that the paper says is better for such changes, beside another."""
    a, b = final_regret(frame, better), final_regret(frame, worse)
    gap, found = mean(a - b), ratio(a, b)
    less = Condition("difference", gap, "below", 0.0, GROUPS)
    return Claim(
        id=f"{better}-better".lower(),
        statement=f"{better} is better suited to {changes} changes than {worse}.",
        rule=Rule(
            f"Paired difference {better} − {worse} over repeats: supported if its 99% interval is below 0, not "
            "supported if above.",
            less,
        ),
        numbers={"difference": gap, "ratio": found},
        findings=[
            Finding(f"regret at the end of {better}", round(float(a.mean()))),
            Finding(f"of {worse}", round(float(b.mean()))),
            Finding("difference", gap),
            Finding(f"ratio of {better}'s to {worse}'s", found, headline=True),
        ],
        regimes=[Regime.of({"this setting": less})],
    )
