"""What a move does to shardings: leading axes keep theirs, the flat axis is whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from ._compat import manual_axes, vary_over
from ._errors import SupportError


def spec_of(x: Any) -> tuple:
    """The mesh axes of each axis of a traced value, None where it is not sharded."""
    spec = tuple(x.sharding.spec)
    return spec + (None,) * (x.ndim - len(spec))


def _names(part: Any) -> tuple:
    """The mesh axes in one entry of a partition spec."""
    if part is None:
        return ()
    return part if isinstance(part, tuple) else (part,)


def refuse_flat(operands: tuple) -> None:
    """Raise SupportError where an operand is sharded along its last axis."""
    for x in operands:
        if spec_of(x)[-1] is not None:
            raise SupportError(
                "ascjax",
                "src and dst",
                "not be sharded along their last axis, the flat buffer",
                f"the sharding {x.sharding.spec}",
                "Shard leading (batch) axes instead.",
                "instructions.md, Units",
            )


def align(src: jax.Array, dst: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Both operands with the same leading axes, sharded and varying alike."""
    lead = jnp.broadcast_shapes(src.shape[:-1], dst.shape[:-1])
    specs = [spec_of(jax.typeof(x))[:-1] for x in (src, dst)]
    specs = [(None,) * (len(lead) - len(spec)) + spec for spec in specs]
    merged = tuple(b if a is None else a for a, b in zip(*specs, strict=True))
    named = [axis for part in merged for axis in _names(part)]
    if len(set(named)) < len(named):
        raise SupportError(
            "ascjax",
            "src and dst",
            "be sharded over different mesh axes in different leading axes",
            f"leading axes sharded {specs[0]} and {specs[1]}",
            "Shard the batch of both alike.",
            "instructions.md, Units",
        )
    meshes = [jax.typeof(x).sharding.mesh for x in (src, dst)]
    mesh = meshes[0] if any(specs[0]) else meshes[1]
    axes = manual_axes(jax.typeof(src)) | manual_axes(jax.typeof(dst))
    aligned = []
    for x, spec in zip((src, dst), specs, strict=True):
        x = jnp.broadcast_to(x, (*lead, x.shape[-1]))
        if spec != merged:
            x = jax.sharding.reshard(
                x, NamedSharding(mesh, PartitionSpec(*merged, None))
            )
        aligned.append(vary_over(x, axes))
    return aligned[0], aligned[1]


def with_auto_axes(f: Callable[..., jax.Array], x: jax.Array) -> Callable:
    """`f`, run with the mesh's Explicit axes as Auto ones; sharded as `x` comes out.

    Inside a move only whole buffers are cut and joined, so that the compiler's own
    propagation keeps the leading axes; saying so step by step would add nothing.
    """
    spec = spec_of(jax.typeof(x))
    if not any(spec):
        return f
    out = PartitionSpec(*spec[:-1], None)
    return jax.sharding.auto_axes(f, out_sharding=out)
