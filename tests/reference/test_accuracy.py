"""Against 50-digit arithmetic, on streams where keeping an inverse fails."""

import numpy as np
import pytest

from onward.core import Information
from tests.reference.streams import STREAMS, exact_rounds, relative_error, sherman_morrison, stream

BAR = 1e-10


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("d", [2, 3, 6])
def test_every_round_is_right_to_ten_digits(name: str, seed: int, d: int) -> None:
    X, y, lam = stream(name, d=d, seed=seed)
    exact_p, exact_q = exact_rounds(X, y, lam)
    p, q = Information(X.shape[1], 1, lam).absorb(X, y[:, None].copy(), np.ones(len(y)))
    assert relative_error(q, exact_q) < BAR
    assert relative_error(p[:, 0], exact_p, floor=1e-3) < BAR


@pytest.mark.parametrize("name", [name for name in STREAMS if name != "benign"])
def test_keeping_the_inverse_misses_the_same_bar(name: str) -> None:
    X, y, lam = stream(name)
    exact_p, exact_q = exact_rounds(X, y, lam)
    p, q = sherman_morrison(X, y, lam)
    assert max(relative_error(p, exact_p, floor=1e-3), relative_error(q, exact_q)) > BAR


def test_weights_and_merging_keep_the_digits() -> None:
    X, y, lam = stream("columns from 1e-6 to 1e9")
    w = np.random.default_rng(1).uniform(0.1, 10, len(y))
    exact_p, exact_q = exact_rounds(X, y, lam, w)
    half = len(y) // 2
    first, second = (Information(X.shape[1], 1, lam) for _ in range(2))
    first.absorb(X[: half - 10], y[: half - 10, None].copy(), w[: half - 10])
    second.absorb(X[half - 10 : half], y[half - 10 : half, None].copy(), w[half - 10 : half])
    first.merge(second)
    p, q = first.absorb(X[half:], y[half:, None].copy(), w[half:])
    assert relative_error(q, exact_q[half:]) < BAR
    assert relative_error(p[:, 0], exact_p[half:], floor=1e-3) < BAR


def test_all_columns_near_collinear_costs_digits_in_proportion() -> None:
    """The hardest stream: all columns are the same up to 1e-7. Backward stability leaves digits in proportion."""
    rng = np.random.default_rng(0)
    X = 1e5 * (rng.standard_normal((60, 1)) + 1e-7 * rng.standard_normal((60, 6)))
    y = rng.standard_normal(60)
    for lam, bar in ((1.0, 1e-9), (1e-5, 1e-7)):
        exact_p, exact_q = exact_rounds(X, y, lam)
        q = Information(6, 1, lam).absorb(X, y[:, None].copy(), np.ones(60))[1]
        assert relative_error(q, exact_q) < bar
        bad_p, bad_q = sherman_morrison(X, y, lam)
        assert max(relative_error(bad_p, exact_p, floor=1e-3), relative_error(bad_q, exact_q)) > 1e4 * bar
