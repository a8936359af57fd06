"""One hypothesis profile for every run, and the tests that compile quickly.

XLA takes 60 ms of a processor to compile a move, and 16 with its optimisations off.
Tests marked `quick` do without them: those of formulas, structure and errors, and of
products and layers. What says that a move keeps every bit is never marked, for it is
XLA's optimised programs that users run. `test_quick.py` holds this to it.
"""

import gc

import jax
import pytest
from hypothesis import HealthCheck, settings

try:
    from jax._src import compiler
except ImportError:  # a JAX that keeps it elsewhere: every test compiles as users do
    compiler = None

settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fixed")

QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}
if jax.__version_info__ < (0, 11):
    QUICK["xla_cpu_use_fusion_emitters"] = False


class Level:
    """How XLA compiles from now on: as for users, or quickly."""

    quick = False

    @classmethod
    def choose(cls, quick):
        if cls.quick and not quick:
            jax.clear_caches()  # nothing compiled quickly is run by other tests
        cls.quick = quick


def _with_level(made):
    if Level.quick:
        made.env_option_overrides = [*made.env_option_overrides, *QUICK.items()]
    return made


if hasattr(compiler, "get_compile_options"):
    _options = compiler.get_compile_options
    compiler.get_compile_options = lambda *a, **k: _with_level(_options(*a, **k))


def is_quick(item):
    marks = {mark.name for mark in item.iter_markers()}
    return "quick" in marks and "optimised" not in marks


def is_long(item):
    return item.get_closest_marker("long") is not None


def pytest_collection_modifyitems(items):
    """Long ones first, that none is left to one process at the end; then quick ones,
    so that a process changes how it compiles once."""
    items.sort(key=lambda item: (not is_long(item), not is_quick(item)))


def pytest_collection_finish():
    gc.freeze()  # modules and tests stay, and need no search at each collection


@pytest.hookimpl(tryfirst=True)  # before fixtures, which compile too
def pytest_runtest_setup(item):
    Level.choose(is_quick(item))


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    """Runs of `ascjax verify` keep their state here, not with the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
