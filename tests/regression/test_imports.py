"""What a process that only learns does not import: it would cost more time and memory than the learning."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from onward.core.compile import TRIED

pytestmark = pytest.mark.skipif(
    tuple(int(part) for part in numba.__version__.split(".")[:2]) not in TRIED,
    reason=f"with numba {numba.__version__}, which was not tried, code loads as numba loads it",
)
NEVER = ("sklearn", "pandas", "matplotlib", "narwhals", "joblib", "scipy.stats", "scipy.optimize", "scipy.sparse")

# What takes a fifth of the start, and 20 MB more: read where coefficients are asked for, or where code is compiled.
SELDOM = (*NEVER, "scipy.linalg", "scipy.special", "numpy.f2py", "numba.np.linalg", "numba.np.npyimpl")

ROWS = "from onward import ForwardRegressor\nForwardRegressor().learn_one([1.0, 2.0], 3.0).predict_one([1.0, 2.0])"
TABLES = """
import numpy as np
from onward import RidgeRegressor
X, y = np.eye(4), np.arange(4.0)
model = RidgeRegressor().fit(X, y).partial_fit(X, y)
model.predict(X), model.interval(X), model.interval(X, of="observation"), model.coefficient_table(), model.get_params()
"""
FILES = """
import sys
from onward.cli import main
sys.argv = ["onward", "fit", sys.argv[1], "--target", "y", "--save", sys.argv[1] + ".onward", *sys.argv[2:]]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
"""


def run(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


TELL = f"\nimport sys\nprint(*(name for name in {SELDOM} if name in sys.modules))"


def imported(code: str, *arguments: str) -> set[str]:
    """Those of `SELDOM` that a new process has imported after running the code."""
    return set(run(code + TELL, *arguments).splitlines()[-1].split())


@pytest.fixture(params=["csv", "parquet"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    import polars as pl

    path = tmp_path / f"rows.{request.param}"
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": [0.0, 1.0, 0.0, 1.0], "y": [1.0, 3.0, 2.0, 6.0]})
    frame.write_csv(path) if request.param == "csv" else frame.write_parquet(path)
    return path


@pytest.mark.parametrize("code", [ROWS, TABLES])
def test_learners_import_little(code: str) -> None:
    show = "\nprint(ForwardRegressor() if 'ForwardRegressor' in vars() else model)"
    before, *_, after = run(code + TELL + show + TELL).splitlines()
    assert set(before.split()).isdisjoint(NEVER)
    assert "sklearn" in after.split()


def test_fit_of_a_file_imports_little(file: Path) -> None:
    assert imported(FILES, str(file)).isdisjoint(NEVER)


@pytest.mark.parametrize("learner", ["auto", "forward", "ridge"])
def test_a_quiet_fit_imports_still_less(file: Path, learner: str) -> None:
    options = (str(file), "--quiet", "--learner", learner, "--predictions", f"{file}.csv")
    run(FILES, *options)  # which may compile
    assert imported(FILES, *options) == set()


@pytest.mark.parametrize(
    "imports",
    ["import onward.regression, sklearn.base", "import sklearn.base, onward.regression"],
    ids=["before scikit-learn", "after scikit-learn"],
)
def test_learners_are_estimators_whatever_is_imported_first(imports: str) -> None:
    code = f"""
{imports}
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from onward import ForwardRegressor
assert issubclass(ForwardRegressor, (BaseEstimator)) and issubclass(ForwardRegressor, RegressorMixin)
assert issubclass(ForwardRegressor, MultiOutputMixin)
assert type(sklearn.base.__spec__.loader).__name__ == "SourceFileLoader", sklearn.base.__spec__
assert "set_fit_request" in vars(ForwardRegressor)
"""
    run(code)


USES = (
    "assert repr(model) == 'Own(extra=2.0)', repr(model)",
    "assert model.set_params(extra=5.0) is model and model.extra == 5.0",
    "assert model.score([[1.0], [2.0]], [1.0, 2.0]) < 1",
    "assert model.__sklearn_tags__().estimator_type == 'regressor'",
    "assert 'text/plain' in model._repr_mimebundle_()",
    "assert 'sample_weight' in str(model.get_metadata_routing())",
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_what_scikit_learn_gives_is_there_before_it_is_imported() -> None:
    """Of a learner that a user has derived and fitted by then; each use in a process that has not imported it."""
    code = f"""
import os, sys
from onward import ForwardRegressor
class Own(ForwardRegressor):
    def __init__(self, extra=1.0):
        super().__init__()
        self.extra = extra
model = Own(2.0).learn_one([1.0], 1.0).learn_one([2.0], 2.0)
for use in {USES!r}:
    assert "sklearn" not in sys.modules
    child = os.fork()
    if not child:
        exec(use)
        from sklearn.base import BaseEstimator
        assert isinstance(model, BaseEstimator) and model.n_seen_ == 2
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, use
"""
    run(code)
