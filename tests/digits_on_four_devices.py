"""The digits, data parallel over a mesh of four. Run by `test_digits.py`."""

import importlib
import os

import equinox as eqx
import jax
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import ascjax as asc

# Read when JAX starts its first device, which no import has done.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
)
digits = importlib.import_module("digits")


@pytest.mark.parametrize("name", digits.MODELS)
def test_losses_agree_on_a_mesh(name):
    """Each device has a quarter of every batch; gradients are summed over them."""
    assert jax.device_count() == 4
    mesh = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Auto,))
    spread, whole = NamedSharding(mesh, P(None, "data")), NamedSharding(mesh, P())
    xs, ys = jax.device_put(digits.batches(digits.load()), spread)
    shard = (digits.STEPS, digits.BATCH // 4, 8, 8)
    assert {each.data.shape for each in xs.addressable_shards} == {shard}
    plain = eqx.filter_shard(digits.MODELS[name](jax.random.key(0)), whole)
    losses = {}
    for kind, model in {"plain": plain, "nz": asc.nn.to_nz(plain)}.items():
        compiled = digits.train.lower(model, xs, ys).compile()
        assert "all-reduce" in compiled.compiled.as_text()
        losses[kind] = compiled(model, xs, ys)[1]
    assert losses["plain"][-1] < 0.5 * losses["plain"][0]
    assert digits.apart(losses["nz"], losses["plain"]) < 1e-5
