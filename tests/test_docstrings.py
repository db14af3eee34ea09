"""Every public name says what it takes and gives, and shows how it is used; what it shows is run."""

import ast
import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from onward import storage
from tools.docs_site.public_names import MODULES

SOURCE = Path(__file__).parents[1] / "src"
PACKAGES = [*MODULES, "onward.bounds.as_printed"]
ERRORS = {"DataError", "EngineError", "RequestError", "StorageError", "TypeError", "ValueError"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.FAIL_FAST


def modules_with_examples() -> list[str]:
    """Found in their text: to import them all takes long."""
    found = [path for path in sorted((SOURCE / "onward").rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in found]


def run_examples(module: ModuleType) -> list[str]:
    """What went wrong in the examples of a module's docstrings."""
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    for name, text in example_texts(module).items():
        test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, None, None)
        runner.run(test, out=said.append)
    return said


def example_texts(module: ModuleType) -> dict[str, str]:
    """The docstrings with examples of a module and of all that is written in it, decorated or not, by name.

    doctest's own finder passes over functions that another module has wrapped, as it has those of the bounds.
    """
    found = {module.__name__: module.__doc__}
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            for each, inside in vars(value).items():
                found[f"{module.__name__}.{name}.{each}"] = getattr(inside, "__doc__", None)
        found[f"{module.__name__}.{name}"] = getattr(value, "__doc__", None)
    return {name: text for name, text in found.items() if isinstance(text, str) and ">>> " in text}


def complaints(name: str, value: Any, *, example: bool = True) -> Iterator[str]:
    """What a docstring lacks."""
    text = inspect.getdoc(value) or ""
    if not text:
        yield f"{name} has no docstring"
        return
    for parameter in parameters(value):
        if not re.search(rf"(?<!\w){re.escape(parameter)}(?!\w)", text):
            yield f"{name} does not say what {parameter} is"
    if example and ">>> " not in text:
        yield f"{name} has no example"
    gives = inspect.isfunction(value) and inspect.signature(value).return_annotation not in (None, "None")
    if example and gives and "Returns:" not in text and "Yields:" not in text:
        yield f"{name} does not say what it returns"
    for error in raised(value) if example else ():
        if error not in text:
            yield f"{name} does not say that it raises {error}"


def raised(value: Any) -> set[str]:
    """The errors that a function, or the making of an object, raises by itself, by name."""
    if inspect.isclass(value):
        if getattr(value, "_is_protocol", False):  # typing gives them an __init__ that refuses
            return set()
        return {each for name in ("__init__", "__post_init__") for each in raised(vars(value).get(name))}
    if not inspect.isfunction(value) or value.__code__.co_filename.startswith("<"):  # dataclasses write theirs
        return set()
    tree = ast.parse(dedent(inspect.getsource(value)))
    calls = [each.exc for each in ast.walk(tree) if isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name) and call.func.id in ERRORS}


def parameters(value: Any) -> list[str]:
    """The names of what a class or a function takes, those apart that begin with an underscore."""
    if inspect.isclass(value) and "__init__" not in dir(value):
        return []
    try:
        signature = inspect.signature(value)
    except ValueError:  # exceptions and the like, which take what their builtin takes
        return []
    anything = signature.parameters.keys() == {"args", "kwargs"}  # protocols and exceptions, which nobody makes by name
    return [] if anything else [name for name in signature.parameters if name[0] != "_" and name not in ("self", "cls")]


def public_values() -> dict[str, Any]:
    """The classes and functions among all public names, each by the first name it has."""
    found: dict[int, tuple[str, Any]] = {}
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                found.setdefault(id(value), (f"{package}.{name}", value))
    return dict(found.values())


def methods(name: str, value: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods of a class that are written in this library."""
    for each in dir(value):
        found = None if each.startswith("_") else inspect.getattr_static(value, each)
        function = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        if inspect.isfunction(function) and function.__module__.startswith("onward.") and each not in FROM_SCIKIT_LEARN:
            yield f"{name}.{each}", function


FROM_SCIKIT_LEARN = {
    "get_metadata_routing",
    "set_fit_request",
    "set_partial_fit_request",
    "set_predict_request",
    "set_score_request",
}


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    monkeypatch.setattr(storage, "_kinds", dict(storage._kinds))  # an example adds one
    assert "".join(run_examples(module)) == ""


def test_public_names_are_documented() -> None:
    lacking = [each for name, value in public_values().items() for each in complaints(name, value)]
    assert lacking == []


def test_public_methods_are_documented() -> None:
    classes = {name: value for name, value in public_values().items() if inspect.isclass(value)}
    found = {function: name for parent, value in classes.items() for name, function in methods(parent, value)}
    lacking = [each for function, name in found.items() for each in complaints(name, function, example=False)]
    assert lacking == []


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_shown(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert set(module.__all__) <= set(dir(module))
    assert [name for name in module.__all__ if name.startswith("_") and name != "__version__"] == []


def test_checks_can_fail() -> None:
    def add(first: int, second: int) -> int:
        return first + second

    assert list(complaints("add", add)) == ["add has no docstring"]
    add.__doc__ = "The sum of first and another."
    assert list(complaints("add", add)) == [
        "add does not say what second is",
        "add has no example",
        "add does not say what it returns",
    ]

    def refuse(first: int) -> None:
        raise ValueError(first)

    refuse.__doc__ = "Refuse the first. >>> 1"
    assert list(complaints("refuse", refuse)) == ["refuse does not say that it raises ValueError"]

    class Refused:
        """What is refused. >>> 1"""

        def __init__(self, first: int) -> None:
            raise TypeError(first)

    assert list(complaints("Refused", Refused)) == [
        "Refused does not say what first is",
        "Refused does not say that it raises TypeError",
    ]
    add.__doc__ = "Args:\n    first, second: numbers.\n\nReturns:\n    Their sum.\n\nExample:\n    >>> 1 + 1\n    3\n"
    assert list(complaints("add", add)) == []
    [said] = run_examples(ModuleType("sums", add.__doc__))
    assert "Expected:\n    3\nGot:\n    2\n" in said
