"""The quantiles that are written down are those of scipy."""

import numpy as np
import pytest

from onward.confidence import DELTAS, ConformalIntervals, t_quantiles


@pytest.mark.parametrize("delta", [*DELTAS, 0.03])
def test_quantiles_are_those_of_scipy(delta: float) -> None:
    """If not, after a change to what they depend on, run tools/t_quantiles.py."""
    assert (delta in t_quantiles.KEPT) == (delta in DELTAS)
    found, computed = t_quantiles.t_quantiles(delta), t_quantiles.computed_t_quantiles(delta)
    np.testing.assert_allclose(found, computed, rtol=1e-8)  # earlier versions of scipy are not exact to more
    assert not np.allclose(found, t_quantiles.computed_t_quantiles(1.01 * delta), rtol=1e-5)
    assert ConformalIntervals(delta).deltas == [delta]
