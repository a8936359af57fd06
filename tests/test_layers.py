"""Imports go one way: each module imports only what stands above it in LAYERS."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ascjax

ROOT = Path(ascjax.__file__).parent
ORDER = """
_errors _extras _compat _html _in_turn _dtypes _products _fill _nest _simplify _stack
_runs _overlap instr _index_map _window _compose _steps _ends _gather _plan _lowering
_call _move _shardings _primitive _packed _operands _run _chain _sequence _formats
_relayout _layout _cube _mmad _ops nn cost weights oracle sweeps verify dumps diagnosis
patterns pictures page examples testing campaign show explore cli_complete cli_overview
cli_explore cli_weights cli_diagnose cli_verify cli __main__ __init__
"""
LAYERS = tuple(ORDER.split())


def sources():
    """{dotted module name inside the package: its text}."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts)] = path.read_text()
    return found


def module_of(parts, modules):
    """The module that a dotted path means, or None: "nn" is "nn.__init__"."""
    name = ".".join(parts)
    return next((n for n in (name, f"{name}.__init__") if n in modules), None)


def imports(name, modules):
    """The modules that one imports; "__init__" where it is names of the root."""
    package = name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(modules[name])):
        if isinstance(node, ast.Import):
            paths = [alias.name.split(".") for alias in node.names]
            for first, *rest in paths:
                if first == "ascjax":
                    found.add(module_of(rest, modules) or "__init__")
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            if node.level:
                base = package[: len(package) - node.level + 1] + base
            elif base[:1] == ["ascjax"]:
                base = base[1:]
            else:
                continue
            for alias in node.names:
                whole = module_of([*base, alias.name], modules)
                found.add(whole or module_of(base, modules) or "__init__")
    return found


def graph(modules):
    return {name: imports(name, modules) for name in modules}


def layer(name):
    """Where a module stands; one without a place below all others."""
    first = name.split(".")[0]
    return LAYERS.index(first) if first in LAYERS else len(LAYERS)


def known_to_oracle(name, target):
    """Whether the oracle may import `target`; true of all other modules' imports."""
    inside = name.split(".")[0] == "oracle"
    return not inside or target.split(".")[0] in ("oracle", "_errors")


def violations(modules):
    """What is wrong with the imports of `modules`, in words."""
    homeless = [name for name in modules if layer(name) == len(LAYERS)]
    wrong = [f"{name} has no place in LAYERS" for name in homeless]
    edges = graph(modules)
    for name, targets in edges.items():
        package = f"{name.split('.')[0]}.__init__"
        for target in sorted(targets):
            if target == "__init__":
                wrong.append(f"{name} imports the package's __init__")
            elif layer(target) > layer(name):
                wrong.append(f"{name} imports {target}, which stands below it")
            elif target == package:
                wrong.append(f"{name} imports {target}, its own package")
            elif not known_to_oracle(name, target):
                wrong.append(f"{name} imports {target}, which it must know nothing of")
    return wrong + cycles(edges)


def cycles(edges):
    """Modules that import each other, after all that can be ordered are taken away."""
    left = {name: set(targets) for name, targets in edges.items()}
    while free := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in free:
            del left[name]
    return [f"{name} is in a cycle" for name in left]


def test_every_module_imports_only_what_stands_above_it():
    assert violations(sources()) == []


def test_the_walk_sees_the_package():
    edges = graph(sources())
    assert len(edges) > 25
    assert edges["_errors"] == set()
    assert edges["_overlap"] == {"_nest", "_runs"}
    assert edges["_runs"] == {"_nest"}
    assert edges["instr.load2dv2"] >= {"_nest", "instr._fields", "instr._params"}
    assert edges["nn._moves"] >= {"_ops", "instr.__init__"}


@pytest.mark.parametrize(
    "name, line, text",
    [
        (
            "_nest",
            "from ._move import Move",
            "_nest imports _move, which stands below it",
        ),
        (
            "instr.load2d",
            "def f():\n    from .._lowering import Plan",
            "instr.load2d imports _lowering, which stands below it",
        ),
        ("_move", "import ascjax", "_move imports the package's __init__"),
        ("_move", "from ascjax import Plan", "_move imports the package's __init__"),
        ("nn._moves", "from .. import load_data", "nn._moves imports the package's"),
        (
            "nn._moves",
            "from . import LoadData",
            "nn._moves imports nn.__init__, its own",
        ),
        (
            "oracle._loads",
            "from .._nest import FILL",
            "oracle._loads imports _nest, which it must",
        ),
        ("_nest", "from ._overlap import Unproved", "_nest is in a cycle"),
        ("_new", "import numpy", "_new has no place in LAYERS"),
    ],
)
def test_violations_go_red(name, line, text):
    modules = sources()
    modules[name] = f"{modules.get(name, '')}\n{line}\n"
    assert any(text in wrong for wrong in violations(modules))


def test_import_ascjax_loads_no_command_line():
    code = (
        "import sys, ascjax\n"
        "heavy = 'typer click rich matplotlib hypothesis pytest pandas scipy "
        "safetensors jinja2'.split()\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "ours = 'verify cli show nn sweeps diagnosis pictures cost oracle weights'\n"
        "ours = tuple('ascjax.' + name for name in ours.split())\n"
        "print([name for name in sys.modules if name.startswith(ours)])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


def test_no_assert_in_the_package():
    for name, text in sources().items():
        nodes = ast.walk(ast.parse(text))
        assert not any(isinstance(node, ast.Assert) for node in nodes), name
