"""A scikit-learn regressor that does not import scikit-learn until somebody uses it.

scikit-learn takes longer to import, and more memory, than all else that a learner needs together. So a learner starts
with a base class of its own and gets scikit-learn's the moment that `sklearn.base` is imported, by whomever: before
that, nobody can tell the difference.
"""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

_BASE = "sklearn.base"


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        import_module(_BASE)
        return getattr(self, name)(*args, **kwargs)

    method.__name__ = name
    return method


class _WithoutScikitLearn:
    """Stands in for scikit-learn's base classes: each of their methods imports them, and then is theirs."""

    __repr__ = _forwarded("__repr__")
    __sklearn_tags__ = _forwarded("__sklearn_tags__")
    _repr_mimebundle_ = _forwarded("_repr_mimebundle_")
    get_metadata_routing = _forwarded("get_metadata_routing")
    score = _forwarded("score")
    set_fit_request = _forwarded("set_fit_request")
    set_params = _forwarded("set_params")
    set_partial_fit_request = _forwarded("set_partial_fit_request")
    set_predict_request = _forwarded("set_predict_request")
    set_score_request = _forwarded("set_score_request")


if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

    class _Base(MultiOutputMixin, RegressorMixin, BaseEstimator): ...
else:
    _Base = _WithoutScikitLearn


class Estimator(_Base):
    """A regressor of one or several targets, as scikit-learn has it."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters that the model was made with, by name; with `deep`, also those of estimators among them."""
        found: dict[str, Any] = {}
        for name in sorted(inspect.signature(type(self)).parameters):
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": each for inner, each in value.get_params().items()}
        return found


def _adopt(base: ModuleType) -> None:
    """Make scikit-learn's classes the bases of `Estimator`, as if it had been defined so."""
    Estimator.__bases__ = (base.MultiOutputMixin, base.RegressorMixin, base.BaseEstimator)
    for each in _family(Estimator):
        super(Estimator, each).__init_subclass__()  # what scikit-learn does when a class is defined


def _family(parent: type[Estimator]) -> Iterator[type[Estimator]]:
    """A class and all classes below it."""
    yield parent
    for child in parent.__subclasses__():
        yield from _family(child)


class _AdoptingLoader(Loader):
    """Loads `sklearn.base` as its own loader does, then adopts it."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader  # from here on, as if we had not been there
        self._loader.exec_module(module)
        _adopt(module)


class _ScikitLearnFinder(MetaPathFinder):
    """Waits for the import of `sklearn.base`, and leaves the finding to the finders that were there before."""

    _searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _BASE or self._searching:
            return None
        self._searching = True
        try:
            spec = find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _AdoptingLoader(spec.loader)
        return spec


if _BASE in sys.modules:
    _adopt(import_module(_BASE))  # waits for it, should another thread be importing it
else:
    sys.meta_path.insert(0, _ScikitLearnFinder())
