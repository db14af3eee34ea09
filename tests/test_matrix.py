"""The lowest releases that the project's bounds allow."""

import pytest

from tools.matrix import lowest, requirements


def test_the_lowest_release_that_a_bound_allows() -> None:
    released = ["2.0.0", "1.10.1", "1.10.0", "1.9.0", "1.11.0rc1"]
    assert lowest("polars>=1.10", released) == "polars==1.10.0"
    assert lowest("scikit-learn>=1.10.1", released) == "scikit-learn==1.10.1"
    with pytest.raises(ValueError, match="there is no such release"):
        lowest("polars>=3", released)


def test_every_dependency_has_a_lower_bound() -> None:
    for requirement in requirements():
        assert lowest(requirement, ["9999.0"]).endswith("==9999.0")
