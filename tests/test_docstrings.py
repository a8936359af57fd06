"""Public names are documented, and every example in the package runs as printed."""

import doctest
import importlib
import inspect
import io
import pkgutil
import re
import types

import pytest

import ascjax as asc

pytestmark = pytest.mark.quick

FLAGS = doctest.ELLIPSIS  # neither whitespace nor the text of errors is let pass
NAMED = ("nn", "oracle", "weights", "testing")
ROOTS = {f"asc.{name}": getattr(asc, name) for name in NAMED}
ROOTS = {"asc": asc} | ROOTS
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


# --- what a docstring must say, by the kind of its name

CALLED = ("Shapes", "Args", "Raises", "Gradient", "Source")
HEADINGS = {
    "op": (*CALLED, "Returns"),
    "module": CALLED,
    "params": CALLED,
    "part of params": ("Args", "Raises", "Source"),
    "data": ("Attributes|Args",),
    "look-up": ("Args", "Raises"),
    "oracle": ("Shapes", "Args", "Returns", "Raises", "Source"),
    "rule of the oracle": ("Units", "Source"),
    "registers a rule": ("Args", "Source"),
    "no-op": ("Source",),
    "file": ("Args", "Returns", "Raises"),
    "error": (),
}
OPS = (
    "load_data",
    "load_data_with_transpose",
    "data_copy",
    "data_copy_pad",
    "run_move",
    "sequence",
    "chain",
    "convert",
    "fixpipe",
    "mmad",
    "sweep",
    "diagnose",
    *("assert_same_move", "expected", "sentinel"),
)
PARTS = (
    *("LoadDataRepeatParam", "NdDmaConfig", "NdDmaLoopInfo"),
    "DataCopyPadExtParams",
)
DATA = (
    *("AscendType", "Call", "Coord", "IndexMap", "Loop", "LoopNest", "Move", "Params"),
    *("Plan", "Product", "Held", "Layout", "Runs", "Entry", "Sweep", "Diagnosis"),
    "Explanation",
)
WORDS = {  # how a deferring sentence names a heading
    "Shapes": "shapes?",
    "Args": "arg(ument)?s",
    "Returns": "returns|results?",
    "Raises": "raises|errors",
    "Gradient": "gradients?",
}
UNIT = r"\b(elements?|bits?|bytes|KiB|fractals?|blocks?)\b"


def kind_of(name):
    """The kind of a public name, or None."""
    value, last = PUBLIC[name], name.rsplit(".")[-1]
    if inspect.isclass(value):
        if issubclass(value, asc.AscendError):
            return "error"
        moves = issubclass(value, asc.Params) and value is not asc.Params
        if moves or value is asc.MmadParams:
            return "params"
    if (name.startswith("asc.nn.") and last not in DATA) or last in (
        "Sequence",
        "Chain",
    ):
        return "module"
    if name.startswith("asc.weights.") and inspect.isfunction(value):
        return "file"
    if name.startswith("asc.oracle."):
        others = {"run": "oracle", "mmad": "oracle", "instruction": "registers a rule"}
        return others.get(last, "rule of the oracle")
    kinds = {"look-up": ("ascend_type", "product"), "no-op": ("nddma_dci",)}
    kinds |= {"op": OPS, "part of params": PARTS, "data": DATA}
    return next((kind for kind, names in kinds.items() if last in names), None)


def deferred(doc, docs):
    """The headings that a docstring leaves to another one, which has them: "Shapes,
    arguments and errors are as `load_data`"."""
    found = set()
    flat = " ".join(doc.split())
    for said, target in re.findall(r"([A-Z;][\w ,]*?):? as `([\w.]+)`", flat):
        there = next((d for n, d in docs.items() if f".{n}".endswith(f".{target}")), "")
        for heading, word in WORDS.items():
            if re.search(rf"\b({word})\b", said, re.I) and has(there, heading):
                found.add(heading)
    return found


def has(doc, heading):
    """Whether a line, or a sentence on it, starts with the heading."""
    return re.search(rf"(^ *|[.)] )({heading}):[ \n]", doc, re.M) is not None


def lacking(name, docs):
    """What the docstring of a public name does not say, in words."""
    doc, kind = docs[name], kind_of(name)
    left = deferred(doc, docs) if kind in ("op", "module") else set()
    missing = [h for h in HEADINGS[kind] if not has(doc, h) and h not in left]
    if kind in ("params", "part of params", "data"):
        fields = PUBLIC[name].__dataclass_fields__ if name != "asc.Params" else ()
        for field in fields:
            line = rf"^ +(\w+, )*{field}(, \w+)*: "
            if not field.startswith("_") and not re.search(line, doc, re.M):
                missing.append(field)
        if not re.search(UNIT, doc):
            missing.append("a unit")
    return missing


DOCS = {name: inspect.cleandoc(value.__doc__ or "") for name, value in PUBLIC.items()}


def test_every_public_name_has_a_kind():
    assert [name for name in PUBLIC if kind_of(name) is None] == []
    assert {kind_of(name) for name in PUBLIC} == HEADINGS.keys()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_says_all(name):
    assert lacking(name, DOCS) == []


@pytest.mark.parametrize(
    "name, said, missing",
    [
        ("load_data", {"Gradient:": "Slope:"}, ["Gradient"]),
        ("nn.LoadData", {"Shapes:": "Forms:"}, ["Shapes"]),
        ("LoadData2DParams", {"src_stride: ": "stride: "}, ["src_stride"]),
        ("IndexMap", {"element": "cell"}, ["a unit"]),
        ("product", {"Raises:": "Fails:"}, ["Raises"]),
    ],
)
def test_lacking_goes_red(name, said, missing):
    doc = DOCS[f"asc.{name}"]
    for old, new in said.items():
        assert old in doc
        doc = doc.replace(old, new)
    assert lacking(f"asc.{name}", {**DOCS, f"asc.{name}": doc}) == missing


def test_only_what_the_target_says_is_deferred():
    docs = {"asc.load_data": "Shapes: any.\nArgs:\n  src: it."}
    said = "Shapes, arguments and gradient are as `load_data`. Errors: as `sequence`."
    assert deferred(said, docs) == {"Shapes", "Args"}
    assert deferred("Shapes are `load_data`'s.", docs) == set()
