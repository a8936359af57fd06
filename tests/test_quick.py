"""Quick tests compile quickly, and leave nothing compiled so to other tests."""

from pathlib import Path

import jax
import numpy as np
import pytest
from conftest import Level

import ascjax as asc

TURN = asc.LoadData2DParams(0, 2, if_transpose=True)


@pytest.fixture
def compiles():
    """Whether each compilation was a quick one, in order."""
    seen = []
    compiler = pytest.importorskip("jax._src.compiler")
    made = compiler.get_compile_options
    with pytest.MonkeyPatch.context() as patch:

        def watched(*args, **kwargs):
            options = made(*args, **kwargs)
            seen.append(bool(options.env_option_overrides))
            return options

        patch.setattr(compiler, "get_compile_options", watched)
        yield seen
    Level.choose(False)


def test_what_is_compiled_quickly_is_compiled_again_for_other_tests(compiles):
    src = jax.device_put(np.arange(512, dtype="float16"))
    Level.choose(True)
    jax.clear_caches()
    first = asc.load_data(src, TURN)
    asc.load_data(src, TURN)
    assert compiles == [True]
    Level.choose(False)
    np.testing.assert_array_equal(asc.load_data(src, TURN), first)
    assert compiles == [True, False]
    Level.choose(True)
    asc.load_data(src, TURN)
    assert compiles == [True, False], "what users run, quick tests may run too"


@pytest.mark.parametrize("name", ["bit_exact", "types", "packed"])
def test_what_keeps_bits_is_compiled_as_for_users(name):
    text = (Path(__file__).parent / f"test_{name}.py").read_text()
    assert "mark.quick" not in text
