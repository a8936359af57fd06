"""The module of a notebook: NZ layers trained beside plain ones, and int8.

Training on a mesh is in `digits_on_four_devices.py`, in a process that has one.
"""

import functools
import importlib
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ascjax as asc

pytestmark = pytest.mark.quick

TESTS = Path(__file__).parent
NOTEBOOKS = TESTS.parent / "notebooks"
if not NOTEBOOKS.exists():
    pytest.skip("notebooks are not part of this copy", allow_module_level=True)
digits = importlib.import_module("digits")  # pyproject.toml has its folder on the path

every_model = pytest.mark.parametrize("name", digits.MODELS)
data = functools.cache(digits.load)


def test_the_data_are_the_digits():
    held = data()
    assert held.train_x.shape == (1437, 8, 8) and held.test_x.shape == (360, 8, 8)
    assert held.train_x.dtype == "float32" and held.train_x.max() == 1
    assert np.bincount(held.test_y).tolist() == [36, 36, 35, 37, 36, 37, 36, 36, 35, 36]


# --- training


@every_model
def test_losses_agree_and_int8_is_as_good(name):
    found = digits.compare(name, data())
    assert found.difference < 1e-5
    assert abs(found.nz_loss - found.loss) < 1e-5 * found.loss < 0.5e-5
    assert found.plain > 0.9 and abs(found.nz - found.plain) <= 1 / 360
    assert abs(found.int8 - found.nz) < 0.02


@functools.cache
def plainly(name, seed=0):
    """A plain model of the table, and its losses."""
    model = digits.MODELS[name](jax.random.key(seed))
    return model, digits.train(model, *digits.batches(data()))[1]


@every_model
def test_losses_agree_under_checkpoint(name):
    plain, losses = plainly(name)
    model = asc.nn.to_nz(plain, digits.PRODUCT)
    held = digits.batches(data())
    found = digits.train(model, *held, eqx.filter_checkpoint)[1]
    assert digits.apart(found, losses) < 1e-5


@every_model
def test_losses_agree_under_vmap(name):
    """Two models at once, on the same batches."""
    plain, losses = zip(plainly(name, 0), plainly(name, 1), strict=True)
    stack = functools.partial(jax.tree.map, lambda *xs: stacked(*xs))
    models = asc.nn.to_nz(stack(*plain), digits.PRODUCT)
    axes = eqx.if_array(0), None, None
    fit = eqx.filter_jit(eqx.filter_vmap(digits.fit, in_axes=axes))
    found = fit(models, *digits.batches(data()))[1]
    assert (found[0] != found[1]).all()
    assert digits.apart(found, jnp.stack(losses)) < 1e-5


def stacked(one, two):
    return jnp.stack([one, two]) if eqx.is_array(one) else one


def test_apart_goes_red():
    plain, losses = plainly("mlp")
    bent = eqx.tree_at(
        lambda m: m[1].layers[0].bias, plain, replace_fn=lambda b: b + 1e-3
    )
    others = digits.train(bent, *digits.batches(data()))[1]
    assert digits.apart(others, losses) > 1e-4
    assert digits.apart(plainly("mlp", 1)[1], losses) > 1e-2


@pytest.mark.long
def test_losses_agree_on_a_mesh():
    """The number of devices is fixed when JAX starts, so this takes its own process."""
    file = str(TESTS / "digits_on_four_devices.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", file],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_script_prints_a_line_for_each_model(monkeypatch, capsys):
    row = digits.Result("mlp", 0.25, 0.25, 1e-7, 0.9, 0.9, 0.875)
    monkeypatch.setattr(digits, "compare", lambda name, data: row._replace(name=name))
    digits.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == list(digits.MODELS)
    assert lines[2].split()[1:] == [
        *("0.250000", "0.250000", "1.0e-07", "90.0%", "90.0%", "87.5%"),
    ]
