"""Figure 1: the terms that the two learners' regrets are made of, round by round.

Against the penalised minimum, ridge's regret is Σ (p − y)² h, its *first term*; forward's is Σ y² h − Σ q ŷ², a *first*
less a *second term* [Eq 4] [Eq 5]. The paper looks at one noise level; what it says of the terms depends on the noise,
so the sums are kept for a range of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.ticker import NullLocator

from onward import bounds
from onward.core.checks import not_negative, positive
from onward.core.types import Matrix, Vector
from onward.experiments.bands import masked, standard_error, with_band
from onward.experiments.base import Claim, Piece
from onward.experiments.judging import DISTRUST, IN_BRACKETS, doubts, listed, regime, verdict
from onward.experiments.regression_data import LEARNERS, Problem
from onward.experiments.statistics import Estimate, log_contrast, ratio
from onward.experiments.tidy import in_pieces, table, values_of
from onward.pages import style
from onward.pages.drawing import Drawing, Line, Panel

NAME = "figure1"
TITLE = "The terms of the regret"
REPEATS_A_PIECE = 25
TERMS = (("ridge", "first"), ("forward", "first"), ("forward", "second"))


@dataclass(frozen=True)
class Config:
    """The paper's settings. It does not give θ*, which is uniform on the unit sphere here."""

    seed: int = 0
    repeats: int = 100
    d: int = 5
    rounds: int = 200
    sigma: float = 0.1  # of the noise, in the picture
    lam: float = 1.0
    sigmas: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # for which the claims are tried, too
    sums_times: int = (
        5  # repeats behind the claims, for each one of the picture: of 100, one can make up much of a mean
    )
    margin: float = 0.1  # on par: neither has more than 1 + margin times the other's

    def __post_init__(self) -> None:
        for name in ("sigma", "lam", "repeats", "sums_times", "d"):
            positive(name, getattr(self, name))
        not_negative("margin", self.margin)
        for sigma in self.sigmas:
            positive("sigmas", sigma)
        if self.rounds < 2 * self.d + 2:
            raise ValueError(f"rounds must be at least 2·d + 2 = {2 * self.d + 2}, got {self.rounds}")

    @property
    def all_sigmas(self) -> tuple[float, ...]:
        """Every σ that is run, ascending."""
        return tuple(sorted({self.sigma, *self.sigmas}))

    @property
    def marks(self) -> tuple[int, int, int]:
        """Rounds at which sums are kept: the end of the first d rounds, the beginning of the last tenth, the end."""
        return self.d, self.rounds - max(1, self.rounds // 10), self.rounds


def pieces(config: Config) -> Sequence[Piece]:
    """Repeats, some at a time."""
    return in_pieces("repeats", config.sums_times * config.repeats, REPEATS_A_PIECE)


def compute(config: Config, piece: Piece) -> pl.DataFrame:
    """Terms at every round for the picture's σ; for each σ, their sums, losses, regrets and bounds at a few rounds.

    The first `repeats` have both, the others only the latter.
    """
    start, stop = piece.about["start"], piece.about["stop"]
    every = np.arange(1, config.rounds + 1)
    kept = np.array(config.marks) - 1
    found: dict[tuple[str, str, str, float], list[Vector]] = {}

    def keep(part: str, quantity: str, learner: str, sigma: float, values: Vector) -> None:
        found.setdefault((part, quantity, learner, sigma), []).append(values)

    for repeat in range(start, stop):
        learned = Problem.draw(config.seed, repeat, "cube", config.d, config.rounds).learned(config.lam)
        for sigma in config.all_sigmas:
            trace = learned.trace(sigma)
            ridge, forward = bounds.ridge_identity(trace), bounds.forward_identity(trace)
            for (learner, quantity), term in zip(TERMS, (ridge.first, forward.first, forward.second), strict=True):
                keep("sums", quantity, learner, sigma, np.cumsum(term)[kept])
                if sigma == config.sigma and repeat < config.repeats:
                    keep("terms", quantity, learner, sigma, term)
            for learner, prediction in (("ridge", trace.p), ("forward", trace.forward)):
                keep("sums", "loss", learner, sigma, np.cumsum((prediction - trace.y) ** 2)[kept])
                keep("sums", "regret", learner, sigma, learned.regret(learner, sigma)[kept])
            keep("sums", "bound", "ridge", sigma, bounds.ridge_regret_to_penalized_along(trace)[kept])
            keep("sums", "bound", "forward", sigma, bounds.forward_regret_to_penalized_along(trace)[kept])
    return pl.concat(
        table(
            np.array(values),
            part=part,
            quantity=quantity,
            learner=learner,
            lam=config.lam,
            sigma=sigma,
            first_repeat=start,
            rounds=every if part == "terms" else config.marks,
        )
        for (part, quantity, learner, sigma), values in found.items()
    )


@dataclass(frozen=True)
class Measured:
    """What is compared at one σ. A term's `left` is its mean in the last tenth over that in the first d rounds."""

    ridge_left: Estimate
    forward_left: Estimate
    ridge_falls_more: Estimate  # forward's over ridge's
    cancelled: Estimate  # forward's second over its first term, all rounds
    cancelled_late: Estimate  # in the last tenth
    loss_ratio: Estimate  # ridge's over forward's
    regret_ratio: Estimate  # to θ*
    penalized_ratio: Estimate  # of the regrets that the terms add up to

    @classmethod
    def at(cls, config: Config, frame: pl.DataFrame, sigma: float) -> "Measured":
        """From the sums at σ."""
        sums = frame.filter((pl.col("part") == "sums") & (pl.col("sigma") == sigma))
        early, late, end = config.marks

        def of(quantity: str, learner: str) -> Matrix:
            return values_of(sums, quantity=quantity, learner=learner)

        first, last = {}, {}
        for learner in LEARNERS:
            total = of("first", learner)
            first[learner], last[learner] = total[:, 0] / early, (total[:, 2] - total[:, 1]) / (end - late)
        added, taken = of("first", "forward"), of("second", "forward")
        columns = np.column_stack([last["forward"], first["forward"], last["ridge"], first["ridge"]])
        less = log_contrast(columns, (1.0, -1.0, -1.0, 1.0))
        return cls(
            ridge_left=ratio(last["ridge"], first["ridge"]),
            forward_left=ratio(last["forward"], first["forward"]),
            ridge_falls_more=less.exp(),
            cancelled=ratio(taken[:, 2], added[:, 2]),
            cancelled_late=ratio(taken[:, 2] - taken[:, 1], added[:, 2] - added[:, 1]),
            loss_ratio=ratio(of("loss", "ridge")[:, 2], of("loss", "forward")[:, 2]),
            regret_ratio=ratio(of("regret", "ridge")[:, 2], of("regret", "forward")[:, 2]),
            penalized_ratio=ratio(of("first", "ridge")[:, 2], added[:, 2] - taken[:, 2]),
        )


VANISHED, SHRUNK = 0.01, 0.1  # of a term, what may be left at most
STEADY, STEADIER = 1 / 3, 10.0  # what must be left of a stable term; how many times less it falls than ridge's
CANCELLED = 0.9  # of forward's first terms, what its second must take off


def claims(config: Config, frame: pl.DataFrame) -> Sequence[Claim]:
    """What the paper says of the terms, and what came out."""
    measured = {sigma: Measured.at(config, frame, sigma) for sigma in config.all_sigmas}
    return [
        _ridge_vanishes(config, measured, _left_soon(config, frame)),
        _forward_stable(config, measured),
        _cancelled(config, measured),
        _on_par(config, measured),
    ]


def _ridge_vanishes(config: Config, measured: dict[float, Measured], soon: Estimate) -> Claim:
    here, noisiest = measured[config.sigma].ridge_left, config.all_sigmas[-1]
    most = measured[noisiest].ridge_left
    held = [sigma for sigma, m in measured.items() if m.ridge_left.below(VANISHED)]
    last = config.rounds - config.marks[1]
    floor = "It cannot fall below σ²h, so the noisier, the more is left: " if most.value > here.value else ""
    return Claim(
        name="ridge-vanishes",
        says="The first term of ridge's regret, (p − y)² h, vanishes quickly.",
        verdict=verdict(here.below(VANISHED), here.below(SHRUNK)),
        finding=(
            f"In the last {last} of {config.rounds} rounds it is {_percent(here)} {IN_BRACKETS} of what it was in the "
            f"first {config.d}. As to quickly: in rounds {_soon(config)} it is {_percent(soon)}. {floor}"
            f"{_percent(most)} at σ = {noisiest:g} in the last {last}." + doubts([here, soon, most])
        ),
        rule=(
            f"Mean over the last tenth of the rounds, divided by that over the first d: supported if its interval lies "
            f"below {VANISHED:.0%} at σ = {config.sigma:g}, partly if below {SHRUNK:.0%}. {DISTRUST}"
        ),
        regime=regime("σ", held, config.all_sigmas),
        numbers={
            **{f"left at σ={sigma:g}": m.ridge_left.record() for sigma, m in measured.items()},
            f"left in rounds {_soon(config)} at σ={config.sigma:g}": soon.record(),
        },
        short=f"{_percent(here)} of ridge's first term left",
    )


def _soon(config: Config) -> str:
    return f"{2 * config.d + 1}–{min(4 * config.d, config.rounds)}"


def _left_soon(config: Config, frame: pl.DataFrame) -> Estimate:
    """Of ridge's first term: its mean over rounds 2d + 1 to 4d, over that of the first d."""
    terms = values_of(frame, part="terms", learner="ridge", quantity="first")
    return ratio(terms[:, 2 * config.d : 4 * config.d].mean(axis=1), terms[:, : config.d].mean(axis=1))


def _forward_stable(config: Config, measured: dict[float, Measured]) -> Claim:
    here = measured[config.sigma]
    left, times = here.forward_left, here.ridge_falls_more
    held = [sigma for sigma, m in measured.items() if m.forward_left.above(STEADY)]
    lesser = [sigma for sigma, m in measured.items() if m.ridge_falls_more.above(STEADIER)]
    falls = left.upper < 1
    return Claim(
        name="forward-stable",
        says="The first term of forward's regret, y² h, is quite stable.",
        verdict=verdict(left.above(STEADY), times.above(STEADIER)),
        finding=(
            f"It {'falls, too' if falls else 'rises' if left.lower > 1 else 'neither surely falls nor rises'}: in the "
            f"last tenth of the rounds it is {_percent(left)} {IN_BRACKETS} of what it was in the first {config.d}"
            f"{', because the leverage h falls as d/t while y² stays' if falls else ''}. What is left of it is "
            f"{times.marked} times what is left of ridge's." + doubts([left, times])
        ),
        rule=(
            f"Mean over the last tenth of the rounds, divided by that over the first d: supported if its interval lies "
            f"above {STEADY:.0%} at σ = {config.sigma:g}; partly if it is more than {STEADIER:g} times ridge's. The "
            f"leverage h falls as d/t for any σ, so it can be supported only where y² grows. {DISTRUST}"
        ),
        regime=(
            f"as it stands: {regime('σ', held, config.all_sigmas)}; {STEADIER:g} times steadier than ridge's: "
            f"{regime('σ', lesser, config.all_sigmas)}"
        ),
        numbers={
            **{f"left at σ={sigma:g}": m.forward_left.record() for sigma, m in measured.items()},
            **{f"times ridge's at σ={sigma:g}": m.ridge_falls_more.record() for sigma, m in measured.items()},
        },
        short=f"{_percent(left)} of forward's first term left",
    )


def _cancelled(config: Config, measured: dict[float, Measured]) -> Claim:
    here, noisiest = measured[config.sigma], config.all_sigmas[-1]
    least = measured[noisiest].cancelled
    held = [sigma for sigma, m in measured.items() if m.cancelled.above(CANCELLED)]
    late = [sigma for sigma, m in measured.items() if m.cancelled_late.above(CANCELLED)]
    why = "It cancels signal, not noise: at" if least.upper < here.cancelled.lower else "At"
    return Claim(
        name="cancelled",
        says="Forward's first term is essentially cancelled by its second term, q ŷ².",
        verdict=verdict(here.cancelled.above(CANCELLED), here.cancelled_late.above(CANCELLED)),
        finding=(
            f"Over all rounds the second term takes off {_percent(here.cancelled)} {IN_BRACKETS} of the first; "
            f"in the last tenth of them, {_percent(here.cancelled_late)}. {why} σ = {noisiest:g} it takes off "
            f"{_percent(least)} over all rounds." + doubts([here.cancelled, here.cancelled_late, least])
        ),
        rule=(
            "Sum of the second terms divided by that of the first: supported if its interval lies above "
            f"{CANCELLED:.0%} over all rounds at σ = {config.sigma:g}, partly if in the last tenth of them. {DISTRUST}"
        ),
        regime=(
            f"over all rounds: {regime('σ', held, config.all_sigmas)}; over the last tenth of them: "
            f"{regime('σ', late, config.all_sigmas)}"
        ),
        numbers={
            **{f"cancelled at σ={sigma:g}": m.cancelled.record() for sigma, m in measured.items()},
            **{f"cancelled late at σ={sigma:g}": m.cancelled_late.record() for sigma, m in measured.items()},
        },
        short=f"{_percent(here.cancelled)} of forward's first term taken off",
    )


def _on_par(config: Config, measured: dict[float, Measured]) -> Claim:
    def alike(estimate: Estimate) -> bool:
        return estimate.within(1 / (1 + config.margin), 1 + config.margin)

    here = measured[config.sigma]
    regrets = [sigma for sigma, m in measured.items() if alike(m.regret_ratio)]
    losses = [sigma for sigma, m in measured.items() if alike(m.loss_ratio)]
    ridge_ahead = [sigma for sigma, m in measured.items() if m.regret_ratio.below(1)]
    forward_ahead = [sigma for sigma, m in measured.items() if m.regret_ratio.above(1)]
    who = "; ".join(
        f"{name} has the smaller regret at σ = {listed(where)}"
        for name, where in (("ridge", ridge_ahead), ("forward", forward_ahead))
        if where
    )
    return Claim(
        name="on-par",
        says="Overall, the two strategies perform on par.",
        verdict=verdict(alike(here.regret_ratio), alike(here.loss_ratio)),
        finding=(
            f"At σ = {config.sigma:g} ridge's regret to θ* is {here.regret_ratio.marked} {IN_BRACKETS} times "
            f"forward's, and its total loss {here.loss_ratio.marked} times. "
            f"{who[:1].upper()}{who[1:]}{'.' if who else ''}" + doubts([m.regret_ratio for m in measured.values()])
        ),
        rule=(
            "Ridge's over forward's, of the same repeats: supported if the interval for the regrets to θ* lies within "
            f"a factor of {1 + config.margin:g} at σ = {config.sigma:g}; partly if only that for the total losses, "
            f"noise included, does. {DISTRUST}"
        ),
        regime=(
            f"regrets on par: {regime('σ', regrets, config.all_sigmas)}; total losses on par, noise included: "
            f"{regime('σ', losses, config.all_sigmas)}"
        ),
        numbers={
            **{f"regret ratio at σ={sigma:g}": m.regret_ratio.record() for sigma, m in measured.items()},
            **{f"loss ratio at σ={sigma:g}": m.loss_ratio.record() for sigma, m in measured.items()},
            **{f"penalised ratio at σ={sigma:g}": m.penalized_ratio.record() for sigma, m in measured.items()},
        },
        short=f"{here.regret_ratio.brief} of forward's regret",
    )


def _percent(estimate: Estimate) -> str:
    low, high = (f"{100 * edge:.3g}" for edge in (estimate.lower, estimate.upper))
    return f"{estimate.mark}{100 * estimate.value:.3g} % [{low}, {high}]"


def draw(config: Config, frame: pl.DataFrame) -> Sequence[Drawing]:
    """The paper's figure with the sums beside it, and how what it shows depends on the noise."""
    return [_terms(config, frame), _by_noise(config, frame)]


LABELS = {
    ("ridge", "first"): "ridge, first term: (p − y)² h",
    ("forward", "first"): "forward, first term: y² h",
    ("forward", "second"): "forward, second term (taken off): q ŷ²",
}
STYLES = {"first": "-", "second": ":"}


def _terms(config: Config, frame: pl.DataFrame) -> Drawing:
    terms = frame.filter(pl.col("part") == "terms")
    values = {key: values_of(terms, learner=key[0], quantity=key[1]) for key in TERMS}
    repeats = len(values[TERMS[0]])
    t = np.arange(1.0, config.rounds + 1)
    figure, (left, right) = style.blank(1, 2)
    left.set_yscale("log", nonpositive="mask")
    each, sums = [], []
    for key, value in values.items():
        line = with_band(LABELS[key], t, value, standard_error(value))
        style.draw_line(left, line, style.COLORS[key[0]], STYLES[key[1]], width=1.3)
        each.append(line)
    style.dress(left, title="In each round", xlabel="round", ylabel="mean over repeats (± standard error)")
    style.legend(left)

    regrets = {
        "ridge": np.cumsum(values["ridge", "first"], axis=1),
        "forward": np.cumsum(values["forward", "first"] - values["forward", "second"], axis=1),
    }
    for learner, value in regrets.items():
        line = with_band(f"{learner}, regret", t, value, standard_error(value))
        style.draw_line(right, line, style.COLORS[learner], width=1.8)
        sums.append(line)
    for quantity in ("first", "second"):
        value = np.cumsum(values["forward", quantity], axis=1)
        line = with_band(f"forward, {quantity} terms", t, value, standard_error(value))
        style.draw_line(right, line, style.COLORS["forward"], "--" if quantity == "first" else ":", width=1.0)
        sums.append(line)
    right.set_ylim(bottom=0.0)
    style.dress(right, title="Summed up", xlabel="round", ylabel="sum so far (± standard error)")
    style.legend(right)
    for axes in (left, right):
        axes.set_xlim(0, config.rounds)
    figure.suptitle(
        f"Regret terms, d = {config.d}, λ = {config.lam:g}, σ = {config.sigma:g}: {repeats:,} repeats", fontsize=11
    )

    sums_frame = frame.filter((pl.col("part") == "sums") & (pl.col("sigma") == config.sigma))
    bound = {name: values_of(sums_frame, quantity="bound", learner=name)[:repeats, -1].mean() for name in LEARNERS}
    ends = {name: value[:, -1].mean() for name, value in regrets.items()}
    return Drawing(
        name="figure1",
        title="What the regrets are made of",
        figure=figure,
        caption=(
            f"Left, as in the paper: the terms of each round, mean over {repeats:,} repeats with the standard error of "
            "the mean (the deviation over √repeats); the vertical axis is logarithmic. Forward's second term is taken "
            f"off; in round 1 it is 0.{masked(each)} Right: what they add up to. Ridge's regret to the penalised "
            "minimum is the sum of its first terms, forward's that of its first less its second terms. They end at "
            f"{ends['ridge']:.3g} and {ends['forward']:.3g}. The bounds of Thm 2.1 and 2.2 do not fit on the axes: at "
            f"the end they are {bound['ridge']:.3g} for ridge and {bound['forward']:.3g} for forward, on average."
        ),
        alternative=(
            f"Two panels. Left, the three terms over {config.rounds} rounds on a logarithmic axis. "
            f"{_courses(config, each)} Right, their sums: ridge's regret ends at {ends['ridge']:.3g}, forward's at "
            f"{ends['forward']:.3g}."
        ),
        panels=(Panel(left, each), Panel(right, sums)),
    )


def _courses(config: Config, lines: Sequence[Line]) -> str:
    """How each term goes from the first d rounds to the last tenth, and which falls furthest."""
    names = ("ridge's first term", "forward's first term", "forward's second term")
    start = [float(line.y[: config.d].mean()) for line in lines]
    stop = [float(line.y[config.marks[1] :].mean()) for line in lines]
    ways = [f"{name} from {a:.2g} to {b:.2g}" for name, a, b in zip(names, start, stop, strict=True)]
    left = [b / a if a > 0 else np.inf for a, b in zip(start, stop, strict=True)]
    least = int(np.argmin(left))
    falls = (
        f" {names[least].capitalize()} falls furthest, to {left[least]:.2g} of what it was." if left[least] < 1 else ""
    )
    return f"On average from the first {config.d} rounds to the last tenth, {', '.join(ways)}.{falls}"


def _by_noise(config: Config, frame: pl.DataFrame) -> Drawing:
    sigmas = np.array(config.all_sigmas)
    measured = [Measured.at(config, frame, sigma) for sigma in config.all_sigmas]
    repeats = measured[0].loss_ratio.repeats
    figure, (left, right) = style.blank(1, 2, (9.0, 3.8))
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log", nonpositive="mask")

    def line(label: str, estimates: Sequence[Estimate]) -> Line:
        middle, lower, upper = (np.array([getattr(e, n) for e in estimates]) for n in ("value", "lower", "upper"))
        return Line(label, sigmas, middle, lower, upper)

    ratios = [
        line("regret to θ*", [m.regret_ratio for m in measured]),
        line("total loss", [m.loss_ratio for m in measured]),
    ]
    left.axhspan(1 / (1 + config.margin), 1 + config.margin, color="#888888", alpha=0.18, linewidth=0)
    left.axhline(1.0, color="#888888", linewidth=0.8)
    for each, color in zip(ratios, style.SETTINGS, strict=False):
        style.draw_line(left, each, color)
        left.plot(each.x, each.y, "o", color=color, markersize=3.5)
    ticks = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6]
    left.yaxis.set_minor_locator(NullLocator())
    left.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    style.dress(left, title="Who ends better", xlabel="σ of the noise", ylabel="ridge's over forward's")
    left.annotate(
        f"on par: within a factor {1 + config.margin:g}",
        (sigmas[0], 1.0),
        xytext=(2, 3),
        textcoords="offset points",
        fontsize=style.SMALL,
    )
    style.legend(left)

    shares = [
        (line("ridge: first term left", [m.ridge_left for m in measured]), "ridge", "-"),
        (line("forward: first term left", [m.forward_left for m in measured]), "forward", "-"),
        (line("forward: share cancelled", [m.cancelled for m in measured]), "forward", ":"),
        (line("forward: share cancelled, last tenth", [m.cancelled_late for m in measured]), "forward", "--"),
    ]
    for each, learner, dash in shares:
        style.draw_line(right, each, style.COLORS[learner], dash)
        right.plot(each.x, each.y, "o", color=style.COLORS[learner], markersize=3.5)
    style.dress(right, title="What becomes of the terms", xlabel="σ of the noise", ylabel="share")
    style.legend(right)
    figure.suptitle(
        f"The same for other noise, λ = {config.lam:g}, |θ*| = 1: {repeats:,} repeats, 99 % intervals", fontsize=11
    )
    doubtful = sum(
        not each.trusted
        for m in measured
        for each in (m.regret_ratio, m.loss_ratio, m.ridge_left, m.forward_left, m.cancelled, m.cancelled_late)
    )
    doubt = f" At {doubtful} points one repeat makes up much of a mean, and the interval is rough." if doubtful else ""
    return Drawing(
        name="figure1-noise",
        title="The same for other noise",
        figure=figure,
        caption=(
            f"Left: ridge's regret to θ* and total loss at round {config.rounds}, over forward's; above 1 forward is "
            "better. Right: what is left of each first term in the last tenth of the rounds, relative to the first "
            f"{config.d} rounds, and the share of forward's first terms that its second terms take off. Ratios of "
            f"means over {repeats:,} paired repeats with 99 % intervals; all axes are logarithmic. The terms above are "
            f"at σ = {config.sigma:g}.{masked([*ratios, *(each for each, _, _ in shares)])}{doubt}"
        ),
        alternative=(
            f"Two panels over the noise σ. Left, ridge's regret over forward's goes from {ratios[0].y[0]:.2g} at σ = "
            f"{sigmas[0]:g} to {ratios[0].y[-1]:.2g} at σ = {sigmas[-1]:g}. Right, the share of forward's first terms "
            f"that is cancelled goes from {shares[2][0].y[0]:.2g} to {shares[2][0].y[-1]:.2g}."
        ),
        panels=(Panel(left, ratios), Panel(right, [each for each, _, _ in shares])),
    )
