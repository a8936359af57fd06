"""Public names are documented, and every example in the package runs as printed."""

import dataclasses
import doctest
import importlib
import inspect
import io
import pkgutil
import types

import pytest

import ascjax as asc
from ascjax.instr import REGISTRY

FLAGS = doctest.ELLIPSIS  # neither whitespace nor the text of errors is let pass
ROOTS = {"asc": asc, "asc.nn": asc.nn, "asc.oracle": asc.oracle}
PUBLIC = {
    f"{prefix}.{name}": value
    for prefix, root in ROOTS.items()
    for name, value in vars(root).items()
    if not name.startswith("_")
    and not isinstance(value, types.ModuleType)
    and (inspect.isclass(value) or inspect.isfunction(value))
    and value.__module__.startswith("ascjax")
    and (prefix == "asc" or getattr(asc, name, None) is not value)
}


def modules():
    """Every module of the package, by name."""
    walked = pkgutil.walk_packages(asc.__path__, "ascjax.")
    names = [info.name for info in walked if not info.name.endswith("__main__")]
    return ["ascjax", *names]


def examples(module):
    """The module's doctests that hold at least one example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    return [found for found in finder.find(module) if found.examples]


def run(tests):
    """What the tests print where they fail; "" where all pass."""
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    out = io.StringIO()
    for found in tests:
        runner.run(found, out=out.write)
    return out.getvalue()


@pytest.mark.parametrize("name", modules())
def test_a_module_s_examples_run_as_printed(name):
    failures = run(examples(importlib.import_module(name)))
    assert not failures, failures


def test_run_goes_red():
    for text in (">>> 1 + 1\n3\n", ">>> [1,  2]\n[1,  2]\n", ">>> 1 / 0\n"):
        found = doctest.DocTestParser().get_doctest(text, {}, "broken", None, None)
        assert "Failed example" in run([found])


def test_examples_are_run_not_skipped():
    held = {name: examples(importlib.import_module(name)) for name in modules()}
    every = [
        example for tests in held.values() for t in tests for example in t.examples
    ]
    skipped = [e for e in every if e.options.get(doctest.SKIP)]
    assert len(every) > 120
    assert len(skipped) <= 2


def test_the_public_names_are_found():
    assert {"asc.load_data", "asc.Move", "asc.nn.LoadData", "asc.oracle.run"} <= set(
        PUBLIC
    )
    assert len(PUBLIC) > 35


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring_with_an_example(name):
    text = PUBLIC[name].__doc__ or ""  # not inspect.getdoc, which takes a base's
    assert len(text.strip().split("\n")[0]) > 20
    assert "    >>> " in text


@pytest.mark.parametrize("name", [n for n in PUBLIC if inspect.isclass(PUBLIC[n])])
def test_a_public_class_documents_its_public_methods(name):
    for member, value in vars(PUBLIC[name]).items():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        function = getattr(function, "func", function)
        if member.startswith("_") or not inspect.isfunction(function):
            continue
        assert inspect.getdoc(getattr(PUBLIC[name], member)), member


@pytest.mark.parametrize("op", [asc.load_data, asc.sequence], ids=lambda f: f.__name__)
def test_an_op_s_docstring_says_all(op):
    for heading in ("Shapes:", "Args:", "Returns:", "Raises:", "Gradient:", "Source:"):
        assert heading in op.__doc__ or "`load_data`'s" in " ".join(op.__doc__.split())


STRUCTS = [cls for cls in REGISTRY.values() if cls.__module__.startswith("ascjax")]


@pytest.mark.parametrize("cls", STRUCTS, ids=lambda cls: cls.__name__)
def test_a_params_docstring_says_all(cls):
    for heading in ("Shapes:", "Args:", "Raises:", "Gradient:", "Source:"):
        assert heading in cls.__doc__
    for field in dataclasses.fields(cls):
        assert f"      {field.name}: " in cls.__doc__
